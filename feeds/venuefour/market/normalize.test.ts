import { describe, expect, it } from "vitest";
import { Ticker } from "../../../engine/market/ticker.js";
import { applyLastTrade, applyPrice, nextFundingMs, normalizeTrade } from "./normalize.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";
import type { VenuefourTradeSide, VenuefourWirePrice } from "./wire.js";

const HOUR = 3_600_000;
const PRICE: VenuefourWirePrice = {
  symbol: "BTC",
  mark: "63510.1",
  mid: "63511",
  oracle: "63509",
  funding: "0.0000125",
  next_funding: "0.000015",
  open_interest: "12.5",
  volume_24h: "1000.5",
  yesterday_price: "63000",
  timestamp: 5_000,
};

describe("trades", () => {
  const btc = buildInstruments(
    [
      {
        symbol: "BTC",
        instrument_type: "perpetual",
        tick_size: "1",
        lot_size: "0.00001",
        max_leverage: 50,
        min_order_size: "10",
      },
    ],
    DEFAULT_FEES,
  ).bySymbol.get("BTC");
  const trade = (d: VenuefourTradeSide, p = "63508", a = "0.00001") => {
    if (btc === undefined) throw new Error("BTC is missing");
    return normalizeTrade({ s: "BTC", p, a, d, h: 1, t: 1 }, btc);
  };

  it.each([
    ["open_long", "BUY"],
    ["close_short", "BUY"],
    ["open_short", "SELL"],
    ["close_long", "SELL"],
  ] as const)("of a taker who does %s are %s", (d, side) => {
    expect(trade(d)).toEqual({ side, priceTicks: 63_508, qtyLots: 1 });
  });

  it.each([
    ["63508.5", "1"],
    ["63508", "0.000001"],
    ["0", "1"],
    ["63508", "0"],
  ])("that the instrument can not hold (%s × %s) are none", (p, a) => {
    expect(trade("open_long", p, a)).toBeNull();
  });
});

describe("tickers", () => {
  it("take a price row whole, with the rate that the next hour will pay", () => {
    const ticker = new Ticker();
    applyPrice(ticker, PRICE, false, 10 * HOUR + 5, 7);
    expect(ticker).toMatchObject({
      markPrice: "63510.1",
      indexPrice: "63509",
      lastPrice: "63511",
      prevDayPrice: "63000",
      volume24h: "1000.5",
      openInterest: "12.5",
      fundingRate: "0.000015",
      nextFundingTime: 11 * HOUR,
      fundingIntervalHours: 1,
      tsVenueMs: 5_000,
      tsRecvNs: 7,
    });
  });

  it("keep what a partial row omits, and fall back to the rate paid", () => {
    const ticker = new Ticker();
    applyPrice(ticker, PRICE, false, 0, 7);
    const bare = { mid: null, oracle: null, volume_24h: null, yesterday_price: null, open_interest: null };
    applyPrice(ticker, { ...PRICE, ...bare, mark: "1", next_funding: null, timestamp: 6_000 }, false, 0, 8);
    expect(ticker).toMatchObject({ markPrice: "1", indexPrice: "63509", lastPrice: "63511", fundingRate: "0.0000125" });
  });

  it("show the last trade as last price once there was one", () => {
    const ticker = new Ticker();
    applyPrice(ticker, PRICE, false, 0, 7);
    applyLastTrade(ticker, "63512", 5_500, 8);
    applyPrice(ticker, { ...PRICE, mid: "1", timestamp: 6_000 }, true, 0, 9);
    expect(ticker).toMatchObject({ lastPrice: "63512", tsVenueMs: 6_000 });
  });

  it("on the hour name the next one", () => {
    expect([nextFundingMs(HOUR), nextFundingMs(HOUR - 1)]).toEqual([2 * HOUR, HOUR]);
  });
});
