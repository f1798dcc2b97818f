/**
 * Runs the whole vitest suite and closes with `N passed, N failed`, counted from its own JSON report. All of it ends
 * within TEST_MINUTES_MAX: a run that is cut off then names what was running, and counts as a failure.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative, sep } from "node:path";
import { runBounded } from "./bounded-run.mjs";
import { listSources, repoRoot } from "./prepare.mjs";

/** Whole systems with venues and gateways: after the others, because a starved clock would say nothing of the system. */
const WHOLE_SYSTEMS = ["bench/test/", "gateway/test/dashboard.browser.test.ts", "gateway/test/docs-page.test.ts"];

/** Of them, those that fill the machine by themselves, or whose subject is time: one at a time, at the end. */
const ALONE = [
  "bench/test/system/fuzz-sockets.test.ts",
  "bench/test/system/live-books.test.ts",
  "bench/test/system/money-kills.test.ts",
  "bench/test/system/service-memory.test.ts",
];

/**
 * What puts other modules in place of the program's, changes globals or counts memory, in a test file or in what it
 * imports directly: such a file has a process of its own. The others share their loaded modules, whose loading is half of
 * their time.
 */
const NEEDS_ITS_OWN = /\bvi\.(?:mock|doMock|resetModules|stubGlobal|hoisted)\b|\bexpose-gc\b|\.memoryUsage\(\)\.rss\b/;

/** Processes with shared modules keep what their files leave behind, so they end with the folder. */
const SHARING = [["engine"], ["feeds"], ["gateway"], ["bench", "schemas", "client"]];

/** Of what is no whole system: a file waits for a third of its time, so more of them than cores keep two cores busy. */
const UNIT_WORKERS = 3;
/** A whole system waits for a third of its time or more: for blocks, timers and the ends of its processes. */
const SYSTEM_WORKERS = 3;
const SLOWEST_SHOWN = 10;
/** About three times what the suite takes on a machine of two cores that nothing else uses. */
const MINUTES_MAX = 75;

export async function runTests(args) {
  const minutesMax = Number(process.env.TEST_MINUTES_MAX ?? MINUTES_MAX);
  if (!(minutesMax > 0)) {
    process.stderr.write("TEST_MINUTES_MAX is no number of minutes above 0\n");
    return 2;
  }
  const endMs = performance.now() + minutesMax * 60_000;
  // Files or options of the caller's: one run as asked for.
  const runs = args.length > 0 ? [args] : wholeSuite();
  const total = { passed: 0, failed: 0, skipped: 0, status: 0, lost: [], tookMs: [] };
  for (const [index, run] of runs.entries()) {
    const counts = await runVitest(run, endMs);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    total.lost.push(...counts.lost);
    total.tookMs.push(...counts.tookMs);
    total.status ||= counts.status;
    if (!counts.isOver) continue;
    total.lost.push(...overTime(`group ${index + 1} of ${runs.length}`, minutesMax, counts.running));
    break;
  }
  if (args.length === 0) printSlowest(total.tookMs);
  const { passed, failed, skipped, status } = total;
  for (const name of total.lost) process.stdout.write(`FAILED: ${name}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  return failed > 0 || passed === 0 ? 1 : status;
}

function wholeSuite() {
  const files = listSources().filter((path) => path.endsWith(".test.ts"));
  const isSystem = (path) => WHOLE_SYSTEMS.some((name) => path.startsWith(name));
  const units = files.filter((path) => !isSystem(path));
  const systems = files.filter((path) => isSystem(path) && !ALONE.includes(path));
  const apart = filesApart([...units, ...systems]);
  const typeTests = listSources().filter((path) => path.endsWith(".test-d.ts"));
  const sharing = [...units.filter((path) => !apart.includes(path)), ...typeTests];
  const workers = `--maxWorkers=${UNIT_WORKERS}`;
  const untyped = "--typecheck.enabled=false";
  return [
    ...SHARING.map((folders) => [
      ...sharing.filter((path) => folders.includes(path.split(sep)[0])),
      ...(folders.includes("client") ? [] : [untyped]),
      "--no-isolate",
      workers,
    ]),
    [...apart, untyped, workers],
    [...systems.filter((path) => !apart.includes(path)), "--no-isolate", `--maxWorkers=${SYSTEM_WORKERS}`, untyped],
    [...ALONE, "--maxWorkers=1", untyped],
  ];
}

function filesApart(files) {
  const textOf = (path) => readFileSync(join(repoRoot, path), "utf8");
  const helpers = listSources().filter((path) => !path.endsWith(".test.ts") && NEEDS_ITS_OWN.test(textOf(path)));
  const imports = helpers.map((path) => `/${basename(path, ".ts")}.js"`);
  return files.filter((path) => {
    const text = textOf(path);
    return NEEDS_ITS_OWN.test(text) || imports.some((name) => text.includes(name));
  });
}

async function runVitest(args, endMs) {
  const folder = mkdtempSync(join(tmpdir(), "unwind-test-"));
  const report = join(folder, "report.json");
  const vitest = join(repoRoot, "node_modules", "vitest", "vitest.mjs");
  const runningFile = join(folder, "running.json");
  const reporters = ["default", "json", join(repoRoot, "gateway", "launch", "running-tests.mjs")];
  const result = await runBounded(
    process.execPath,
    [vitest, "run", ...reporters.map((name) => `--reporter=${name}`), `--outputFile.json=${report}`, ...args],
    {
      cwd: repoRoot,
      env: { ...process.env, RUNNING_TESTS_FILE: runningFile },
      limitMs: Math.max(0, endMs - performance.now()),
    },
  );
  // No report means that the runner itself broke; that is a failure, whatever its exit code.
  const counts = readJson(report);
  const running = readJson(runningFile) ?? [];
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
    failed: (counts?.numFailedTests ?? 0) + brokenFiles.length + (counts === null || result.isOver ? 1 : 0),
    skipped: counts?.numPendingTests ?? 0,
    status: result.status,
    isOver: result.isOver,
    running,
    tookMs: files.map(({ name, startTime, endTime }) => [relative(repoRoot, name), endTime - startTime]),
    // Named once more at the end: a log of this length is read from its tail.
    lost: [...brokenFiles.map((file) => describeLoss(file.name, "could not run", file.message)), ...failedTests],
  };
}

/** What a run that was cut off says: its own limit, what had begun and not ended, and that the rest was not run. */
function overTime(group, minutesMax, running) {
  return [
    `${group} was cut off: the tests took longer than ${minutesMax} minutes (TEST_MINUTES_MAX); what comes after it was not run`,
    ...running.map((name) => `running when it was cut off: ${relative(repoRoot, name)}`),
  ];
}

/** Null where there is no such file, or only a part of it. */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return null;
  }
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
