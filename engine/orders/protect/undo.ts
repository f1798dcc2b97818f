/**
 * The undo of an entry whose protection a venue refused, where the caller asked for it: what filled is closed at the
 * market, then the protection that is placed is canceled, as it would guard nothing.
 *
 * Invariants: each close is priced as any MARKET is (a fresh LIVE book, the caller's cap, the venue's band) or not sent.
 * While a book gives no price it is looked at again until the caller's deadline, every UNDO_LOOK_MS; then the reply says
 * `UNDO_` and why, and the position stays.
 */
import type { LookupParts } from "../send/unknown-order.js";
import { delay } from "../../domain/clock.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { capMarket, insideBand, type MarketPrice } from "../../routing/market-price.js";
import { bandRetries, type BandRetryParts } from "../send/band-retry.js";
import { cancelAndRead } from "./entry-cancel.js";
import { isOpen } from "../attempt-figures.js";
import { MIN_RETRY_MS } from "../limits.js";
import type { TradeExecution } from "../send/execution.js";
import { waitForEnds, type LateOrder } from "../send/execute.js";
import type { SendPlan } from "../decide/plan.js";
import type { OrderAttempt, TradeRun } from "../run.js";
import { markReplaced, markTakenBack, recordProtectionProblem } from "../run-writes.js";
import { sendOrders, type SendParts } from "../send/send-orders.js";
import { guardsToTakeBack, isToBeAbandoned } from "../conclude/protection-parts.js";

/** What closes an entry again. */
export interface UndoParts extends SendParts, BandRetryParts {}

const UNDO_LOOK_MS = 100;

type NoPrice = Extract<MarketPrice, { readonly ok: false }>["reason"];

/** `unpriced`: a reduce-only MARKET for what filled on each venue. Returns what outlasts the request. */
export async function undoEntry(
  parts: UndoParts,
  execution: TradeExecution,
  run: TradeRun,
  unpriced: readonly SendPlan[],
): Promise<readonly LateOrder[]> {
  const late: LateOrder[] = [];
  for (let waiting = unpriced; waiting.length > 0; ) {
    const ready: SendPlan[] = [];
    const left: SendPlan[] = [];
    let problem: NoPrice = "NO_PRICE";
    for (const plan of waiting) {
      const priced = priceUndo(parts, execution, run, plan);
      if (typeof priced !== "string") {
        ready.push(priced);
        continue;
      }
      left.push(plan);
      problem = priced;
    }
    if (ready.length > 0) late.push(...(await sendUndo(parts, execution, run, ready)));
    waiting = left;
    if (waiting.length > 0 && execution.deadline.leftMs() < MIN_RETRY_MS) {
      noteProblem(run, problem);
      return late;
    }
    if (waiting.length > 0) await delay(parts.clock, UNDO_LOOK_MS);
  }
  return late;
}

function priceUndo(
  parts: Pick<UndoParts, "clock" | "rooms">,
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
): SendPlan | NoPrice {
  const market = parts.rooms.get(plan.venue)?.markets.get(run.symbol);
  if (market === undefined) return "BOOK_INVALID";
  const { maxQuoteAgeMs, maxSlippageBps } = execution.request;
  const { qtyLots, side } = plan;
  const nowNs = parts.clock.monoNs();
  const priced = capMarket(market, { side, qtyLots, maxSlippageBps, maxQuoteAgeMs, heldTicks: null }, nowNs);
  if (!priced.ok) return priced.reason;
  const priceTicks = insideBand(market, side, priced.capTicks, nowNs);
  return priceTicks > 0 ? { ...plan, priceTicks, doubleMidTicks: priced.doubleMidTicks } : "NO_PRICE";
}

async function sendUndo(
  parts: UndoParts,
  execution: TradeExecution,
  run: TradeRun,
  first: readonly SendPlan[],
): Promise<readonly LateOrder[]> {
  const late: LateOrder[] = [];
  const repriced = new Set<RoutableVenue>();
  for (let plans = first; plans.length > 0; ) {
    const end = await sendOrders(parts, execution, run, plans);
    if (end.kind !== "sent") {
      noteProblem(run, end.kind === "keyTaken" ? "IDEMPOTENCY_IN_PROGRESS" : end.error.code);
      return late;
    }
    late.push(...(await waitForEnds(parts, execution, run, end.orders)));
    plans = await bandRetries(parts, execution, run, end.orders, plans, repriced, plans.length);
  }
  return late;
}

function noteProblem({ protection }: TradeRun, problem: string): void {
  if (protection !== undefined) recordProtectionProblem(protection, `UNDO_${problem}`);
}

/**
 * Protection for more than is left is canceled: it would close what its caller opens later. One whose end is not read
 * now, with what it closed before, is canceled again with the next round of the watch.
 */
export async function takeBackGuards(parts: LookupParts, execution: TradeExecution, run: TradeRun): Promise<void> {
  const isAbandoned = isToBeAbandoned(run);
  const takeBack = async (attempt: OrderAttempt): Promise<void> => {
    // Its end may be seen before the answer.
    if (!isAbandoned) markTakenBack(attempt, true);
    const outcome = await cancelAndRead(parts, execution, run, attempt, "protection_taken_back");
    // It guards nothing any more, so that what it guarded is not taken for covered.
    if (isAbandoned && attempt.order?.status === "CANCELED") markReplaced(attempt);
    // It is open as before: what ends it later is not ours, and it may be needed by then. "Not found" is an end that was not read.
    const isCancelRefused = outcome?.outcome === "rejected" && outcome.reason !== "NOT_FOUND";
    if (isOpen(attempt) && isCancelRefused) markTakenBack(attempt, false);
  };
  await Promise.all(guardsToTakeBack(run).map(takeBack));
}
