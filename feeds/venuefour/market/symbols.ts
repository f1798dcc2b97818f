/**
 * Venue names ↔ our instruments, from the venue's market list. Sources: its markets page and the testnet list of
 * June 2026 (81 rows).
 *
 * Invariants: only perpetuals; a canonical symbol names at most one of them (the first listed); tick and lot steps are
 * whole numbers of the last decimal place they are printed with. Names are case sensitive at the venue (`kBONK`), so
 * they are never built from ours: they are looked up.
 */
import { decimalPlaces, MAX_ABS_DECIMALS, parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import { parseNativeSymbol } from "../../../engine/domain/symbol.js";
import type { VenuefourWireMarket } from "./wire.js";

/** Fee tier 1: taker 0.04 %, maker 0.015 %. */
export const DEFAULT_FEES: FeeRates = { takerFeeMilliBps: 4_000, makerFeeMilliBps: 1_500 };

/** Spot pairs are spelled `SOL-USDC` and `WIF/USDC`; no perpetual has a separator. */
const PERPETUAL_NAME = /^[A-Za-z0-9]+$/;
/** Highest price and size to be expected of any contract, for the safe-integer check. */
const LARGEST_PRICE = "10000000";
const LARGEST_QTY = "1000000000";

export interface InstrumentList {
  /** By canonical symbol. */
  readonly bySymbol: ReadonlyMap<string, Instrument>;
  /** By the venue's name in capitals, for names that come in another case. Where two differ by case only, the first. */
  readonly byFoldedName: ReadonlyMap<string, Instrument>;
  /** Perpetuals omitted because they cannot be represented exactly, or because another has their symbol. */
  readonly skipped: readonly string[];
}

/**
 * `known`: the contract that each symbol names already; it keeps that contract while that is listed, on a grid that we
 * cannot hold too, so that positions in it can be read.
 */
export function buildInstruments(
  markets: readonly VenuefourWireMarket[],
  fees: FeeRates,
  known: ReadonlyMap<string, Instrument> = new Map(),
): InstrumentList {
  const bySymbol = new Map<string, Instrument>();
  const byFoldedName = new Map<string, Instrument>();
  const skipped: string[] = [];
  const built = markets.filter(isPerpetual).map((market) => ({ market, instrument: buildInstrument(market, fees) }));
  const unheld = new Set(built.flatMap(({ market, instrument }) => (instrument === null ? market.symbol : [])));
  const kept = new Set([...known.values()].flatMap((one) => (unheld.has(one.nativeSymbol) ? one.symbol : [])));
  for (const { market, instrument } of built) {
    const rival = instrument === null ? undefined : bySymbol.get(instrument.symbol);
    const isKnown = instrument !== null && known.get(instrument.symbol)?.nativeSymbol === instrument.nativeSymbol;
    if (instrument === null || kept.has(instrument.symbol) || (rival !== undefined && !isKnown)) {
      skipped.push(market.symbol);
      continue;
    }
    if (rival !== undefined) skipped.push(rival.nativeSymbol);
    bySymbol.set(instrument.symbol, instrument);
  }
  for (const instrument of bySymbol.values()) {
    const folded = foldName(instrument.nativeSymbol);
    if (!byFoldedName.has(folded)) byFoldedName.set(folded, instrument);
  }
  return { bySymbol, byFoldedName, skipped };
}

export function foldName(name: string): string {
  return name.toUpperCase();
}

/** Old answers name no type; then the spelling decides. */
function isPerpetual(market: VenuefourWireMarket): boolean {
  if (market.instrument_type !== null) return market.instrument_type === "perpetual";
  return PERPETUAL_NAME.test(market.symbol);
}

/** Null means a name or a grid that can not be held exactly. */
function buildInstrument(market: VenuefourWireMarket, fees: FeeRates): Instrument | null {
  const { symbol: nativeSymbol, tick_size: tick, lot_size: lot } = market;
  const parsed = PERPETUAL_NAME.test(nativeSymbol) ? parseNativeSymbol(nativeSymbol) : null;
  if (parsed === null || parsed.quote !== "") return null;
  // "1.0" and "1" are the same grid: trailing zeros are no decimals.
  const priceDecimals = decimalPlaces(tick);
  const qtyDecimals = decimalPlaces(lot);
  if (priceDecimals > MAX_ABS_DECIMALS || qtyDecimals > MAX_ABS_DECIMALS) return null;
  const priceStepTicks = parseScaled(tick, priceDecimals);
  const qtyStepLots = parseScaled(lot, qtyDecimals);
  if (!(priceStepTicks > 0) || !(qtyStepLots > 0)) return null;
  if (Number.isNaN(parseScaled(LARGEST_PRICE, priceDecimals)) || Number.isNaN(parseScaled(LARGEST_QTY, qtyDecimals))) {
    return null;
  }
  return {
    venue: "venuefour",
    symbol: parsed.base,
    nativeSymbol,
    nativeId: -1,
    multiplierExp10: parsed.multiplierExp10,
    priceDecimals,
    qtyDecimals,
    priceRule: "step",
    priceStepTicks,
    qtyStepLots,
    minQtyLots: qtyStepLots,
    // The venue's maximum is a notional too, far above any close of ours; it refuses what exceeds it.
    maxQtyLots: Number.MAX_SAFE_INTEGER,
    minNotional: market.min_order_size,
    // Whether the minimum binds reduce-only orders is not documented: a full close below it is sent, and the venue decides.
    minNotionalOnReduceOnly: "exceptFullClose",
    bandUpPpm: 0,
    bandDownPpm: 0,
    marketTriggersUnpriced: true,
    quoteAsset: "USDC",
    takerFeeMilliBps: fees.takerFeeMilliBps,
    makerFeeMilliBps: fees.makerFeeMilliBps,
    maxLeverage: market.max_leverage,
    // The list has no status: what is listed trades.
    status: "TRADING",
  };
}
