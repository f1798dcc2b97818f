/** Builds markets and route inputs for the routing tests from plain data. */
import type { Instrument } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { type Book, INVALID_GAP } from "../../market/book.js";
import { createMarket, type Market } from "../../market/market.js";
import type { PriceStats } from "../../market/price-stats.js";
import { type Candidate, RouteInput } from "../route-types.js";
import { anInstrument } from "../../domain/test/instruments.js";

export type Levels = readonly (readonly [ticks: number, lots: number])[];

export const NOW_NS = 1_000_000_000_000;

/** Sizes with five decimals, all venues in one quote asset. */
export function instrumentOf(venue: RoutableVenue, fields: Partial<Instrument> = {}): Instrument {
  return anInstrument({ venue, qtyDecimals: 5, quoteAsset: "USDC", ...fields });
}

export interface MarketPlan {
  readonly instrument: Instrument;
  readonly bids: Levels;
  readonly asks: Levels;
  readonly ageMs?: number;
  readonly seq?: number;
  readonly invalid?: boolean;
  readonly deep?: { readonly bids: Levels; readonly asks: Levels; readonly ageMs: number; readonly invalid?: boolean };
  /** A touch that is newer than the book. */
  readonly touch?: { readonly bid: readonly [number, number]; readonly ask: readonly [number, number] };
  readonly sigma?: number;
}

export function buildMarket(plan: MarketPlan): Market {
  const market = createMarket(plan.instrument, {
    deepTier: plan.deep !== undefined,
    maxBookAgeMs: 2000,
    maxDeepAgeMs: 7000,
  });
  fillBook(market.book, plan.bids, plan.asks, plan.ageMs ?? 100, plan.seq ?? 0);
  if (plan.invalid === true) market.book.invalidate(INVALID_GAP);
  if (plan.deep !== undefined && market.deep !== null) {
    fillBook(market.deep, plan.deep.bids, plan.deep.asks, plan.deep.ageMs, 0);
    if (plan.deep.invalid === true) market.deep.invalidate(INVALID_GAP);
  }
  if (plan.touch !== undefined)
    market.touch.set(
      ...plan.touch.bid,
      ...plan.touch.ask,
      (plan.seq ?? 0) > 0 ? (plan.seq as number) + 1 : 0,
      1001,
      NOW_NS,
    );
  if (plan.sigma !== undefined) feedSigma(market.stats, plan.sigma);
  return market;
}

function fillBook(book: Book, bids: Levels, asks: Levels, ageMs: number, seq: number): void {
  book.beginSnapshot();
  for (const [ticks, lots] of bids) book.applyBid(ticks, lots);
  for (const [ticks, lots] of asks) book.applyAsk(ticks, lots);
  if (!book.commit(seq, 1000, NOW_NS - ageMs * 1e6)) throw new Error(`scenario book: ${book.invalidReason}`);
}

/** Alternating returns of one size have that size as their deviation, to first order. */
function feedSigma(stats: PriceStats, sigma: number): void {
  for (let second = 1; second < 200; second++) stats.update(1e6 * (1 + (second % 2 === 0 ? sigma : 0)), second * 1e9);
}

export function sigmaOf(stats: PriceStats): number {
  const target = new Float64Array(1);
  stats.sigmaInto(target, 0);
  return target[0] as number;
}

export function closeInput(side: Side, sizeUnits: number, sizeDecimals: number): RouteInput {
  const input = new RouteInput();
  input.reset("CLOSE_MARKET", side, NOW_NS);
  input.sizeUnits = sizeUnits;
  input.sizeDecimals = sizeDecimals;
  return input;
}

/** Adds a healthy venue that holds `positionLots` in the direction that the side closes. */
export function addHolder(input: RouteInput, market: Market, positionLots: number): Candidate {
  const candidate = input.addCandidate(market.instrument.venue, market);
  candidate.hasCredentials = true;
  candidate.positionKnown = true;
  if (input.side === "SELL") candidate.longLots = positionLots;
  else candidate.shortLots = positionLots;
  return candidate;
}
