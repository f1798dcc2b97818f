"use client";
/** The hook of trading at venuefive: the entry of the package's React part. */
export type {
  VenuefiveTradeCallbacks,
  VenuefiveTradeData,
  VenuefiveTradeState,
  VenuefiveTradeStatus,
  VenuefiveTradeVariables,
} from "./trade-store.js";
// biome-ignore lint/performance/noBarrelFile: a package's part has one entry, and its types have their own files.
export {
  type UseVenuefiveTradeParameters,
  type UseVenuefiveTradeReturnType,
  useVenuefiveTrade,
} from "./use-venuefive-trade.js";
export { VenuefiveProvider, type VenuefiveProviderProps } from "./venuefive-provider.js";
