/** Ends that wait for a store that refuses: for as long as this process lives, and no longer. */
import { expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { Background } from "../background.js";
import type { RunLike } from "../durable/idempotency.js";
import { recordingLogger, runUntil } from "../test/harness.js";
import { COMMIT_TRIES, ConclusionCommits } from "./conclusion-commits.js";

function start() {
  const clock = new VirtualClock();
  const background = new Background(clock, silentLogger);
  const idempotency = { readForUpdate: async () => ({ kind: "newer" }) as never };
  const store = createMemoryStore();
  const commits = new ConclusionCommits({ clock, logger: silentLogger, background, store, idempotency });
  let tries = 0;
  let refuse = (): void => {};
  const refused = new Promise<void>((_, reject) => {
    refuse = () => reject(storeUnavailable("QUEUE_FULL"));
  });
  /** Refused at once, and then when `refuse` is called. */
  const attempt = async (): Promise<void> => {
    tries++;
    await commits.orAgain(tries === 1 ? Promise.reject(storeUnavailable("QUEUE_FULL")) : refused, attempt);
  };
  return {
    clock,
    background,
    commits,
    attempt,
    refuse,
    tries: () => tries,
  };
}

it("commits of a conclusion that fail are tried again after a minute, not after the stop", async () => {
  const { attempt, clock, commits, tries } = start();
  await expect(attempt()).rejects.toThrow();
  commits.stop();
  await clock.advanceAsync(300_000);
  expect(tries()).toBe(1);
});

it("commits of a conclusion whose second try began before the stop are waited for with all that runs beside, and not tried a third time", async () => {
  const { attempt, background, clock, commits, refuse, tries } = start();
  await expect(attempt()).rejects.toThrow();
  await clock.advanceAsync(60_000);
  expect([tries(), background.size]).toEqual([2, 1]);
  commits.stop();
  refuse();
  await background.settled();
  await clock.advanceAsync(300_000);
  expect([tries(), background.size, clock.pendingTimerCount]).toEqual([2, 0, 0]);
});

/** Of a run whose record changes under its update as often as it is said. */
function contended(changes: number) {
  const clock = new VirtualClock();
  const logLines: string[] = [];
  const logger = recordingLogger(logLines);
  const update = { kind: "update", condition: {}, write: () => ({}) };
  const idempotency = { readForUpdate: async () => update as never };
  const parts = { clock, logger, background: new Background(clock, logger), store: createMemoryStore(), idempotency };
  const commits = new ConclusionCommits<RunLike, string>(parts);
  const run = { routeId: "rt_1", attempts: [] };
  let left = changes;
  let storedCount = 0;
  const commit = async (): Promise<boolean> => {
    if (left-- > 0) return false;
    storedCount++;
    return true;
  };
  const store = (tries: number): Promise<void> => commits.store(run, tries, "key", commit);
  return { clock, commits, logLines, store, storedCount: () => storedCount };
}

it("commits of a conclusion whose record keeps changing under it are tried again a little later", async () => {
  const { clock, logLines, store, storedCount } = contended(12);
  await runUntil(clock, store(COMMIT_TRIES), 20_000);
  expect(storedCount()).toBe(1);
  expect(logLines.filter((line) => line.includes("conclusion_contended"))).toHaveLength(2);
});

it("commits of a conclusion whose record never stays the same end as those that the store refuses", async () => {
  const { clock, commits, store, storedCount } = contended(8);
  const again = (): Promise<void> => commits.orAgain(store(1), again);
  await expect(again()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(storedCount()).toBe(0);
  await clock.advanceAsync(120_000);
  expect(storedCount()).toBe(1);
});
