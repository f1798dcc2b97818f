import { describe, expect, it } from "vitest";
import { decodeMarkets } from "./decode.js";
import { readFixture } from "../fixtures/load.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";
import type { VenuefourWireMarket } from "./wire.js";

const row = (symbol: string, fields: Partial<VenuefourWireMarket> = {}): VenuefourWireMarket => ({
  symbol,
  instrument_type: "perpetual",
  tick_size: "0.01",
  lot_size: "0.001",
  max_leverage: 10,
  min_order_size: "10",
  ...fields,
});
const build = (...rows: VenuefourWireMarket[]) => buildInstruments(rows, DEFAULT_FEES);

describe("instruments", () => {
  it("of the recorded list are the perpetuals, by canonical symbol", () => {
    const { markets } = decodeMarkets((JSON.parse(readFixture("info.json")) as { data: unknown }).data);
    const { bySymbol, skipped } = buildInstruments(markets, DEFAULT_FEES);
    expect([...bySymbol.keys()].sort()).toEqual([
      "2Z",
      "BONK",
      "BTC",
      "DOGE",
      "ETH",
      "EURUSD",
      "PEPE",
      "PUMP",
      "SOL",
      "SP500",
      "TRUMP",
      "USDJPY",
      "WIF",
      "XAU",
    ]);
    expect(skipped).toEqual([]);
    expect(bySymbol.get("BTC")).toEqual({
      venue: "venuefour",
      symbol: "BTC",
      nativeSymbol: "BTC",
      nativeId: -1,
      multiplierExp10: 0,
      priceDecimals: 0,
      qtyDecimals: 5,
      priceRule: "step",
      priceStepTicks: 1,
      qtyStepLots: 1,
      minQtyLots: 1,
      maxQtyLots: Number.MAX_SAFE_INTEGER,
      minNotional: "10",
      minNotionalOnReduceOnly: "exceptFullClose",
      bandUpPpm: 0,
      bandDownPpm: 0,
      marketTriggersUnpriced: true,
      quoteAsset: "USDC",
      takerFeeMilliBps: 4_000,
      makerFeeMilliBps: 1_500,
      maxLeverage: 50,
      status: "TRADING",
    });
    expect(bySymbol.get("PEPE")).toMatchObject({ nativeSymbol: "kPEPE", multiplierExp10: 3, priceDecimals: 6 });
    expect(bySymbol.get("WIF")?.nativeSymbol).toBe("WIF");
  });

  it.each([
    ["1", 0, 1],
    ["1.0", 0, 1],
    ["0.00001", 5, 1],
    ["0.50", 1, 5],
    ["25", 0, 25],
  ])("read the tick %s as %i decimals in steps of %i", (tick, decimals, step) => {
    const instrument = build(row("A", { tick_size: tick, lot_size: tick })).bySymbol.get("A");
    expect(instrument).toMatchObject({
      priceDecimals: decimals,
      priceStepTicks: step,
      qtyDecimals: decimals,
      qtyStepLots: step,
      minQtyLots: step,
    });
  });

  it("without a type are perpetual unless spelled as a pair", () => {
    const old = { instrument_type: null };
    const { bySymbol } = build(
      row("SOL-USDC", old),
      row("WIF/USDC", old),
      row("SOL", old),
      row("X", { instrument_type: "option" }),
    );
    expect([...bySymbol.values()].map(({ nativeSymbol }) => nativeSymbol)).toEqual(["SOL"]);
  });

  it("are skipped by name where they can not be spoken exactly, or another has their symbol", () => {
    const { bySymbol, skipped } = build(
      row("ZERO", { tick_size: "0" }),
      row("NEG", { lot_size: "-1" }),
      row("FINE", { tick_size: "0.0000000001" }),
      row("A B"),
      row("BONK"),
      row("kBONK"),
    );
    expect([...bySymbol.keys()]).toEqual(["BONK"]);
    expect(skipped).toEqual(["ZERO", "NEG", "FINE", "A B", "kBONK"]);
  });

  it("are found by the venue's name in any case, the first where two differ by case only", () => {
    const { byFoldedName } = build(row("kBONK"), row("KBONK"), row("kPEPE"));
    expect(byFoldedName.get("KPEPE")?.nativeSymbol).toBe("kPEPE");
    expect(byFoldedName.get("KBONK")?.nativeSymbol).toBe("kBONK");
  });
});

describe("a contract that is listed on a grid that cannot be held", () => {
  const UNHELD = { tick_size: "0" };

  it("keeps its symbol: another contract does not get it", () => {
    const known = build(row("BONK")).bySymbol;
    for (const rows of [
      [row("BONK", UNHELD), row("kBONK")],
      [row("kBONK"), row("BONK", UNHELD)],
    ]) {
      const { bySymbol, skipped } = buildInstruments(rows, DEFAULT_FEES, known);
      expect(bySymbol.has("BONK")).toBe(false);
      expect([...skipped].sort()).toEqual(["BONK", "kBONK"]);
    }
  });

  it("and that had no symbol does not take the name of the other", () => {
    expect(build(row("BONK", UNHELD), row("kBONK")).bySymbol.get("BONK")?.nativeSymbol).toBe("kBONK");
  });
});
