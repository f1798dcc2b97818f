import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ticker } from "../../../engine/market/ticker.js";
import { applyStats, inOrder, nextFundingMs, percentToFraction, prevDayPrice } from "./normalize.js";
import { NO_STATS } from "../test/stream-bench.js";

describe("applyStats", () => {
  it("fills the ticker in our units", () => {
    const ticker = new Ticker();
    const wire = {
      ...NO_STATS,
      mark_price: "64356.3",
      index_price: "64400.1",
      last_trade_price: "64351.5",
      open_interest: "102123609.308856",
      current_funding_rate: "-0.0028",
      daily_base_token_volume: "23621.29428",
      daily_quote_token_volume: "1531624159.687143",
      daily_price_low: "61376.4",
      daily_price_high: "67478.8",
      daily_price_change: "-4.366136694955931",
    };
    applyStats(ticker, wire, 1, 1780546209291, 77);
    expect(ticker).toMatchObject({
      markPrice: "64356.3",
      indexPrice: "64400.1",
      lastPrice: "64351.5",
      openInterest: "102123609.308856",
      fundingRate: "-0.000028",
      fundingIntervalHours: 1,
      nextFundingTime: 1780549200000,
      volume24h: "1531624159.687143",
      volumeBase: "23621.29428",
      low24h: "61376.4",
      high24h: "67478.8",
      change24h: "-4.366136694955931",
      prevDayPrice: "67289.4",
      tsVenueMs: 1780546209291,
      tsRecvNs: 77,
    });
    applyStats(ticker, { ...NO_STATS, last_trade_price: "64000.0" }, 1, 1780546209391, 78);
    expect(ticker).toMatchObject({ markPrice: "64356.3", lastPrice: "64000.0", prevDayPrice: "66921.9" });
  });
});

describe("percentToFraction", () => {
  it.each([
    ["0.0012", "0.000012"],
    ["-0.0005", "-0.000005"],
    ["0", "0"],
    ["12", "0.12"],
    ["", ""],
    ["1e-5", ""],
  ])("%s becomes %s", (percent, fraction) => {
    expect(percentToFraction(percent)).toBe(fraction);
  });
});

describe("prevDayPrice", () => {
  it.each([
    ["110", "10", 2, "100"],
    ["90", "-10", 2, "100"],
    ["0.20382", "0", 5, "0.20382"],
    ["5", "-100", 2, ""],
    ["5", "-250", 2, ""],
    ["", "1", 2, ""],
    ["5", "", 2, ""],
  ])("last %s after %s %% with %i decimals was %j", (last, change, decimals, previous) => {
    expect(prevDayPrice(last, change, decimals)).toBe(previous);
  });

  it("is within half a tick of the exact quotient", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000_000 }),
        fc.integer({ min: -9_999, max: 100_000 }),
        (ticks, change) => {
          // last = ticks / 100, change in hundredths of a percent: previous × (10000 + change) = last × 10000.
          const text = prevDayPrice(String(ticks / 100), String(change / 100), 2);
          const previousTicks = BigInt(Math.round(Number(text) * 100));
          const error = previousTicks * BigInt(10_000 + change) - BigInt(ticks) * 10_000n;
          expect((error < 0n ? -error : error) * 2n <= BigInt(10_000 + change)).toBe(true);
        },
      ),
      { numRuns: 300, seed: 61 },
    );
  });
});

describe("nextFundingMs", () => {
  it("is the next whole hour, also on the hour", () => {
    expect(nextFundingMs(3_600_000)).toBe(7_200_000);
    expect(nextFundingMs(7_199_999)).toBe(7_200_000);
  });
});

describe("inOrder", () => {
  it("sorts by time, then by the number that the id is", () => {
    const trade = (trade_id: string, timestamp: number) => ({
      trade_id,
      type: "trade",
      price: "1",
      size: "1",
      is_maker_ask: true,
      timestamp,
    });
    const ids = inOrder([trade("10", 5), trade("9", 5), trade("11", 4), trade("9007199254740993", 5)]).map(
      ({ trade_id }) => trade_id,
    );
    expect(ids).toEqual(["11", "9", "10", "9007199254740993"]);
  });
});
