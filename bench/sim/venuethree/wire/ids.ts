/**
 * Identities as the venue makes them (fact sheet 6.5): for market m and a running number n, an ask has the id
 * (m+1)·2^48 + n and a bid (m+2)·2^48 − n. From market 31 on these are beyond 2^53. Everything here follows from the
 * engine's own numbers, so that the same trade or order has the same id in every frame and answer.
 */
import { createHash } from "node:crypto";
import type { SimResting, SimSide, SimTrade } from "../../core/model/types.js";

const SPAN = 1n << 48n;
const FIRST_TRADE_ID = 19_000_000_000;
/** Trade ids of the engine count per market; the venue's are unique over all. */
const MARKETS_MAX = 4096;
/** Running numbers of resting orders start above those that trades are given. */
const FIRST_RESTING_NUMBER = 1_000_000_000n;

export function orderIndex(marketId: number, side: SimSide, running: bigint): bigint {
  return side === "SELL" ? BigInt(marketId + 1) * SPAN + running : BigInt(marketId + 2) * SPAN - running;
}

export function wireTradeId(marketId: number, tradeId: number): number {
  return FIRST_TRADE_ID + tradeId * MARKETS_MAX + marketId;
}

/** The two orders of a print: all prints of one taking order share its id. */
export function tradeOrderIds(marketId: number, trade: SimTrade): { readonly askId: bigint; readonly bidId: bigint } {
  const taker = 2n * BigInt(trade.takerId) + 1n;
  const maker = 2n * BigInt(trade.tradeId);
  const takerSells = trade.takerSide === "SELL";
  return {
    askId: orderIndex(marketId, "SELL", takerSells ? taker : maker),
    bidId: orderIndex(marketId, "BUY", takerSells ? maker : taker),
  };
}

/** 40 bytes of stable hex. */
export function transactionHash(text: string): string {
  return createHash("sha512").update(text).digest("hex").slice(0, 80);
}

/** Height of the chain at a time; a straight line through two recorded heights (about seven blocks a second). */
export function heightAt(nowMs: number): number {
  return Math.floor(301_813_997 + (nowMs - 1_785_252_531_621) * 0.007_163_7);
}

/** Microseconds: the engine's milliseconds and a part that differs from change to change. */
export function microseconds(tsMs: number, seed: number): number {
  return tsMs * 1000 + (seed % 1000);
}

/** Trade ids of the engine count per market. */
export function tradeKey(symbol: string, tradeId: number): string {
  return `${symbol}/${tradeId}`;
}

/** Someone's account index, stable for the same number. */
export function houseAccount(running: number): number {
  return 1_000 + ((running * 7_919) % 700_000);
}

export interface RestingIdentity {
  readonly running: bigint;
  /** Lots when first shown: no client has seen a larger quantity. */
  readonly initialLots: number;
  readonly firstMs: number;
}

/** Gives resting orders their numbers when they are first shown. */
export class RestingIdentities {
  readonly #known = new WeakMap<SimResting, RestingIdentity>();
  #next = FIRST_RESTING_NUMBER;

  of(resting: SimResting, nowMs: number): RestingIdentity {
    const known = this.#known.get(resting);
    if (known !== undefined) return known;
    const made = { running: this.#next++, initialLots: resting.lots, firstMs: nowMs };
    this.#known.set(resting, made);
    return made;
  }
}
