/** What the local venuefive lists: the pairs of the interface spec (2.6a) at their indexes, with its limits (section 8). */
import { parseUnits } from "viem";

/** Scale of prices, leverage and percents. */
const DECIMALS = 10;

export interface PairSpec {
  readonly symbol: string;
  /** At the start, decimal text in USD. */
  readonly price: string;
  /** Of ordinary positions; the least is 1. */
  readonly leverageMax: number;
  /** Whether positions without fees are allowed. */
  readonly hasZeroFee: boolean;
}

const LEVERAGE_MAX = 50;
const LEVERAGE_MAX_OF: Readonly<Record<string, number>> = { ETH: 75, BTC: 75 };
const ZERO_FEE: ReadonlySet<string> = new Set(["ETH", "BTC", "SOL"]);
const ZERO_FEE_LEVERAGE = { min: 75, max: 250 };

/** In the order of their indexes. */
const START_PRICES: readonly (readonly [symbol: string, price: string])[] = [
  ["ETH", "3180"],
  ["BTC", "92400"],
  ["SOL", "141.5"],
  ["ARB", "0.4521"],
  ["OP", "0.71"],
  ["DOGE", "0.162"],
  ["AVAX", "18.4"],
  ["LINK", "13.9"],
  ["AAVE", "182"],
  ["MKR", "1480"],
  ["NEAR", "2.31"],
  ["MATIC", "0.213"],
  ["CRV", "0.52"],
  ["UNI", "6.1"],
  ["ATOM", "2.84"],
  ["LTC", "94"],
  ["FIL", "1.72"],
  ["TRX", "0.291"],
  ["XRP", "2.15"],
  ["BNB", "905"],
  ["WIF", "0.44"],
  ["PEPE", "0.0000062"],
  ["USDC", "1"],
  ["STRK", "0.131"],
  ["SUI", "1.9"],
  ["SEI", "0.164"],
  ["TIA", "0.83"],
  ["INJ", "6.4"],
  ["BONK", "0.0000113"],
  ["JUP", "0.28"],
  ["W", "0.052"],
  ["ENA", "0.31"],
  ["ETHFI", "0.94"],
  ["PYTH", "0.088"],
  ["JTO", "0.61"],
  ["BLUR", "0.041"],
  ["ZK", "0.046"],
  ["BRETT", "0.021"],
  ["TURBO", "0.0024"],
  ["FLOKI", "0.000056"],
  ["LQTY", "0.52"],
  ["ONDO", "0.58"],
  ["REZ", "0.0071"],
  ["ETHBTC", "0.0344"],
  ["SHIB", "0.0000091"],
  ["XLM", "0.26"],
  ["HYPE", "38.4"],
  ["APT", "2.6"],
  ["TRUMP", "6.9"],
  ["PENDLE", "2.7"],
  ["EIGEN", "0.72"],
];

const pairSpec = (symbol: string, price: string): PairSpec => ({
  symbol,
  price,
  leverageMax: LEVERAGE_MAX_OF[symbol] ?? LEVERAGE_MAX,
  hasZeroFee: ZERO_FEE.has(symbol),
});

export const SPEC_PAIRS: readonly PairSpec[] = START_PRICES.map(([symbol, price]) => pairSpec(symbol, price));

/** The live venue's number of pairs, for reads of all: the spec's, and as many with names of their own behind them as make `count`. */
export function withFillers(count: number): readonly PairSpec[] {
  const fillers = Array.from({ length: Math.max(0, count - SPEC_PAIRS.length) }, (_, at) =>
    pairSpec(`FILL${SPEC_PAIRS.length + at}`, "1"),
  );
  return [...SPEC_PAIRS, ...fillers];
}

export const scaled = (text: string): bigint => parseUnits(text, DECIMALS);

const NO_ADDRESS = `0x${"0".repeat(40)}`;

/** As the contract lists it. */
export function pairStruct({ leverageMax, hasZeroFee }: Omit<PairSpec, "symbol" | "price">) {
  return {
    feed: { maxOpenDeviationP: 0n, maxCloseDeviationP: 0n, feedId: `0x${"0".repeat(64)}` },
    backupFeed: { maxDeviationP: 0n, feedId: NO_ADDRESS },
    spreadP: 0n,
    pnlSpreadP: 0n,
    leverages: {
      minLeverage: scaled("1"),
      maxLeverage: scaled(String(leverageMax)),
      pnlMinLeverage: scaled(String(hasZeroFee ? ZERO_FEE_LEVERAGE.min : 1)),
      pnlMaxLeverage: scaled(String(hasZeroFee ? ZERO_FEE_LEVERAGE.max : leverageMax)),
    },
    priceImpactMultiplier: 0n,
    skewImpactMultiplier: 0n,
    groupIndex: 0n,
    feeIndex: 0n,
    values: {
      maxGainP: 2500n,
      maxSlP: 80n,
      maxLongOiP: 50n,
      maxShortOiP: 50n,
      groupOpenInterestPecentage: 100n,
      maxWalletOI: 50n,
      isUSDCAligned: false,
    },
  };
}

/** Of all pairs: 0.045 % of the notional to open and to close, 0.01 % of the collateral for a trigger, 100 USD at least. */
export const FEES = {
  openFeeP: scaled("0.045"),
  closeFeeP: scaled("0.045"),
  limitOrderFeeP: scaled("0.01"),
  minLevPosUSDC: 100_000_000n,
};

/** The share of a profit that a position without fees gives, by its percent on the collateral. */
export const PROFIT_TIERS = {
  tiersP: ["1", "5", "25", "50", "100", "250", "500", "1500", "2500", "3000"].map(scaled),
  feesP: ["80", "50", "45", "37.5", "27.5", "25", "25", "22.5", "15", "2.5"].map(scaled),
};
