import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonicalBase, normalizeExchangeInfo, normalizeFundingInfo, normalizeSymbol } from "./symbols.js";
import type { VenuetwoWireSymbol } from "./wire.js";

const BTC: VenuetwoWireSymbol = {
  symbol: "BTCUSDT",
  contractType: "PERPETUAL",
  status: "TRADING",
  baseAsset: "BTC",
  quoteAsset: "USDT",
  pricePrecision: 1,
  quantityPrecision: 3,
  filters: [
    { filterType: "PRICE_FILTER", minPrice: "1", maxPrice: "1000000", tickSize: "0.1" },
    { filterType: "LOT_SIZE", stepSize: "0.001", maxQty: "1000", minQty: "0.001" },
    { filterType: "MARKET_LOT_SIZE", stepSize: "0.001", maxQty: "120", minQty: "0.001" },
    { filterType: "MIN_NOTIONAL", notional: "5" },
    { filterType: "PERCENT_PRICE", multiplierUp: "1.0200", multiplierDown: "0.9800", multiplierDecimal: "4" },
  ],
};

function withFilter(type: string, change: Record<string, string>): VenuetwoWireSymbol {
  return { ...BTC, filters: BTC.filters.map((row) => (row["filterType"] === type ? { ...row, ...change } : row)) };
}

describe("normalizeSymbol", () => {
  it("reads filters into ticks, lots, bands and minima", () => {
    expect(normalizeSymbol(BTC)).toMatchObject({
      symbol: "BTC",
      nativeSymbol: "BTCUSDT",
      priceDecimals: 1,
      qtyDecimals: 3,
      priceStepTicks: 1,
      qtyStepLots: 1,
      minQtyLots: 1,
      maxQtyLots: 120_000,
      minNotional: "5",
      minNotionalOnReduceOnly: "no",
      bandUpPpm: 1_020_000,
      bandDownPpm: 980_000,
      marketTriggersUnpriced: true,
      takerFeeMilliBps: 3_500,
      makerFeeMilliBps: 1_000,
      status: "TRADING",
    });
  });

  it("takes the finer of precision and tick as the printed decimals, and keeps the tick as a step", () => {
    const wire = {
      ...withFilter("PRICE_FILTER", { tickSize: "0.00010", minPrice: "0.00010", maxPrice: "200" }),
      pricePrecision: 5,
    };
    expect(normalizeSymbol(wire)).toMatchObject({ priceDecimals: 5, priceStepTicks: 10 });
  });

  it("reads a switched-off grid as one tick", () => {
    expect(normalizeSymbol(withFilter("PRICE_FILTER", { tickSize: "0", minPrice: "0" }))).toMatchObject({
      priceStepTicks: 1,
    });
  });

  it("rounds bands inward", () => {
    const wire = withFilter("PERCENT_PRICE", { multiplierUp: "1.05000009", multiplierDown: "0.94999991" });
    expect(normalizeSymbol(wire)).toMatchObject({ bandUpPpm: 1_050_000, bandDownPpm: 950_000 });
  });

  it.each([
    ["an internal name", { ...BTC, symbol: "TESTBTCUSDT" }, "internal"],
    ["a dated contract", { ...BTC, contractType: "CURRENT_QUARTER" }, "notPerpetual"],
    ["a pending listing", { ...BTC, contractType: "" }, "notPerpetual"],
    ["a price range beyond 2^53", withFilter("PRICE_FILTER", { maxPrice: "9007199254740993" }), "unsafeRange"],
    ["a quantity range beyond 2^53", withFilter("LOT_SIZE", { maxQty: "9007199254740993" }), "unsafeRange"],
    ["a grid that does not start at zero", withFilter("PRICE_FILTER", { tickSize: "0.3", minPrice: "0.1" }), "offGrid"],
    ["a missing filter", { ...BTC, filters: [] }, "malformed"],
    ["absurd precision", { ...BTC, pricePrecision: 40 }, "malformed"],
    ["fractional precision", { ...BTC, pricePrecision: 1.5 }, "malformed"],
  ])("refuses the symbol %s", (_name, wire, reason) => {
    expect(normalizeSymbol(wire)).toBe(reason);
  });

  it.each(["SETTLING", "PRE_SETTLE", "CLOSE", "PENDING_TRADING", "SOMETHING_NEW"])(
    "lists status %s as halted",
    (status) => {
      expect(normalizeSymbol({ ...BTC, status })).toMatchObject({ status: "HALTED" });
    },
  );
});

describe("canonicalBase", () => {
  it.each([
    ["1000PEPE", "PEPE", 3],
    ["10000SATS", "SATS", 4],
    ["1000000MOG", "MOG", 6],
    ["1MBABYDOGE", "BABYDOGE", 6],
    ["1INCH", "1INCH", 0],
    ["0G", "0G", 0],
    ["2Z", "2Z", 0],
    ["4", "4", 0],
    ["42", "42", 0],
    ["1000", "1000", 0],
    ["100X", "100X", 0],
    ["btc", "BTC", 0],
  ])("%s is %s with exponent %i", (base, symbol, multiplierExp10) => {
    expect(canonicalBase(base)).toEqual({ symbol, multiplierExp10 });
  });
});

describe("normalizeExchangeInfo", () => {
  it("prefers USDT, and a trading contract before a halted one", () => {
    const usd1 = { ...BTC, symbol: "BTCUSD1", quoteAsset: "USD1" };
    const both = normalizeExchangeInfo({ serverTime: 7, symbols: [usd1, BTC] });
    expect(both?.instruments.get("BTC")?.nativeSymbol).toBe("BTCUSDT");
    expect(both?.skipped).toEqual([{ nativeSymbol: "BTCUSD1", reason: "lessPreferred" }]);
    expect(both?.serverTimeMs).toBe(7);
    const halted = normalizeExchangeInfo({ symbols: [{ ...BTC, status: "SETTLING" }, usd1] });
    expect(halted?.instruments.get("BTC")?.nativeSymbol).toBe("BTCUSD1");
  });

  it("prefers the plain contract to the multiplied one", () => {
    const many = { ...BTC, symbol: "1000BTCUSDT", baseAsset: "1000BTC" };
    expect(normalizeExchangeInfo({ symbols: [many, BTC] })?.instruments.get("BTC")?.multiplierExp10).toBe(0);
  });

  it.each([null, [], "text", {}, { symbols: {} }])("is null for %j", (body) => {
    expect(normalizeExchangeInfo(body)).toBeNull();
  });

  it("counts rows that are no symbols and keeps the rest", () => {
    const load = normalizeExchangeInfo({ symbols: [null, 5, { symbol: "X" }, BTC] });
    expect(load?.instruments.size).toBe(1);
    expect(load?.skipped.map((row) => row.reason)).toEqual(["malformed", "malformed", "malformed"]);
  });

  it("reads the recorded excerpt", () => {
    const body: unknown = JSON.parse(readFileSync(new URL("../fixtures/exchange-info.json", import.meta.url), "utf8"));
    const load = normalizeExchangeInfo(body);
    expect(load?.instruments.get("ASTER")).toMatchObject({
      priceDecimals: 5,
      priceStepTicks: 10,
      maxQtyLots: 20_000_000,
    });
    expect(load?.instruments.get("PEPE")).toMatchObject({ nativeSymbol: "1000PEPEUSDT", multiplierExp10: 3 });
    expect(load?.instruments.get("BTC")).toMatchObject({ bandUpPpm: 1_020_000, bandDownPpm: 980_000 });
  });
});

describe("normalizeFundingInfo", () => {
  it("keeps sensible intervals only", () => {
    const body = [
      { symbol: "A", fundingIntervalHours: 4 },
      { symbol: "B", fundingIntervalHours: 0 },
      { symbol: "C" },
      null,
    ];
    expect([...normalizeFundingInfo(body)]).toEqual([["A", 4]]);
    expect(normalizeFundingInfo({ code: -1000 }).size).toBe(0);
  });
});
