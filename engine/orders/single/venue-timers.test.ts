/** The venue's own dead-man's switch beside one of ours: what is known of it after each answer. */
import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import { silentLogger } from "../../domain/logger.js";
import type { ScheduleOutcome } from "../../domain/order.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { FakeSession } from "../test/fake-session.js";
import { roomDouble } from "../test/room-double.js";
import { mayVenueFire, monoMs, venueOverMs, VenueTimers, type TimedAccount } from "./venue-timers.js";

const UNCLEAR: ScheduleOutcome = { outcome: "unknown", cause: "TIMEOUT" };
const TAKEN: ScheduleOutcome = { outcome: "accepted" };
const REFUSED: ScheduleOutcome = {
  outcome: "rejected",
  reason: "VENUE_STATE",
  venueCode: "X",
  venueText: "",
  sent: true,
};

interface Bench {
  readonly clock: VirtualClock;
  readonly timers: VenueTimers;
  readonly account: TimedAccount;
  /** Wall ms of each call that went out; null for an end. */
  readonly sent: (number | null)[];
  /** Account of the session of each. */
  readonly calledBy: string[];
}

function setUp(answer: (callCount: number) => Promise<ScheduleOutcome>): Bench {
  const clock = new VirtualClock();
  const sent: (number | null)[] = [];
  const calledBy: string[] = [];
  const session = new FakeSession("venueone", "alice");
  const room = roomDouble("venueone", {
    markets: [],
    openSession: () => ({ ok: true, session }),
    orders: {
      scheduleCancel: async ({ accountId }, atMs) => {
        calledBy.push(accountId);
        return answer(sent.push(atMs));
      },
    },
  });
  const timers = new VenueTimers(clock, silentLogger);
  const account = { accountHash: "a", holder: "a", room, session, atVenue: timers.join("a") };
  return { clock, timers, account, sent, calledBy };
}

describe("the venue's own switch", () => {
  it("fires a second after ours, and covers what the venue answers", async () => {
    const { account, clock, sent, timers } = setUp(async () => ({ outcome: "accepted", symbols: ["BTC"] }));
    const endsMs = monoMs(clock) + 10_000;
    await timers.arm(account, endsMs);
    expect(sent).toEqual([clock.wallMs() + 11_000]);
    expect(account.atVenue).toMatchObject({
      cover: ["BTC"],
      account: { time: { mayFire: true, endsMs: endsMs + 1_000 } },
    });
    expect(venueOverMs(account.atVenue, monoMs(clock))).toBe(endsMs + 1_000);
  });

  it("may fire by the later of two times where the second has no answer, and by the first where it is refused", async () => {
    for (const [second, laterMs] of [
      [UNCLEAR, 20_000],
      [REFUSED, 10_000],
    ] as const) {
      const { account, clock, timers } = setUp(async (callCount) => (callCount === 1 ? TAKEN : second));
      const nowMs = monoMs(clock);
      await timers.arm(account, nowMs + 10_000);
      await timers.arm(account, nowMs + 20_000);
      expect(account.atVenue).toMatchObject({ account: { time: { mayFire: true, endsMs: nowMs + laterMs + 1_000 } } });
    }
  });

  it("counts until the venue confirms its end, and no end is sent for one that it never took", async () => {
    const { account, clock, sent, timers } = setUp(async (callCount) => (callCount === 2 ? UNCLEAR : TAKEN));
    await timers.end(account);
    expect(sent).toEqual([]);
    await timers.arm(account, monoMs(clock) + 10_000);
    await timers.end(account);
    expect(mayVenueFire(account.atVenue)).toBe(true);
    await timers.end(account);
    expect(account.atVenue).toMatchObject({ cover: "nothing", account: { time: { mayFire: false } } });
    expect(sent.slice(1)).toEqual([null, null]);
  });

  it("gets the calls for one account one after the other, also across the switch that replaces it", async () => {
    let answerFirst = (_outcome: ScheduleOutcome): void => {};
    const { account, clock, sent, timers } = setUp((callCount) =>
      callCount === 1 ? new Promise((resolve) => (answerFirst = resolve)) : Promise.resolve(TAKEN),
    );
    const first = timers.arm(account, monoMs(clock) + 10_000);
    const next: TimedAccount = { ...account, atVenue: timers.join("a") };
    const second = timers.arm(next, monoMs(clock) + 20_000);
    await new Promise(setImmediate);
    expect(sent).toHaveLength(1);
    answerFirst(TAKEN);
    await Promise.all([first, second]);
    expect(sent).toEqual([clock.wallMs() + 11_000, clock.wallMs() + 21_000]);
  });

  it("is called with the session of the moment in which the call goes out, not of that in which it was asked for", async () => {
    let answerFirst = (_outcome: ScheduleOutcome): void => {};
    const { account, clock, calledBy, timers } = setUp((callCount) =>
      callCount === 1 ? new Promise((resolve) => (answerFirst = resolve)) : Promise.resolve(TAKEN),
    );
    let present = account.session;
    const following: TimedAccount = {
      ...account,
      get session() {
        return present;
      },
    };
    const armed = timers.arm(following, monoMs(clock) + 10_000);
    await new Promise(setImmediate);
    const ended = timers.end(following);
    // The key is followed by another while the end waits for its turn.
    present = new FakeSession("venueone", "bob");
    answerFirst(TAKEN);
    await Promise.all([armed, ended]);
    expect(calledBy).toEqual(["alice", "bob"]);
  });

  it("is moved by a heartbeat once a second has passed since the last arm", async () => {
    const { account, clock, timers } = setUp(async () => TAKEN);
    await timers.arm(account, monoMs(clock) + 10_000);
    clock.advance(999);
    expect(timers.isRearmDue(account.atVenue)).toBe(false);
    clock.advance(1);
    expect(timers.isRearmDue(account.atVenue)).toBe(true);
  });

  it("does not fire on a caller in time, also where its calls take longer than heartbeats are apart", async () => {
    let firesAtMs = Number.POSITIVE_INFINITY;
    const { account, clock, sent, timers } = setUp(async (callCount) => {
      await delay(clock, 2_000);
      firesAtMs = sent[callCount - 1] ?? Number.POSITIVE_INFINITY;
      return TAKEN;
    });
    const arms: Promise<void>[] = [];
    const leftMs: number[] = [];
    for (let beat = 0; beat < 60; beat++) {
      arms.push(timers.arm(account, monoMs(clock) + 10_000));
      await clock.advanceAsync(1_000);
      leftMs.push(firesAtMs - clock.wallMs());
    }
    expect(Math.min(...leftMs)).toBeGreaterThan(0);
    await clock.advanceAsync(4_000);
    await Promise.all(arms);
    expect(firesAtMs - clock.wallMs()).toBeGreaterThan(0);
  });
});
