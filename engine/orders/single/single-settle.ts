/**
 * Orders of unknown outcome, looked up by whoever has their account's credentials: a retry with the key, or a question
 * for their status. The proof rule is the resolver's: found, never placed, or still unknown.
 *
 * Invariants: nothing is ever sent; a finding is told once, to everybody who remembers the order.
 */
import { delay } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";
import { readPriceLater } from "../fill-price.js";
import { within } from "../../domain/deadline.js";
import type { Account } from "../followed-run.js";
import { FIRST_POLL_DELAY_MS, lookUpOrder, type LookUp, type UnknownOrder } from "../resolver.js";
import { unknownOrder } from "../unknown-order.js";
import { contractOf } from "../order-scale.js";
import { recordAbandoned, type OrderAttempt } from "../trade-run.js";
import { applyResolution } from "../send-outcome.js";
import type { SingleConclusion } from "./single-conclude.js";
import type { OrderContext, SingleParts } from "./single-context.js";
import { isUnsettled, lastAttempt, type SingleRun } from "./single-run.js";
import type { UnsettledOrder } from "./unsettled-orders.js";

/** NOT_PLACED: proven. SETTLED: the venue shows it in a state that stands. OPEN: still unknown, or still working. */
export type RecoveryEnd = "SETTLED" | "NOT_PLACED" | "OPEN";

/** For a request that holds the order's idempotency key. `waitForProof`: polls until the deadline; otherwise looks once. */
export async function recoverOrder(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  waitForProof: boolean,
): Promise<RecoveryEnd> {
  const attempt = lastAttempt(run);
  if (attempt === null || neverPlaced(attempt)) return "NOT_PLACED";
  if (!isUnsettled(run)) return "SETTLED";
  // The process that knew more is gone: from here on it is an order of unknown outcome.
  recordAbandoned(attempt);
  const order = unknownOrderOf(parts, orderContext.room, orderContext.instrument, run);
  if (order === null || parts.resolver.isActive(attempt.clientIdHex)) return "OPEN";
  try {
    const look = await pollUntilKnown(parts, orderContext, order, waitForProof);
    if (look.kind === "open") return "OPEN";
    applyResolution(parts, attempt, look);
    if (!orderContext.taken && parts.resolver.readPrice(order, orderContext.session, look)) orderContext.taken = true;
    return look.kind === "found" ? "SETTLED" : "NOT_PLACED";
  } catch (error) {
    // A fault of ours in the look-up says nothing of the order.
    parts.logger.error("recovery_failed", { routeId: run.routeId, problem: problemOf(error) });
    return "OPEN";
  }
}

/** For a question beside any request. True: the order is settled now, and everybody knows. */
export async function settleAsked(
  parts: SingleParts,
  conclusion: SingleConclusion,
  entry: UnsettledOrder,
  place: Account & { readonly room: VenueRoom; readonly instrument: Instrument },
  timeoutMs: number,
): Promise<boolean> {
  const { clock, idempotency, resolver } = parts;
  const { run, recordKey } = entry;
  const attempt = lastAttempt(run);
  const order = unknownOrderOf(parts, place.room, place.instrument, run);
  if (attempt === null || order === null) return false;
  // A retry with the key may send again once the order is known never to have been placed: never beside this.
  const release = recordKey === null ? null : idempotency.hold(recordKey);
  if (recordKey !== null && release === null) return false;
  try {
    const looked = await within(clock, lookUpOrder(clock, order, place.session, timeoutMs), timeoutMs);
    if (!looked.done || looked.value.kind === "open") return false;
    if (resolver.isActive(attempt.clientIdHex)) {
      // Its own listener, which waited first, applies and publishes.
      await resolver.offer(attempt.clientIdHex, looked.value);
      return !isUnsettled(run);
    }
    // Somebody else may have found the end while the venue was asked.
    if (lastAttempt(run) !== attempt || !isUnsettled(run)) return false;
    recordAbandoned(attempt);
    if (!applyResolution(parts, attempt, looked.value)) return false;
    readPriceLater(resolver, order, looked.value, () => {
      const opened = place.room.openSession(place.credentials);
      return opened.ok ? opened.session : null;
    });
    // Found where it rests: from here on as one that rested at its answer.
    parts.follows.consider(run, recordKey, () => place);
    await conclusion.publishResolved(run, recordKey);
    return true;
  } catch (error) {
    // A look that fails, by the store or by a bug of ours, leaves what was known.
    parts.logger.error("ask_failed", { routeId: run.routeId, problem: problemOf(error) });
    return !isUnsettled(run);
  } finally {
    release?.();
  }
}

/** Nobody's refusal: it did not get to the venue. */
function neverPlaced({ outcome, reason }: OrderAttempt): boolean {
  return outcome === "NOT_SENT" || (outcome === "REJECTED" && reason === "NOT_PLACED");
}

async function pollUntilKnown(
  parts: SingleParts,
  orderContext: OrderContext,
  order: UnknownOrder,
  waitForProof: boolean,
): Promise<LookUp> {
  for (let delayMs = FIRST_POLL_DELAY_MS; ; delayMs *= 2) {
    const timeoutMs = Math.max(FIRST_POLL_DELAY_MS, orderContext.deadline.leftMs());
    const look = await lookUpOrder(parts.clock, order, orderContext.session, timeoutMs);
    if (look.kind !== "open" || !waitForProof) return look;
    const leftMs = orderContext.deadline.leftMs();
    if (leftMs <= 0) return look;
    await delay(parts.clock, Math.min(delayMs, leftMs));
  }
}

function unknownOrderOf(
  { bounds }: SingleParts,
  room: VenueRoom,
  listed: Instrument,
  run: SingleRun,
): UnknownOrder | null {
  const attempt = lastAttempt(run);
  const instrument = attempt === null ? null : contractOf(attempt, listed);
  if (attempt === null || instrument === null) return null;
  return unknownOrder(bounds, run.routeId, room, instrument, attempt);
}
