/** A single order of unknown outcome, looked up by whoever has its account's credentials (order-finder.ts). */
import type { IdempotencyRecords } from "../durable/idempotency.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { SendBounds } from "../send/absence-proof.js";
import type { Instrument } from "../../domain/instrument.js";
import type { VenueRoom } from "../../ports.js";
import type { Account } from "../follow/followed-run.js";
import { findAside, findEnd } from "../follow/order-finder.js";
import { unknownOrderOf, type FinderParts } from "../send/unknown-order.js";
import type { OrderAttempt } from "../run.js";
import { recordAbandoned } from "../run-writes.js";
import type { SingleConclusion } from "./single-conclude.js";
import type { OrderContext } from "./single-context.js";
import { isUnsettled, lastAttempt, type SingleRun, type StoredAnswer } from "./single-run.js";
import type { UnsettledOrder } from "./unsettled-orders.js";

/** What finds the end of an order of unknown outcome. */
export interface SettleParts extends FinderParts {
  readonly bounds: SendBounds;
  readonly follows: OrderFollows<SingleRun>;
  readonly idempotency: IdempotencyRecords<SingleRun, StoredAnswer>;
}

/** NOT_PLACED: proven. SETTLED: the venue shows it in a lasting state. OPEN: still unknown, or still working. */
export type RecoveryEnd = "SETTLED" | "NOT_PLACED" | "OPEN";

/** For a request that holds the order's idempotency key. `waitForProof`: polls until the deadline; otherwise looks once. */
export async function recoverOrder(
  parts: SettleParts,
  orderContext: OrderContext,
  run: SingleRun,
  waitForProof: boolean,
): Promise<RecoveryEnd> {
  const attempt = lastAttempt(run);
  if (attempt === null) return "NOT_PLACED";
  if (!isUnsettled(run)) return endOf(attempt);
  recordAbandoned(attempt);
  const { deadline, instrument, room, session } = orderContext;
  const order = unknownOrderOf(parts, run, attempt, room, instrument);
  if (order === null) return "OPEN";
  const isOpen = (): boolean => lastAttempt(run) === attempt && isUnsettled(run);
  const found = await findEnd(parts, { attempt, order, isOpen }, { session, deadline, waitForProof }, (look) => {
    if (!orderContext.taken && parts.resolver.readPrice(order, session, look)) orderContext.taken = true;
  });
  if (found === "open" || isUnsettled(run)) return "OPEN";
  return endOf(lastAttempt(run) ?? attempt);
}

/** For an order that is settled. One that did not get to the venue was refused by none. */
function endOf({ outcome, reason }: OrderAttempt): RecoveryEnd {
  return outcome === "NOT_SENT" || (outcome === "REJECTED" && reason === "NOT_PLACED") ? "NOT_PLACED" : "SETTLED";
}

/** For a question beside any request. Returns true when the order is settled and its end is published. */
export async function settleAsked(
  parts: SettleParts,
  conclusion: SingleConclusion,
  { recordKey, run }: UnsettledOrder,
  place: Account & { readonly room: VenueRoom; readonly instrument: Instrument },
  timeoutMs: number,
): Promise<boolean> {
  const attempt = lastAttempt(run);
  const order = attempt === null ? null : unknownOrderOf(parts, run, attempt, place.room, place.instrument);
  if (attempt === null || order === null) return false;
  return findAside<SingleRun>(parts, {
    run,
    attempt,
    order,
    recordKey,
    account: place,
    timeoutMs,
    isOpen: () => lastAttempt(run) === attempt && isUnsettled(run),
    isShared: async () => true,
    publish: () => conclusion.publishResolved(run, recordKey),
  });
}
