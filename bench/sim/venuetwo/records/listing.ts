/** What the venue lists: the captured exchangeInfo, and the engine's instruments and rules read out of it. */
import { parseScaled, parseSafe } from "../../core/model/fixed.js";
import { type ListingChange, printedDecimals } from "../../core/engine/listing-change.js";
import type { SimBracket, SimInstrument, SimPolicies } from "../../core/model/types.js";
import exchangeInfo from "../fixtures/exchange-info.json" with { type: "json" };

export interface VenuetwoRules {
  readonly symbol: string;
  readonly instrument: SimInstrument;
  readonly status: string;
  readonly quoteAsset: string;
  /** Price filter in ticks. */
  readonly minPriceTicks: number;
  readonly maxPriceTicks: number;
  readonly tickTicks: number;
  readonly lot: LotRules;
  readonly marketLot: LotRules;
  readonly maxOrders: number;
  readonly maxConditionalOrders: number;
  readonly minNotionalE12: bigint;
  /** Limit price band around the mark, multipliers in parts per million. */
  readonly bandUpPpm: number;
  readonly bandDownPpm: number;
  /** Largest distance from the mark at which a MARKET order may trade, parts per million. */
  readonly marketTakePpm: number;
}

export interface LotRules {
  readonly minLots: number;
  readonly maxLots: number;
  readonly stepLots: number;
}

export const VENUETWO_POLICIES: SimPolicies = {
  reduceOnlyExcess: "reject",
  postOnlyCross: "expire",
  iocNoMatch: "expire",
  selfTrade: "allow",
  triggerAlreadyMet: "reject",
  clientIdReuse: "whenClosed",
  takerFeeMilliBps: 3_500,
  makerFeeMilliBps: 1_000,
  defaultLeverage: 20,
};

/** Three of the listed symbols, so that small runs stay small; pass more for benches. */
export const DEFAULT_SYMBOLS: readonly string[] = ["BTCUSDT", "ETHUSDT", "SOLUSDT"];

const COPIED_SYMBOL = "ETHUSDT";

type CapturedSymbol = (typeof exchangeInfo)["symbols"][number];

const PPM_DECIMALS = 6;
const FUNDING_HOURS = 8;
/** Majors and the rest; floor, cap, leverage and maintenance ppm. The real tables need a key and were not captured. */
const MAJOR_TIERS: readonly (readonly [number, number, number, number])[] = [
  [0, 50_000, 125, 4_000],
  [50_000, 600_000, 100, 5_000],
  [600_000, 3_000_000, 50, 10_000],
  [3_000_000, 12_000_000, 20, 25_000],
  [12_000_000, 70_000_000, 10, 50_000],
  [70_000_000, 1_000_000_000, 2, 250_000],
];
const OTHER_TIERS: readonly (readonly [number, number, number, number])[] = [
  [0, 5_000, 50, 10_000],
  [5_000, 50_000, 25, 20_000],
  [50_000, 500_000, 10, 50_000],
  [500_000, 100_000_000, 2, 250_000],
];
const MAJORS: ReadonlySet<string> = new Set(["BTC", "ETH", "SOL", "BNB", "XRP"]);

export class Listing {
  /** Only what is TRADING has a market. */
  readonly instruments: readonly SimInstrument[];
  readonly #rules: Map<string, VenuetwoRules>;
  readonly #rows: readonly { readonly entry: CapturedSymbol; isListed: boolean }[];
  /** The answer of exchangeInfo behind its server time. */
  #tail: string;

  /**
   * `copyCount`: so many contracts more, under names of their own (`C0USDT` …) and with the rules of a captured one.
   * `listsOthers`: contracts that were captured as ended are listed too.
   */
  constructor(symbols: readonly string[], copyCount = 0, listsOthers = true) {
    const captured = new Map<string, CapturedSymbol>(exchangeInfo.symbols.map((entry) => [entry.symbol, entry]));
    const chosen = exchangeInfo.symbols.filter(
      (entry) => symbols.includes(entry.symbol) || (listsOthers && entry.status !== "TRADING"),
    );
    for (const symbol of symbols)
      if (!captured.has(symbol)) throw new RangeError(`${symbol} is not in the captured listing`);
    chosen.push(...copiesOf(captured.get(COPIED_SYMBOL) as CapturedSymbol, copyCount));
    this.#rows = chosen.map((entry) => ({ entry: structuredClone(entry), isListed: true }));
    this.#rules = new Map(chosen.map((entry) => [entry.symbol, readRules(entry)]));
    this.instruments = [...this.#rules.values()]
      .filter(({ status }) => status === "TRADING")
      .map(({ instrument }) => instrument);
    this.#tail = this.#printTail();
  }

  get rules(): ReadonlyMap<string, VenuetwoRules> {
    return this.#rules;
  }

  /** The answer of exchangeInfo with the present server time. */
  print(nowMs: number): string {
    const head = JSON.stringify({ timezone: exchangeInfo.timezone });
    return `${head.slice(0, -1)},"serverTime":${nowMs},${this.#tail}`;
  }

  /** Changes the row from the next answer on. Returns the listed instrument. */
  change(symbol: string, change: ListingChange): SimInstrument {
    const row = this.#rows.find(({ entry }) => entry.symbol === symbol);
    if (row === undefined) throw new RangeError(`${symbol} is not in the listing`);
    row.isListed = change.isListed ?? row.isListed;
    changeRow(row.entry, change);
    const changed = readRules(row.entry);
    this.#rules.set(symbol, changed);
    this.#tail = this.#printTail();
    return changed.instrument;
  }

  #printTail(): string {
    const { timezone: _timezone, serverTime: _serverTime, symbols: _symbols, ...rest } = exchangeInfo;
    const symbols = this.#rows.filter(({ isListed }) => isListed).map(({ entry }) => entry);
    return JSON.stringify({ ...rest, symbols }).slice(1);
  }
}

function changeRow(entry: CapturedSymbol, change: ListingChange): void {
  const { isTrading, priceStep, qtyStep, minimum } = change;
  const filter = (type: string): Record<string, unknown> => {
    const found = entry.filters.find(({ filterType }) => filterType === type);
    if (found === undefined) throw new RangeError(`${entry.symbol} has no ${type}`);
    return found;
  };
  if (isTrading !== undefined) entry.status = isTrading ? "TRADING" : "SETTLING";
  if (priceStep !== undefined) {
    entry.pricePrecision = printedDecimals(priceStep);
    Object.assign(filter("PRICE_FILTER"), { tickSize: priceStep });
  }
  if (qtyStep !== undefined) {
    entry.quantityPrecision = printedDecimals(qtyStep);
    for (const lot of ["LOT_SIZE", "MARKET_LOT_SIZE"])
      Object.assign(filter(lot), { stepSize: qtyStep, minQty: qtyStep });
  }
  if (minimum !== undefined) Object.assign(filter("MIN_NOTIONAL"), { notional: minimum });
}

/** The venue lists about 580; the capture holds a dozen. */
function copiesOf(entry: CapturedSymbol, count: number): CapturedSymbol[] {
  return Array.from({ length: count }, (_, index) => {
    const symbol = `C${index}USDT`;
    return { ...entry, symbol, pair: symbol, baseAsset: `C${index}` };
  });
}

function readRules(entry: CapturedSymbol): VenuetwoRules {
  const filters = new Map<string, Record<string, unknown>>(entry.filters.map((filter) => [filter.filterType, filter]));
  const text = (filter: string, key: string): string => String(filters.get(filter)?.[key] ?? "0");
  const price = (value: string): number => scaled(value, entry.pricePrecision, entry.symbol);
  const lot = (filter: string): LotRules => ({
    minLots: scaled(text(filter, "minQty"), entry.quantityPrecision, entry.symbol),
    maxLots: scaled(text(filter, "maxQty"), entry.quantityPrecision, entry.symbol),
    stepLots: scaled(text(filter, "stepSize"), entry.quantityPrecision, entry.symbol),
  });
  const tickTicks = price(text("PRICE_FILTER", "tickSize"));
  const brackets = bracketsOf(entry.baseAsset);
  const thousand = /^1000(?=[A-Z])/.test(entry.baseAsset);
  const instrument: SimInstrument = {
    symbol: entry.symbol,
    base: thousand ? entry.baseAsset.slice(4) : entry.baseAsset,
    quote: entry.quoteAsset,
    priceDecimals: entry.pricePrecision,
    qtyDecimals: entry.quantityPrecision,
    priceRule: "step",
    priceStepTicks: tickTicks,
    qtyStepLots: lot("LOT_SIZE").stepLots,
    maxLeverage: brackets[0]?.maxLeverage ?? 1,
    brackets,
    contractSize: thousand ? 1000 : 1,
    fundingIntervalMs: FUNDING_HOURS * 3600 * 1000,
  };
  return {
    symbol: entry.symbol,
    instrument,
    status: entry.status,
    quoteAsset: entry.quoteAsset,
    minPriceTicks: price(text("PRICE_FILTER", "minPrice")),
    maxPriceTicks: price(text("PRICE_FILTER", "maxPrice")),
    tickTicks,
    lot: lot("LOT_SIZE"),
    marketLot: lot("MARKET_LOT_SIZE"),
    maxOrders: Number(text("MAX_NUM_ORDERS", "limit")),
    maxConditionalOrders: Number(text("MAX_NUM_ALGO_ORDERS", "limit")),
    minNotionalE12: parseScaled(text("MIN_NOTIONAL", "notional"), 12) ?? 0n,
    bandUpPpm: scaled(text("PERCENT_PRICE", "multiplierUp"), PPM_DECIMALS, entry.symbol),
    bandDownPpm: scaled(text("PERCENT_PRICE", "multiplierDown"), PPM_DECIMALS, entry.symbol),
    marketTakePpm: scaled(entry.marketTakeBound, PPM_DECIMALS, entry.symbol),
  };
}

function bracketsOf(baseAsset: string): readonly SimBracket[] {
  let cum = 0;
  let previousPpm = 0;
  return (MAJORS.has(baseAsset) ? MAJOR_TIERS : OTHER_TIERS).map(
    ([notionalFloor, notionalCap, maxLeverage, maintenancePpm]) => {
      // The deduction keeps the maintenance continuous over the tier borders.
      cum += (notionalFloor * (maintenancePpm - previousPpm)) / 1_000_000;
      previousPpm = maintenancePpm;
      return { notionalFloor, notionalCap, maxLeverage, maintenancePpm, cum };
    },
  );
}

function scaled(text: string, decimals: number, symbol: string): number {
  const value = parseSafe(text, decimals);
  if (value === null) throw new RangeError(`${symbol}: ${text} does not fit ${decimals} decimals`);
  return value;
}
