/**
 * Twelve polled accounts of one venue, of which one at a time is refused at random for minutes: the others must be
 * polled as usual. The test also plants a schedule in which a refused account keeps its turn; only that check may find
 * it. On virtual time; FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { createSeededRandom } from "../domain/random.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { PollSchedule, type PollTask } from "./poll-schedule.js";
import { type AccountHandle, Portfolio } from "./portfolio.js";
import { AccountVenue } from "./test/fake-accounts.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2, 3] : [Number(process.env.FUZZ_SEED)];
const ACCOUNTS = 12;
const SECONDS = 1_200;
const PACE = { looksPerMinute: 60, intervalMsMin: 5_000 };
/** Twelve accounts at one poll a second, and one pause of the venue at the first refusal of a spell. */
const AGE_MS_MAX = 2 * 12_000 + 5_000;
const REFUSED = { code: "RATE_LIMITED", retryAfterMs: 5_000 } as const;

type Check = "the others stay young" | "the refused one says so";

/** Returns the faults found, each kind once a second. */
async function play(seed: number): Promise<{ readonly seen: Set<Check>; readonly refusals: number }> {
  const random = createSeededRandom(seed);
  const clock = new VirtualClock();
  const venue = new AccountVenue("venuetwo", clock, { streamPlaces: null });
  const portfolio = new Portfolio({
    rooms: new Map([[venue.venue, venue.room]]),
    clock,
    logger: silentLogger,
    hash: { hmacHex: (purpose, parts) => JSON.stringify([purpose, ...parts.map(String)]) },
    paces: { venuetwo: { positions: PACE, orders: PACE } },
  });
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => venue.addAccount(`account-${index}`));
  const handles: AccountHandle[] = accounts.map((account) => {
    account.hold("BTC", 1);
    const opened = portfolio.open(
      "venuetwo",
      { kind: "credentials", block: venue.credentials(account) },
      false,
      () => {},
      null,
      null,
    );
    if (!opened.ok) throw new Error(opened.code);
    return opened.handle;
  });
  let refused = -1;
  let refusals = 0;
  /** Monotonic ms since which each account is not refused, and since which this one is. */
  const freeSinceMs = accounts.map(() => 0);
  let refusedSinceMs = 0;
  venue.failureOf = (account) => {
    if (account !== accounts[refused]) return null;
    refusals++;
    return REFUSED;
  };
  const seen = new Set<Check>();
  for (let second = 0; second < SECONDS; second++) {
    const nowMs = clock.monoNs() / 1e6;
    if (random.next() < 1 / 60) {
      if (refused >= 0) freeSinceMs[refused] = nowMs;
      refused = refused >= 0 && random.next() < 0.3 ? -1 : Math.floor(random.next() * ACCOUNTS);
      refusedSinceMs = nowMs;
    }
    await clock.advanceAsync(1_000);
    for (const [index, { watch }] of handles.entries()) {
      const { asOf, error } = watch.coverage();
      const aloneMs = clock.monoNs() / 1e6 - Math.max(freeSinceMs[index] ?? 0, 0);
      if (index === refused) {
        const hadItsTurn = clock.monoNs() / 1e6 - refusedSinceMs > AGE_MS_MAX;
        if (hadItsTurn && error?.code !== "RATE_LIMITED") seen.add("the refused one says so");
      } else if (aloneMs > AGE_MS_MAX && (asOf === null || clock.wallMs() - asOf > AGE_MS_MAX)) {
        seen.add("the others stay young");
      }
    }
  }
  portfolio.stop();
  return { seen, refusals };
}

/** A refused account counts as new again: it goes before all others as soon as the venue may be polled. */
function plantKeptTurns(): void {
  const { add, remove } = PollSchedule.prototype;
  const keeping = new WeakMap<PollTask, PollTask>();
  vi.spyOn(PollSchedule.prototype, "add").mockImplementation(function (this: PollSchedule, task, isLooked) {
    const keeper: PollTask = {
      look: async (isFirst) => {
        const result = await task.look(isFirst);
        if (result.pauseVenueMs > 0) {
          remove.call(this, keeper);
          add.call(this, keeper);
        }
        return result;
      },
    };
    keeping.set(task, keeper);
    add.call(this, keeper, isLooked);
  });
  vi.spyOn(PollSchedule.prototype, "remove").mockImplementation(function (this: PollSchedule, task) {
    remove.call(this, keeping.get(task) ?? task);
  });
}

afterEach(() => void vi.restoreAllMocks());

describe("an account that is refused for minutes", () => {
  it.each(SEEDS)("does not delay the others (seed %i)", async (seed) => {
    const { refusals, seen } = await play(seed);
    expect([...seen], `FUZZ_SEED=${seed}`).toEqual([]);
    expect(refusals).toBeGreaterThan(20);
  });

  it("is found by one check and no other when it is planted to keep its turn", async () => {
    plantKeptTurns();
    const { seen } = await play(1);
    expect([...seen]).toEqual(["the others stay young"]);
  });
});
