/** Which contracts venuefive is, and what they mean by an index: defaults that an operator or a client may replace. */

export const VENUEFIVE_CHAIN_ID = 8453;

export type ContractName =
  | "Trading"
  | "TradingStorage"
  | "TradingCallbacks"
  | "PairStorage"
  | "PairInfos"
  | "Multicall"
  | "USDC";

/** Base mainnet. TradingCallbacks is not published: `TradingStorage.callbacks()` has it. */
export const VENUEFIVE_ADDRESSES = {
  Trading: "0x44914408af82bC9983bbb330e3578E1105e11d4e",
  TradingStorage: "0x8a311D7048c35985aa31C131B9A13e03a5f7422d",
  PairStorage: "0x5db3772136e5557EFE028Db05EE95C84D76faEC4",
  PairInfos: "0x81F22d0Cc22977c91bEfE648C9fddf1f2bd977e5",
  Multicall: "0xA7cFc43872F4D7B0E6141ee8c36f1F7FEe5d099e",
  USDC: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
} as const satisfies Readonly<Record<Exclude<ContractName, "TradingCallbacks">, `0x${string}`>>;

/** Interface spec 2.6a, in the order of the indexes. The live chain agrees with five of them (feeds/venuefive/README.md). */
export const VENUEFIVE_PAIRS = [
  ...["ETH", "BTC", "SOL", "ARB", "OP", "DOGE", "AVAX", "LINK", "AAVE", "MKR", "NEAR", "MATIC", "CRV", "UNI", "ATOM"],
  ...["LTC", "FIL", "TRX", "XRP", "BNB", "WIF", "PEPE", "USDC", "STRK", "SUI", "SEI", "TIA", "INJ", "BONK", "JUP", "W"],
  ...["ENA", "ETHFI", "PYTH", "JTO", "BLUR", "ZK", "BRETT", "TURBO", "FLOKI", "LQTY", "ONDO", "REZ", "ETHBTC", "SHIB"],
  ...["XLM", "HYPE", "APT", "TRUMP", "PENDLE", "EIGEN"],
] as const;

/** Places of prices, leverage, percents and slippage on the chain (interface spec section 8). */
export const VENUEFIVE_DECIMALS = 10;
export const USDC_DECIMALS = 6;

/** `OpenLimitOrderType` of the contracts, by their number: the words of interface spec 4.6. */
export const VENUEFIVE_ORDER_TYPES = ["MARKET", "STOP_LIMIT", "LIMIT", "MARKET_ZERO_FEE"] as const;
export type VenuefiveOrderType = (typeof VENUEFIVE_ORDER_TYPES)[number];
