/**
 * The supervisor with children that behave as scripted: small programs that speak its messages, real processes on a
 * virtual clock. The tests in children/test cover the real sidecar.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { type StorageSidecar, startStorageSidecar } from "./storage-sidecar.js";

let directory: string;
let clock: VirtualClock;
let lines: { event: string; fields: LogFields }[];
let wake: () => void;
const running: StorageSidecar[] = [];

const logger: Logger = Object.fromEntries(
  ["debug", "info", "warn", "error"].map((level) => [
    level,
    (event: string, fields: LogFields = {}) => {
      lines.push({ event, fields });
      wake();
    },
  ]),
) as unknown as Logger;

/** Resolves at the `count`-th line of that name. */
async function logged(event: string, count: number): Promise<LogFields> {
  for (;;) {
    const found = lines.filter((line) => line.event === event)[count - 1];
    if (found !== undefined) return found.fields;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-sidecar-"));
  clock = new VirtualClock();
  lines = [];
  wake = () => {};
});
afterEach(async () => {
  for (const sidecar of running.splice(0)) {
    const { processId } = sidecar.state();
    if (processId !== null) process.kill(processId, "SIGKILL");
    await sidecar.stop();
  }
  rmSync(directory, { recursive: true, force: true });
});

function start(program: string, folder = join(directory, "data")): StorageSidecar {
  const childPath = join(directory, "child.cjs");
  writeFileSync(childPath, program);
  return launch(childPath, folder);
}

function launch(childPath: string, folder = join(directory, "data")): StorageSidecar {
  // The jitter is half of the maximum each time.
  const sidecar = startStorageSidecar({ directory: folder, clock, random: { next: () => 0.5 }, logger, childPath });
  running.push(sidecar);
  return sidecar;
}

const LIMITS_MISSING = spawnSync("prlimit", ["--version"]).status !== 0;

/** Runs an action while every file descriptor of this process is taken, with the limit set near what it has open. */
function withoutFiles<T>(action: () => T): T {
  const [soft, hard] = execFileSync(
    "prlimit",
    ["--pid", String(process.pid), "--nofile", "--raw", "--noheadings", "-o", "SOFT,HARD"],
    { encoding: "utf8" },
  )
    .trim()
    .split(/\s+/) as [string, string];
  const limit = (value: string) => execFileSync("prlimit", ["--pid", String(process.pid), `--nofile=${value}:${hard}`]);
  limit(String(readdirSync("/proc/self/fd").length + 100));
  const files: number[] = [];
  try {
    for (;;) files.push(openSync("/dev/null", "r"));
  } catch {
    // Every descriptor is taken.
  }
  try {
    return action();
  } finally {
    for (const file of files) closeSync(file);
    limit(soft);
  }
}

const READY = `process.once("message", (m) => process.send({ kind: "ready", port: m.port || 1234, version: "26.7" }));`;

describe("the supervisor of the storage sidecar", () => {
  it("returns an address only while a child that reported ready is alive, with a new password each time", async () => {
    const sidecar = start(`${READY} process.on("disconnect", () => process.exit(0));`);
    expect(sidecar.endpoint()).toMatchObject({ url: null, isFinal: false });
    expect(await sidecar.started()).toMatchObject({ state: "ready", reason: "", startCount: 1 });
    const first = sidecar.endpoint();
    expect(first).toMatchObject({ url: "http://127.0.0.1:1234", username: "unwind" });
    process.kill(sidecar.state().processId as number, "SIGKILL");
    expect(await logged("sidecar.restarting", 1)).toEqual({
      reason: "the embedded store ended (SIGKILL)",
      attempt: 1,
      delayMs: 100,
    });
    expect(sidecar.endpoint()).toMatchObject({ url: null, isFinal: false });
    clock.advance(99);
    expect(sidecar.state().state).toBe("waiting");
    clock.advance(1);
    await logged("sidecar.ready", 2);
    const second = sidecar.endpoint();
    expect(second).toMatchObject({ url: "http://127.0.0.1:1234" });
    if (first.url === null || second.url === null) throw new Error("no address");
    expect(second.password).not.toBe(first.password);
    expect(first.password).toMatch(/^[0-9a-f]{48}$/);
    expect(JSON.stringify(lines)).not.toContain(first.password);
  });

  it("restarts a failing child ever more rarely, up to a maximum, and from the beginning again after a healthy one", async () => {
    const sidecar = start(`process.exit(5);`);
    const delays: number[] = [];
    for (let failure = 1; failure <= 10; failure++) {
      const { delayMs } = await logged("sidecar.restarting", failure);
      delays.push(Number(delayMs));
      if (failure === 10)
        writeFileSync(join(directory, "child.cjs"), `${READY} process.on("disconnect", () => process.exit(0));`);
      clock.advance(Number(delayMs));
    }
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);
    expect(sidecar.state().reason).toMatch(/^(the embedded store ended \(5\)|the embedded store is starting|)$/);
    await logged("sidecar.ready", 1);
    clock.advance(60_000);
    process.kill(sidecar.state().processId as number, "SIGKILL");
    expect(await logged("sidecar.restarting", 11)).toMatchObject({ delayMs: 100 });
  });

  it("kills a child that never reports, and one that does not end when requested", async () => {
    const sidecar = start(
      `process.on("SIGTERM", () => {}); process.once("message", () => process.send("hello")); setInterval(() => {}, 1000);`,
    );
    const silent = sidecar.state().processId;
    clock.advance(60_000);
    expect(await logged("sidecar.restarting", 1)).toMatchObject({ reason: "the embedded store ended (SIGKILL)" });
    writeFileSync(
      join(directory, "child.cjs"),
      `process.on("SIGTERM", () => {}); ${READY} setInterval(() => {}, 1000);`,
    );
    clock.advance(100);
    await logged("sidecar.ready", 1);
    expect(sidecar.state().processId).not.toBe(silent);
    const processId = sidecar.state().processId as number;
    const stopped = sidecar.stop();
    expect(sidecar.endpoint()).toMatchObject({ url: null, isFinal: true });
    clock.advance(8_000);
    await stopped;
    expect(() => process.kill(processId, 0)).toThrow();
    expect(sidecar.state().state).toBe("stopped");
    clock.advance(120_000);
    expect(sidecar.state().startCount).toBe(2);
  });

  it("can be stopped while it waits for the next start, and never starts it then", async () => {
    const sidecar = start(`process.exit(1);`);
    await logged("sidecar.restarting", 1);
    await sidecar.stop();
    clock.advance(120_000);
    expect(sidecar.state()).toMatchObject({ state: "stopped", startCount: 1, processId: null });
  });

  it("does not restart where the child reports that it would not help", async () => {
    const sidecar = start(
      `process.once("message", () => process.send({ kind: "refused", reason: "missing", text: "not installed" }, () => process.exit(3)));`,
    );
    expect(await sidecar.started()).toMatchObject({ state: "off", reason: "not installed" });
    expect(sidecar.endpoint()).toEqual({ url: null, isFinal: true, reason: "not installed" });
    clock.advance(120_000);
    expect(sidecar.state().startCount).toBe(1);
  });

  it("tries again where the folder cannot be created", async () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    const sidecar = start(READY, file);
    expect(await sidecar.started()).toMatchObject({
      state: "waiting",
      reason: "the data directory of the record cannot be created",
    });
    rmSync(file);
    clock.advance(100);
    await logged("sidecar.ready", 1);
  });

  it("tries again where no process can be created at all", async () => {
    // Thrown at once, like a lack of memory.
    const sidecar = launch("no\0path");
    const reason = "the embedded store could not be started (ERR_INVALID_ARG_VALUE)";
    expect(await sidecar.started()).toMatchObject({ state: "waiting", reason, processId: null });
    clock.advance(100);
    expect(await logged("sidecar.restarting", 2)).toMatchObject({ reason, attempt: 2, delayMs: 200 });
    await sidecar.stop();
    clock.advance(120_000);
    expect(sidecar.state()).toMatchObject({ state: "stopped", startCount: 2 });
  });

  it.skipIf(LIMITS_MISSING)("tries again where there are no free files for a process (needs prlimit)", async () => {
    const childPath = join(directory, "child.cjs");
    writeFileSync(childPath, READY);
    const sidecar = withoutFiles(() => launch(childPath));
    expect(sidecar.state()).toMatchObject({ state: "starting", processId: null });
    expect(await logged("sidecar.restarting", 1)).toMatchObject({ attempt: 1, delayMs: 100 });
    clock.advance(100);
    await logged("sidecar.ready", 1);
    // Where none was started there is nothing to wait for either.
    await withoutFiles(() => launch(childPath, join(directory, "other")).stop());
  });

  it("passes no secret of its environment to a child", async () => {
    process.env.CANARY_SECRET = "x";
    try {
      const sidecar = start(
        `process.once("message", () => process.send({ kind: "refused", reason: "missing", text: Object.keys(process.env).sort().join() }, () => process.exit(3)));`,
      );
      const { reason } = await sidecar.started();
      const allowed = [
        "HOME",
        "LANG",
        "LD_LIBRARY_PATH",
        "NODE_CHANNEL_FD",
        "NODE_CHANNEL_SERIALIZATION_MODE",
        "PATH",
        "TMPDIR",
        "TZ",
      ];
      expect(reason.split(",").filter((name) => !allowed.includes(name))).toEqual([]);
      expect(reason).toContain("TZ");
    } finally {
      delete process.env.CANARY_SECRET;
    }
  });
});
