/**
 * Install and build on demand. Both are decided by a stamp of what went in (lockfile; source names,
 * sizes and times), so a ready tree starts without either, and without the network.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { transpile } from "./transpile.mjs";

export const repoRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const SOURCE_FOLDERS = ["engine", "feeds", "gateway", "bench", "schemas", "client"];
const installStamp = join(repoRoot, "node_modules", ".unwind-installed");
const buildStamp = join(repoRoot, "dist", ".unwind-built");

/** `npm install`, not `npm ci`: a registry without other platforms' optional packages makes the latter refuse every lockfile. */
export function ensureInstalled() {
  const wanted = hashFiles([join(repoRoot, "package.json"), join(repoRoot, "package-lock.json")]);
  if (readStamp(installStamp) === wanted) return;
  say("installing packages");
  // Builds need the dev packages, also where NODE_ENV=production is set.
  run("npm", ["install", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(installStamp, hashFiles([join(repoRoot, "package.json"), join(repoRoot, "package-lock.json")]));
}

export async function ensureBuilt() {
  const wanted = sourceStamp();
  if (readStamp(buildStamp) === wanted) return;
  say("building");
  // Stale output of a deleted source must not be importable.
  rmSync(join(repoRoot, "dist"), { recursive: true, force: true });
  const problems = await transpile(repoRoot, listSources().filter(isProgram), "dist");
  if (problems.length > 0) {
    for (const problem of problems) say(problem);
    process.exit(1);
  }
  copyPageFiles();
  mkdirSync(join(repoRoot, "dist"), { recursive: true });
  writeFileSync(buildStamp, wanted);
}

/** Type tests are no program; the example is bundled by its server, and the page's folder is served whole. */
function isProgram(path) {
  if (path.startsWith(join("client", "example"))) return false;
  return !path.endsWith("-d.ts") && !(path.startsWith(join("client", "dashboard")) && path.endsWith(".test.ts"));
}

/** What the compiler does not carry over: the page itself beside its compiled modules. */
function copyPageFiles() {
  for (const path of pageFiles()) {
    mkdirSync(dirname(join(repoRoot, "dist", path)), { recursive: true });
    copyFileSync(join(repoRoot, path), join(repoRoot, "dist", path));
  }
}

function pageFiles() {
  return listSources([".html", ".css", ".svg"]).filter((path) => path.startsWith(join("client", "dashboard")));
}

/** All first-party sources, repo-relative, sorted. */
export function listSources(extensions = [".ts"]) {
  const found = [];
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      // The packed client is built beside its sources.
      if (entry.isDirectory() && entry.name === "dist") continue;
      if (entry.isDirectory()) visit(path);
      else if (extensions.some((extension) => entry.name.endsWith(extension))) found.push(relative(repoRoot, path));
    }
  };
  for (const folder of SOURCE_FOLDERS) if (existsSync(join(repoRoot, folder))) visit(join(repoRoot, folder));
  return found.sort();
}

/** Runs a tool to its end, with its output on stderr; ends this process when it fails. */
export function run(command, args) {
  // What a tool says is no output of the command that needs it.
  const result = spawnSync(command, args, { cwd: repoRoot, stdio: ["inherit", 2, 2] });
  if (result.status === 0) return;
  process.stderr.write(
    `unwind: ${command} ${args[0] ?? ""} failed${result.error ? `: ${result.error.message}` : ""}\n`,
  );
  process.exit(result.status ?? 1);
}

function sourceStamp() {
  const hash = createHash("sha256");
  for (const path of [...listSources(), ...pageFiles(), "tsconfig.json", join("client", "tsconfig.json")]) {
    const stat = statSync(join(repoRoot, path));
    hash.update(`${path}\n${stat.size}\n${stat.mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function hashFiles(paths) {
  const hash = createHash("sha256");
  for (const path of paths) if (existsSync(path)) hash.update(readFileSync(path));
  return hash.digest("hex");
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function say(text) {
  process.stderr.write(`unwind: ${text}\n`);
}
