/**
 * What the venue lists: perps that trade here, perps that are inactive, spot markets. Ids and decimals of ETH, BTC,
 * HYPE, CRV and HYUNDAI are recorded ones (2026-07), those of the others follow public lists and are good enough for a
 * local market. Only active perps have an engine behind them.
 */
import { type ListingChange, printedDecimals } from "../../core/engine/listing-change.js";
import type { SimInstrument, SimPolicies } from "../../core/model/types.js";

export interface VenuethreeMarket {
  readonly symbol: string;
  readonly marketId: number;
  readonly type: "perp" | "spot";
  readonly sizeDecimals: number;
  readonly priceDecimals: number;
  /** Decimal text, in the market's own size format where the venue prints it so. */
  readonly minBaseAmount: string;
  readonly orderQuoteLimit: string;
  readonly baseAssetId: number;
  readonly quoteAssetId: number;
  /** In units of 1e-4: default, minimum, maintenance, closeout. */
  readonly marginFractions: readonly [number, number, number, number];
  readonly createdAtMs: number;
  /** Null means inactive or spot, no trading here. */
  readonly instrument: SimInstrument | null;
}

export const VENUETHREE_POLICIES: SimPolicies = {
  reduceOnlyExcess: "clamp",
  postOnlyCross: "expire",
  iocNoMatch: "expire",
  selfTrade: "cancelResting",
  triggerAlreadyMet: "fire",
  clientIdReuse: "whenClosed",
  // A standard account trades free of charge.
  takerFeeMilliBps: 0,
  makerFeeMilliBps: 0,
  defaultLeverage: 20,
};

export const DEFAULT_SYMBOLS: readonly string[] = ["ETH", "BTC", "SOL"];

const HOUR_MS = 3_600_000;
const QUOTE_LIMIT = "281474976.710655";
const MAJOR = [500, 200, 120, 80] as const;
const OTHER = [1000, 500, 300, 200] as const;

interface Row {
  readonly symbol: string;
  readonly id: number;
  /** Base of the price model; null where there is none and the market cannot trade here. */
  readonly base: string | null;
  readonly size: number;
  readonly price: number;
  readonly minBase: string;
  readonly margins: readonly [number, number, number, number];
}

const PERPS: readonly Row[] = [
  { symbol: "ETH", id: 0, base: "ETH", size: 4, price: 2, minBase: "0.0050", margins: MAJOR },
  { symbol: "BTC", id: 1, base: "BTC", size: 5, price: 1, minBase: "0.00020", margins: MAJOR },
  { symbol: "SOL", id: 2, base: "SOL", size: 3, price: 3, minBase: "0.050", margins: MAJOR },
  { symbol: "DOGE", id: 3, base: "DOGE", size: 0, price: 6, minBase: "10", margins: OTHER },
  { symbol: "1000PEPE", id: 4, base: "PEPE", size: 0, price: 6, minBase: "500", margins: OTHER },
  { symbol: "XRP", id: 7, base: "XRP", size: 0, price: 6, minBase: "20", margins: OTHER },
  { symbol: "LINK", id: 8, base: "LINK", size: 1, price: 5, minBase: "1.0", margins: OTHER },
  { symbol: "HYPE", id: 24, base: "HYPE", size: 2, price: 4, minBase: "0.15", margins: OTHER },
  { symbol: "BNB", id: 25, base: "BNB", size: 2, price: 4, minBase: "0.02", margins: OTHER },
  { symbol: "CRV", id: 36, base: null, size: 1, price: 5, minBase: "35.0", margins: OTHER },
  { symbol: "ASTER", id: 83, base: "ASTER", size: 1, price: 5, minBase: "5.0", margins: OTHER },
  { symbol: "HYUNDAI", id: 141, base: null, size: 6, price: 0, minBase: "0.000010", margins: OTHER },
];

const SPOTS: readonly (Omit<Row, "base" | "margins"> & { readonly baseAssetId: number })[] = [
  { symbol: "ETH/USDC", id: 2048, baseAssetId: 1, size: 4, price: 2, minBase: "0.0001" },
  { symbol: "SKY/USDC", id: 2053, baseAssetId: 8, size: 1, price: 6, minBase: "1.0" },
];
const USDC_ASSET_ID = 3;
const CREATED_AT_MS = 1_737_098_461_100;

export class Listing {
  readonly byId: ReadonlyMap<number, VenuethreeMarket>;
  readonly bySymbol: ReadonlyMap<string, VenuethreeMarket>;
  readonly instruments: readonly SimInstrument[];
  readonly #perps: readonly VenuethreeMarket[];
  readonly #markets: VenuethreeMarket[];
  /** What trades here, also while it is closed. */
  readonly #traded: ReadonlyMap<string, SimInstrument | null>;

  /** `listsOthers`: contracts that do not trade here are listed too, as inactive. */
  constructor(symbols: readonly string[], listsOthers = true) {
    for (const symbol of symbols) {
      const row = PERPS.find((entry) => entry.symbol === symbol);
      if (row === undefined || row.base === null) throw new RangeError(`${symbol} cannot trade on the local venue`);
    }
    const rows = PERPS.filter(({ symbol }) => listsOthers || symbols.includes(symbol));
    this.#perps = rows.map((row) => perpOf(row, symbols));
    const known = [...this.#perps, ...SPOTS.map(spotOf)];
    this.#markets = [...known];
    this.#traded = new Map(this.#perps.map(({ symbol, instrument }) => [symbol, instrument]));
    this.byId = new Map(known.map((market) => [market.marketId, market]));
    this.bySymbol = new Map(known.map((market) => [market.symbol, market]));
    this.instruments = known.flatMap(({ instrument }) => (instrument === null ? [] : [instrument]));
  }

  /** By ascending id, as listed now. */
  get markets(): readonly VenuethreeMarket[] {
    return this.#markets;
  }

  /** Changes the row from the next answer on. Returns the listed instrument. */
  change(symbol: string, change: ListingChange): SimInstrument {
    const markets = this.#markets;
    const market = this.#perps.find((perp) => perp.symbol === symbol);
    const instrument = this.#traded.get(symbol);
    if (market === undefined || instrument === null || instrument === undefined)
      throw new RangeError(`${symbol} cannot trade on the local venue`);
    const { isTrading, isListed, priceStep, qtyStep, minimum } = change;
    const grid = {
      priceDecimals: priceStep === undefined ? market.priceDecimals : printedDecimals(priceStep),
      qtyDecimals: qtyStep === undefined ? market.sizeDecimals : printedDecimals(qtyStep),
    };
    const isOpen = isTrading ?? isListed ?? market.instrument !== null;
    // Changes the objects themselves: routes and streams hold them.
    Object.assign(market, {
      priceDecimals: grid.priceDecimals,
      sizeDecimals: grid.qtyDecimals,
      minBaseAmount: minimum ?? market.minBaseAmount,
      instrument: isOpen ? instrument : null,
    });
    if (isListed === false && markets.includes(market)) markets.splice(markets.indexOf(market), 1);
    else if (isListed === true && !markets.includes(market)) markets.push(market);
    return { ...instrument, ...grid };
  }
}

function perpOf(row: Row, symbols: readonly string[]): VenuethreeMarket {
  const { symbol, id, base, margins } = row;
  return {
    symbol,
    marketId: id,
    type: "perp",
    sizeDecimals: row.size,
    priceDecimals: row.price,
    minBaseAmount: row.minBase,
    orderQuoteLimit: QUOTE_LIMIT,
    baseAssetId: 0,
    quoteAssetId: 0,
    marginFractions: margins,
    createdAtMs: CREATED_AT_MS + id * 86_400_000,
    instrument: base !== null && symbols.includes(symbol) ? instrumentOf(row, base) : null,
  };
}

function spotOf(row: (typeof SPOTS)[number]): VenuethreeMarket {
  return {
    symbol: row.symbol,
    marketId: row.id,
    type: "spot",
    sizeDecimals: row.size,
    priceDecimals: row.price,
    minBaseAmount: row.minBase,
    orderQuoteLimit: "2500000.000000",
    baseAssetId: row.baseAssetId,
    quoteAssetId: USDC_ASSET_ID,
    marginFractions: [0, 0, 0, 0],
    createdAtMs: CREATED_AT_MS + 300 * 86_400_000,
    instrument: null,
  };
}

function instrumentOf(row: Row, base: string): SimInstrument {
  const [, minimum, maintenance] = row.margins;
  const maxLeverage = 10_000 / minimum;
  return {
    symbol: row.symbol,
    base,
    quote: "USDC",
    priceDecimals: row.price,
    qtyDecimals: row.size,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    maxLeverage,
    brackets: [
      { notionalFloor: 0, notionalCap: 1_000_000_000, maxLeverage, maintenancePpm: maintenance * 100, cum: 0 },
    ],
    contractSize: row.symbol.startsWith("1000") ? 1000 : 1,
    fundingIntervalMs: HOUR_MS,
  };
}
