import { describe, expect, it } from "vitest";
import { canonicalSymbol, MAX_SYMBOL_CHARS, parseNativeSymbol, resolveSymbol } from "./symbol.js";

describe("the parser of symbols that callers type", () => {
  it.each([
    ["BTC", "BTC"],
    ["btc", "BTC"],
    ["BTC-PERP", "BTC"],
    ["BTC-USD", "BTC"],
    ["BTCUSDT", "BTC"],
    ["btcusdt", "BTC"],
    ["BTC/USDT", "BTC"],
    ["BTC-USDT", "BTC"],
    ["BTCUSDC", "BTC"],
    ["Btc-Usdt-Perp", "BTC"],
    ["BTC_USDT", "BTC"],
    ["kPEPE", "PEPE"],
    ["1000PEPE", "PEPE"],
    ["1000pepeusdt", "PEPE"],
    ["1000000MOGUSDT", "MOG"],
    ["1MBABYDOGE", "BABYDOGE"],
    ["kPEPE-PERP", "PEPE"],
    // No part of these is a quote or a multiplier.
    ["FDUSD", "FDUSD"],
    ["RLUSD", "RLUSD"],
    ["USDC", "USDC"],
    ["USDT", "USDT"],
    ["USDCUSDT", "USDC"],
    ["FDUSDUSDT", "FDUSD"],
    ["USD1", "USD1"],
    ["USD1USDT", "USD1"],
    ["KAVA", "KAVA"],
    ["KSM", "KSM"],
    ["kava", "KAVA"],
    ["1INCH", "1INCH"],
    ["1INCHUSDT", "1INCH"],
    ["1000", "1000"],
    ["PERP", "PERP"],
    ["PERP-PERP", "PERP"],
    ["PERPUSDT", "PERP"],
    ["SUSDT", "S"],
    ["币安人生USDT", "币安人生"],
  ])("reads %s as %s", (text, symbol) => {
    expect(canonicalSymbol(text)).toBe(symbol);
  });

  it.each([
    "",
    "-",
    "BTC-",
    "/USDT",
    "BTC-EUR",
    "BTC USDT",
    "BTC-USD-USDT",
    "BTC--PERP",
    "xyz:TSLA",
    "@107",
    "BTC\n",
    "../etc",
    "A".repeat(MAX_SYMBOL_CHARS + 1),
    "😀",
  ])("refuses %j", (text) => {
    expect(canonicalSymbol(text)).toBeNull();
  });
});

describe("the parser of venue symbols", () => {
  it.each([
    ["kPEPE", "PEPE", 3, ""],
    ["1000PEPEUSDT", "PEPE", 3, "USDT"],
    ["10000QUBICUSDT", "QUBIC", 4, "USDT"],
    ["1MBABYDOGEUSDT", "BABYDOGE", 6, "USDT"],
    ["1000000MOGUSDT", "MOG", 6, "USDT"],
    ["BTCUSDT", "BTC", 0, "USDT"],
    ["WLFIUSD1", "WLFI", 0, "USD1"],
    ["KAITO", "KAITO", 0, ""],
  ])("reads %s as %s × 10^%i quoted in %j", (text, base, multiplierExp10, quote) => {
    expect(parseNativeSymbol(text)).toEqual({ base, multiplierExp10, quote });
  });
});

describe("the look-up of a symbol", () => {
  const listed = new Set(["BTC", "PEPE", "KAVA", "FDUSD", "PERP", "1INCH"]);
  it.each([
    ["kpepe", "PEPE"],
    ["KPEPE", "PEPE"],
    ["kava", "KAVA"],
    ["BTCUSD", "BTC"],
    ["BTCPERP", "BTC"],
    ["fdusd", "FDUSD"],
    ["perp", "PERP"],
    ["1inch", "1INCH"],
    ["DOGE", null],
    ["", null],
    ["K", null],
  ])("resolves %s to %s", (text, symbol) => {
    expect(resolveSymbol(text, (candidate) => listed.has(candidate))).toBe(symbol);
  });
});
