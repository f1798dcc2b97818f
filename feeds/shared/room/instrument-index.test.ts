import { describe, expect, it } from "vitest";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { InstrumentIndex } from "./instrument-index.js";

const BTC: Instrument = { ...LISTED_BTC.venueone, symbol: "BTC", nativeSymbol: "BTC", nativeId: 0 };
const PEPE: Instrument = { ...LISTED_BTC.venueone, symbol: "PEPE", nativeSymbol: "kPEPE", nativeId: 7 };

describe("the index of instruments", () => {
  it("finds by the venue's name and number, and nothing by what is not listed", () => {
    const index = new InstrumentIndex(() => new Map([BTC, PEPE].map((one) => [one.symbol, one])));
    expect([index.byNativeSymbol("kPEPE"), index.byNativeId(0)]).toEqual([PEPE, BTC]);
    expect([index.byNativeSymbol("PEPE"), index.byNativeId(1)]).toEqual([null, null]);
  });

  it("follows a map that grows and has its entries replaced", () => {
    const instruments = new Map([[BTC.symbol, BTC]]);
    const index = new InstrumentIndex(() => instruments);
    expect([index.byNativeSymbol("BTC"), index.byNativeSymbol("kPEPE")]).toEqual([BTC, null]);
    instruments.set("PEPE", PEPE);
    expect([index.byNativeSymbol("kPEPE"), index.byNativeId(7)]).toEqual([PEPE, PEPE]);
    const halted: Instrument = { ...BTC, status: "HALTED" };
    instruments.set("BTC", halted);
    expect(index.byNativeSymbol("BTC")).toBe(halted);
    const renamed: Instrument = { ...BTC, nativeSymbol: "XBT", nativeId: 9 };
    instruments.set("BTC", renamed);
    expect([index.byNativeSymbol("BTC"), index.byNativeId(0)]).toEqual([null, null]);
    expect([index.byNativeSymbol("XBT"), index.byNativeId(9)]).toEqual([renamed, renamed]);
  });
});
