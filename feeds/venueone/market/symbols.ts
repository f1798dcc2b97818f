/**
 * Venue names ↔ our instruments. Sources: the venue's "tick and lot size" and "asset ids" pages and
 * live `meta` recordings of 2025 and 2026.
 *
 * Invariants: the asset number is the position in `universe`, delisted assets counted; a canonical
 * symbol names at most one listed asset (the one that it named before, else the first); tick and lot are whole powers
 * of ten.
 */
import { assertSafeRange } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { FeeRates } from "../../../engine/domain/position.js";
import type { VenueoneWireAsset, VenueoneWireMeta } from "./wire.js";

/** Base tier of the venue's fee page: taker 0.045 %, maker 0.015 %. */
export const DEFAULT_FEES: FeeRates = { takerFeeMilliBps: 4_500, makerFeeMilliBps: 1_500 };

/** Most decimals of a perpetual's price, size decimals included. */
const MAX_DECIMALS = 6;
/** In quote units; enforced on reduce-only orders too, unless they close the whole position. */
const MIN_NOTIONAL = "10";
/**
 * "80% away from the reference price" by the venue's error page; measured on spot as 0.2 × mark < limit <= 5 × mark. The
 * wider of the two where they differ.
 */
const WIDE_BAND = { lowPpm: 200_000, highPpm: 5_000_000 } as const;
/** Spot token index of USDC, the collateral of the validator-run dex. */
const USDC_TOKEN_INDEX = 0;
/** `kPEPE` is a contract on 1000 PEPE. */
const THOUSANDS_NAME = /^k[A-Z0-9]+$/;
/** Highest price and size to be expected of any asset, for the safe-integer check. */
const LARGEST_PRICE = "1000000000";
const LARGEST_QTY = "1000000000";

export function canonicalSymbol(coin: string): { readonly symbol: string; readonly multiplierExp10: number } {
  if (THOUSANDS_NAME.test(coin)) return { symbol: coin.slice(1), multiplierExp10: 3 };
  return { symbol: coin.toUpperCase(), multiplierExp10: 0 };
}

export interface InstrumentList {
  /** By canonical symbol; listed assets only. */
  readonly bySymbol: ReadonlyMap<string, Instrument>;
  /** By the venue's name; delisted assets too (status HALTED), so that old orders and positions can be read. */
  readonly byCoin: ReadonlyMap<string, Instrument>;
  /** Assets left out because we can not speak them exactly. */
  readonly skipped: readonly string[];
}

/**
 * `known`: the asset of each symbol so far. A symbol keeps its asset while that is listed, so that positions in it can
 * be read.
 */
export function buildInstruments(
  meta: VenueoneWireMeta,
  fees: FeeRates,
  known: ReadonlyMap<string, Instrument> = new Map(),
): InstrumentList {
  const bySymbol = new Map<string, Instrument>();
  const byCoin = new Map<string, Instrument>();
  const skipped: string[] = [];
  for (const [assetIndex, asset] of meta.universe.entries()) {
    const instrument = isSpeakable(asset, meta) ? buildInstrument(asset, assetIndex, fees) : null;
    if (instrument === null) {
      skipped.push(asset.name);
      continue;
    }
    byCoin.set(asset.name, instrument);
    if (instrument.status !== "TRADING") continue;
    const isKnown = known.get(instrument.symbol)?.nativeSymbol === asset.name;
    if (isKnown || !bySymbol.has(instrument.symbol)) bySymbol.set(instrument.symbol, instrument);
  }
  return { bySymbol, byCoin, skipped };
}

function isSpeakable(asset: VenueoneWireAsset, meta: VenueoneWireMeta): boolean {
  const { szDecimals } = asset;
  return (
    meta.collateralToken === USDC_TOKEN_INDEX &&
    Number.isInteger(szDecimals) &&
    szDecimals >= 0 &&
    szDecimals <= MAX_DECIMALS &&
    /^[A-Za-z0-9]+$/.test(asset.name)
  );
}

function buildInstrument(asset: VenueoneWireAsset, assetIndex: number, fees: FeeRates): Instrument {
  const { symbol, multiplierExp10 } = canonicalSymbol(asset.name);
  const priceDecimals = MAX_DECIMALS - asset.szDecimals;
  assertSafeRange(`venueone ${asset.name} price`, LARGEST_PRICE, priceDecimals);
  assertSafeRange(`venueone ${asset.name} size`, LARGEST_QTY, asset.szDecimals);
  return {
    venue: "venueone",
    symbol,
    nativeSymbol: asset.name,
    nativeId: assetIndex,
    multiplierExp10,
    priceDecimals,
    qtyDecimals: asset.szDecimals,
    priceRule: "sigfigs5",
    priceStepTicks: 1,
    qtyStepLots: 1,
    minQtyLots: 1,
    maxQtyLots: Number.MAX_SAFE_INTEGER,
    minNotional: MIN_NOTIONAL,
    minNotionalOnReduceOnly: "exceptFullClose",
    bandUpPpm: 0,
    bandDownPpm: 0,
    wideBand: WIDE_BAND,
    quoteAsset: "USDC",
    takerFeeMilliBps: fees.takerFeeMilliBps,
    makerFeeMilliBps: fees.makerFeeMilliBps,
    maxLeverage: asset.maxLeverage,
    status: asset.isDelisted ? "HALTED" : "TRADING",
  };
}
