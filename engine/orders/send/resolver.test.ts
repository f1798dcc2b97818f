/** How the end of an order is learnt: pushed by its account's stream, or read; whichever is first, and never neither. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../domain/order.js";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { AccountSession, Read, VenueRoom } from "../../ports.js";
import { type Resolution, Resolver, type UnknownOrder } from "./resolver.js";
import { FakeVenue } from "../test/fake-venue.js";

const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
const ACKNOWLEDGED = Number.MAX_SAFE_INTEGER;
const LOOK_AFTER_MS = 800;

type Answer = Read<VenueOrder | null> | "never";

interface Bench {
  readonly clock: VirtualClock;
  readonly resolver: Resolver;
  /** Wall ms since the start of each look. */
  readonly looksMs: number[];
  /** Tells it as the stream does; null while nobody follows. */
  push(order: VenueOrder): void;
  isFollowed(): boolean;
  isSessionOpen(): boolean;
  start(notPlacedAfterMs: number, mayRest?: boolean): void;
  end(): Resolution | null;
  advance(ms: number): Promise<void>;
}

function order(status: VenueOrder["status"]): VenueOrder {
  return {
    venue: "venuethree",
    nativeSymbol: "BTC",
    venueOrderId: "7",
    venueClientOrderId: "1",
    side: "SELL",
    type: "MARKET",
    status,
    venueStatus: status,
    priceTicks: 1,
    qtyLots: 10,
    filledLots: status === "FILLED" ? 10 : 0,
    averagePrice: status === "FILLED" ? "100" : null,
    reduceOnly: true,
    triggerPrice: null,
    tsVenueMs: 0,
    fee: null,
  };
}

function found(value: VenueOrder | null): Answer {
  return { ok: true, value, asOfMs: 0, source: "venue" };
}

interface Setting {
  /** Answers of looks in order, the last one again and again. */
  readonly answers?: readonly Answer[];
  /** Pushed in the turn in which it is followed. */
  readonly pushedAtOnce?: VenueOrder;
  readonly follows?: boolean;
}

function setUp({ answers = ["never"], pushedAtOnce, follows = true }: Setting = {}): Bench {
  const clock = new VirtualClock(1_000_000);
  const room = new FakeVenue({ venue: "venuethree", clock }).room();
  const looksMs: number[] = [];
  let follower: ((order: VenueOrder) => void) | null = null;
  let isOpen = true;
  const session: AccountSession = {
    venue: "venuethree",
    accountId: "a",
    payer: null,
    close: () => {
      isOpen = false;
    },
  };
  const reader: VenueRoom["reader"] = {
    ...room.reader,
    readOrder: (_session, _instrument, ref) => {
      expect(ref).toEqual({ clientIdHex: CLIENT_ID, sentAfterVenueMs: 1 });
      const answer = answers[Math.min(looksMs.length, answers.length - 1)] as Answer;
      looksMs.push(clock.wallMs() - 1_000_000);
      return answer === "never" ? new Promise(() => {}) : Promise.resolve(answer);
    },
    ...(follows
      ? {
          followOrder: (_session, _instrument, ref, onEnd) => {
            expect(ref).toEqual({ clientIdHex: CLIENT_ID });
            follower = onEnd;
            if (pushedAtOnce !== undefined) onEnd(pushedAtOnce);
            return {
              lookAfterMs: LOOK_AFTER_MS,
              stop: () => {
                follower = null;
              },
            };
          },
        }
      : {}),
  };
  const resolver = new Resolver(clock, silentLogger);
  let ended: Resolution | null = null;
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  return {
    clock,
    resolver,
    looksMs,
    push: (seen) => follower?.(seen),
    isFollowed: () => follower !== null,
    isSessionOpen: () => isOpen,
    start(notPlacedAfterMs, mayRest = false) {
      const instrument = [...room.markets.values()][0]?.instrument;
      if (instrument === undefined) throw new Error("no instrument");
      const boundMs = notPlacedAfterMs - clock.wallMs();
      const bound = { venueMs: notPlacedAfterMs, monoNs: clock.monoNs() + boundMs * 1e6 };
      const unknown: UnknownOrder = {
        routeId: "rt",
        room: { ...room, reader },
        instrument,
        clientIdHex: CLIENT_ID,
        bound: () => (notPlacedAfterMs === ACKNOWLEDGED ? null : bound),
        markSeen: () => {},
        takePrice: () => {},
        isAcknowledged: notPlacedAfterMs === ACKNOWLEDGED,
        sent: { side: "SELL", qtyLots: 10, sentAfterVenueMs: 1 },
        mayRest,
      };
      void resolver.resolve(unknown, session).then((resolution) => {
        ended = resolution;
      });
    },
    end: () => ended,
    async advance(ms) {
      await settle();
      for (let left = ms; left > 0; left -= 10) {
        clock.advance(Math.min(10, left));
        await settle();
      }
    },
  };
}

describe("the end of an order that is followed", () => {
  it("is taken from the stream the moment it comes, with no look, and leaves nothing behind", async () => {
    const bench = setUp();
    bench.start(ACKNOWLEDGED);
    await bench.advance(300);
    bench.push(order("FILLED"));
    await bench.advance(0);
    expect(bench.end()).toMatchObject({ kind: "found", order: { status: "FILLED" } });
    expect(bench.looksMs).toEqual([]);
    expect([bench.isFollowed(), bench.isSessionOpen(), bench.resolver.counts().active]).toEqual([false, false, 0]);
  });

  it("may have been pushed before anybody followed", async () => {
    const bench = setUp({ pushedAtOnce: order("CANCELED") });
    bench.start(ACKNOWLEDGED);
    await bench.advance(0);
    expect(bench.end()).toMatchObject({ kind: "found", order: { status: "CANCELED" } });
    expect(bench.looksMs).toEqual([]);
  });

  it("is not what the stream tells of an order that is still open", async () => {
    const bench = setUp();
    bench.start(ACKNOWLEDGED);
    bench.push(order("OPEN"));
    bench.push(order("PARTIALLY_FILLED"));
    bench.push(order("UNKNOWN"));
    await bench.advance(100);
    expect([bench.end(), bench.isFollowed()]).toEqual([null, true]);
  });

  it("is looked up from when the room says that a look would show it, while the stream stays silent", async () => {
    const bench = setUp({ answers: [found(order("OPEN")), found(null), found(order("FILLED"))] });
    bench.start(ACKNOWLEDGED);
    await bench.advance(3_000);
    expect(bench.looksMs).toEqual([LOOK_AFTER_MS, LOOK_AFTER_MS + 500, LOOK_AFTER_MS + 1_500]);
    expect(bench.end()).toMatchObject({ kind: "found", order: { status: "FILLED" } });
    expect([bench.isFollowed(), bench.isSessionOpen()]).toEqual([false, false]);
  });

  it("does not wait for a look that it makes superfluous", async () => {
    const bench = setUp({ answers: ["never"] });
    bench.start(ACKNOWLEDGED);
    await bench.advance(LOOK_AFTER_MS + 10);
    expect([bench.looksMs.length, bench.end()]).toEqual([1, null]);
    bench.push(order("FILLED"));
    await bench.advance(0);
    expect(bench.end()).toMatchObject({ kind: "found" });
  });

  it("of an order of unknown outcome comes from the stream too, and looks do not wait for it", async () => {
    const silent = setUp({ answers: [found(order("FILLED"))] });
    silent.start(silent.clock.wallMs() + 5_000);
    await silent.advance(300);
    expect(silent.looksMs).toEqual([250]);
    expect(silent.end()).toMatchObject({ kind: "found" });

    const pushed = setUp();
    pushed.start(pushed.clock.wallMs() + 5_000);
    await pushed.advance(100);
    pushed.push(order("FILLED"));
    await pushed.advance(0);
    expect([pushed.looksMs.length, pushed.end()?.kind]).toEqual([0, "found"]);
  });

  it("is looked for soon where the room follows nothing", async () => {
    const bench = setUp({ answers: [found(order("OPEN")), found(order("FILLED"))], follows: false });
    bench.start(ACKNOWLEDGED);
    await bench.advance(300);
    expect(bench.looksMs).toEqual([60, 180]);
    expect(bench.end()).toMatchObject({ kind: "found" });
  });

  it("that comes after a stop was asked for ends it as found, and a stop ends the rest after one look", async () => {
    const bench = setUp({ answers: [found(order("OPEN"))] });
    bench.start(ACKNOWLEDGED);
    await bench.advance(10);
    await bench.resolver.stop();
    expect(bench.end()).toMatchObject({ kind: "unknown", reason: "SHUT_DOWN", order: { status: "OPEN" } });
    expect([bench.looksMs.length, bench.isFollowed()]).toEqual([1, false]);

    const hanging = setUp();
    hanging.start(ACKNOWLEDGED);
    await hanging.advance(10);
    const stopped = hanging.resolver.stop();
    await hanging.advance(10);
    hanging.push(order("FILLED"));
    await stopped;
    await hanging.advance(0);
    expect(hanging.end()).toMatchObject({ kind: "found" });
  });
});

describe("the time an order of unknown outcome is followed", () => {
  const nowhere = found(null);
  it("lasts until its own bound, the lag and one look have passed, so that a late bound is proven too", async () => {
    const bench = setUp({ answers: [nowhere], follows: false });
    bench.start(bench.clock.wallMs() + 63_000);
    await bench.advance(65_000);
    expect([bench.end(), bench.isSessionOpen()]).toEqual([null, true]);
    await bench.advance(100);
    expect([bench.end(), bench.isSessionOpen()]).toEqual([{ kind: "notPlaced" }, false]);
  });

  it("is a minute at least", async () => {
    const bench = setUp({ answers: [{ ok: false, code: "TIMEOUT", message: "", retryAfterMs: null }], follows: false });
    bench.start(bench.clock.wallMs() + 1_500);
    await bench.advance(59_900);
    expect([bench.end(), bench.isSessionOpen()]).toEqual([null, true]);
    await bench.advance(200);
    expect([bench.end()?.kind, bench.isSessionOpen()]).toEqual(["unknown", false]);
  });

  it("is ten minutes at most, and the credentials end with it", async () => {
    const bench = setUp({ answers: [nowhere], follows: false });
    bench.start(bench.clock.wallMs() + 3_600_000);
    await bench.advance(599_900);
    expect([bench.end(), bench.isSessionOpen()]).toEqual([null, true]);
    await bench.advance(200);
    expect([bench.end(), bench.isSessionOpen()]).toEqual([
      { kind: "unknown", reason: "TIMED_OUT", order: null },
      false,
    ]);
  });
});
