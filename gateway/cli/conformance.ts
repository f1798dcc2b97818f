/**
 * `npm run conformance -- <file…>`: signing and encoding vectors through the project's own code. Prints passed/total
 * per file and each failure, and ends with `N passed, N failed`; exit code 1 if anything failed. Without arguments it
 * uses the files that conformance.json names, from ../shared/vectors.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { runVectors, type VectorReport } from "../../feeds/conformance/run-vectors.js";

export interface ConformanceIo {
  /** Throws if there is no such file. */
  readFile(path: string): string;
  writeLine(line: string): void;
}

/** Returns exit code 0 when every entry of every file passed, and there was one. */
export function runConformance(paths: readonly string[], io: ConformanceIo): 0 | 1 {
  let passed = 0;
  let failed = 0;
  for (const path of paths) {
    const report = reportOf(path, io);
    io.writeLine(`${basename(path)}: ${report.passed}/${report.total} passed`);
    for (const failure of report.failures) io.writeLine(`  FAIL ${failure.id}: ${failure.problem}`);
    passed += report.passed;
    failed += report.total - report.passed;
  }
  if (paths.length === 0) io.writeLine("no vector file named");
  io.writeLine(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}

/** Returns the names listed in conformance.json, as paths under the shared vectors. */
export function listedVectorFiles(repoRoot: string, io: ConformanceIo): readonly string[] {
  const listed: unknown = JSON.parse(io.readFile(join(repoRoot, "conformance.json")));
  const names = typeof listed === "object" && listed !== null && "files" in listed ? listed.files : null;
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    throw new TypeError("conformance.json must hold a list `files` of names");
  }
  return names.map((name: string) => join(repoRoot, "..", "shared", "vectors", name));
}

function reportOf(path: string, io: ConformanceIo): VectorReport {
  let text: string;
  try {
    text = io.readFile(path);
  } catch {
    return { total: 1, passed: 0, failures: [{ id: "(file)", problem: "cannot be read" }] };
  }
  return runVectors(text);
}

/** Entry point when started as a program. */
export function main(args: readonly string[]): void {
  const io: ConformanceIo = {
    readFile: (path) => readFileSync(path, "utf8"),
    writeLine: (line) => process.stdout.write(`${line}\n`),
  };
  const paths = args.length > 0 ? args : listedVectorFiles(process.cwd(), io);
  process.exitCode = runConformance(paths, io);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  main(process.argv.slice(2));
