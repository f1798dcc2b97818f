/**
 * Compiles one of our TypeScript programs, with all its imports from this repository, into a directory that plain
 * `node` can run: for tests that must kill a real process. Packages resolve through a link to the project's
 * node_modules.
 */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const REPO_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

/**
 * `entry` is a path from the repository's root. Returns the path of the compiled entry. `others` are compiled beside
 * it: programs that it starts by path and does not import.
 */
export function compileChild(entry: string, outDirectory: string, others: readonly string[] = []): string {
  const done = new Set<string>();
  const queue = [entry, ...others].map((path) => join(REPO_ROOT, path));
  for (let source = queue.pop(); source !== undefined; source = queue.pop()) {
    if (done.has(source)) continue;
    done.add(source);
    if (source.endsWith(".json")) {
      mkdirSync(dirname(compiledPath(source, outDirectory)), { recursive: true });
      copyFileSync(source, compiledPath(source, outDirectory));
      continue;
    }
    const { outputText } = ts.transpileModule(readFileSync(source, "utf8"), {
      fileName: source,
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
    });
    const target = compiledPath(source, outDirectory);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
    for (const { fileName } of ts.preProcessFile(outputText, true, true).importedFiles) {
      if (fileName.startsWith(".")) queue.push(resolve(dirname(source), fileName.replace(/\.js$/, ".ts")));
    }
  }
  writeFileSync(join(outDirectory, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(REPO_ROOT, "node_modules"), join(outDirectory, "node_modules"));
  return compiledPath(join(REPO_ROOT, entry), outDirectory);
}

function compiledPath(source: string, outDirectory: string): string {
  return join(outDirectory, relative(REPO_ROOT, source).replace(/\.ts$/, ".js"));
}
