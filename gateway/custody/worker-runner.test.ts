/** The thread behind the runner: its death, its silence, its keys and its end. A scripted thread stands for the real one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { NoAnswer } from "../../engine/custody/provider/session-runner.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { WorkerRunner } from "./worker-runner.js";

/**
 * Steps name the first byte of the present key. An id of 66 kills it, one of 77 keeps it busy, one of 88 has a long step,
 * whose call is answered when it is given up.
 */
const THREAD = `
import { parentPort, workerData } from "node:worker_threads";
let { keys } = workerData;
let long = null;
parentPort.on("message", (message) => {
  if (message.kind === "keys") { keys = message.keys; return; }
  const answer = (number, step) => parentPort.postMessage({ number, step });
  if (message.kind === "abandon") { if (message.id === 88) answer(long, { effects: [], dropped: false }); return; }
  const { number, call } = message;
  if (call.id === 88) { long = number; return; }
  if (call.id === 66) process.exit(1);
  if (call.id === 77) for (;;) {}
  const reply = call.kind === "close" ? null : { effects: [{ kind: "key", first: keys.present[0] }], dropped: false };
  answer(number, reply);
  if (call.kind === "close") parentPort.close();
});`;
const DIES = 66;
const LOOPS = 77;
const IS_LONG = 88;

let directory: string;
let clock: VirtualClock;
let present: number;
let changed: () => void;
let runner: WorkerRunner;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-worker-"));
  const workerPath = join(directory, "thread.mjs");
  writeFileSync(workerPath, THREAD);
  clock = new VirtualClock();
  present = 1;
  const ring = {
    copyOfKeys: () => ({ present: Buffer.from(new ArrayBuffer(32)).fill(present), former: null }),
    watch: (told: () => void) => {
      changed = told;
      return () => {};
    },
  };
  runner = new WorkerRunner({ ring, backupKey: new Uint8Array(32), clock, logger: silentLogger, workerPath });
});
afterEach(async () => {
  await runner.close();
  rmSync(directory, { recursive: true, force: true });
});

const keyOf = async (id: number): Promise<unknown> => {
  const { effects } = await runner.end(id, "stopped");
  return (effects[0] as unknown as { readonly first: number }).first;
};

it("a rotation's keys are there before any call behind it", async () => {
  expect(await keyOf(1)).toBe(1);
  present = 2;
  changed();
  expect(await keyOf(1)).toBe(2);
});

it("a thread that dies takes its calls with it, and the next call starts one with the keys of the moment", async () => {
  present = 3;
  const both = await Promise.allSettled([keyOf(DIES), keyOf(1)]);
  expect(both.map((call) => call.status === "rejected" && call.reason instanceof NoAnswer)).toEqual([false, false]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await keyOf(1)).toBe(3);
});

it("a thread that gives no answer is ended, and the next call starts one", async () => {
  const seen = [keyOf(LOOPS), keyOf(1)].map((call) => call.catch((error: unknown) => error));
  await clock.advanceAsync(15_000);
  // Slow, not broken, as is what waited behind it.
  expect((await Promise.all(seen)).map((error) => error instanceof NoAnswer)).toEqual([true, true]);
  expect(await keyOf(1)).toBe(1);
});

it("a long step that is given up is answered at once, and other sessions keep their calls", async () => {
  const long = runner.end(IS_LONG, "stopped");
  runner.abandon(1);
  runner.abandon(IS_LONG);
  expect(await long).toEqual({ effects: [], dropped: false });
  expect(await keyOf(1)).toBe(1);
});

it("a step that is given up behind the death of the thread starts none", async () => {
  await keyOf(DIES).catch(() => {});
  runner.abandon(1);
  expect(await keyOf(1)).toBe(1);
});

it("closes within its time where the thread gives no answer, and takes nothing more", async () => {
  const silent = keyOf(LOOPS).catch((error: Error) => error.message);
  const closed = runner.close();
  await clock.advanceAsync(5_000);
  await closed;
  expect(await silent).toBe("no answer");
  await expect(keyOf(1)).rejects.toThrow("the runner is closed");
});
