"use client";
/**
 * The hook of trading at venuefive: binds clients and state, and knows nothing of the protocol (client/venuefive). It does no
 * work while it renders.
 */
import { useContext, useInsertionEffect, useState, useSyncExternalStore } from "react";
import type { VenuefiveTrading } from "../venuefive/index.js";
import { TradeStore, type TradeStoreOptions, type VenuefiveTradeState } from "./trade-store.js";
import { VenuefiveContext } from "./venuefive-provider.js";

/**
 * In the place of the provider's, one by one; what is undefined is not given. Clients are viem's, so wagmi's fit. One that is
 * undefined is not there yet, and the provider's is not taken: it may be of another account.
 */
export type UseVenuefiveTradeParameters = TradeStoreOptions;

/** The operations resolve with the result of the interface spec, and reject with `VenuefiveTradeError`. */
export interface UseVenuefiveTradeReturnType extends VenuefiveTrading, VenuefiveTradeState {
  readonly reset: () => void;
}

/** Throws outside of a `VenuefiveProvider` where `publicClient` is not among the parameters. */
export function useVenuefiveTrade(parameters: UseVenuefiveTradeParameters = {}): UseVenuefiveTradeReturnType {
  const shared = useContext(VenuefiveContext);
  if (shared === null && !("publicClient" in parameters))
    throw new Error("useVenuefiveTrade: pass publicClient and walletClient, or render it within a VenuefiveProvider");
  const own = Object.entries(parameters).filter(([name, value]) => value !== undefined || name.endsWith("Client"));
  const options: TradeStoreOptions = { ...shared, ...Object.fromEntries(own) };
  const [store] = useState(() => new TradeStore(options));
  // With each commit, before any effect of a child: a call takes what the newest render was given.
  useInsertionEffect(() => store.configure(options));
  const state = useSyncExternalStore(store.subscribe, store.snapshot, store.serverSnapshot);
  return { ...store.operations, ...state, reset: store.reset };
}
