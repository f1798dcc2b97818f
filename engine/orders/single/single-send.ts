/**
 * One single order: minted, durable, sent (send-outcome.ts), and brought to one of three outcomes. The only place that
 * sends one.
 *
 * Invariants: the intent, the name, the share of the daily limits and the RUNNING record of an idempotent request are
 * durable in one batch before the request leaves; nothing is ever sent twice under one client id; whatever goes wrong
 * after the send is UNKNOWN.
 */
import { ServiceError } from "../../domain/errors.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../domain/instrument.js";
import type { OrderCommand } from "../../domain/order.js";
import type { GuardReservation } from "../../guards/guards.js";
import { storeUnavailable, type StateCondition, type StateWrite } from "../../storage/state-store.js";
import { within } from "../../domain/deadline.js";
import { boundOf } from "../absence-proof.js";
import type { OrderIntent } from "../intent-log.js";
import { redactVenueText } from "../redact.js";
import type { Resolution } from "../resolver.js";
import { unknownOrder } from "../unknown-order.js";
import { MAX_SEND_TIMEOUT_MS, MIN_SEND_TIMEOUT_MS, STORE_TIMEOUT_MS } from "../trade-context.js";
import { sendAttempt } from "../send-outcome.js";
import { addAttempt, dropAttempts, recordNotSent, type OrderAttempt } from "../trade-run.js";
import { isMarket } from "./order-check.js";
import type { OrderRefusal } from "./order-desk.js";
import type { NameClaim, ClientOrderIdIndex } from "../client-order-id-index.js";
import { accountHashOf } from "../trade-accounts.js";
import type { OrderContext, SingleParts } from "./single-context.js";
import { recordVenueCode, type SingleRun } from "./single-run.js";

/** An order ready to be sent: checked, priced, let through by the guards. */
interface SendOrder {
  readonly attempt: OrderAttempt;
  readonly reservation: GuardReservation;
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

/** The next attempt of the run, not a part of it yet. */
export function mintAttempt(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  priced: { readonly qtyLots: number; readonly priceTicks: number; readonly timeInForce: OrderAttempt["timeInForce"] },
): OrderAttempt {
  const { instrument, room, session } = orderContext;
  const attemptNumber = run.attempts.length + 1;
  const clientIdHex = parts.clientIds.mint(orderContext.ticket, 0, attemptNumber, run.type === "MARKET");
  const nowMs = parts.clock.wallMs();
  return {
    leg: 0,
    attempt: attemptNumber,
    venue: run.venue,
    nativeSymbol: instrument.nativeSymbol,
    accountHash: accountHashOf(parts.hash, run.venue, session.accountId),
    clientIdHex,
    intentAtMs: nowMs,
    venueClientOrderId: room.orders.venueClientOrderId(clientIdHex),
    side: run.side,
    positionSide: run.positionSide,
    timeInForce: priced.timeInForce,
    ...(run.trigger === null ? {} : { rests: true }),
    reduceOnly: run.reduceOnly,
    qtyLots: priced.qtyLots,
    priceTicks: priced.priceTicks,
    ...(isUnpriced(run, instrument) ? { unpriced: true } : {}),
    priceDecimals: canonicalPriceDecimals(instrument),
    qtyDecimals: canonicalQtyDecimals(instrument),
    multiplierExp10: instrument.multiplierExp10,
    quoteAsset: instrument.quoteAsset,
    takerFeeMilliBps: instrument.takerFeeMilliBps,
    makerFeeMilliBps: instrument.makerFeeMilliBps,
    ...boundOf(room, notPlacedBoundMs(orderContext, nowMs)),
    outcome: "PENDING",
    reason: null,
    venueText: null,
    order: null,
    sentAtMs: null,
    ackAtMs: null,
  };
}

/** Adds the attempt to the run, first of all. */
export async function sendOrder(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  ready: SendOrder,
): Promise<SingleSendEnd> {
  const { attempt, reservation } = ready;
  addAttempt(run, attempt);
  const notDurable = await makeDurable(parts, orderContext, run, ready);
  if (notDurable !== null) {
    dropAttempts(run, run.attempts.length - 1);
    return { kind: "notSent", refusal: notDurable };
  }
  if (!reservation.mayStillSend()) {
    // Switched off while this order was being written down.
    recordNotSent(attempt, "TRADING_HALTED");
    return { kind: "settled" };
  }
  const { instrument, room, session } = orderContext;
  const command: OrderCommand = {
    instrument,
    side: run.side,
    type: isMarket(run.type) ? "MARKET" : "LIMIT",
    ...(run.trigger === null ? {} : { trigger: run.trigger }),
    timeInForce: attempt.timeInForce,
    priceTicks: attempt.priceTicks,
    qtyLots: attempt.qtyLots,
    reduceOnly: run.reduceOnly,
    positionSide: run.positionSide,
    clientIdHex: attempt.clientIdHex,
  };
  const timeoutMs = boundedTimeoutMs(orderContext.deadline.leftMs());
  const { outcome, isOpen } = await sendAttempt(parts, {
    room,
    session,
    command,
    attempt,
    timeoutMs,
    routeId: run.routeId,
    secrets: orderContext.secrets,
  });
  if (isOpen) return startResolving(parts, orderContext, run, attempt);
  if (outcome.outcome === "rejected") recordVenueCode(run, redactVenueText(outcome.venueCode, orderContext.secrets));
  return { kind: "settled" };
}

/** Null means durable. Else nothing is sent, and what may land late is taken back behind it. */
async function makeDurable(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  { attempt, reservation, claim }: SendOrder,
): Promise<OrderRefusal | null> {
  const { ticket } = orderContext;
  const running = ticket === null ? null : parts.idempotency.runningRows(ticket, run);
  const base = [...parts.intents.openWrites(intentOf(run, attempt, orderContext)), ...reservation.writes];
  const startNs = parts.clock.monoNs();
  const commit = async (named: ClaimedRows | null): Promise<boolean> => {
    const conditions: StateCondition[] = [...(running?.batch.conditions ?? [])];
    if (named !== null) conditions.push(named.condition);
    const writes: StateWrite[] = [...base, ...(named?.writes ?? []), ...(running?.batch.writes ?? [])];
    const leftMs = STORE_TIMEOUT_MS - (parts.clock.monoNs() - startNs) / 1e6;
    const committed = await within(parts.clock, parts.store.commit({ conditions, writes }), leftMs);
    // The clock has the last word: after a stall of this process the write may win against its timer, and the
    // intent's bound would not hold for an order sent then.
    if (!committed.done || (parts.clock.monoNs() - startNs) / 1e6 > STORE_TIMEOUT_MS) throw storeUnavailable("TIMEOUT");
    return committed.value;
  };
  try {
    let isDurable = await commit(claimedRows(parts, orderContext, run, attempt, claim));
    if (!isDurable && claim !== null && claim.row !== null && run.clientOrderId !== null) {
      // The refused order whose place it takes may have freed the name between our reading and the commit.
      const now = await parts.names.claim(run.accountHash, run.clientOrderId, run.routeId);
      if (now !== null && now.row === null)
        isDurable = await commit(claimedRows(parts, orderContext, run, attempt, now));
    }
    if (!isDurable) {
      reservation.release();
      return await lostRace(parts, run);
    }
  } catch (error) {
    const release = reservation.release();
    if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
    parts.background.run("intent_take_back", takeBack(parts, orderContext, run, attempt, release));
    return { ok: false, code: error.code, details: error.context, replayed: false };
  }
  if (running !== null && ticket !== null) parts.idempotency.committed(ticket, running.row);
  return null;
}

/** A trigger at market, at a venue that takes no price with it. */
function isUnpriced({ trigger, type }: SingleRun, instrument: OrderContext["instrument"]): boolean {
  const isAtMarket = type === "STOP_MARKET" || type === "TAKE_PROFIT_MARKET";
  return trigger !== null && isAtMarket && instrument.marketTriggersUnpriced === true;
}

type ClaimedRows = ReturnType<ClientOrderIdIndex["claimRows"]>;

/** Null when the caller gave the order no name. */
function claimedRows(
  { names, hash }: SingleParts,
  { session }: OrderContext,
  run: SingleRun,
  attempt: OrderAttempt,
  claim: NameClaim | null,
): ClaimedRows | null {
  const { accountHash, clientOrderId, routeId, symbol } = run;
  if (claim === null || clientOrderId === null) return null;
  const { clientIdHex, venueClientOrderId, intentAtMs: createdAtMs } = attempt;
  const account = accountHashOf(hash, session.venue, session.accountId);
  const order = { account, clientIdHex, venueClientOrderId, routeId, symbol, clientOrderId, createdAtMs };
  return names.claimRows(accountHash, claim, order);
}

/** Another order took the name, or another service the key, between our reading and the commit. */
async function lostRace(parts: SingleParts, run: SingleRun): Promise<OrderRefusal> {
  const { accountHash, clientOrderId, routeId } = run;
  const isFree = clientOrderId === null || (await parts.names.claim(accountHash, clientOrderId, routeId)) !== null;
  return isFree
    ? { ok: false, code: "IDEMPOTENCY_IN_PROGRESS", details: {}, replayed: false }
    : { ok: false, code: "DUPLICATE_CLIENT_ORDER_ID", details: { clientOrderId }, replayed: false };
}

/** Its batch may land late; these writes queue behind it. */
async function takeBack(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  attempt: OrderAttempt,
  release: readonly StateWrite[],
): Promise<void> {
  const { ticket } = orderContext;
  const dropped = [
    ...parts.intents.dropWrites({ clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs }),
    ...release,
  ];
  if (ticket === null || ticket.stored !== null) await parts.store.commit({ writes: dropped });
  else await parts.idempotency.abandon(ticket, dropped);
  // Only now is it certain what the name's row says.
  if (run.clientOrderId === null || run.attempts.length > 0) return;
  const freed = await parts.names.freeRows(run.accountHash, run.clientOrderId, run.routeId);
  if (freed.writes.length > 0) await parts.store.commit(freed);
}

function intentOf(run: SingleRun, attempt: OrderAttempt, orderContext: OrderContext): OrderIntent<SingleRun> {
  return {
    clientIdHex: attempt.clientIdHex,
    accountHash: run.accountHash,
    venue: run.venue,
    symbol: run.symbol,
    nativeSymbol: attempt.nativeSymbol,
    side: run.side,
    positionSide: run.positionSide,
    type: run.orderType,
    timeInForce: attempt.timeInForce,
    reduceOnly: run.reduceOnly,
    qtyLots: attempt.qtyLots,
    priceTicks: attempt.priceTicks,
    notPlacedAfterMs: attempt.notPlacedAfterMs,
    routeId: run.routeId,
    idempotencyRecord: orderContext.ticket?.recordKey ?? null,
    leg: attempt.leg,
    attempt: attempt.attempt,
    createdAtMs: attempt.intentAtMs,
    // With a key the record in the same batch has it.
    run: orderContext.ticket === null ? run : null,
  };
}

function startResolving(
  parts: SingleParts,
  orderContext: OrderContext,
  run: SingleRun,
  attempt: OrderAttempt,
): SingleSendEnd {
  const { room, instrument, session } = orderContext;
  if (orderContext.taken) throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  orderContext.taken = true;
  const order = unknownOrder(parts.bounds, run.routeId, room, instrument, attempt);
  return { kind: "resolving", resolution: parts.resolver.resolve(order, session) };
}

function boundedTimeoutMs(leftMs: number): number {
  return Math.min(MAX_SEND_TIMEOUT_MS, Math.max(MIN_SEND_TIMEOUT_MS, leftMs));
}

/**
 * When the order can no longer be accepted, at the latest: the proof of absence after a crash rests on it. The durable
 * wait before the send takes at most STORE_TIMEOUT_MS, and what it takes the send has less of. While the process lives
 * the room's own bound, known after signing, replaces it.
 */
function notPlacedBoundMs(orderContext: OrderContext, nowMs: number): number {
  const timeoutMs = boundedTimeoutMs(orderContext.deadline.leftMs() - STORE_TIMEOUT_MS);
  return nowMs + STORE_TIMEOUT_MS + orderContext.room.orders.placeBoundMs(orderContext.session, timeoutMs);
}
