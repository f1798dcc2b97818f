/**
 * A request whose record says RUNNING or UNKNOWN: the outcome of its orders is read from their venues, with the
 * caller's own credentials, before anything else.
 *
 * Invariant: nothing new is sent unless each order of the run is known, by the venue's word or by proof, to have
 * ended or never to have been placed.
 */
import { readPriceLater } from "../send/fill-price.js";
import { findEnd } from "../follow/order-finder.js";
import { unknownOrderOf, type LookupParts } from "../send/unknown-order.js";
import type { TradeExecution } from "../send/execution.js";
import { isOfPosition, unsettledAttempt, type TradeRun } from "../run.js";
import { recordAbandoned } from "../run-writes.js";

/**
 * FOUND: every order is known, the last one of the position by its record at the venue. NOT_PLACED: that one was proven
 * never placed, and nothing followed it. STILL_UNKNOWN otherwise.
 */
export type RecoveryEnd = "FOUND" | "NOT_PLACED" | "STILL_UNKNOWN";

/** `waitForProof`: poll until the deadline; otherwise look once. */
export async function recoverRun(
  parts: LookupParts,
  execution: TradeExecution,
  run: TradeRun,
  waitForProof: boolean,
): Promise<RecoveryEnd> {
  const { accounts, deadline } = execution;
  let end: RecoveryEnd = "FOUND";
  for (let attempt = unsettledAttempt(run); attempt !== null; attempt = unsettledAttempt(run)) {
    recordAbandoned(attempt);
    const { venue } = attempt;
    const order = unknownOrderOf(parts, run, attempt, parts.rooms.get(venue));
    const account = accounts.get(venue);
    if (order === null || account === null) return "STILL_UNKNOWN";
    const current = attempt;
    const isOpen = (): boolean => unsettledAttempt(run) === current;
    const by = { session: account.session, deadline, waitForProof };
    const found = await findEnd(parts, { attempt, order, isOpen }, by, (look) =>
      readPriceLater(parts.resolver, order, look, () => accounts.another(venue)),
    );
    if (found === "open") return "STILL_UNKNOWN";
    if (found === "overtaken") continue;
    // An order that followed an entry proves that the entry was placed.
    if (!isOfPosition(attempt)) end = "FOUND";
    else end = found === "found" || run.attempts.some((other) => !isOfPosition(other)) ? "FOUND" : "NOT_PLACED";
  }
  return end;
}
