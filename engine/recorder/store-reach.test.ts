import { describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { StoreReach } from "./store-reach.js";

function reachOf(): { readonly reach: StoreReach; readonly clock: VirtualClock; readonly replays: () => number } {
  const clock = new VirtualClock();
  let count = 0;
  const reach = new StoreReach({
    clock,
    // The longest pause of each step.
    random: { next: () => 1 },
    logger: silentLogger,
    spool: { fileCount: 0 },
    replay: () => {
      count += 1;
    },
  });
  return { reach, clock, replays: () => count };
}

describe("a store that does not answer", () => {
  it("receives no fresh batch until the spool has nothing to probe with, and then exactly one", () => {
    const { reach } = reachOf();
    expect(reach.admitsFresh()).toBe(true);
    reach.missed("timeout");
    expect([reach.isAway, reach.admitsFresh()]).toEqual([true, false]);
    reach.probeWithFresh();
    expect([reach.admitsFresh(), reach.admitsFresh()]).toEqual([true, false]);
  });

  it("is probed after pauses that double up to ten seconds, one pause at a time", () => {
    const { reach, clock, replays } = reachOf();
    const pausesMs: number[] = [];
    for (let probe = 1; probe <= 8; probe++) {
      reach.missed("timeout");
      reach.missed("timeout");
      const startNs = clock.monoNs();
      while (replays() < probe) clock.advance(1);
      pausesMs.push((clock.monoNs() - startNs) / 1e6);
    }
    expect(pausesMs).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  it("is back with any reply: fresh batches pass, the spool is replayed once, and pauses begin again", () => {
    const { reach, clock, replays } = reachOf();
    for (let probe = 1; probe <= 3; probe++) {
      reach.missed("timeout");
      clock.advance(10_000);
    }
    reach.answered();
    reach.answered();
    expect([reach.isAway, reach.admitsFresh(), replays()]).toEqual([false, true, 4]);
    reach.missed("timeout");
    clock.advance(250);
    expect(replays()).toBe(5);
  });

  it("is not probed after the stop", () => {
    const { reach, clock, replays } = reachOf();
    reach.missed("timeout");
    reach.stop();
    clock.advance(60_000);
    expect(replays()).toBe(0);
  });
});
