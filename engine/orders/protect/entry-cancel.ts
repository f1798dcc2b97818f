/**
 * Orders of an entry taken back. Its rest: its caller wants no position without protection, a venue refused that, and the
 * entry would go on filling. Its protection, where that guards more than is left (undo.ts).
 *
 * Invariants: only the entry's own orders are canceled; what a cancel came to is read from the venue, so that all that
 * filled before it is known. An order that neither ends nor is readable now is canceled again with the next round.
 *
 * Bounds: one cancel and MAX_LOOKS reads for each order and round.
 */
import { logUnsentCall } from "../send/debug-lines.js";
import { delay } from "../../domain/clock.js";
import type { CancelOutcome } from "../../domain/order.js";
import { within } from "../../domain/deadline.js";
import { filledLots, isOpen } from "../attempt-figures.js";
import { problemOf } from "../background.js";
import { readPriceLater } from "../send/fill-price.js";
import { applyResolution } from "../send/outcome.js";
import type { TradeExecution } from "../send/execution.js";
import { type LookupParts, unknownOrderOf } from "../send/unknown-order.js";
import { positionAttempts, type OrderAttempt, type TradeRun } from "../run.js";

const MAX_LOOKS = 4;
const LOOK_GAP_MS = 250;
const CALL_TIMEOUT_MS = 3_000;

export async function cancelRest(parts: LookupParts, execution: TradeExecution, run: TradeRun): Promise<void> {
  const open = positionAttempts(run).filter((attempt) => attempt.outcome === "CONFIRMED" && isOpen(attempt));
  await Promise.all(open.map((attempt) => cancelAndRead(parts, execution, run, attempt, "entry_rest_canceled")));
}

/**
 * `event`: its line in the log. Returns the venue's answer to the cancel, or null without one. The outcome of the order is in
 * the attempt, where it is known. Never rejects.
 */
export async function cancelAndRead(
  parts: LookupParts,
  execution: TradeExecution,
  run: TradeRun,
  attempt: OrderAttempt,
  event: string,
): Promise<CancelOutcome | null> {
  const { clock, logger } = parts;
  const { routeId } = run;
  const { venue } = attempt;
  const account = execution.accounts.renew(venue);
  const order = unknownOrderOf(parts, run, attempt, parts.rooms.get(attempt.venue));
  if (account === null || order === null) return null;
  const ref = { clientIdHex: attempt.clientIdHex };
  const options = { timeoutMs: CALL_TIMEOUT_MS, lane: "exit" } as const;
  try {
    const outcome = await account.room.orders.cancel(account.session, order.instrument, ref, options);
    // NOT_FOUND is an end as well, or a venue that does not show it: the look tells.
    const what = outcome.outcome === "rejected" ? outcome.reason : outcome.outcome;
    logger.warn(event, { routeId, venue, outcome: what });
    const { venueClientOrderId } = attempt;
    logUnsentCall(parts, { what: "cancel", routeId, venueClientOrderId, venue, symbol: run.symbol }, outcome);
    for (let looks = 0; looks < MAX_LOOKS && isOpen(attempt); looks++) {
      if (looks > 0) await delay(clock, LOOK_GAP_MS);
      const reading = account.room.reader.readOrder(account.session, order.instrument, ref, options);
      const read = await within(clock, reading, CALL_TIMEOUT_MS);
      const seen = read.done && read.value.ok ? read.value.value : null;
      if (seen === null || seen.status === "UNKNOWN" || seen.filledLots < filledLots(attempt)) continue;
      const found = { kind: "found", order: seen } as const;
      applyResolution(parts, attempt, found);
      if (!isOpen(attempt)) readPriceLater(parts.resolver, order, found, () => execution.accounts.another(venue));
    }
    return outcome;
  } catch (error) {
    // A room that throws is a bug of ours, and the cancel may be out: the next round looks.
    logger.error("cancel_threw", { venue, routeId, problem: problemOf(error) });
    return null;
  }
}
