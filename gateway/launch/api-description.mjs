/**
 * The OpenAPI document as the service prints it, straight from the sources: linters of the trade read it without a build.
 * `node gateway/launch/api-description.mjs` writes it to stdout, for whichever of them is at hand.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { repoRoot } from "./prepare.mjs";

/** Types are the checker's business; this only takes them off. The copy stands where its packages are found. */
export async function apiDescription() {
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
    const { buildOpenApi } = await import(pathToFileURL(join(folder, "openapi.js")).href);
    return JSON.stringify(buildOpenApi(), null, 2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${await apiDescription()}\n`);
