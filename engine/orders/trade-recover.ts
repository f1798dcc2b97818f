/**
 * A request whose record says RUNNING or UNKNOWN: the outcome of its order is asked of the venue, with the
 * caller's own credentials, before anything else.
 *
 * Invariant: nothing new is sent unless each order of the run is known, by the venue's word or by proof, to have
 * ended or never to have been placed.
 */
import { delay } from "../domain/clock.js";
import { filledLots } from "./attempt-figures.js";
import { problemOf } from "./background.js";
import { readPriceLater } from "./fill-price.js";
import type { TradeExecution, TradeParts } from "./trade-context.js";
import { contractOf } from "./order-scale.js";
import { isOfPosition, recordAbandoned, unsettledAttempt, type OrderAttempt, type TradeRun } from "./trade-run.js";
import { applyResolution } from "./send-outcome.js";
import { FIRST_POLL_DELAY_MS, lookUpOrder, type LookUp, type UnknownOrder } from "./resolver.js";
import { unknownOrder } from "./unknown-order.js";

/**
 * FOUND: every order is known, the last one of the position by its record at the venue. NOT_PLACED: that one was proven
 * never placed, and nothing followed it. STILL_UNKNOWN otherwise.
 */
export type RecoveryEnd = "FOUND" | "NOT_PLACED" | "STILL_UNKNOWN";

/** `waitForProof`: poll until the deadline; otherwise look once. */
export async function recoverRun(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  waitForProof: boolean,
): Promise<RecoveryEnd> {
  let end: RecoveryEnd = "FOUND";
  for (let attempt = unsettledAttempt(run); attempt !== null; attempt = unsettledAttempt(run)) {
    // The process that knew more is gone: from here on it is an order of unknown outcome.
    recordAbandoned(attempt);
    const order = unknownOrderOf(parts, run, attempt);
    const account = execution.accounts.get(attempt.venue);
    if (order === null || account === null || parts.resolver.isActive(attempt.clientIdHex)) return "STILL_UNKNOWN";
    try {
      const look = await pollUntilKnown(parts, execution, order, waitForProof);
      if (look.kind === "open") return "STILL_UNKNOWN";
      // Somebody else may have found its end, or more of it, while the venue was asked.
      if (unsettledAttempt(run) !== attempt) continue;
      if (look.kind === "found" && look.order.filledLots < filledLots(attempt)) return "STILL_UNKNOWN";
      applyResolution(parts, attempt, look);
      readPriceLater(parts.resolver, order, look, () => execution.accounts.another(order.room.venue));
      // What followed an entry says that the entry was there.
      if (!isOfPosition(attempt)) end = "FOUND";
      else end = look.kind === "found" || run.attempts.some((other) => !isOfPosition(other)) ? "FOUND" : "NOT_PLACED";
    } catch (error) {
      // A fault of ours in the look-up says nothing of the order.
      parts.logger.error("recovery_failed", { routeId: run.routeId, problem: problemOf(error) });
      return "STILL_UNKNOWN";
    }
  }
  return end;
}

async function pollUntilKnown(
  parts: TradeParts,
  execution: TradeExecution,
  order: UnknownOrder,
  waitForProof: boolean,
): Promise<LookUp> {
  const account = execution.accounts.get(order.room.venue);
  if (account === null) return { kind: "open", order: null, answered: false };
  for (let delayMs = FIRST_POLL_DELAY_MS; ; delayMs *= 2) {
    const look = await lookUpOrder(
      parts.clock,
      order,
      account.session,
      Math.max(FIRST_POLL_DELAY_MS, execution.deadline.leftMs()),
    );
    if (look.kind !== "open" || !waitForProof) return look;
    const leftMs = execution.deadline.leftMs();
    if (leftMs <= 0) return look;
    await delay(parts.clock, Math.min(delayMs, leftMs));
  }
}

/** Null when the venue or the contract is not there any more. */
export function unknownOrderOf(parts: TradeParts, run: TradeRun, attempt: OrderAttempt): UnknownOrder | null {
  const room = parts.rooms.get(attempt.venue);
  const listed = room?.markets.get(run.symbol)?.instrument;
  const instrument = listed === undefined ? null : contractOf(attempt, listed);
  if (room === undefined || instrument === null) return null;
  return unknownOrder(parts.bounds, run.routeId, room, instrument, attempt);
}
