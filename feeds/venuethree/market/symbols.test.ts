import { describe, expect, it } from "vitest";
import { decodeDetails } from "./decode-slow.js";
import { readFileSync } from "node:fs";
import { buildInstrument, buildInstruments } from "./symbols.js";
import type { VenuethreeWireMarket } from "./wire.js";

const FEES = { takerFeeMilliBps: 0, makerFeeMilliBps: 0 };
const DETAILS = decodeDetails(readFileSync(new URL("../fixtures/order-book-details.json", import.meta.url), "utf8"));

function market(change: Partial<VenuethreeWireMarket>): VenuethreeWireMarket {
  const [first] = DETAILS?.markets ?? [];
  if (first === undefined) throw new Error("no fixture");
  return { ...first, ...change };
}

describe("buildInstruments", () => {
  it("reads a live answer", () => {
    const { bySymbol, skipped } = buildInstruments(DETAILS?.markets ?? [], FEES);
    expect([...bySymbol.keys()]).toEqual(["ETH", "BTC"]);
    expect(skipped).toEqual([]);
    expect(bySymbol.get("BTC")).toMatchObject({
      venue: "venuethree",
      nativeSymbol: "BTC",
      nativeId: 1,
      priceDecimals: 1,
      qtyDecimals: 5,
      minQtyLots: 1,
      minNotional: "0",
      maxQtyLots: 281_474_976_710_655,
      maxLeverage: 50,
      quoteAsset: "USDC",
      takerFeeMilliBps: 0,
      status: "TRADING",
    });
  });

  it.each([
    ["as listed", {}, { qtyLots: 50, notional: "10" }],
    ["finer than a lot: up", { min_base_amount: "0.00505", min_quote_amount: "0.5" }, { qtyLots: 51, notional: "0.5" }],
    ["none", { min_base_amount: null, min_quote_amount: null }, { qtyLots: 1, notional: "0" }],
    ["zero", { min_base_amount: "0.0000", min_quote_amount: "0" }, { qtyLots: 1, notional: "0" }],
  ])("reads a minimum of resting orders that is %s; those that take have none", (_what, change, restingMinimum) => {
    const made = buildInstrument(market(change), FEES);
    expect(made).toMatchObject({ restingMinimum, minQtyLots: 1, minNotional: "0" });
  });

  it.each([{ min_base_amount: "99999999999999" }, { min_quote_amount: "-1" }])(
    "takes a minimum that no order could have for a broken listing",
    (change) => {
      expect(buildInstrument(market(change), FEES)).toBe("malformed");
    },
  );

  it.each([
    ["1000PEPE", "PEPE", 3],
    ["kPEPE", "PEPE", 3],
    ["1000000MOG", "MOG", 6],
    ["1INCH", "1INCH", 0],
    ["KAVA", "KAVA", 0],
    ["EURUSD", "EURUSD", 0],
  ])("takes %s for %s, 10^%i units a contract", (name, symbol, multiplierExp10) => {
    expect(buildInstrument(market({ symbol: name }), FEES)).toMatchObject({
      symbol,
      nativeSymbol: name,
      multiplierExp10,
    });
  });

  it("halts what is not active, and takes leverage from the margin fraction, rounded down", () => {
    const made = buildInstrument(market({ status: "inactive", min_initial_margin_fraction: 333 }), FEES);
    expect(made).toMatchObject({ status: "HALTED", maxLeverage: 30 });
  });

  it.each([
    ["a name of another form", { symbol: "SKY/USDC" }, "malformed"],
    ["no name", { symbol: "" }, "malformed"],
    ["a negative number", { market_id: -1 }, "malformed"],
    ["absurd decimals", { price_decimals: 13 }, "malformed"],
    ["no margin", { min_initial_margin_fraction: 0 }, "malformed"],
    ["a multiplier of unknown meaning", { multiplier: "5.000000000000000000" }, "unknownMultiplier"],
  ])("refuses a listing with %s", (_name, change, reason) => {
    expect(buildInstrument(market(change), FEES)).toBe(reason);
  });

  it("takes a multiplier of one, and one that says what the name says", () => {
    expect(buildInstrument(market({ multiplier: "1.000000000000000000" }), FEES)).toBeTypeOf("object");
    expect(buildInstrument(market({ symbol: "1000PEPE", multiplier: "1000.000" }), FEES)).toBeTypeOf("object");
  });

  it("prefers the trading contract of an asset listed twice, then the smaller multiple", () => {
    const pepe = market({ symbol: "PEPE", market_id: 5 });
    const thousand = market({ symbol: "1000PEPE", market_id: 4 });
    const list = (...rows: VenuethreeWireMarket[]) => buildInstruments(rows, FEES);
    expect(list(thousand, pepe).bySymbol.get("PEPE")?.nativeId).toBe(5);
    const halted = list({ ...pepe, status: "inactive" }, thousand);
    expect(halted.bySymbol.get("PEPE")?.nativeId).toBe(4);
    expect(halted.skipped).toEqual([{ nativeSymbol: "PEPE", reason: "lessPreferred" }]);
  });
});
