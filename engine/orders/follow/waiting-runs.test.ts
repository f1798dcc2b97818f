/** The line of runs that wait to be followed: whoever asks for the next one is heard, at whatever moment it asks. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { encodeJson } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { Background } from "../background.js";
import { fakeAttempt } from "../test/fake-run.js";
import { testHash } from "../test/harness.js";
import type { FollowedRun } from "./followed-run.js";
import { WaitingRuns } from "./waiting-runs.js";

const NAMESPACE = "followed-trade";
const TURNS = 40;

/** Its row becomes durable, and it is asked for, so many turns after others were looked through. */
async function isTakenWhenAskedAfter(turns: number): Promise<boolean> {
  const store = createMemoryStore();
  const taken: string[] = [];
  const waiting = new WaitingRuns<FollowedRun>(
    { background: new Background(new VirtualClock(), silentLogger), hash: testHash, logger: silentLogger, store },
    {
      namespace: NAMESPACE,
      hasRoom: () => true,
      makeRoom: () => true,
      settled: () => {},
      take: ({ run }) => void taken.push(run.routeId),
    },
  );
  const run: FollowedRun = { routeId: "rt_1", symbol: "BTC", attempts: [fakeAttempt()] };
  const row = { recordKey: null, sinceMs: 0, owners: {}, run };
  waiting.put(row, true);
  waiting.takeNext();
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
  await store.put(NAMESPACE, run.routeId, encodeJson(row));
  waiting.takeNext();
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  return taken.length === 1;
}

describe("a run that waits", () => {
  it("is taken whenever it is asked for, also in the turn in which the round before ends", async () => {
    const missed: number[] = [];
    for (let turns = 0; turns < TURNS; turns++) if (!(await isTakenWhenAskedAfter(turns))) missed.push(turns);
    expect(missed).toEqual([]);
  });
});
