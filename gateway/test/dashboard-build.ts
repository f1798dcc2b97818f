/** The client compiled from its sources into a folder of its own: tests never see an older build. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const CLIENT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "client");
const COPIED = /\.(html|css|svg)$/;

export interface BuiltClient {
  readonly folder: string;
  remove(): void;
}

/** Types are the checker's business; this only takes them off. */
export function buildClient(): BuiltClient {
  const folder = mkdtempSync(join(tmpdir(), "unwind-client-"));
  for (const name of readdirSync(CLIENT, { recursive: true, encoding: "utf8" })) {
    if (/^dist(\/|$)/.test(name)) continue;
    const from = join(CLIENT, name);
    if (COPIED.test(name)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      cpSync(from, join(folder, name));
    }
    if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue;
    const { outputText } = ts.transpileModule(readFileSync(from, "utf8"), {
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    });
    const to = join(folder, name.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, outputText);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
