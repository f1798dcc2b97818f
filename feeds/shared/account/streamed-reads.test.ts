/** Whether streamed positions may be used in place of a live read: after orders of ours, silence, lateness, and reads. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../engine/domain/clock.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ConnectionLife, SILENT_AFTER_MS } from "./connection-life.js";
import { heldAtLeast, StreamedReads, SURELY_LATER_MS, UNSHOWN_AFTER_MS } from "./streamed-reads.js";

const position = (lots: number, nativeSymbol = "BTC"): VenuePosition =>
  ({ nativeSymbol, direction: lots < 0 ? "SHORT" : "LONG", qtyLots: Math.abs(lots) }) as unknown as VenuePosition;
const held = (lots: number): readonly VenuePosition[] => (lots === 0 ? [] : [position(lots)]);
const order = (clientId: string, status: VenueOrder["status"], filledLots: number): VenueOrder =>
  ({ venueClientOrderId: clientId, status, filledLots }) as unknown as VenueOrder;
const want = (lots: number) => ({ coin: "BTC", lots });

function setUp() {
  const clock = new VirtualClock(1_000_000);
  const life = new ConnectionLife(clock);
  const reads = new StreamedReads(clock, life);
  life.noteFrame();
  const sent = (clientId: string, side: "BUY" | "SELL", qtyLots: number, rests = false): void =>
    reads.sent({ clientId, coin: "BTC", side, qtyLots, rests });
  /** Time goes by on a connection that lives. */
  const wait = (ms: number): void => {
    clock.advance(ms);
    life.noteFrame();
  };
  return { clock, life, reads, sent, wait };
}

describe("streamed positions after an order of ours", () => {
  it("count for all again only when its answer said what it filled and its position moved by that, in any order", () => {
    for (const isMovedFirst of [false, true]) {
      const { reads, sent, wait } = setUp();
      sent("1", "BUY", 10);
      const answer = (): void => reads.answered("1", order("1", "FILLED", 6));
      const move = (): void => reads.moved(held(0), held(6));
      (isMovedFirst ? move : answer)();
      wait(60_000);
      expect(reads.isTrusted(held(6), null)).toBe(false);
      (isMovedFirst ? answer : move)();
      expect([reads.isTrusted(held(6), null), reads.isPending]).toEqual([true, false]);
    }
  });

  it("count again when the streams show what it filled, where its answer did not", () => {
    const { reads, sent } = setUp();
    sent("1", "BUY", 10);
    reads.answered("1", null);
    reads.moved(held(0), held(6));
    expect(reads.isTrusted(held(6), null)).toBe(false);
    reads.told(order("1", "CANCELED", 6));
    expect(reads.isTrusted(held(6), null)).toBe(true);
  });

  it("count for nothing after one that rests by an answer that does not say what it filled, until it is streamed", () => {
    const { reads, sent } = setUp();
    sent("1", "BUY", 10, true);
    reads.answered("1", order("1", "OPEN", 0));
    expect([reads.isTrusted(held(0), null), reads.isPending]).toEqual([false, true]);
    reads.told(order("1", "OPEN", 0));
    expect([reads.isTrusted(held(0), null), reads.isPending]).toEqual([true, false]);
  });

  it("do not count while a move comes that none of them explains, until a read settles it", () => {
    const { reads, sent, wait } = setUp();
    sent("1", "BUY", 10);
    reads.answered("1", order("1", "FILLED", 10));
    reads.moved(held(0), held(10));
    expect(reads.isTrusted(held(10), null)).toBe(true);
    // Another's, or a late picture of before.
    reads.moved(held(10), held(4));
    expect([reads.isTrusted(held(4), null), reads.isPending, reads.isOverdue]).toEqual([false, true, false]);
    wait(SURELY_LATER_MS);
    expect(reads.isOverdue).toBe(true);
    reads.agreed(reads.begin());
    expect([reads.isTrusted(held(4), null), reads.isPending]).toEqual([true, false]);
    // With no order of ours about, it is another's, and shown.
    reads.moved(held(4), held(2));
    expect(reads.isTrusted(held(2), null)).toBe(true);
  });

  it("count for nothing where the order went out while they were in doubt, until a read shows it alone", () => {
    const { reads, sent, wait } = setUp();
    reads.doubt();
    sent("1", "BUY", 10);
    reads.answered("1", order("1", "FILLED", 10));
    reads.moved(held(0), held(10));
    wait(SURELY_LATER_MS);
    sent("2", "BUY", 1);
    reads.agreed(reads.begin());
    expect(reads.isTrusted(held(10), want(1))).toBe(false);
    reads.answered("2", order("2", "FILLED", 1));
    reads.moved(held(10), held(11));
    expect(reads.isTrusted(held(11), want(1))).toBe(false);
    wait(SURELY_LATER_MS);
    reads.agreed(reads.begin());
    expect(reads.isTrusted(held(11), null)).toBe(true);
  });

  it("count for nothing after an order of a hedge, whose side the sum of both does not show, until a read", () => {
    const { reads, wait } = setUp();
    reads.sent({ clientId: "1", coin: "BTC", side: "BUY", qtyLots: 5, rests: false, isHedged: true });
    reads.sent({ clientId: "2", coin: "BTC", side: "SELL", qtyLots: 5, rests: false, isHedged: true });
    for (const clientId of ["1", "2"]) reads.answered(clientId, order(clientId, "FILLED", 5));
    expect([reads.isTrusted([], null), reads.isTrusted(held(9), want(1))]).toEqual([false, false]);
    wait(SURELY_LATER_MS);
    reads.agreed(reads.begin());
    expect(reads.isTrusted([], null)).toBe(true);
  });

  it("count for what remains after a reducing order, whatever it did, and for no more", () => {
    const { reads, sent } = setUp();
    sent("1", "SELL", 10);
    expect([reads.isTrusted(held(100), want(90)), reads.isTrusted(held(100), want(91))]).toEqual([true, false]);
    reads.answered("1", order("1", "CANCELED", 4));
    expect([reads.isTrusted(held(100), want(96)), reads.isTrusted(held(100), want(97))]).toEqual([true, false]);
    // On a short it adds.
    expect(reads.isTrusted(held(-100), want(100))).toBe(true);
    // Of another contract it says nothing.
    expect(reads.isTrusted([position(5, "ETH")], { coin: "ETH", lots: 5 })).toBe(true);
  });

  it("count for no size of a position that an entry of ours has not shown yet", () => {
    const { reads, sent } = setUp();
    sent("1", "BUY", 10);
    reads.answered("1", order("1", "FILLED", 10));
    expect([reads.isTrusted(held(0), want(5)), reads.isTrusted(held(20), want(20))]).toEqual([false, true]);
    // In one's way it nets.
    expect(reads.isTrusted(held(-20), want(15))).toBe(false);
  });

  it("are as they surely are: with what our orders did by their answers and no frame has shown", () => {
    const { reads, sent } = setUp();
    const lots = (streamed: number) => reads.trusted(held(streamed), want(50))?.map(({ qtyLots }) => qtyLots);
    expect(lots(308)).toEqual([308]);
    sent("1", "BUY", 10);
    expect(lots(308)).toEqual([308]);
    reads.answered("1", order("1", "FILLED", 10));
    expect(lots(308)).toEqual([318]);
    reads.moved(held(308), held(318));
    expect(lots(318)).toEqual([318]);
    sent("2", "SELL", 3);
    reads.answered("2", order("2", "FILLED", 3));
    expect(lots(318)).toEqual([315]);
    reads.told(order("2", "FILLED", 3));
    expect(lots(318)).toEqual([315]);
    reads.moved(held(318), held(315));
    expect(lots(315)).toEqual([315]);
    // A move that is counted for another order, which then had no effect, is not added once more.
    sent("a", "BUY", 9);
    sent("b", "BUY", 3);
    reads.answered("b", order("b", "FILLED", 3));
    reads.moved(held(315), held(318));
    expect(lots(318)).toEqual([318]);
    reads.answered("a", order("a", "CANCELED", 0));
    expect(lots(318)).toEqual([318]);
    // They prove nothing of another contract, and nothing is trusted for more than is left.
    expect(reads.trusted([position(5, "ETH")], { coin: "ETH", lots: 5 })).toEqual([position(5, "ETH")]);
    sent("3", "SELL", 300);
    expect(reads.trusted(held(318), want(50))).toBeNull();
  });

  it("are no larger for a sale that a picture hid behind a purchase, once the sale is surely in it", () => {
    const { reads, sent, wait } = setUp();
    const lots = (streamed: number) => reads.trusted(held(streamed), want(10))?.map(({ qtyLots }) => qtyLots);
    sent("1", "SELL", 2);
    reads.answered("1", order("1", "FILLED", 2));
    reads.told(order("1", "FILLED", 2));
    wait(SURELY_LATER_MS);
    sent("2", "BUY", 50);
    reads.answered("2", order("2", "FILLED", 50));
    reads.told(order("2", "FILLED", 50));
    reads.moved(held(2), held(50));
    expect(lots(50)).toEqual([50]);
    reads.agreed(reads.begin());
    expect(lots(50)).toEqual([50]);
    expect(reads.isPending).toBe(false);
  });

  it("count for nothing once somebody else took more than any order of ours could have, until a read", () => {
    const { reads, sent, wait } = setUp();
    const lots = (streamed: number, wanted: number) =>
      reads.trusted(held(streamed), want(wanted))?.map(({ qtyLots }) => qtyLots);
    sent("1", "BUY", 1);
    reads.answered("1", order("1", "FILLED", 1));
    reads.moved(held(9), held(10));
    // Closed by its owner but for one, in the venue's own page.
    reads.moved(held(10), held(1));
    expect([lots(1, 5), lots(1, 1)]).toEqual([undefined, undefined]);
    wait(SURELY_LATER_MS);
    reads.agreed(reads.begin());
    expect([lots(1, 5), lots(1, 1)]).toEqual([[1], [1]]);
  });

  it("are what is held, in whatever order pictures and reads come, while no stranger trades", () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("trade" as const), lots: fc.integer({ min: -30, max: 30 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 2_000 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant("picture" as const),
          lagMs: fc.integer({ min: 0, max: SURELY_LATER_MS }),
          isRead: fc.boolean(),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (script) => {
        const { clock, reads, sent, wait } = setUp();
        const nowMs = () => clock.monoNs() / 1e6;
        // Far from flat: a position that turned over is another one.
        const changes = [{ atMs: nowMs(), lots: 5_000 }];
        let pictured = 5_000;
        let picturedMs = nowMs();
        let count = 0;
        for (const one of script) {
          if (one.kind === "wait") wait(one.ms);
          else if (one.kind === "trade" && one.lots !== 0) {
            const id = String(count++);
            sent(id, one.lots > 0 ? "BUY" : "SELL", Math.abs(one.lots));
            changes.push({ atMs: nowMs(), lots: (changes.at(-1)?.lots ?? 0) + one.lots });
            reads.answered(id, order(id, "FILLED", Math.abs(one.lots)));
            reads.told(order(id, "FILLED", Math.abs(one.lots)));
          } else if (one.kind === "picture") {
            picturedMs = Math.max(picturedMs, nowMs() - one.lagMs);
            const next = changes.findLast(({ atMs }) => atMs <= picturedMs)?.lots ?? 0;
            reads.moved(held(pictured), held(next));
            pictured = next;
            if (one.isRead) reads.agreed(reads.begin());
          }
          const trusted = reads.trusted(held(pictured), want(1));
          if (trusted !== null) expect(trusted.map(({ qtyLots }) => qtyLots)).toEqual([changes.at(-1)?.lots]);
        }
      }),
      { numRuns: 3_000, seed: 20_261_123 },
    );
  });

  it("count after one that rests once it was reported as it was answered; what it fills later is any fill", () => {
    const { reads, sent } = setUp();
    sent("1", "BUY", 10, true);
    reads.answered("1", order("1", "PARTIALLY_FILLED", 3));
    reads.told(order("1", "OPEN", 0));
    expect(reads.isTrusted(held(0), null)).toBe(false);
    reads.told(order("1", "PARTIALLY_FILLED", 3));
    expect(reads.isTrusted(held(0), null)).toBe(false);
    reads.moved(held(0), held(3));
    expect(reads.isTrusted(held(3), null)).toBe(true);
  });

  it("do not count after a refusal or an unknown outcome, until a read that began surely later", () => {
    const { reads, sent, wait } = setUp();
    sent("1", "SELL", 10);
    reads.unclear("1");
    wait(SURELY_LATER_MS - 1);
    reads.agreed(reads.begin());
    expect(reads.isTrusted(held(100), want(1))).toBe(false);
    wait(1);
    reads.agreed(reads.begin());
    expect(reads.isTrusted(held(100), null)).toBe(true);
  });

  it("are not trusted again by time alone: an order that was never reported is overdue, then unshown", () => {
    const { reads, sent, wait } = setUp();
    sent("1", "BUY", 10);
    wait(60_000);
    expect(reads.isOverdue).toBe(false);
    reads.answered("1", order("1", "FILLED", 10));
    wait(SURELY_LATER_MS);
    expect([reads.isOverdue, reads.isUnshown]).toEqual([true, false]);
    wait(UNSHOWN_AFTER_MS - SURELY_LATER_MS);
    expect(reads.isUnshown).toBe(true);
    wait(3_600_000);
    expect(reads.isTrusted(held(0), null)).toBe(false);
    reads.agreed(reads.begin());
    expect([reads.isTrusted(held(10), null), reads.isUnshown]).toEqual([true, false]);
  });

  it("are all in doubt when too many orders are under way", () => {
    const { reads, sent } = setUp();
    for (let id = 0; id < 1_024; id++) sent(String(id), "SELL", 1);
    expect(reads.isTrusted(held(5_000), want(3_000))).toBe(true);
    sent("x", "SELL", 1);
    expect(reads.isTrusted(held(5_000), want(1))).toBe(false);
  });

  it("never count for more than is held, whatever the outcome of the orders and in whatever order it is reported", () => {
    const step = fc.record({
      id: fc.integer({ min: 0, max: 3 }),
      what: fc.constantFrom("send", "answer", "end", "frame"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 60 }), (script, wantedLots) => {
        const { reads, sent } = setUp();
        const fills = new Map<number, number>();
        let trueLots = 100;
        let shownLots = 100;
        for (const { id, what } of script) {
          const filledLots = fills.get(id);
          if (what === "send" && filledLots === undefined) {
            sent(String(id), "SELL", 20);
            // What it fills it fills at once.
            fills.set(id, 5 * (id + 1));
            trueLots -= 5 * (id + 1);
          } else if (what === "answer" && filledLots !== undefined)
            reads.answered(String(id), order(String(id), "CANCELED", filledLots));
          else if (what === "end" && filledLots !== undefined) reads.told(order(String(id), "CANCELED", filledLots));
          else if (what === "frame") {
            reads.moved(held(shownLots), held(trueLots));
            shownLots = trueLots;
          }
          if (reads.isTrusted(held(shownLots), want(wantedLots))) expect(trueLots).toBeGreaterThanOrEqual(wantedLots);
          if (reads.isTrusted(held(shownLots), null)) expect(shownLots).toBe(trueLots);
        }
      }),
    );
  });
});

describe("a read that contradicts the streams", () => {
  it("takes nothing away of a position that has just moved, and all of one that has not", () => {
    const { reads, wait } = setUp();
    expect(heldAtLeast(reads, held(3), [])).toEqual([]);
    reads.moved(held(0), held(3));
    expect(heldAtLeast(reads, held(3), [])).toEqual(held(3));
    expect(heldAtLeast(reads, held(3), [position(2), position(1, "ETH")])).toEqual([position(3), position(1, "ETH")]);
    expect(heldAtLeast(reads, held(3), held(5))).toEqual(held(5));
    expect(heldAtLeast(reads, held(3), held(-2))).toEqual([position(3), position(-2)]);
    wait(2 * SURELY_LATER_MS);
    expect(heldAtLeast(reads, held(3), [])).toEqual([]);
  });

  it("takes away what an order of ours may have, and the streams have not shown", () => {
    const { reads, sent } = setUp();
    reads.moved(held(0), held(4));
    sent("1", "SELL", 1);
    reads.answered("1", order("1", "FILLED", 1));
    expect(heldAtLeast(reads, held(4), held(3))).toEqual(held(3));
    // The read may be older than what was opened, and what is left of that is held at least.
    expect(heldAtLeast(reads, held(4), [])).toMatchObject([{ direction: "LONG", qtyLots: 3 }]);
    // One that is on its way may be refused: nothing is flat for that.
    sent("2", "SELL", 3);
    expect(heldAtLeast(reads, held(4), [])).toMatchObject([{ direction: "LONG", qtyLots: 3 }]);
    reads.answered("2", order("2", "FILLED", 3));
    expect(heldAtLeast(reads, held(4), [])).toEqual([]);
    // What an order the other way surely added is held: one frame may show both as no change at all.
    sent("3", "BUY", 3);
    expect(heldAtLeast(reads, held(4), [])).toEqual([]);
    reads.answered("3", order("3", "FILLED", 3));
    expect(heldAtLeast(reads, held(4), [])).toMatchObject([{ direction: "LONG", qtyLots: 3 }]);
    sent("4", "BUY", 9);
    reads.answered("4", order("4", "FILLED", 9));
    expect(heldAtLeast(reads, held(4), [])).toMatchObject([{ direction: "LONG", qtyLots: 4 }]);
    // In a hedge they may have opened the other side.
    const hedged = { ...position(4), positionSide: "LONG" } as const;
    expect(heldAtLeast(reads, [hedged], [])).toEqual([hedged]);
  });
});

describe("a read after an order of ours that the streams do not report", () => {
  const grown = (lots: number) => {
    const set = setUp();
    set.reads.moved(held(0), held(lots));
    return set;
  };

  it("takes away what that order was answered to have filled", () => {
    const { reads, sent } = grown(3);
    sent("close", "SELL", 3);
    reads.answered("close", order("close", "FILLED", 3));
    expect(heldAtLeast(reads, held(3), [])).toEqual([]);
  });

  it("takes away no more: what is on its way may yet be refused, and other positions are held as before", () => {
    const { reads, sent } = grown(3);
    sent("part", "SELL", 1);
    reads.answered("part", order("part", "FILLED", 1));
    sent("pending", "SELL", 2);
    expect(heldAtLeast(reads, held(3), [])).toMatchObject(held(2));
    const other = [...held(3), position(4, "ETH")];
    expect(heldAtLeast(reads, other, [])).toMatchObject([...held(2), position(4, "ETH")]);
    expect(heldAtLeast(reads, held(-3), [])).toEqual(held(-3));
  });

  it("takes away what a look-up of the order reports as filled, where its answer did not", () => {
    const { reads, sent } = grown(3);
    sent("close", "SELL", 2);
    reads.answered("close", null);
    expect(heldAtLeast(reads, held(3), [])).toEqual(held(3));
    reads.fills.looked(order("close", "CANCELED", 1));
    expect(heldAtLeast(reads, held(3), [])).toMatchObject(held(2));
    reads.fills.looked(order("close", "OPEN", 0));
    expect(heldAtLeast(reads, held(3), [])).toMatchObject(held(2));
  });

  it("takes away what an order that rests was answered to have filled, also where its contract is not traced", () => {
    const { reads, sent } = grown(10);
    reads.doubt();
    sent("close", "SELL", 5, true);
    reads.answered("close", order("close", "PARTIALLY_FILLED", 3));
    expect(heldAtLeast(reads, held(10), held(7))).toMatchObject(held(7));
  });

  it("takes away nothing twice: what the streams reported has lowered the position already", () => {
    const { reads, sent } = grown(3);
    sent("close", "SELL", 1);
    reads.moved(held(3), held(2));
    reads.answered("close", order("close", "FILLED", 1));
    expect(heldAtLeast(reads, held(2), [])).toEqual(held(2));
  });
});

describe("a connection", () => {
  it("that is silent proves nothing, also when it begins to deliver something else", () => {
    const { clock, life, reads } = setUp();
    clock.advance(SILENT_AFTER_MS);
    expect(reads.isTrusted(held(1), null)).toBe(true);
    clock.advance(1);
    expect(reads.isTrusted(held(1), null)).toBe(false);
    life.noteFrame();
    life.lost();
    expect(reads.isAlive).toBe(false);
  });

  it("whose frames are late is not trusted until a read agrees", () => {
    const { clock, reads, wait } = setUp();
    reads.happened(clock.wallMs() - 500);
    expect(reads.isTrusted(held(1), null)).toBe(true);
    reads.happened(clock.wallMs() - 8_000);
    expect(reads.isTrusted(held(1), null)).toBe(false);
    wait(SURELY_LATER_MS);
    reads.agreed(reads.begin());
    expect(reads.isTrusted(held(1), null)).toBe(true);
  });
});

describe("the time as of which positions are proven", () => {
  it("is that of the newest whole picture: not of a pong, not of now, and never one still to come", () => {
    const virtual = new VirtualClock(1_000_000);
    let setBackMs = 0;
    const clock: Clock = {
      wallMs: () => virtual.wallMs() - setBackMs,
      monoNs: () => virtual.monoNs(),
      setTimer: (call, ms) => virtual.setTimer(call, ms),
      clearTimer: (timer) => virtual.clearTimer(timer),
    };
    const reads = new StreamedReads(clock, new ConnectionLife(clock));
    const atMs = clock.wallMs();
    reads.proven(atMs);
    virtual.advance(5_000);
    expect(reads.asOfMs).toBe(atMs);
    reads.proven(atMs - 1_000);
    expect(reads.asOfMs).toBe(atMs);
    // By a clock offset with fractions.
    reads.proven(atMs + 1.5);
    expect(reads.asOfMs).toBe(atMs + 1);
    reads.proven(clock.wallMs() + 60_000);
    expect(reads.asOfMs).toBe(clock.wallMs());
    // Set back.
    setBackMs = 60_000;
    reads.proven(clock.wallMs());
    expect(reads.asOfMs).toBe(clock.wallMs());
  });
});
