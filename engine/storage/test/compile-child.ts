/**
 * Compiles one of our TypeScript programs, with all its imports from this repository, into a directory that plain
 * `node` can run: for tests that must kill a real process. Packages resolve through a link to the project's
 * node_modules.
 *
 * What a source compiles to is kept beside the packages, one file for each source: a program has a thousand of them,
 * and two dozen test files need it. A kept form counts for the same text, by its hash, and the same compiler.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type TypeScript from "typescript";

const REPO_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const KEPT_FOLDER = join(REPO_ROOT, "node_modules", ".cache", "unwind-compiled");
const require = createRequire(import.meta.url);
const COMPILER_VERSION = (require("typescript/package.json") as { readonly version: string }).version;

interface Compiled {
  /** Of the compiler and the source. */
  readonly hash: string;
  readonly text: string;
  /** Modules of ours that it imports, as it names them. */
  readonly imports: readonly string[];
}

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
    const target = compiledPath(source, outDirectory);
    mkdirSync(dirname(target), { recursive: true });
    if (source.endsWith(".json")) {
      copyFileSync(source, target);
      continue;
    }
    const { text, imports } = compiled(source);
    writeFileSync(target, text);
    for (const name of imports) queue.push(resolve(dirname(source), name.replace(/\.js$/, ".ts")));
  }
  writeFileSync(join(outDirectory, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(REPO_ROOT, "node_modules"), join(outDirectory, "node_modules"));
  return compiledPath(join(REPO_ROOT, entry), outDirectory);
}

function compiled(source: string): Compiled {
  const text = readFileSync(source, "utf8");
  const hash = createHash("sha256").update(`${COMPILER_VERSION}\n${text}`).digest("hex");
  const path = join(KEPT_FOLDER, `${relative(REPO_ROOT, source)}.json`);
  const kept = keptForm(path);
  if (kept?.hash === hash) return kept;
  const made = { hash, ...compile(source, text) };
  mkdirSync(dirname(path), { recursive: true });
  // Test files compile at the same time: each sees a whole file of another's, or none.
  const own = `${path}.${process.pid}`;
  writeFileSync(own, JSON.stringify(made));
  renameSync(own, path);
  return made;
}

/** Null where there is none. */
function keptForm(path: string): Compiled | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Compiled;
  } catch {
    return null;
  }
}

function compile(source: string, text: string): Pick<Compiled, "text" | "imports"> {
  // Loading the compiler takes longer than reading a whole program that is kept.
  const ts = require("typescript") as typeof TypeScript;
  const { outputText } = ts.transpileModule(text, {
    fileName: source,
    compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
  });
  const imports = ts
    .preProcessFile(outputText, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith("."));
  return { text: outputText, imports };
}

function compiledPath(source: string, outDirectory: string): string {
  return join(outDirectory, relative(REPO_ROOT, source).replace(/\.ts$/, ".js"));
}
