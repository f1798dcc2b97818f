/** The licence gate: what ships (non-dev packages of the lockfile) carries only licences that a product may depend on. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repoRoot } from "./prepare.mjs";

const ALLOWED = new Set([
  "MIT",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "0BSD",
  "Unlicense",
  "CC0-1.0",
  "BlueOak-1.0.0",
  "Python-2.0",
  "Zlib",
]);

export function licenceProblems() {
  const lock = JSON.parse(readFileSync(join(repoRoot, "package-lock.json"), "utf8"));
  const problems = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || entry.dev === true || entry.link === true) continue;
    const licence = entry.license ?? manifestLicence(path);
    // Optional platform packages that are not installed here are judged where they install.
    if (licence === null && entry.optional === true) continue;
    if (!isAllowed(licence))
      problems.push(`${path.replace(/^.*node_modules\//, "")}: ${licence ?? "no licence stated"}`);
  }
  return problems;
}

/** `(MIT OR GPL-3.0)` passes by its best branch, `MIT AND X` needs both. */
function isAllowed(expression) {
  if (typeof expression !== "string") return false;
  return expression
    .replace(/[()]/g, "")
    .split(/\s+OR\s+/)
    .some((branch) => branch.split(/\s+AND\s+/).every((licence) => ALLOWED.has(licence.trim())));
}

function manifestLicence(path) {
  const manifest = join(repoRoot, path, "package.json");
  if (!existsSync(manifest)) return null;
  const { license, licenses } = JSON.parse(readFileSync(manifest, "utf8"));
  return license ?? licenses?.[0]?.type ?? null;
}
