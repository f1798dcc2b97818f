/**
 * The OpenAPI documents straight from the sources: that of the service, as it prints it, and the contract of an outside
 * signer (docs/outside-signer.md). Linters of the trade read them without a build.
 * `node gateway/launch/api-description.mjs [signer]` writes one to stdout, for whoever needs it.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { repoRoot } from "./prepare.mjs";

/** File of `schemas`, without its ending, and the function that builds the document. */
const DOCUMENTS = { service: ["openapi", "buildOpenApi"], signer: ["signer-openapi", "buildSignerContract"] };

/** Types are the checker's business; this only takes them off. The copy stands where its packages are found. */
export async function apiDescription(which = "service") {
  const { default: ts } = await import("typescript");
  const cache = join(repoRoot, "dist");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, ".schemas-"));
  try {
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const sources = readdirSync(join(repoRoot, "schemas")).filter((name) => /(?<!\.test)\.ts$/.test(name));
    for (const name of sources) {
      const { outputText } = ts.transpileModule(readFileSync(join(repoRoot, "schemas", name), "utf8"), {
        compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
      });
      writeFileSync(join(folder, name.replace(/\.ts$/, ".js")), outputText);
    }
    const [file, build] = DOCUMENTS[which];
    const module = await import(pathToFileURL(join(folder, `${file}.js`)).href);
    return JSON.stringify(module[build](), null, 2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${await apiDescription(process.argv[2] === "signer" ? "signer" : "service")}\n`);
