/**
 * exchangeInfo → instruments. Keeps what can be traded by us (perpetuals, not internal TEST names)
 * and says of everything else why it was left out.
 *
 * Units: a tick is the last decimal the venue may print, which is the finer of `pricePrecision` and
 * the tick size's own decimals; the venue's tick is then `priceStepTicks` of them. Same for lots.
 */
import { decimalPlaces, parseScaled, parseScaledRounded } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenuetwoWireFundingInfo, VenuetwoWireSymbol } from "./wire.js";

/** Fees by default: taker 3.5 bps, maker 1.0 bps (base tier of the venue's fee page, read September 2025). */
export const DEFAULT_TAKER_MILLI_BPS = 3_500;
export const DEFAULT_MAKER_MILLI_BPS = 1_000;
/** Bound of POST leverage; the real cap of a symbol and notional is in its leverage brackets. */
const MAX_LEVERAGE = 125;
/** Decimals beyond this are a broken listing: nothing real prints so fine. */
const MAX_DECIMALS = 12;
/** Quotes in order of preference where an asset is listed against several. */
const QUOTE_PREFERENCE: readonly string[] = ["USDT", "USDC", "USD1", "USDF"];

export type SkipReason = "notPerpetual" | "internal" | "malformed" | "unsafeRange" | "offGrid" | "lessPreferred";

export interface SymbolLoad {
  /** By canonical symbol. */
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly skipped: readonly { readonly nativeSymbol: string; readonly reason: SkipReason }[];
  /** The venue's clock when it answered; 0 if it gave none. */
  readonly serverTimeMs: number;
}

export interface SymbolOptions {
  readonly takerFeeMilliBps?: number;
  readonly makerFeeMilliBps?: number;
  /** The contract of each symbol so far: it is kept while it is listed, so that positions in it can be read. */
  readonly known?: ReadonlyMap<string, Instrument>;
}

/** Reads a whole exchangeInfo answer; null when it is not one. */
export function normalizeExchangeInfo(body: unknown, options: SymbolOptions = {}): SymbolLoad | null {
  if (!isFields(body) || !Array.isArray(body["symbols"])) return null;
  const skipped: { nativeSymbol: string; reason: SkipReason }[] = [];
  const instruments = new Map<string, Instrument>();
  for (const row of body["symbols"] as unknown[]) {
    const wire = decodeSymbol(row);
    const nativeSymbol = isFields(row) && typeof row["symbol"] === "string" ? row["symbol"] : "";
    const result = wire === null ? "malformed" : normalizeSymbol(wire, options);
    if (typeof result === "string") {
      skipped.push({ nativeSymbol, reason: result });
      continue;
    }
    const rival = instruments.get(result.symbol);
    if (rival === undefined) {
      instruments.set(result.symbol, result);
    } else if (isPreferred(result, rival, options.known?.get(result.symbol)?.nativeSymbol)) {
      instruments.set(result.symbol, result);
      skipped.push({ nativeSymbol: rival.nativeSymbol, reason: "lessPreferred" });
    } else {
      skipped.push({ nativeSymbol, reason: "lessPreferred" });
    }
  }
  const serverTime = body["serverTime"];
  return { instruments, skipped, serverTimeMs: typeof serverTime === "number" ? serverTime : 0 };
}

/** One symbol row → instrument, or why not. */
export function normalizeSymbol(wire: VenuetwoWireSymbol, options: SymbolOptions = {}): Instrument | SkipReason {
  if (wire.symbol.startsWith("TEST")) return "internal";
  if (wire.contractType !== "PERPETUAL") return "notPerpetual";
  const grid = gridOf(wire);
  if (typeof grid === "string") return grid;
  const percent = filter(wire, "PERCENT_PRICE");
  const { symbol, multiplierExp10 } = canonicalBase(wire.baseAsset);
  return {
    venue: "venuetwo",
    symbol,
    nativeSymbol: wire.symbol,
    nativeId: -1,
    multiplierExp10,
    ...grid,
    priceRule: "step",
    minNotional: text(filter(wire, "MIN_NOTIONAL"), "notional") ?? "0",
    minNotionalOnReduceOnly: "no",
    // Rounded inward: a price inside our band is inside the venue's.
    bandUpPpm: ppm(text(percent, "multiplierUp"), "floor"),
    bandDownPpm: ppm(text(percent, "multiplierDown"), "ceil"),
    marketTriggersUnpriced: true,
    quoteAsset: wire.quoteAsset,
    takerFeeMilliBps: options.takerFeeMilliBps ?? DEFAULT_TAKER_MILLI_BPS,
    makerFeeMilliBps: options.makerFeeMilliBps ?? DEFAULT_MAKER_MILLI_BPS,
    maxLeverage: MAX_LEVERAGE,
    status: wire.status === "TRADING" ? "TRADING" : "HALTED",
  };
}

/** Which prices and sizes an order may have. */
type Grid = Pick<
  Instrument,
  "priceDecimals" | "qtyDecimals" | "priceStepTicks" | "qtyStepLots" | "minQtyLots" | "maxQtyLots"
>;

function gridOf(wire: VenuetwoWireSymbol): Grid | SkipReason {
  const price = filter(wire, "PRICE_FILTER");
  const lot = filter(wire, "LOT_SIZE");
  const market = filter(wire, "MARKET_LOT_SIZE");
  const tickSize = text(price, "tickSize");
  const stepSize = text(lot, "stepSize");
  const maxPrice = text(price, "maxPrice");
  const maxQty = text(lot, "maxQty");
  const minQty = text(lot, "minQty");
  if (tickSize === null || stepSize === null || maxPrice === null || maxQty === null || minQty === null)
    return "malformed";
  const priceDecimals = Math.max(wire.pricePrecision, decimalPlaces(tickSize));
  const qtyDecimals = Math.max(wire.quantityPrecision, decimalPlaces(stepSize));
  if (!isDecimals(priceDecimals) || !isDecimals(qtyDecimals)) return "malformed";
  // A 0 switches a filter part off (sheet, filters): the grid is then one tick, one lot.
  const priceStepTicks = orOne(parseScaled(tickSize, priceDecimals));
  const qtyStepLots = orOne(parseScaled(stepSize, qtyDecimals));
  if (Number.isNaN(priceStepTicks) || Number.isNaN(qtyStepLots)) return "malformed";
  const maxPriceTicks = parseScaled(maxPrice, priceDecimals);
  const lotMax = parseScaled(maxQty, qtyDecimals) || Number.MAX_SAFE_INTEGER;
  const marketMax = parseScaled(text(market, "maxQty") ?? "0", qtyDecimals) || Number.MAX_SAFE_INTEGER;
  const lotMin = parseScaled(minQty, qtyDecimals);
  const marketMin = parseScaled(text(market, "minQty") ?? "0", qtyDecimals);
  const minPriceTicks = parseScaled(text(price, "minPrice") ?? "0", priceDecimals);
  // parseScaled gives NaN for what does not fit a safe integer, and `NaN || x` hides it only for the maxima, which are optional.
  if (Number.isNaN(parseScaled(maxQty, qtyDecimals)) || Number.isNaN(maxPriceTicks)) return "unsafeRange";
  if (Number.isNaN(lotMin) || Number.isNaN(marketMin) || Number.isNaN(minPriceTicks)) return "malformed";
  // The venue tests (p - minPrice) % tick: our grid starts at 0, so the two must agree.
  if (minPriceTicks % priceStepTicks !== 0 || lotMin % qtyStepLots !== 0) return "offGrid";
  return {
    priceDecimals,
    qtyDecimals,
    priceStepTicks,
    qtyStepLots,
    minQtyLots: Math.max(lotMin, marketMin, qtyStepLots),
    // Holds whichever order type is sent.
    maxQtyLots: Math.min(lotMax, marketMax),
  };
}

/**
 * `1000PEPE` → PEPE with 10^3 units a contract; `1MBABYDOGE` → BABYDOGE with 10^6. Names that merely
 * begin with a digit (1INCH, 0G, 42) are names.
 */
export function canonicalBase(baseAsset: string): { readonly symbol: string; readonly multiplierExp10: number } {
  const upper = baseAsset.toUpperCase();
  const zeros = /^1(0{3,9})([A-Z]\w*)$/.exec(upper);
  if (zeros !== null) return { symbol: zeros[2] ?? upper, multiplierExp10: (zeros[1] ?? "").length };
  const million = /^1M([A-Z]\w+)$/.exec(upper);
  if (million !== null) return { symbol: million[1] ?? upper, multiplierExp10: 6 };
  return { symbol: upper, multiplierExp10: 0 };
}

/** fundingInfo answer → hours between fundings by native symbol; rows that make no sense are left out. */
export function normalizeFundingInfo(body: unknown): ReadonlyMap<string, number> {
  const hours = new Map<string, number>();
  if (!Array.isArray(body)) return hours;
  for (const row of body as unknown[]) {
    const wire = decodeFundingInfo(row);
    if (wire !== null) hours.set(wire.symbol, wire.fundingIntervalHours);
  }
  return hours;
}

/** What cannot be read is not taken for switched off. */
function orOne(step: number): number {
  return step === 0 ? 1 : step;
}

function isPreferred(candidate: Instrument, rival: Instrument, knownName: string | undefined): boolean {
  if (candidate.nativeSymbol === knownName || rival.nativeSymbol === knownName)
    return candidate.nativeSymbol === knownName;
  if (candidate.status !== rival.status) return candidate.status === "TRADING";
  const byQuote = quoteRank(candidate.quoteAsset) - quoteRank(rival.quoteAsset);
  if (byQuote !== 0) return byQuote < 0;
  if (candidate.multiplierExp10 !== rival.multiplierExp10) return candidate.multiplierExp10 < rival.multiplierExp10;
  return candidate.nativeSymbol < rival.nativeSymbol;
}

function quoteRank(quoteAsset: string): number {
  const rank = QUOTE_PREFERENCE.indexOf(quoteAsset);
  return rank < 0 ? QUOTE_PREFERENCE.length : rank;
}

function decodeSymbol(row: unknown): VenuetwoWireSymbol | null {
  if (!isFields(row)) return null;
  const { symbol, contractType, status, baseAsset, quoteAsset, pricePrecision, quantityPrecision, filters } = row;
  if (typeof symbol !== "string" || symbol === "" || typeof contractType !== "string" || typeof status !== "string")
    return null;
  if (typeof baseAsset !== "string" || baseAsset === "" || typeof quoteAsset !== "string") return null;
  if (typeof pricePrecision !== "number" || typeof quantityPrecision !== "number") return null;
  if (!Array.isArray(filters) || !filters.every(isFields)) return null;
  return { symbol, contractType, status, baseAsset, quoteAsset, pricePrecision, quantityPrecision, filters };
}

function decodeFundingInfo(row: unknown): VenuetwoWireFundingInfo | null {
  if (!isFields(row)) return null;
  const { symbol, fundingIntervalHours } = row;
  if (typeof symbol !== "string" || typeof fundingIntervalHours !== "number") return null;
  return fundingIntervalHours > 0 && fundingIntervalHours <= 24 ? { symbol, fundingIntervalHours } : null;
}

function filter(wire: VenuetwoWireSymbol, type: string): Readonly<Record<string, unknown>> | null {
  return wire.filters.find((row) => row["filterType"] === type) ?? null;
}

function text(row: Readonly<Record<string, unknown>> | null, key: string): string | null {
  const value = row?.[key];
  return typeof value === "string" ? value : null;
}

function ppm(multiplier: string | null, rounding: "floor" | "ceil"): number {
  if (multiplier === null) return 0;
  const value = parseScaledRounded(multiplier, 6, rounding);
  return Number.isNaN(value) ? 0 : value;
}

function isDecimals(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_DECIMALS;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
