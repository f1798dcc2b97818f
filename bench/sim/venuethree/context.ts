/** What the routes and streams of the local venue share. */
import type { SimExchange, SimTrade } from "../core/types.js";
import type { RestingIdentities } from "./ids.js";
import type { Listing } from "./listing.js";
import type { VenuethreeCadences, VenuethreeLimits, VenuethreeQuirks } from "./options.js";

export interface VenuethreeContext {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly cadences: VenuethreeCadences;
  readonly resting: RestingIdentities;
  /** Keys of trades that were liquidations, newest last; bounded. */
  readonly liquidations: ReadonlySet<string>;
  limits: VenuethreeLimits;
  quirks: VenuethreeQuirks;
}

/** Height of the chain at a time; a straight line through two recorded heights (about seven blocks a second). */
export function heightAt(nowMs: number): number {
  return Math.floor(301_813_997 + (nowMs - 1_785_252_531_621) * 0.007_163_7);
}

/** Microseconds: the engine's milliseconds and a part that differs from change to change. */
export function microseconds(tsMs: number, seed: number): number {
  return tsMs * 1000 + (seed % 1000);
}

export function isLiquidation(context: VenuethreeContext, trade: SimTrade): boolean {
  return context.liquidations.has(tradeKey(trade.symbol, trade.tradeId));
}

/** Trade ids of the engine count per market. */
export function tradeKey(symbol: string, tradeId: number): string {
  return `${symbol}/${tradeId}`;
}
