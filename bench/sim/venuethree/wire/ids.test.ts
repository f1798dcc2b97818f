import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { orderIndex } from "./ids.js";

const LOW_48 = (1n << 48n) - 1n;

describe("order ids", () => {
  it("reproduce the recorded ones", () => {
    // A live bid of market 1 (844424912956320, nonce 281474959535008) and public trades of market 0.
    expect(orderIndex(1, "BUY", (1n << 48n) - 281_474_959_535_008n)).toBe(844_424_912_956_320n);
    expect(orderIndex(0, "SELL", 281_476_929_689_557n & LOW_48)).toBe(281_476_929_689_557n);
  });

  it("keep market and side apart, asks rising and bids falling with their number", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 254 }), fc.bigInt({ min: 1n, max: 1n << 46n }), (marketId, running) => {
        const ask = orderIndex(marketId, "SELL", running);
        const bid = orderIndex(marketId, "BUY", running);
        // Both lie in the span of the market; the low 48 bits are the order's nonce.
        expect([ask >> 48n, bid >> 48n]).toEqual([BigInt(marketId) + 1n, BigInt(marketId) + 1n]);
        expect(ask & LOW_48).toBe(running);
        expect(bid & LOW_48).toBe((1n << 48n) - running);
        expect(orderIndex(marketId, "SELL", running + 1n) > ask).toBe(true);
        expect(orderIndex(marketId, "BUY", running + 1n) < bid).toBe(true);
        if (marketId >= 31) expect(ask > 1n << 53n).toBe(true);
      }),
    );
  });
});
