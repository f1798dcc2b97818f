/**
 * One single order sent (order-core.ts), under the name that its caller gave it.
 *
 * Invariant: whatever goes wrong after the send is UNKNOWN.
 */
import type { StateStore } from "../../storage/state-store.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { ServiceError } from "../../domain/errors.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../domain/instrument.js";
import type { NameClaim, ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import type { NameRows, OrderNames, OutgoingOrder, OrderCore } from "../send/order-core.js";
import type { OrderTerms } from "../order-terms.js";
import { redactVenueText } from "../redact.js";
import type { Resolution } from "../send/resolver.js";
import { accountHashOf } from "../accounts.js";
import type { OrderAttempt } from "../run.js";
import { addAttempt, dropAttempts } from "../run-writes.js";
import type { OrderRefusal } from "./order-desk.js";
import type { OrderContext } from "./single-context.js";
import { recordVenueCode, type SingleRun, type StoredAnswer } from "./single-run.js";

/** What sends an order. */
export interface SingleSendParts {
  readonly core: OrderCore<SingleRun, StoredAnswer>;
  readonly hash: KeyedHash;
  readonly names: ClientOrderIdIndex;
  readonly store: StateStore;
}

/** An order ready to be sent: checked, priced, let through by the guards. */
interface ReadyOrder extends Omit<OutgoingOrder<SingleRun, StoredAnswer>, "sender"> {
  /** Null when the caller gave it no name. */
  readonly claim: NameClaim | null;
}

export type SingleSendEnd =
  /** The attempt's outcome is final. */
  | { readonly kind: "settled" }
  /** Outcome UNKNOWN, or accepted and still working; the resolver has it. */
  | { readonly kind: "resolving"; readonly resolution: Promise<Resolution> }
  /** Nothing left this machine, and what was written is being taken back. */
  | { readonly kind: "notSent"; readonly refusal: OrderRefusal };

/** `doubleMidTicks`: twice the live mid; 0: there is none. */
export function termsOf(
  { instrument }: Pick<OrderContext, "instrument">,
  run: SingleRun,
  order: Pick<OrderTerms, "qtyLots" | "priceTicks" | "timeInForce" | "doubleMidTicks">,
): OrderTerms {
  return {
    instrument,
    side: run.side,
    type: run.orderType,
    timeInForce: order.timeInForce,
    trigger: run.trigger,
    reduceOnly: run.reduceOnly,
    qtyLots: order.qtyLots,
    priceTicks: order.priceTicks,
    positionSide: run.positionSide,
    doubleMidTicks: order.doubleMidTicks,
    priceDecimals: canonicalPriceDecimals(instrument),
    qtyDecimals: canonicalQtyDecimals(instrument),
    takerFeeMilliBps: instrument.takerFeeMilliBps,
    makerFeeMilliBps: instrument.makerFeeMilliBps,
  };
}

/** Adds the attempt to the run, first of all. */
export async function sendOrder(
  parts: SingleSendParts,
  orderContext: OrderContext,
  run: SingleRun,
  { claim, ...ready }: ReadyOrder,
): Promise<SingleSendEnd> {
  const { core } = parts;
  const { attempt } = ready;
  const outgoing = { ...ready, sender: orderContext };
  addAttempt(run, attempt);
  const names = claim === null ? null : namesOf(parts, orderContext, run, attempt, claim);
  const durable = await core.makeDurable(run, orderContext.ticket, [outgoing], names);
  if (durable.kind !== "durable") {
    dropAttempts(run, run.attempts.length - 1);
    return { kind: "notSent", refusal: await refusalOf(parts, orderContext, run, durable) };
  }
  const sent = await core.send(run, outgoing);
  if (sent === null) return { kind: "settled" };
  if (sent.isOpen) return { kind: "resolving", resolution: startResolving(parts, orderContext, run, attempt) };
  const { outcome } = sent;
  if (outcome.outcome === "rejected") recordVenueCode(run, redactVenueText(outcome.venueCode, orderContext.secrets));
  return { kind: "settled" };
}

function namesOf(
  { hash, names, store }: Pick<SingleSendParts, "hash" | "names" | "store">,
  { accountHashes, ownerId, session }: OrderContext,
  run: SingleRun,
  attempt: OrderAttempt,
  first: NameClaim,
): OrderNames {
  const { accountHash, routeId, symbol } = run;
  const clientOrderId = run.clientOrderId ?? "";
  const { clientIdHex, venueClientOrderId, intentAtMs: createdAtMs } = attempt;
  const account = accountHashOf(hash, session.venue, session.accountId, ownerId);
  const order = { account, clientIdHex, venueClientOrderId, routeId, symbol, clientOrderId, createdAtMs };
  const rowsOf = (claim: NameClaim): NameRows => {
    const { condition, writes } = names.claimRows(accountHash, claim, order);
    return { conditions: [condition], writes };
  };
  return {
    rows: async () => rowsOf(first),
    rowsAgain: async () => {
      if (first.row === null) return null;
      // The refused order whose place it takes may have freed the name between our reading and the commit.
      const now = await names.claim(accountHashes, clientOrderId, routeId);
      return now === null || now.row !== null ? null : rowsOf(now);
    },
    afterTakeBack: async () => {
      if (run.attempts.length > 0) return;
      const freed = await names.freeRows(accountHash, clientOrderId, routeId);
      if (freed.writes.length > 0) await store.commit(freed);
    },
  };
}

/** Not durable in time; or another order took the name, or another service the key, between our reading and the commit. */
async function refusalOf(
  { names }: Pick<SingleSendParts, "names">,
  { accountHashes }: OrderContext,
  { clientOrderId, routeId }: SingleRun,
  durable: { readonly kind: "notDurable"; readonly error: ServiceError } | { readonly kind: "taken" },
): Promise<OrderRefusal> {
  if (durable.kind === "notDurable")
    return { ok: false, code: durable.error.code, details: durable.error.context, replayed: false };
  const isFree = clientOrderId === null || (await names.claim(accountHashes, clientOrderId, routeId)) !== null;
  return isFree
    ? { ok: false, code: "IDEMPOTENCY_IN_PROGRESS", details: {}, replayed: false }
    : { ok: false, code: "DUPLICATE_CLIENT_ORDER_ID", details: { clientOrderId }, replayed: false };
}

function startResolving(
  { core }: Pick<SingleSendParts, "core">,
  orderContext: OrderContext,
  run: SingleRun,
  attempt: OrderAttempt,
): Promise<Resolution> {
  const { room, instrument, session } = orderContext;
  if (orderContext.taken) throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  orderContext.taken = true;
  return core.resolve(run, attempt, instrument, room, session);
}
