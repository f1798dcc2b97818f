/**
 * Sources to JavaScript, each file for itself: types are dropped and nothing is checked, which `npm run check` does. A
 * compiler that knows the whole program needs half a minute for the same output.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** As `verbatimModuleSyntax` of tsconfig.json: what an import or export keeps is written in it. */
const OPTIONS = { sourcemap: true, target: "es2023", typescript: { onlyRemoveTypeImports: true }, tsconfig: false };

/** Returns what is wrong, a line for each file that cannot be read; paths are relative to `root`. */
export async function transpile(root, paths, outDir) {
  // Installed by now; this module is loaded before it.
  const { parseSync, transformSync } = await import("rolldown/utils");
  const problems = [];
  const json = new Set();
  for (const path of paths) {
    const source = readFileSync(join(root, path), "utf8");
    const { code, map, errors } = transformSync(path, source, OPTIONS);
    if (errors.length > 0) {
      problems.push(`${path}: ${errors[0].message}`);
      continue;
    }
    // Parsed a second time only where the name occurs, which may be in a text that is no import.
    if (source.includes(".json")) {
      for (const { moduleRequest } of parseSync(path, source).module.staticImports) {
        if (/^\.{1,2}\/.*\.json$/.test(moduleRequest.value)) json.add(join(dirname(path), moduleRequest.value));
      }
    }
    const out = join(root, outDir, path.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(out), { recursive: true });
    // From the output to the source, as the debugger looks for it.
    const up = "../".repeat(join(outDir, dirname(path)).split(/[\\/]/).length);
    writeFileSync(
      `${out}.map`,
      JSON.stringify({ ...map, file: basename(out), sources: [`${up}${path}`], sourcesContent: undefined }),
    );
    writeFileSync(out, `${code}//# sourceMappingURL=${basename(out)}.map\n`);
  }
  for (const path of json) {
    mkdirSync(dirname(join(root, outDir, path)), { recursive: true });
    copyFileSync(join(root, path), join(root, outDir, path));
  }
  return problems;
}
