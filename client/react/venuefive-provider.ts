"use client";
/** Options that the hooks below a part of the page share. */
import { createContext, createElement, type FunctionComponent, type ReactNode } from "react";
import type { TradeStoreOptions } from "./trade-store.js";

export interface VenuefiveProviderProps {
  readonly config: TradeStoreOptions;
  readonly children?: ReactNode;
}

/** Null outside of a provider. */
export const VenuefiveContext = /* @__PURE__ */ createContext<TradeStoreOptions | null>(null);

export const VenuefiveProvider: FunctionComponent<VenuefiveProviderProps> = ({ config, children }) =>
  createElement(VenuefiveContext.Provider, { value: config }, children);
