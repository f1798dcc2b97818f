/** Ends that wait for a store that refuses: for as long as this process lives, and no longer. */
import { expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { Background } from "../background.js";
import { ConclusionCommits } from "./conclusion-commits.js";

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
