/** Runs the whole vitest suite and closes with `N passed, N failed`, counted from its own JSON report. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repoRoot } from "./prepare.mjs";

export function runTests(args) {
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
  const passed = counts?.numPassedTests ?? 0;
  const brokenFiles = (counts?.testResults ?? []).filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  const failed = (counts?.numFailedTests ?? 0) + brokenFiles.length + (counts === null ? 1 : 0);
  const skipped = counts?.numPendingTests ?? 0;
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  return failed > 0 || passed === 0 ? 1 : (result.status ?? 1);
}
