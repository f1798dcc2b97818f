/** However a soak ends, it leaves one summary, an exit code that shows how it went, and no process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { compileChild } from "../../engine/storage/test/compile-child.js";
import { waitUntil } from "../test/support/system.js";

const STARTED_BESIDE = [
  "gateway/main.ts",
  "gateway/children/storage.child.ts",
  "gateway/children/state-check.child.ts",
  "bench/soak/memory-probe.ts",
];
/** A ceiling: a shared machine may take its cores away for a while. */
const STEP_MS = 100_000;
const TEST_MS = 300_000;
/** Longer than any of these tests lets it run. */
const MINUTES = "60";

const directory = mkdtempSync(join(tmpdir(), "unwind-soak-test-"));
const running = new Set<ChildProcess>();
let main = "";

interface Soak {
  readonly child: ChildProcess;
  readonly gone: Promise<number | null>;
  out(): string;
}

function startSoak(environment: Readonly<Record<string, string>> = {}): Soak {
  const child = spawn(process.execPath, [main, "--minutes", MINUTES], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let out = "";
  const take = (chunk: Buffer): void => {
    out += chunk.toString();
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const gone = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  return { child, gone, out: () => out };
}

async function runs(soak: Soak): Promise<void> {
  let isGone = false;
  void soak.gone.then(() => {
    isGone = true;
  });
  await waitUntil("the soak to run", STEP_MS, () => isGone || /^soak of /m.test(soak.out()));
  expect(isGone, soak.out()).toBe(false);
}

/** Returns the processes of this command with the given parent. */
function childrenOf(parent: ChildProcess): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // pid (name) state ppid …; the name may contain any character, parentheses too.
      const [state, ppid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(ppid) === parent.pid && state !== "Z" ? [Number(name)] : [];
    } catch {
      // The process ended in the meantime.
      return [];
    }
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Checks what every end has in common: one summary, at the end, with run time, seed, memory, activity and findings. */
function expectSummary(text: string, ...found: readonly RegExp[]): void {
  const heads = [...text.matchAll(/^soak (passed|failed) after \d+\.\d min, seed \d+.*$/gm)];
  expect(
    heads.map(([, verdict]) => verdict),
    text,
  ).toEqual(["failed"]);
  const block = text.slice(heads[0]?.index).trimEnd().split("\n").slice(1);
  for (const line of block) expect(line, text).toMatch(/^ {2}\S/);
  for (const line of [/^ {2}heapUsed /, /^ {2}external /, /^ {2}resident /, /^ {2}\d+ rounds, /])
    expect(
      block.filter((one) => line.test(one)),
      text,
    ).toHaveLength(1);
  const violations = block.filter((line) => line.startsWith("  VIOLATION "));
  expect(violations, text).toHaveLength(found.length);
  for (const [index, fits] of found.entries()) expect(violations[index], text).toMatch(fits);
}

beforeAll(() => {
  main = compileChild("bench/soak/main.ts", directory, STARTED_BESIDE);
});

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe("a soak", () => {
  it(
    "whose service dies ends with a summary that says so, and nothing else",
    async () => {
      const soak = startSoak();
      await runs(soak);
      const [service] = childrenOf(soak.child);
      process.kill(service as number, "SIGKILL");
      expect(await soak.gone, soak.out()).toBe(1);
      expectSummary(soak.out(), /the service ended by itself: .*SIGKILL/);
    },
    TEST_MS,
  );

  it.each(["SIGINT", "SIGTERM"] as const)(
    "that gets a %s stops its service and ends with a summary",
    async (signal) => {
      const soak = startSoak();
      await runs(soak);
      const children = childrenOf(soak.child);
      expect(children.length).toBeGreaterThan(0);
      soak.child.kill(signal);
      // Clean so far, but shorter than the requested run.
      expect(await soak.gone, soak.out()).toBe(1);
      expectSummary(soak.out());
      expect(soak.out()).toMatch(new RegExp(`^soak failed .*, ended by ${signal}$`, "m"));
      await waitUntil("the service to be gone", STEP_MS, () => !children.some(isAlive));
    },
    TEST_MS,
  );

  it(
    "that is killed leaves no service behind",
    async () => {
      const soak = startSoak();
      await runs(soak);
      const children = childrenOf(soak.child);
      expect(children.length).toBeGreaterThan(0);
      soak.child.kill("SIGKILL");
      await waitUntil("the service to be gone", STEP_MS, () => !children.some(isAlive));
    },
    TEST_MS,
  );

  it(
    "that cannot start ends with a summary",
    async () => {
      const soak = startSoak({ TMPDIR: join(directory, "nowhere") });
      expect(await soak.gone, soak.out()).toBe(1);
      expectSummary(soak.out(), /ENOENT/);
    },
    TEST_MS,
  );
});
