/** A run of tests that hangs is ended with all that it started, and told by what held it. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const LAUNCH = dirname(fileURLToPath(import.meta.url));

function run(script: string, env: Record<string, string> = {}): string[] {
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return stdout.trim().split("\n");
}

const bounded = (command: string, limitMs: number): string[] =>
  run(`import { runBounded } from ${JSON.stringify(join(LAUNCH, "bounded-run.mjs"))};
    const result = await runBounded("sh", ["-c", ${JSON.stringify(command)}], { limitMs: ${limitMs}, graceMs: 200 });
    process.stdout.write(JSON.stringify(result) + "\\n");`);

/** A process that has ended and that nobody has asked about is still listed. */
function isAlive(pid: string): boolean {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && !/\) Z /.test(readFileSync(file, "utf8"));
}

describe("a bounded run", () => {
  it("that takes too long is ended with what it started, also what ignores a polite signal", async () => {
    const [pid = "", result = ""] = bounded(`trap "" TERM; sleep 600 & echo $!; wait`, 1_500);
    expect(JSON.parse(result)).toEqual({ status: 1, isOver: true });
    expect(pid).toMatch(/^\d+$/);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("that ends in time has its own exit code", () => {
    expect(bounded("exit 7", 60_000).map((line) => JSON.parse(line) as unknown)).toEqual([
      { status: 7, isOver: false },
    ]);
  });
});

describe("what runs", () => {
  it("is what has begun and not ended", () => {
    const folder = mkdtempSync(join(tmpdir(), "unwind-running-"));
    const file = join(folder, "running.json");
    run(
      `import RunningTests from ${JSON.stringify(join(LAUNCH, "running-tests.mjs"))};
      const [one, two] = [{ moduleId: "/one.test.ts" }, { moduleId: "/two.test.ts" }];
      const reporter = new RunningTests();
      for (const module of [one, two]) reporter.onTestModuleStart(module);
      for (const id of ["ends", "hangs"]) reporter.onTestCaseReady({ id, module: two, fullName: "the machine " + id });
      reporter.onTestCaseResult({ id: "ends" });
      reporter.onTestModuleEnd(one);`,
      { RUNNING_TESTS_FILE: file },
    );
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(["/two.test.ts", "/two.test.ts > the machine hangs"]);
    rmSync(folder, { recursive: true, force: true });
  });
});
