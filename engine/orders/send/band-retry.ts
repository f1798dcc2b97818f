/**
 * Orders that a venue refused for its band around the mark, priced once more: the mark is asked for, and the bound is
 * brought inside the band by it.
 *
 * Invariants: a new bound is never looser than the refused one; a venue's orders are priced again once in an execution;
 * a stop's limit stays refused, and so does an order that no fresh mark is had for.
 */
import { logRetried } from "./debug-lines.js";
import type { Rooms } from "../accounts.js";
import { formatScaled } from "../../domain/decimal.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Clock } from "../../domain/clock.js";
import { type Deadline, within } from "../../domain/deadline.js";
import type { Side } from "../../domain/order.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { protectPrice, tighterPrice } from "../../domain/price-grid.js";
import type { Lane, MarketRoom } from "../../ports.js";
import { bandTicks } from "../../routing/price-band.js";
import { problemOf } from "../background.js";
import type { Logger } from "../../domain/logger.js";
import { MIN_RETRY_MS, POSITIONS_DEADLINE_MS } from "../limits.js";
import type { TradeExecution } from "./execution.js";
import type { SendPlan } from "../decide/plan.js";
import type { OrderAttempt, TradeRun } from "../run.js";
import { addAdjustment } from "../run-writes.js";
import type { SentOrder } from "./send-orders.js";

/** What prices a refused order again. */
export interface BandRetryParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rooms: Rooms;
}

interface RefusedBound {
  readonly instrument: Instrument;
  readonly side: Side;
  readonly priceTicks: number;
  readonly lane: Lane;
}

/** The orders to send in place of those that were refused for the band, at most `maxCount`; `repriced`: venues that had theirs. */
export async function bandRetries(
  parts: BandRetryParts,
  execution: TradeExecution,
  run: TradeRun,
  orders: readonly SentOrder[],
  plans: readonly SendPlan[],
  repriced: Set<RoutableVenue>,
  maxCount: number,
): Promise<SendPlan[]> {
  const refused: SendPlan[] = [];
  const refusals: OrderAttempt[] = [];
  for (const [index, { attempt }] of orders.entries()) {
    const plan = plans[index];
    if (plan === undefined || !isBandRefusal(attempt) || repriced.has(plan.venue)) continue;
    if (refused.length >= maxCount) continue;
    refused.push(plan);
    refusals.push(attempt);
  }
  if (refused.length === 0) return [];
  for (const { venue } of refused) repriced.add(venue);
  const priced = await Promise.all(
    refused.map(async (plan): Promise<SendPlan | null> => {
      const room = parts.rooms.get(plan.venue);
      if (room === undefined || plan.trigger !== null || execution.accounts.isTaken(plan.venue)) return null;
      const lane = plan.reduceOnly ? "exit" : "trade";
      const priceTicks = await freshBound(parts, room, { ...plan, lane }, execution.deadline);
      return priceTicks === null ? null : { ...plan, priceTicks };
    }),
  );
  const again: SendPlan[] = [];
  for (const [index, plan] of priced.entries()) {
    if (plan === null) continue;
    const from = refused[index]?.priceTicks ?? plan.priceTicks;
    // What follows an entry says its own price (protectionOrders).
    const noted = plan.role === "POSITION" ? bandAdjustment(from, plan.priceTicks, plan.priceDecimals) : null;
    if (noted !== null) addAdjustment(run, noted);
    const refusal = refusals[index];
    if (refusal !== undefined) logRetried(parts, run, refusal, "PRICE_BAND");
    again.push(plan);
  }
  return again;
}

export function isBandRefusal({ outcome, reason }: OrderAttempt): boolean {
  return outcome === "REJECTED" && reason === "PRICE_BAND";
}

/** The bound by a fresh mark, on the grid; null: there is none, or no time for it. Never rejects. */
export async function freshBound(
  parts: { readonly clock: Clock; readonly logger: Logger },
  room: MarketRoom,
  { instrument, lane, priceTicks, side }: RefusedBound,
  deadline: Deadline,
): Promise<number | null> {
  const market = room.markets.get(instrument.symbol);
  const timeoutMs = Math.min(POSITIONS_DEADLINE_MS, deadline.leftMs() - MIN_RETRY_MS);
  if (market === undefined || room.refreshMark === undefined || !(timeoutMs > 0)) return null;
  try {
    const asked = await within(parts.clock, room.refreshMark(instrument, { timeoutMs, lane }), timeoutMs);
    if (!asked.done || !asked.value) return null;
  } catch (error) {
    parts.logger.error("mark_read_threw", { venue: room.venue, problem: problemOf(error) });
    return null;
  }
  const band = bandTicks({ side, nowNs: parts.clock.monoNs() }, market);
  if (band === 0) return null;
  const bound = protectPrice(instrument, side, tighterPrice(side, priceTicks, band));
  return bound > 0 ? bound : null;
}

/** What a reply says of a price that the band changed, in ticks; null: it changed nothing. */
export function bandAdjustment(
  from: number,
  to: number,
  priceDecimals: number,
): { field: "price"; from: string; to: string; rule: "PRICE_BAND" } | null {
  if (from === to) return null;
  const text = (ticks: number): string => formatScaled(ticks, priceDecimals);
  return { field: "price", from: text(from), to: text(to), rule: "PRICE_BAND" };
}
