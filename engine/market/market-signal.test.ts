import { describe, expect, it } from "vitest";
import { DRIVEN_BTC } from "../../bench/lib/instruments.js";
import { INVALID_GAP } from "./book.js";
import { createMarket, MAX_MARKET_LISTENERS, type Market, type MarketListener } from "./market.js";

function listenTo(market: Market): string[] {
  const calls: string[] = [];
  const listener: MarketListener = {
    bookChanged: (changed) => calls.push(`book ${changed.book.bidCount}`),
    deepChanged: () => calls.push("deep"),
    touchChanged: (changed) => calls.push(`touch ${changed.touch.present}`),
    tickerChanged: (changed) => calls.push(`ticker ${changed.ticker.markPrice}`),
    traded: (_market, side, priceTicks, qtyLots, tradeId) => calls.push(`${side} ${qtyLots}@${priceTicks} ${tradeId}`),
  };
  market.signal.listen(listener);
  return calls;
}

function deepMarket(): Market {
  return createMarket(DRIVEN_BTC, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 });
}

describe("the signal of a market", () => {
  it("comes after each commit and when the book leaves LIVE", () => {
    const market = deepMarket();
    const calls = listenTo(market);
    market.book.beginSync();
    market.book.beginSnapshot();
    market.book.applyBid(10, 1);
    expect(calls).toEqual([]);
    market.book.commit(1, 1, 1);
    market.book.prove(2);
    market.book.invalidate(INVALID_GAP);
    market.book.beginSync();
    market.book.clear();
    expect(calls).toEqual(["book 1", "book 0", "book 0"]);
  });

  it("names the part that changed", () => {
    const market = deepMarket();
    const calls = listenTo(market);
    market.deep?.invalidate(INVALID_GAP);
    market.touch.set(1, 1, 2, 1, 0, 1, 1);
    market.touch.set(2, 1, 2, 1, 0, 1, 1);
    market.ticker.markPrice = "5";
    market.ticker.stamp(1, 1);
    market.signal.traded(market, "SELL", 7, 3, "9007199254740993", 1, 1);
    expect(calls).toEqual(["deep", "touch true", "touch false", "ticker 5", "SELL 3@7 9007199254740993"]);
  });

  it("ends with the subscription, and has a maximum of listeners", () => {
    const market = deepMarket();
    const ends = Array.from({ length: MAX_MARKET_LISTENERS }, () => {
      const calls: string[] = [];
      const end = market.signal.listen({
        bookChanged: () => calls.push("book"),
        deepChanged() {},
        touchChanged() {},
        tickerChanged() {},
        traded() {},
      });
      return { calls, end };
    });
    expect(() => listenTo(market)).toThrow(RangeError);
    ends[0]?.end();
    ends[0]?.end();
    market.book.invalidate(INVALID_GAP);
    expect(ends.map(({ calls }) => calls.length)).toEqual([0, ...Array(MAX_MARKET_LISTENERS - 1).fill(1)]);
  });
});
