/**
 * Compiles our TypeScript programs, with all their imports from this repository, into a directory that plain `node` can
 * run: for tests that must kill a real process. Other packages resolve through a link to the project's node_modules.
 *
 * What programs compile to is kept beside the packages, since two dozen test files need the same few. A kept form counts
 * for the same programs and the same text of all sources.
 */
import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const REPO_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const KEPT_FOLDER = join(REPO_ROOT, "node_modules", ".cache", "unwind-programs");
const BUNDLER = join(REPO_ROOT, "engine", "storage", "test", "bundle-child.mjs");
const SOURCE_FOLDERS = ["engine", "feeds", "gateway", "schemas", "bench", "client"];
/** Longer than any run of the suite, whose tests may be at a form of older sources. */
const KEPT_MS = 2 * 60 * 60 * 1000;

/**
 * `entry` is a path from the repository's root. Returns the path of the compiled entry. `others` are compiled beside
 * it: programs that it starts by path and does not import.
 */
export function compileChild(entry: string, outDirectory: string, others: readonly string[] = []): string {
  const entries = [entry, ...others];
  const kept = join(KEPT_FOLDER, keyOf(entries));
  if (!existsSync(kept)) {
    removeOld();
    // Test files compile at the same time: each sees a whole form of another's, or none.
    const own = `${kept}.${randomUUID()}`;
    execFileSync(process.execPath, [BUNDLER, own, ...entries], { stdio: ["ignore", "ignore", "pipe"] });
    put(own, kept);
  }
  utimesSync(kept, new Date(), new Date());
  cpSync(kept, outDirectory, { recursive: true });
  writeFileSync(join(outDirectory, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(REPO_ROOT, "node_modules"), join(outDirectory, "node_modules"));
  return join(outDirectory, entry.replace(/\.ts$/, ".js"));
}

function keyOf(entries: readonly string[]): string {
  const hash = createHash("sha256").update(`${entries.join("\n")}\n`);
  for (const path of [BUNDLER, ...SOURCE_FOLDERS.flatMap((folder) => sourcesIn(join(REPO_ROOT, folder)))])
    hash.update(`${path}\n`).update(readFileSync(path));
  return hash.digest("hex");
}

/** Test files are in no program. */
function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((found) => {
    const path = join(folder, found.name);
    if (found.isDirectory()) return found.name === "dist" ? [] : sourcesIn(path);
    return /(?<!\.test)\.(?:ts|json)$/.test(found.name) ? [path] : [];
  });
}

/** Another process may have put the same there meanwhile. */
function put(own: string, kept: string): void {
  try {
    renameSync(own, kept);
  } catch (error) {
    rmSync(own, { recursive: true, force: true });
    if (!existsSync(kept)) throw error;
  }
}

function removeOld(): void {
  mkdirSync(KEPT_FOLDER, { recursive: true });
  for (const name of readdirSync(KEPT_FOLDER)) {
    const path = join(KEPT_FOLDER, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}
