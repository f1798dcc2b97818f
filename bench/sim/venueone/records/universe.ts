/**
 * What the venue lists: perpetuals with their indices, margin tables, and a small spot table. Invariant: an asset's
 * index never depends on which coins trade; an unselected coin stays in the list as delisted, as the venue does it.
 */
import { type ListingChange, printedDecimals } from "../../core/engine/listing-change.js";
import type { SimBracket, SimInstrument } from "../../core/model/types.js";

const HOUR_MS = 3_600_000;
/** Perp prices carry at most 6 - szDecimals decimals. */
const PERP_DECIMALS = 6;
const SPOT_ASSET_BASE = 10_000;

interface MarginTier {
  readonly lowerBound: number;
  readonly maxLeverage: number;
}

export interface Perp {
  readonly name: string;
  readonly asset: number;
  readonly szDecimals: number;
  readonly maxLeverage: number;
  readonly marginTableId: number;
  readonly isDelisted: boolean;
}

interface Listing {
  readonly name: string;
  readonly base: string;
  readonly szDecimals: number;
  readonly maxLeverage: number;
  /** Base units per contract: the `k` coins are per thousand. */
  readonly contractSize: number;
}

/** In mainnet order: BTC is 0 and ETH is 1 there. No base means long delisted. */
const LISTINGS: readonly Listing[] = [
  { name: "BTC", base: "BTC", szDecimals: 5, maxLeverage: 40, contractSize: 1 },
  { name: "ETH", base: "ETH", szDecimals: 4, maxLeverage: 25, contractSize: 1 },
  { name: "MATIC", base: "", szDecimals: 1, maxLeverage: 20, contractSize: 1 },
  { name: "SOL", base: "SOL", szDecimals: 2, maxLeverage: 20, contractSize: 1 },
  { name: "BNB", base: "BNB", szDecimals: 3, maxLeverage: 10, contractSize: 1 },
  { name: "kPEPE", base: "PEPE", szDecimals: 0, maxLeverage: 10, contractSize: 1000 },
  { name: "DOGE", base: "DOGE", szDecimals: 0, maxLeverage: 10, contractSize: 1 },
  { name: "XRP", base: "XRP", szDecimals: 0, maxLeverage: 20, contractSize: 1 },
  { name: "LINK", base: "LINK", szDecimals: 1, maxLeverage: 10, contractSize: 1 },
  { name: "HYPE", base: "HYPE", szDecimals: 2, maxLeverage: 10, contractSize: 1 },
  { name: "ASTER", base: "ASTER", szDecimals: 0, maxLeverage: 5, contractSize: 1 },
];

/** The test network numbers the same coins otherwise (BTC 3, ETH 4 there). */
const TESTNET_FIRST = ["SOL", "LINK", "XRP", "BTC", "ETH"];

/** Table ids below 50 mean one tier of that many times leverage and are not listed in `marginTables`. */
const TIERED_TABLES: ReadonlyMap<number, { readonly description: string; readonly tiers: readonly MarginTier[] }> =
  new Map([
    [
      54,
      {
        description: "tiered 20x (2)",
        tiers: [
          { lowerBound: 0, maxLeverage: 20 },
          { lowerBound: 70_000_000, maxLeverage: 10 },
        ],
      },
    ],
    [
      55,
      {
        description: "tiered 25x",
        tiers: [
          { lowerBound: 0, maxLeverage: 25 },
          { lowerBound: 100_000_000, maxLeverage: 15 },
        ],
      },
    ],
    [
      56,
      {
        description: "tiered 40x",
        tiers: [
          { lowerBound: 0, maxLeverage: 40 },
          { lowerBound: 150_000_000, maxLeverage: 20 },
        ],
      },
    ],
  ]);

const TABLE_BY_COIN: Readonly<Record<string, number>> = { BTC: 56, ETH: 55, SOL: 54 };

export class Universe {
  readonly perps: readonly Perp[];
  readonly perpByName: ReadonlyMap<string, Perp>;
  /** What the engine trades: the perps that are not delisted. */
  readonly instruments: readonly SimInstrument[];
  readonly #listings: readonly Listing[];

  /** `symbols` null trades everything; else the named coins, the rest being listed as delisted. */
  constructor(isMainnet: boolean, symbols: readonly string[] | null) {
    const unknown = symbols?.find((symbol) => !LISTINGS.some(({ name, base }) => name === symbol && base !== ""));
    if (unknown !== undefined) throw new RangeError(`venueone does not list ${unknown}`);
    const rank = (name: string): number => (TESTNET_FIRST.indexOf(name) + 1 || 100) - 1;
    const ordered = isMainnet ? LISTINGS : [...LISTINGS].sort((left, right) => rank(left.name) - rank(right.name));
    this.#listings = ordered;
    this.perps = ordered.map(
      (listing, asset): Perp => ({
        name: listing.name,
        asset,
        szDecimals: listing.szDecimals,
        maxLeverage: listing.maxLeverage,
        marginTableId: TABLE_BY_COIN[listing.name] ?? listing.maxLeverage,
        isDelisted: listing.base === "" || (symbols !== null && !symbols.includes(listing.name)),
      }),
    );
    this.perpByName = new Map(this.perps.map((perp) => [perp.name, perp]));
    this.instruments = ordered.flatMap((listing, asset): SimInstrument[] => {
      const perp = this.perps[asset];
      return perp === undefined || perp.isDelisted ? [] : [instrumentOf(listing, perp)];
    });
  }

  /**
   * Changes the row of an asset from the next answer on. The list keeps every asset: one that ends is marked as
   * delisted. Size decimals determine the whole grid.
   */
  change(name: string, { isTrading, isListed, qtyStep }: ListingChange): SimInstrument {
    const perp = this.perpByName.get(name);
    const listing = this.#listings.find((entry) => entry.name === name);
    if (perp === undefined || listing === undefined) throw new RangeError(`venueone does not list ${name}`);
    const isOpen = isTrading ?? isListed ?? !perp.isDelisted;
    const szDecimals = qtyStep === undefined ? perp.szDecimals : printedDecimals(qtyStep);
    // Changes the object itself: routes and streams hold it.
    Object.assign(perp, { isDelisted: !isOpen, szDecimals });
    return instrumentOf(listing, perp);
  }
}

function instrumentOf(listing: Listing, perp: Perp): SimInstrument {
  return {
    symbol: listing.name,
    base: listing.base,
    quote: "USDC",
    priceDecimals: PERP_DECIMALS - perp.szDecimals,
    qtyDecimals: perp.szDecimals,
    priceRule: "sigfigs5",
    priceStepTicks: 1,
    qtyStepLots: 1,
    maxLeverage: listing.maxLeverage,
    brackets: bracketsOf(perp),
    contractSize: listing.contractSize,
    fundingIntervalMs: HOUR_MS,
  };
}

/** Maintenance is notional / (2 · maxLeverage of the tier), continuous over the tiers. */
function bracketsOf(perp: Perp): SimBracket[] {
  const tiers = TIERED_TABLES.get(perp.marginTableId)?.tiers ?? [{ lowerBound: 0, maxLeverage: perp.maxLeverage }];
  let cum = 0;
  let previousPpm = 0;
  return tiers.map((tier, index) => {
    const maintenancePpm = Math.round(1_000_000 / (2 * tier.maxLeverage));
    if (index > 0) cum += (tier.lowerBound * (maintenancePpm - previousPpm)) / 1_000_000;
    previousPpm = maintenancePpm;
    return {
      notionalFloor: tier.lowerBound,
      notionalCap: tiers[index + 1]?.lowerBound ?? 1e12,
      maxLeverage: tier.maxLeverage,
      maintenancePpm,
      cum,
    };
  });
}

/** The `meta` reply. Optional flags are absent when false. */
export function metaReply(universe: Universe): Readonly<Record<string, unknown>> {
  return {
    universe: universe.perps.map((perp) => ({
      szDecimals: perp.szDecimals,
      name: perp.name,
      maxLeverage: perp.maxLeverage,
      marginTableId: perp.marginTableId,
      ...(perp.isDelisted ? { isDelisted: true } : {}),
    })),
    marginTables: [...TIERED_TABLES.keys()].map((id) => [id, marginTableReply(id)]),
    collateralToken: 0,
  };
}

/** Returns null for an id that no table has. */
export function marginTableReply(id: number): Readonly<Record<string, unknown>> | null {
  const table = TIERED_TABLES.get(id);
  if (table === undefined && (id < 1 || id >= 50)) return null;
  const tiers = table?.tiers ?? [{ lowerBound: 0, maxLeverage: id }];
  return {
    description: table?.description ?? "",
    marginTiers: tiers.map((tier) => ({ lowerBound: `${tier.lowerBound}.0`, maxLeverage: tier.maxLeverage })),
  };
}

interface SpotToken {
  readonly name: string;
  readonly szDecimals: number;
  readonly weiDecimals: number;
  readonly index: number;
  readonly tokenId: string;
  readonly isCanonical: boolean;
  readonly fullName: string | null;
}

export const USDC_TOKEN_ID = "0x6d1e7cde53ba9467b783cb7c530ce054";

/** Enough of the spot table for clients that load it; spot does not trade here. */
const SPOT_TOKENS: readonly SpotToken[] = [
  { name: "USDC", szDecimals: 8, weiDecimals: 8, index: 0, tokenId: USDC_TOKEN_ID, isCanonical: true, fullName: null },
  {
    name: "PURR",
    szDecimals: 0,
    weiDecimals: 5,
    index: 1,
    tokenId: "0xc1fb593aeffbeb02f85e0308e9956a90",
    isCanonical: true,
    fullName: null,
  },
  {
    name: "HYPE",
    szDecimals: 2,
    weiDecimals: 8,
    index: 2,
    tokenId: "0x0d01dc56dcaaca66ad901c959b4011ec",
    isCanonical: false,
    fullName: null,
  },
];

export interface SpotPair {
  readonly name: string;
  readonly asset: number;
  readonly tokens: readonly [base: number, quote: number];
  readonly index: number;
  readonly isCanonical: boolean;
  readonly px: string;
  readonly circulatingSupply: string;
}

export const SPOT_PAIRS: readonly SpotPair[] = [
  {
    name: "PURR/USDC",
    asset: SPOT_ASSET_BASE,
    tokens: [1, 0],
    index: 0,
    isCanonical: true,
    px: "0.14821",
    circulatingSupply: "596400647.8014800549",
  },
  {
    name: "@1",
    asset: SPOT_ASSET_BASE + 1,
    tokens: [2, 0],
    index: 1,
    isCanonical: false,
    px: "38.4",
    circulatingSupply: "333928180.0",
  },
];

export function spotMetaReply(): Readonly<Record<string, unknown>> {
  return {
    universe: SPOT_PAIRS.map(({ tokens, name, index, isCanonical }) => ({ tokens, name, index, isCanonical })),
    tokens: SPOT_TOKENS.map((token) => ({ ...token, evmContract: null, deployerTradingFeeShare: "0.0" })),
  };
}

export function spotCtx(pair: SpotPair): Readonly<Record<string, string>> {
  return {
    prevDayPx: pair.px,
    dayNtlVlm: "0.0",
    markPx: pair.px,
    midPx: pair.px,
    circulatingSupply: pair.circulatingSupply,
    coin: pair.name,
    totalSupply: pair.circulatingSupply,
    dayBaseVlm: "0.0",
  };
}
