/** Runs the whole vitest suite and closes with `N passed, N failed`, counted from its own JSON report. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { repoRoot } from "./prepare.mjs";

/**
 * Whole systems with venues and gateways. They wait more than they work, so two of them share the machine, after the
 * others, because a starved clock would say nothing of the system.
 */
const WHOLE_SYSTEMS = ["bench/test/", "gateway/test/dashboard.browser.test.ts", "gateway/test/docs-page.test.ts"];

/** Of them, those that fill the machine by themselves, or whose subject is time: one at a time, at the end. */
const ALONE = [
  "bench/test/system/canary-signed.test.ts",
  "bench/test/system/fuzz-sockets.test.ts",
  "bench/test/system/fuzz-whole.test.ts",
  "bench/test/system/kill-closes.test.ts",
  "bench/test/system/kill-records.test.ts",
  "bench/test/system/live-books.test.ts",
  "bench/test/system/live-clocks.test.ts",
  "bench/test/system/serve-signed.test.ts",
  "bench/test/system/service-memory.test.ts",
  "bench/test/simulation/trade-simulation.test.ts",
  "gateway/test/dashboard.browser.test.ts",
];

const SLOWEST_SHOWN = 10;

export function runTests(args) {
  // Files or options of the caller's: one run as asked for.
  const runs =
    args.length > 0
      ? [args]
      : [excluded(WHOLE_SYSTEMS), [...WHOLE_SYSTEMS, ...excluded(ALONE)], [...ALONE, "--maxWorkers=1"]];
  const total = { passed: 0, failed: 0, skipped: 0, status: 0, lost: [], tookMs: [] };
  for (const run of runs) {
    const counts = runVitest(run);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    total.lost.push(...counts.lost);
    total.tookMs.push(...counts.tookMs);
    total.status ||= counts.status;
  }
  if (args.length === 0) printSlowest(total.tookMs);
  const { passed, failed, skipped, status } = total;
  for (const name of total.lost) process.stdout.write(`FAILED: ${name}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  return failed > 0 || passed === 0 ? 1 : status;
}

function excluded(paths) {
  return paths.map((path) => `--exclude=${path.endsWith("/") ? `${path}**` : path}`);
}

function runVitest(args) {
  const folder = mkdtempSync(join(tmpdir(), "unwind-test-"));
  const report = join(folder, "report.json");
  const vitest = join(repoRoot, "node_modules", "vitest", "vitest.mjs");
  const result = spawnSync(
    process.execPath,
    [vitest, "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...args],
    { cwd: repoRoot, stdio: "inherit" },
  );
  // No report means that the runner itself broke; that is a failure, whatever its exit code.
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : null;
  rmSync(folder, { recursive: true, force: true });
  const files = counts?.testResults ?? [];
  const brokenFiles = files.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const failedTests = files.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status === "failed")
      .map((test) => describeLoss(file.name, test.fullName, test.failureMessages[0])),
  );
  return {
    passed: counts?.numPassedTests ?? 0,
    failed: (counts?.numFailedTests ?? 0) + brokenFiles.length + (counts === null ? 1 : 0),
    skipped: counts?.numPendingTests ?? 0,
    status: result.status ?? 1,
    tookMs: files.map(({ name, startTime, endTime }) => [relative(repoRoot, name), endTime - startTime]),
    // Named once more at the end: a log of this length is read from its tail.
    lost: [...brokenFiles.map((file) => describeLoss(file.name, "could not run", file.message)), ...failedTests],
  };
}

/** Where the time of the whole suite goes; a file's tests run one after another, so its time is what it adds. */
function printSlowest(tookMs) {
  const slowest = tookMs.toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  process.stdout.write(`the ${slowest.length} slowest test files:\n`);
  for (const [name, ms] of slowest) process.stdout.write(`  ${(ms / 1000).toFixed(1).padStart(7)} s  ${name}\n`);
}

function describeLoss(file, test, message) {
  const firstLines = String(message ?? "")
    .split("\n")
    .slice(0, 3)
    .join(" | ");
  return `${relative(repoRoot, file)} > ${test}: ${firstLines.slice(0, 500)}`;
}
