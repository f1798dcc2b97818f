import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OrderDoubts } from "./order-doubts.js";

describe("what orders of ours may have taken", () => {
  it("is the whole size while the answer is out, then what was filled, until the fills are told", () => {
    const doubts = new OrderDoubts();
    expect(doubts.sent("0x1", "BTC", 100)).toBe(true);
    expect(doubts.lotsOf("BTC")).toBe(100);
    expect(doubts.lotsOf("ETH")).toBe(0);
    expect(doubts.answered("0x1", 60, 1_000)).toBe(true);
    expect(doubts.lotsOf("BTC")).toBe(60);
    doubts.told("0x1", 40);
    expect(doubts.lotsOf("BTC")).toBe(20);
    doubts.told("0x1", 20);
    expect(doubts.size).toBe(0);
  });

  it("ends with the answer where the fills were told before it, or nothing filled", () => {
    const doubts = new OrderDoubts();
    doubts.sent("0x1", "BTC", 100);
    doubts.sent("0x2", "BTC", 50);
    doubts.told("0x1", 100);
    expect(doubts.lotsOf("BTC")).toBe(50);
    expect(doubts.size).toBe(2);
    doubts.answered("0x1", 100, 1_000);
    doubts.answered("0x2", 0, 1_000);
    expect(doubts.size).toBe(0);
  });

  it("knows nothing of orders it was not told of", () => {
    const doubts = new OrderDoubts();
    expect(doubts.answered("0x1", 5, 1_000)).toBe(false);
    doubts.told("0x1", 5);
    doubts.told(null, 5);
    doubts.drop("0x1");
    expect(doubts.size).toBe(0);
  });

  it("is over for what was answered before a whole state, never for what is under way", () => {
    const doubts = new OrderDoubts();
    doubts.sent("0x1", "BTC", 10);
    doubts.sent("0x2", "BTC", 20);
    doubts.sent("0x3", "BTC", 40);
    doubts.answered("0x1", 10, 1_000);
    doubts.answered("0x2", 20, 1_001);
    doubts.forgetAnswered(1_000);
    expect(doubts.lotsOf("BTC")).toBe(60);
    doubts.forgetAnswered(9_000);
    expect(doubts.lotsOf("BTC")).toBe(40);
  });

  it("counts a bounded number of orders and says when it counts no more", () => {
    const doubts = new OrderDoubts();
    for (let index = 0; index < 1_024; index++) expect(doubts.sent(`0x${index}`, "BTC", 1)).toBe(true);
    expect(doubts.sent("0xffff", "BTC", 1)).toBe(false);
    expect(doubts.lotsOf("BTC")).toBe(1_024);
  });

  it("never says less than what has filled and was not told, whatever the order of answers and fills", () => {
    const orders = fc.array(
      fc.record({ qty: fc.integer({ min: 1, max: 100 }), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(orders, fc.array(fc.nat(1_000), { maxLength: 60 }), (made, picks) => {
        const doubts = new OrderDoubts();
        const filled = made.map(({ qty, share }) => Math.floor(qty * share));
        const told = made.map(() => 0);
        const answered = made.map(() => false);
        for (const [index, { qty }] of made.entries()) doubts.sent(String(index), "BTC", qty);
        for (const pick of picks) {
          const index = pick % made.length;
          const open = (filled[index] as number) - (told[index] as number);
          if (pick % 3 === 0 && answered[index] !== true) {
            answered[index] = true;
            doubts.answered(String(index), filled[index] as number, 1);
          } else if (open > 0) {
            const lots = 1 + (pick % open);
            told[index] = (told[index] as number) + lots;
            doubts.told(String(index), lots);
          }
          const missing = filled.reduce((sum, lots, at) => sum + lots - (told[at] as number), 0);
          expect(doubts.lotsOf("BTC")).toBeGreaterThanOrEqual(missing);
        }
      }),
    );
  });
});

describe("told by positions alone", () => {
  it("counts what a position lost for the oldest orders of it, whichever it was", () => {
    const doubts = new OrderDoubts();
    doubts.sent("1", "BTC", 10);
    doubts.sent("2", "ETH", 10);
    doubts.sent("3", "BTC", 10);
    doubts.shrunk("BTC", 15);
    expect([doubts.lotsOf("BTC"), doubts.lotsOf("ETH")]).toEqual([5, 10]);
    // Told of, but not answered: it may be counted with less yet, never with more.
    expect(doubts.size).toBe(3);
    doubts.answered("1", 10, 1_000);
    expect(doubts.size).toBe(2);
    doubts.shrunk("SOL", 5);
    doubts.shrunk("BTC", 500);
    doubts.answered("3", 10, 1_000);
    expect([doubts.size, doubts.lotsOf("BTC")]).toEqual([1, 0]);
  });

  it("an answer that does not say how much leaves the whole size in doubt, and is over with a later state", () => {
    const doubts = new OrderDoubts();
    doubts.sent("1", "BTC", 10);
    expect(doubts.answered("1", null, 1_000)).toBe(true);
    expect(doubts.lotsOf("BTC")).toBe(10);
    expect([doubts.hasAnswered(999), doubts.hasAnswered(1_000)]).toEqual([false, true]);
    doubts.forgetAnswered(1_000);
    expect([doubts.size, doubts.hasAnswered(9_000)]).toEqual([0, false]);
  });

  it("positions stand where what is wanted is left whatever the orders did, and for exact sizes where none is open", () => {
    const doubts = new OrderDoubts();
    const held = [{ nativeSymbol: "BTC", qtyLots: 100 }] as unknown as Parameters<OrderDoubts["leaves"]>[0];
    expect([doubts.leaves(held, null), doubts.leaves([], { coin: "BTC", lots: 5 })]).toEqual([true, true]);
    doubts.sent("1", "BTC", 60);
    expect(doubts.leaves(held, null)).toBe(false);
    expect(doubts.leaves(held, { coin: "BTC", lots: 40 })).toBe(true);
    expect(doubts.leaves(held, { coin: "BTC", lots: 41 })).toBe(false);
    expect(doubts.leaves([], { coin: "BTC", lots: 1 })).toBe(false);
    expect(doubts.leaves([], { coin: "ETH", lots: 1 })).toBe(true);
  });

  it("never says less than what has filled and no picture shows, while nobody else trades", () => {
    const orders = fc.array(
      fc.record({ qty: fc.integer({ min: 1, max: 100 }), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(orders, fc.array(fc.nat(1_000), { maxLength: 60 }), (made, picks) => {
        const doubts = new OrderDoubts();
        const filled = made.map(() => 0);
        const isEnded = made.map(() => false);
        let shownLots = 0;
        for (const [index, { qty }] of made.entries()) doubts.sent(String(index), "BTC", qty);
        for (const pick of picks) {
          const index = pick % made.length;
          const { qty, share } = made[index] as { qty: number; share: number };
          const mostLots = Math.floor(qty * share);
          const open = mostLots - (filled[index] as number);
          const executedLots = filled.reduce((sum, lots) => sum + lots, 0);
          if (pick % 4 === 0 && open > 0 && isEnded[index] === false)
            filled[index] = (filled[index] as number) + 1 + (pick % open);
          else if (pick % 4 === 1 && isEnded[index] === false) {
            isEnded[index] = true;
            doubts.answered(String(index), filled[index] as number, 1);
          } else if (pick % 4 === 2) {
            if (isEnded[index] === false) doubts.answered(String(index), null, 1);
          } else if (executedLots > shownLots) {
            const lots = 1 + (pick % (executedLots - shownLots));
            shownLots += lots;
            doubts.shrunk("BTC", lots);
          }
          const missing = filled.reduce((sum, lots) => sum + lots, 0) - shownLots;
          expect(doubts.lotsOf("BTC")).toBeGreaterThanOrEqual(missing);
        }
      }),
    );
  });
});
