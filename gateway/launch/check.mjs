/**
 * `npm run check`: types, format and lint, floating promises, layers, dead code, licences, house
 * rules, the API description. Every step runs even if an earlier one failed, so one run shows all that is wrong.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiDescription } from "./api-description.mjs";
import { folderCycles } from "./folder-cycles.mjs";
import { listSources, repoRoot } from "./prepare.mjs";
import { licenceProblems } from "./licences.mjs";
import { ratchetProblems } from "./ratchets.mjs";
import { tidyProblems } from "./tidy.mjs";

const bin = (name, ...path) => join(repoRoot, "node_modules", name, ...path);

export async function runCheck() {
  const failures = [];
  const step = (name, ok) => {
    process.stdout.write(`${ok ? "ok  " : "FAIL"} ${name}\n`);
    if (!ok) failures.push(name);
  };
  const node = (script, ...args) =>
    spawnSync(process.execPath, [script, ...args], { cwd: repoRoot, stdio: "inherit" }).status === 0;

  step(
    "types (tsc)",
    // The page has a configuration of its own: a browser's library instead of Node's. The build checks no types; files
    // that an earlier check has passed and that have not changed since, by their hashes, are not checked again.
    ["tsconfig.json", "client/tsconfig.json"].every((project) =>
      node(bin("typescript", "bin", "tsc"), "-p", project, "--noEmit"),
    ),
  );
  step("format and lint (biome)", node(bin("@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."));
  step(
    "floating promises (oxlint)",
    node(bin("oxlint", "bin", "oxlint"), "--type-aware", "--deny-warnings", "-c", ".oxlintrc.json"),
  );
  step("layers (dependency-cruiser)", layersHold());
  step("dead code (knip)", node(bin("knip", "bin", "knip.js")));
  // A test must not keep alive what nothing else uses; what is a test's view of something says so (@testonly).
  step("dead product code (knip)", node(bin("knip", "bin", "knip.js"), "--production", "--tags=-testonly"));
  step("licences", report(licenceProblems()));
  step("house rules (tidy)", report(tidyProblems()));
  step("sizes (ratchets)", report(ratchetProblems()));
  step("API description (redocly)", await describesWell());
  process.stdout.write(failures.length === 0 ? "check passed\n" : `check failed: ${failures.join(", ")}\n`);
  return failures.length === 0 ? 0 : 1;
}

/** Its findings on /openapi.json are printed where there are any; it asks nobody over the network. */
async function describesWell() {
  const folder = mkdtempSync(join(tmpdir(), "unwind-api-"));
  try {
    const file = join(folder, "openapi.json");
    writeFileSync(file, await apiDescription());
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [bin("@redocly", "cli", "bin", "cli.js"), "lint", file, "--config", "redocly.yaml", "--format", "stylish"],
      {
        cwd: repoRoot,
        encoding: "utf8",
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      },
    );
    return status === 0 || report([stdout, stderr]);
  } catch (error) {
    return report([error instanceof Error ? error.message : String(error)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Also counts the modules seen: a cruiser that cannot read the sources reports no violations at all. */
function layersHold() {
  const folders = ["engine", "feeds", "gateway", "bench", "schemas", "client"].filter((folder) =>
    existsSync(join(repoRoot, folder)),
  );
  const result = spawnSync(
    process.execPath,
    [
      bin("dependency-cruiser", "bin", "dependency-cruise.mjs"),
      "--config",
      ".dependency-cruiser.cjs",
      "--output-type",
      "json",
      ...folders,
    ],
    { cwd: repoRoot, encoding: "utf8", maxBuffer: 1 << 28 },
  );
  if (!result.stdout.startsWith("{")) return report([result.stderr || "dependency-cruiser printed nothing"]);
  const { modules, summary } = JSON.parse(result.stdout);
  const seen = new Set(modules.map((module) => module.source));
  const unseen = listSources().filter((path) => !path.endsWith(".d.ts") && !seen.has(path));
  return report([
    ...unseen.map((path) => `not cruised: ${path}`),
    ...summary.violations.map((violation) => `${violation.rule.name}: ${violation.from} → ${violation.to}`),
    ...folderCycles(modules),
  ]);
}

function report(problems) {
  for (const problem of problems) process.stdout.write(`  ${problem}\n`);
  return problems.length === 0;
}
