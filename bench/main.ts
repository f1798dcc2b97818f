/**
 * `npm run bench [-- <scenario> …] [--smoke | --write]`. Each scenario runs in a process of its own, with a clean heap
 * and no compiled shapes of another scenario. Its raw output goes to bench/out, the table to bench/RESULTS.md. A run of
 * some scenarios refreshes only their sections, and only with --write.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readBenchArguments } from "./lib/bench-arguments.js";
import { renderReport, type ReportPart } from "./lib/report.js";
import type { Scenario, ScenarioResult } from "./lib/types.js";
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

/** A smoke run shows that each scenario runs; its figures say nothing, so two of them may share the machine. */
const AT_ONCE = smoke ? 2 : 1;

mkdirSync(outFolder, { recursive: true });
let failedCount = 0;
const waiting = SCENARIOS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) if (!(await ends(next))) failedCount++;
  }),
);

/** Runs one scenario to its end. Resolves with whether that was a good one. */
async function ends({ name, title }: Scenario): Promise<boolean> {
  if (!smoke) process.stdout.write(`\n== ${title}\n`);
  const outFile = join(outFolder, `${name}${smoke ? ".smoke" : ""}.json`);
  const program = ["--expose-gc", "--enable-source-maps", join(compiledFolder, "scenario.child.js")];
  const child = spawn(process.execPath, [...program, name, outFile, ...(smoke ? ["--smoke"] : [])], {
    // In one piece where another scenario writes too.
    stdio: smoke ? ["ignore", "pipe", "pipe"] : "inherit",
    cwd: repoRoot,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const status = await new Promise((resolve) => child.once("error", resolve).once("close", resolve));
  if (smoke) process.stdout.write(`\n== ${title}\n${output}`);
  return status === 0;
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
