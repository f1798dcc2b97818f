/**
 * `npm run check`: types, format and lint, floating promises, layers, dead code, licences, house
 * rules, the API description. Every step runs even if another one fails, so one run shows all that is wrong.
 */
import { spawn } from "node:child_process";
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

/** Steps that run at the same time: most of them use one core. */
const AT_ONCE = 2;

/** The longest first, so that no core waits for one of them at the end. Each is `[name, () => its output where it fails]`. */
const STEPS = [
  // The page has a configuration of its own: a browser's library instead of Node's. The build checks no types; files
  // that an earlier check has passed and that have not changed since, by their hashes, are not checked again.
  ["types (tsc)", () => tool(bin("typescript", "bin", "tsc"), "-p", "tsconfig.json", "--noEmit")],
  ["layers (dependency-cruiser)", layerProblems],
  ["types of the page (tsc)", () => tool(bin("typescript", "bin", "tsc"), "-p", "client/tsconfig.json", "--noEmit")],
  [
    "types of the example (tsc)",
    () => tool(bin("typescript", "bin", "tsc"), "-p", join("client", "example", "tsconfig.json")),
  ],
  [
    "floating promises (oxlint)",
    () => tool(bin("oxlint", "bin", "oxlint"), "--type-aware", "--deny-warnings", "-c", ".oxlintrc.json"),
  ],
  ["dead code (knip)", () => tool(bin("knip", "bin", "knip.js"))],
  // A test must not keep alive what nothing else uses; what is a test's view of something says so (@testonly).
  ["dead product code (knip)", () => tool(bin("knip", "bin", "knip.js"), "--production", "--tags=-testonly")],
  [
    "format and lint (biome)",
    () => tool(bin("@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."),
  ],
  ["API description (redocly)", () => descriptionProblems("service")],
  ["contracts of the local chains (solc)", () => tool(join(repoRoot, "gateway", "launch", "contracts.mjs"))],
  ["contract of outside signers (redocly)", () => descriptionProblems("signer")],
  ["licences", () => listed(licenceProblems())],
  ["house rules (tidy)", () => listed(tidyProblems())],
  ["sizes (ratchets)", () => listed(ratchetProblems())],
];

export async function runCheck() {
  const failures = [];
  const waiting = [...STEPS];
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const [name, run] = step;
      const problems = await run();
      if (problems !== null) failures.push(name);
      // In one piece, because another step may be writing too.
      process.stdout.write(`${problems ?? ""}${problems === null ? "ok  " : "FAIL"} ${name}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  process.stdout.write(failures.length === 0 ? "check passed\n" : `check failed: ${failures.join(", ")}\n`);
  return failures.length === 0 ? 0 : 1;
}

/** Runs a tool to its end. Resolves with all that it printed where it finds something, else with null. */
async function tool(script, ...args) {
  const { status, stdout, stderr } = await output(script, args);
  return status === 0 ? null : `${stdout}${stderr}\n`;
}

function output(script, args, env = process.env) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...args], { cwd: repoRoot, env, stdio: ["ignore", "pipe", "pipe"] });
    const texts = { stdout: [], stderr: [] };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => texts[name].push(chunk));
    child.on("error", (error) => texts.stderr.push(Buffer.from(String(error))));
    child.on("close", (status) =>
      resolve({
        status,
        stdout: Buffer.concat(texts.stdout).toString(),
        stderr: Buffer.concat(texts.stderr).toString(),
      }),
    );
  });
}

/** Its findings on /openapi.json, or on the contract of an outside signer; it asks nobody over the network. */
async function descriptionProblems(which) {
  const folder = mkdtempSync(join(tmpdir(), "unwind-api-"));
  try {
    const file = join(folder, "openapi.json");
    writeFileSync(file, await apiDescription(which));
    const { status, stdout, stderr } = await output(
      bin("@redocly", "cli", "bin", "cli.js"),
      ["lint", file, "--config", "redocly.yaml", "--format", "stylish"],
      { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    );
    return status === 0 ? null : listed([stdout, stderr]);
  } catch (error) {
    return listed([error instanceof Error ? error.message : String(error)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Also counts the modules seen: a cruiser that cannot read the sources reports no violations at all. */
async function layerProblems() {
  const folders = ["engine", "feeds", "gateway", "bench", "schemas", "client"].filter((folder) =>
    existsSync(join(repoRoot, folder)),
  );
  const { stdout, stderr } = await output(bin("dependency-cruiser", "bin", "dependency-cruise.mjs"), [
    ...["--config", ".dependency-cruiser.cjs", "--output-type", "json"],
    ...folders,
  ]);
  if (!stdout.startsWith("{")) return listed([stderr || "dependency-cruiser printed nothing"]);
  const { modules, summary } = JSON.parse(stdout);
  const seen = new Set(modules.map((module) => module.source));
  const unseen = listSources().filter((path) => !path.endsWith(".d.ts") && !seen.has(path));
  return listed([
    ...unseen.map((path) => `not cruised: ${path}`),
    ...summary.violations.map((violation) => `${violation.rule.name}: ${violation.from} → ${violation.to}`),
    ...folderCycles(modules),
  ]);
}

/** Problems as lines; null where there are none. */
function listed(problems) {
  return problems.length === 0 ? null : problems.map((problem) => `  ${problem}\n`).join("");
}
