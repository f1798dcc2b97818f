/**
 * `npm run bench [-- <scenario> …] [--smoke | --write]`. Each scenario runs in a process of its own, with a clean heap
 * and no compiled shapes of another scenario. Its raw output goes to bench/out, the table to bench/RESULTS.md. A run of
 * some scenarios refreshes only their sections, and only with --write.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readBenchArguments } from "./lib/bench-arguments.js";
import { renderReport, type ReportPart } from "./lib/report.js";
import type { ScenarioResult } from "./lib/types.js";
import { SCENARIOS } from "./scenarios/index.js";

const compiledFolder = dirname(fileURLToPath(import.meta.url));
const repoRoot = join(compiledFolder, "..", "..");
const outFolder = join(repoRoot, "bench", "out");

const request = readBenchArguments(
  process.argv.slice(2),
  SCENARIOS.map(({ name }) => name),
);
if (request.kind !== "run") {
  const isHelp = request.kind === "help";
  (isHelp ? process.stdout : process.stderr).write(request.text);
  process.exit(isHelp ? 0 : 2);
}
const { scenarios: wanted, smoke } = request;

mkdirSync(outFolder, { recursive: true });
let failedCount = 0;
for (const scenario of SCENARIOS) {
  if (wanted.length > 0 && !wanted.includes(scenario.name)) continue;
  process.stdout.write(`\n== ${scenario.title}\n`);
  const outFile = join(outFolder, `${scenario.name}${smoke ? ".smoke" : ""}.json`);
  const child = spawnSync(
    process.execPath,
    [
      "--expose-gc",
      "--enable-source-maps",
      join(compiledFolder, "scenario.child.js"),
      scenario.name,
      outFile,
      ...(smoke ? ["--smoke"] : []),
    ],
    { stdio: "inherit", cwd: repoRoot },
  );
  if (child.status !== 0) failedCount++;
}

if (request.writes) {
  const parts: ReportPart[] = [];
  for (const scenario of SCENARIOS) {
    const outFile = join(outFolder, `${scenario.name}.json`);
    const isWanted = wanted.length === 0 || wanted.includes(scenario.name);
    if (!isWanted || !existsSync(outFile)) continue;
    const result = JSON.parse(readFileSync(outFile, "utf8")) as ScenarioResult;
    parts.push({ title: scenario.title, command: `npm run bench -- ${scenario.name}`, result });
  }
  const resultsFile = join(repoRoot, "bench", "RESULTS.md");
  const before = existsSync(resultsFile) ? readFileSync(resultsFile, "utf8") : "";
  const today = new Date().toISOString().slice(0, 10);
  const titles = SCENARIOS.map(({ title }) => title);
  writeFileSync(resultsFile, renderReport(parts, today, before, titles));
}
process.stdout.write(failedCount === 0 ? "\nbench done\n" : `\nbench: ${failedCount} scenario(s) failed\n`);
process.exit(failedCount === 0 ? 0 : 1);
