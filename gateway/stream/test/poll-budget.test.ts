/**
 * Many polled accounts with the real lanes of a venue's budget, on virtual time: whatever is subscribed and however
 * fast the poller may run, the venue never receives more than it grants and a close never waits.
 */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountWatch } from "../../../engine/portfolio/account-watch.js";
import { Portfolio, type VenuePace } from "../../../engine/portfolio/portfolio.js";
import { AccountVenue } from "../../../engine/portfolio/test/fake-accounts.js";
import { createKeyedHash } from "../../../engine/storage/server-secret.js";
import type { Lane } from "../../../engine/ports.js";
import { DESCRIPTORS } from "../../../feeds/registry.js";
import { LaneQueue } from "../../../feeds/shared/net/lane-queue.js";
import { LANE_SHARES, LaneBudget } from "../../../feeds/shared/net/lanes.js";
import { MAX_STREAMED_USERS, REST_WEIGHT_PER_MINUTE, REST_WINDOW_MS } from "../../../feeds/venueone/rules/limits.js";

const ACCOUNTS = 400;
const MINUTES = 10;
const EXIT_WEIGHT = 1;
const NETWORK_MS = 40;

interface Spent {
  readonly lane: Lane;
  readonly weight: number;
  readonly atMs: number;
}

function bench(pace: VenuePace) {
  const clock = new VirtualClock();
  const budget = new LaneBudget({ budget: REST_WEIGHT_PER_MINUTE, windowMs: REST_WINDOW_MS });
  const queue = new LaneQueue({ clock, budget, slots: 16, exitSlots: 4, maxQueuedPerLane: 256 });
  const venue = new AccountVenue("venueone", clock, { streamPlaces: MAX_STREAMED_USERS });
  const spent: Spent[] = [];
  async function take(lane: Lane, weight: number): Promise<boolean> {
    const admission = await queue.acquire(lane, weight, 5_000);
    if (!admission.ok) return false;
    spent.push({ lane, weight, atMs: clock.monoNs() / 1e6 });
    await new Promise<void>((resolve) => void clock.setTimer(resolve, NETWORK_MS));
    queue.release();
    return true;
  }
  venue.admit = take;
  const portfolio = new Portfolio({
    rooms: new Map([[venue.venue, venue.room]]),
    clock,
    logger: silentLogger,
    hash: createKeyedHash(Buffer.alloc(32, 1)),
    paces: { venueone: pace },
  });
  return { clock, queue, venue, spent, portfolio };
}

/** The largest weight spent in any window, over the requests that `counts` selects. */
function worstWindow(spent: readonly Spent[], counts: (one: Spent) => boolean): number {
  let worst = 0;
  let weight = 0;
  let first = 0;
  const counted = spent.filter(counts);
  for (const one of counted) {
    weight += one.weight;
    for (
      let oldest = counted[first];
      oldest !== undefined && oldest.atMs <= one.atMs - REST_WINDOW_MS;
      oldest = counted[first]
    ) {
      weight -= oldest.weight;
      first++;
    }
    worst = Math.max(worst, weight);
  }
  return worst;
}

describe("the budget of polling", () => {
  it.each([
    ["its own pace", DESCRIPTORS.venueone.paces],
    // As if somebody had mistaken the unit: the lanes alone must hold.
    [
      "a pace a hundred times too fast",
      {
        positions: { looksPerMinute: 6_000, intervalMsMin: 10 },
        orders: { looksPerMinute: 600, intervalMsMin: 100 },
      },
    ],
  ])(
    "holds with 400 accounts at %s, and every close is sent at once",
    async (_, pace) => {
      const { clock, queue, venue, spent, portfolio } = bench(pace);
      const random = createSeededRandom(7);
      const accounts = Array.from({ length: ACCOUNTS }, (_unused, index) => venue.addAccount(`account-${index}`));
      const watches: AccountWatch[] = [];
      for (const [index, account] of accounts.entries()) {
        account.hold("BTC", index + 1);
        const access = { kind: "credentials", block: venue.credentials(account) } as const;
        const opened = portfolio.open("venueone", access, index % 4 === 0, () => {}, null, null);
        if (!opened.ok) throw new Error(opened.code);
        watches.push(opened.handle.watch);
      }
      let closes = 0;
      let waitedMs = 0;
      for (let second = 0; second < MINUTES * 60; second++) {
        // Sometimes five closes in a second, otherwise ten a minute: within the reserve, whatever the others take.
        const burst = random.next() < 0.05 ? 5 : random.next() < 0.15 ? 1 : 0;
        for (let count = 0; count < burst; count++) {
          const beganMs = clock.monoNs() / 1e6;
          void Promise.resolve(queue.acquire("exit", EXIT_WEIGHT, 1_000)).then((admission) => {
            expect(admission.ok).toBe(true);
            closes++;
            waitedMs = Math.max(waitedMs, clock.monoNs() / 1e6 - beganMs);
            spent.push({ lane: "exit", weight: EXIT_WEIGHT, atMs: clock.monoNs() / 1e6 });
            clock.setTimer(() => queue.release(), NETWORK_MS);
          });
        }
        await clock.advanceAsync(1_000);
      }
      expect(closes).toBeGreaterThan(50);
      expect(waitedMs).toBe(0);
      expect(worstWindow(spent, () => true)).toBeLessThanOrEqual(REST_WEIGHT_PER_MINUTE);
      const exitReserve = REST_WEIGHT_PER_MINUTE * LANE_SHARES.exit;
      expect(worstWindow(spent, ({ lane }) => lane !== "exit")).toBeLessThanOrEqual(
        REST_WEIGHT_PER_MINUTE - exitReserve,
      );
      const lanes = new Set(venue.reads.map(({ lane }) => lane));
      expect([...lanes].sort()).toEqual(["background", "read"]);
      // A pace that is too fast is limited by the lanes, not by itself.
      const polled = worstWindow(spent, ({ lane }) => lane !== "exit");
      expect(polled > REST_WEIGHT_PER_MINUTE / 3).toBe(pace !== DESCRIPTORS.venueone.paces);
      // Nobody is left out: the streamed ones are pushed, each of the others was looked at.
      expect(venue.streamedCount()).toBe(MAX_STREAMED_USERS);
      expect(watches.map((watch) => watch.positions?.[0]?.qtyLots)).toEqual(accounts.map((_one, index) => index + 1));
      expect(portfolio.counts()).toEqual({ accounts: ACCOUNTS, polled: ACCOUNTS - MAX_STREAMED_USERS });
      portfolio.stop();
      expect(venue.sessionsOpen).toBe(0);
    },
    240_000,
  );

  it("the default pace alone stays within a sixth of the venue's grant", async () => {
    const { clock, venue, spent, portfolio } = bench(DESCRIPTORS.venueone.paces);
    for (let index = 0; index < ACCOUNTS; index++) {
      const account = venue.addAccount(`account-${index}`);
      portfolio.open(
        "venueone",
        { kind: "credentials", block: venue.credentials(account) },
        true,
        () => {},
        null,
        null,
      );
    }
    await clock.advanceAsync(MINUTES * 60_000);
    const polls = worstWindow(spent, ({ lane }) => lane === "read" || lane === "background");
    // The lists of the ten pushed accounts are read once each, when their stream is LIVE.
    expect(worstWindow(spent.slice(MAX_STREAMED_USERS + 5), () => true)).toBeLessThanOrEqual(
      REST_WEIGHT_PER_MINUTE / 6 + 24,
    );
    expect(polls).toBeLessThanOrEqual(REST_WEIGHT_PER_MINUTE / 2);
    portfolio.stop();
  }, 240_000);
});
