import { describe, expect, it } from "vitest";
import { decodeWith } from "../../shared/room/wire-fields.js";
import { decodeMeta, decodeUniverse } from "./decode.js";
import { readFixture } from "../fixtures/market/load.js";
import { buildInstruments, canonicalSymbol, DEFAULT_FEES } from "./symbols.js";
import type { VenueoneWireAsset } from "./wire.js";

function asset(name: string, szDecimals: number, overrides: Partial<VenueoneWireAsset> = {}): VenueoneWireAsset {
  return { name, szDecimals, maxLeverage: 10, isDelisted: false, ...overrides };
}

function build(universe: readonly VenueoneWireAsset[], collateralToken = 0) {
  return buildInstruments({ universe, collateralToken }, DEFAULT_FEES);
}

describe("buildInstruments", () => {
  it("numbers assets by position, delisted ones counted, on a recorded list", () => {
    const meta = decodeWith(JSON.parse(readFixture("meta.json")), decodeMeta);
    if (!meta.ok) throw new Error(meta.problem);
    const { bySymbol, byCoin } = buildInstruments(meta.value, DEFAULT_FEES);
    expect([...bySymbol.keys()]).toEqual(["BTC", "ETH", "ATOM", "DYDX", "SOL"]);
    expect(bySymbol.get("DYDX")?.nativeId).toBe(4);
    expect(byCoin.get("MATIC")).toMatchObject({ nativeId: 3, status: "HALTED" });
  });

  it("derives scales, rules and fees", () => {
    expect(build([asset("BTC", 5, { maxLeverage: 40 })]).bySymbol.get("BTC")).toEqual({
      venue: "venueone",
      symbol: "BTC",
      nativeSymbol: "BTC",
      nativeId: 0,
      multiplierExp10: 0,
      priceDecimals: 1,
      qtyDecimals: 5,
      priceRule: "sigfigs5",
      priceStepTicks: 1,
      qtyStepLots: 1,
      minQtyLots: 1,
      maxQtyLots: Number.MAX_SAFE_INTEGER,
      minNotional: "10",
      minNotionalOnReduceOnly: "exceptFullClose",
      bandUpPpm: 0,
      bandDownPpm: 0,
      wideBand: { lowPpm: 200_000, highPpm: 5_000_000 },
      quoteAsset: "USDC",
      takerFeeMilliBps: 4_500,
      makerFeeMilliBps: 1_500,
      maxLeverage: 40,
      status: "TRADING",
    });
  });

  it("reads k names as thousands of the base asset, and only these", () => {
    expect(canonicalSymbol("kPEPE")).toEqual({ symbol: "PEPE", multiplierExp10: 3 });
    expect(canonicalSymbol("KAS")).toEqual({ symbol: "KAS", multiplierExp10: 0 });
    expect(canonicalSymbol("k")).toEqual({ symbol: "K", multiplierExp10: 0 });
    expect(build([asset("kPEPE", 0)]).bySymbol.get("PEPE")).toMatchObject({
      nativeSymbol: "kPEPE",
      priceDecimals: 6,
      qtyDecimals: 0,
    });
  });

  it("gives a symbol listed twice to the first listed asset, not to a delisted one", () => {
    const { bySymbol } = build([asset("PEPE", 0, { isDelisted: true }), asset("kPEPE", 0), asset("pepe", 1)]);
    expect(bySymbol.get("PEPE")).toMatchObject({ nativeSymbol: "kPEPE", nativeId: 1 });
  });

  it("leaves out, by name, what it can not speak exactly, without shifting the numbers", () => {
    const list = build([asset("A", 7), asset("xyz:TSLA", 2), asset("B", 2)]);
    expect(list.skipped).toEqual(["A", "xyz:TSLA"]);
    expect(list.bySymbol.get("B")?.nativeId).toBe(2);
    expect(build([asset("BTC", 5)], 235).bySymbol.size).toBe(0);
  });
});

describe("decodeUniverse", () => {
  it("joins contexts by position on a recorded answer, and refuses lists of different length", () => {
    const body = JSON.parse(readFixture("meta-and-contexts.json")) as [{ universe: unknown[] }, unknown[]];
    const universe = decodeWith(body, decodeUniverse);
    if (!universe.ok) throw new Error(universe.problem);
    expect(universe.value.contexts).toHaveLength(universe.value.meta.universe.length);
    const delisted = universe.value.meta.universe.findIndex((entry) => entry.isDelisted);
    expect(universe.value.contexts[delisted]).toMatchObject({ midPx: null, funding: "0.0" });
    expect(decodeWith([body[0], body[1].slice(1)], decodeUniverse).ok).toBe(false);
  });
});
