/**
 * orderBookDetails → instruments. Ids, decimals and margins come from the venue's list, never from here.
 *
 * Units: a tick is one unit of the market's last price decimal, a lot one of its last size decimal; both are the
 * venue's own steps. The venue keeps prices below 2^32 and sizes below 2^48 of them, so all of it is safe integers.
 */
import {
  decimalPlaces,
  formatScaledBig,
  parseScaledBig,
  parseScaledRounded,
  pow10Big,
} from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import { parseNativeSymbol } from "../../../engine/domain/symbol.js";
import { MAX_BASE_AMOUNT } from "../rules/limits.js";
import { MAX_MARKET_ID } from "./market-table.js";
import type { VenuethreeWireMarket } from "./wire.js";

/** Decimals beyond this are a broken listing: nothing real prints so fine. */
const MAX_DECIMALS = 12;
const QUOTE_ASSET = "USDC";
/** Margin fractions are in units of 1e-4. */
const MARGIN_UNITS = 10_000;

export type SkipReason = "malformed" | "unknownMultiplier" | "lessPreferred";

type RestingMinimum = NonNullable<Instrument["restingMinimum"]>;

export interface SymbolLoad {
  /** By canonical symbol. */
  readonly bySymbol: ReadonlyMap<string, Instrument>;
  readonly skipped: readonly { readonly nativeSymbol: string; readonly reason: SkipReason }[];
}

/**
 * `known`: the contract that each symbol names already; it keeps that contract while that is listed, so that positions
 * in it can be read.
 */
export function buildInstruments(
  markets: readonly VenuethreeWireMarket[],
  fees: FeeRates,
  known: ReadonlyMap<string, Instrument> = new Map(),
): SymbolLoad {
  const bySymbol = new Map<string, Instrument>();
  const skipped: { nativeSymbol: string; reason: SkipReason }[] = [];
  for (const wire of markets) {
    const built = buildInstrument(wire, fees);
    if (typeof built === "string") {
      skipped.push({ nativeSymbol: wire.symbol, reason: built });
      continue;
    }
    const rival = bySymbol.get(built.symbol);
    const knownName = known.get(built.symbol)?.nativeSymbol;
    if (rival === undefined || isPreferred(built, rival, knownName)) bySymbol.set(built.symbol, built);
    if (rival !== undefined) {
      const loser = bySymbol.get(built.symbol) === built ? rival : built;
      skipped.push({ nativeSymbol: loser.nativeSymbol, reason: "lessPreferred" });
    }
  }
  return { bySymbol, skipped };
}

/** One row → instrument, or why not. */
export function buildInstrument(wire: VenuethreeWireMarket, fees: FeeRates): Instrument | SkipReason {
  const { price_decimals: priceDecimals, size_decimals: qtyDecimals, min_initial_margin_fraction: margin } = wire;
  const name = parseNativeSymbol(wire.symbol);
  if (name === null || name.quote !== "" || wire.market_id < 0 || wire.market_id > MAX_MARKET_ID) return "malformed";
  if (!isDecimals(priceDecimals) || !isDecimals(qtyDecimals)) return "malformed";
  if (!(margin >= 1 && margin <= MARGIN_UNITS)) return "malformed";
  if (!isKnownMultiplier(wire.multiplier, name.multiplierExp10)) return "unknownMultiplier";
  const restingMinimum = restingMinimumOf(wire, qtyDecimals);
  if (restingMinimum === null) return "malformed";
  return {
    venue: "venuethree",
    symbol: name.base,
    nativeSymbol: wire.symbol,
    nativeId: wire.market_id,
    multiplierExp10: name.multiplierExp10,
    priceDecimals,
    qtyDecimals,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    // What the venue lists as minimum binds resting orders only (sheet): a close that takes is never too small.
    minQtyLots: 1,
    maxQtyLots: MAX_BASE_AMOUNT,
    minNotional: "0",
    minNotionalOnReduceOnly: "no",
    restingMinimum,
    bandUpPpm: 0,
    bandDownPpm: 0,
    quoteAsset: QUOTE_ASSET,
    takerFeeMilliBps: fees.takerFeeMilliBps,
    makerFeeMilliBps: fees.makerFeeMilliBps,
    maxLeverage: Math.floor(MARGIN_UNITS / margin),
    status: wire.status === "active" ? "TRADING" : "HALTED",
  };
}

/** In lots, up: a size between two lots cannot be ordered. Returns null for a minimum that no order could have. */
function restingMinimumOf(wire: VenuethreeWireMarket, qtyDecimals: number): RestingMinimum | null {
  const { min_base_amount: base, min_quote_amount: quote } = wire;
  const qtyLots = base === null ? 1 : Math.max(1, parseScaledRounded(base, qtyDecimals, "ceil"));
  const places = decimalPlaces(quote ?? "0");
  const notional = parseScaledBig(quote ?? "0", places);
  if (!(qtyLots <= MAX_BASE_AMOUNT) || notional === null || notional < 0n) return null;
  // The venue always prints six decimals.
  return { qtyLots, notional: formatScaledBig(notional, places) };
}

/** A field of 2026 whose meaning is not documented: taken when it is 1 or says what the name says, else the contract is not understood. */
function isKnownMultiplier(text: string | null, exp10: number): boolean {
  if (text === null) return true;
  const places = decimalPlaces(text);
  const value = parseScaledBig(text, places);
  return value === pow10Big(places) || value === pow10Big(places + exp10);
}

function isPreferred(candidate: Instrument, rival: Instrument, knownName: string | undefined): boolean {
  if (candidate.nativeSymbol === knownName || rival.nativeSymbol === knownName)
    return candidate.nativeSymbol === knownName;
  if (candidate.status !== rival.status) return candidate.status === "TRADING";
  if (candidate.multiplierExp10 !== rival.multiplierExp10) return candidate.multiplierExp10 < rival.multiplierExp10;
  return candidate.nativeId < rival.nativeId;
}

function isDecimals(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_DECIMALS;
}
