/**
 * One order: minted, durable, sent, and brought to one of three outcomes. The only place of the close path
 * that places orders.
 *
 * Invariants: the intent (with the RUNNING record of an idempotent request, in one batch) is durable before the
 * request leaves, and is the only durable wait; the order names its side and is reduce-only; nothing is ever sent
 * twice under one client id; whatever goes wrong after the send is UNKNOWN.
 */
import { isPlainDecimal } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../domain/order.js";
import type { AccountSession } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import { MAX_BATCH_ROWS, storeUnavailable, type StateBatch } from "../storage/state-store.js";
import { problemOf } from "./background.js";
import type { OpenAccount } from "./close-accounts.js";
import {
  MAX_SEND_TIMEOUT_MS,
  MIN_SEND_TIMEOUT_MS,
  STORE_TIMEOUT_MS,
  type CloseFlight,
  type CloseParts,
} from "./close-context.js";
import type { SendPlan } from "./close-routing.js";
import { isSettled, type Attempt, type CloseRun } from "./close-run.js";
import { within } from "./deadline.js";
import type { IntentOutcome, OrderIntent } from "./intent-log.js";
import { redactVenueText } from "./redact.js";
import type { Resolution } from "./resolver.js";

export type SendEnd =
  /** The attempt's outcome is final. */
  | { readonly kind: "settled" }
  /** Outcome UNKNOWN, or accepted and still working; the resolver has it. */
  | { readonly kind: "resolving"; readonly resolution: Promise<Resolution> }
  /** Not durable in time: nothing was sent. */
  | { readonly kind: "notDurable"; readonly error: ServiceError }
  /** Another service took the idempotency key meanwhile: nothing was sent. */
  | { readonly kind: "keyTaken" };

/** Adds the attempt to the run, first of all. */
export async function sendAttempt(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  plan: SendPlan,
): Promise<SendEnd> {
  const account = flight.accounts.get(plan.venue);
  if (account === null || flight.accounts.isTaken(plan.venue))
    throw new ServiceError("INTERNAL", { problem: "a plan without a session" });
  const attempt = mintAttempt(parts, flight, run, plan, account);
  run.attempts.push(attempt);
  if (!run.positionsBefore.some((before) => before.venue === plan.venue)) run.positionsBefore.push({ ...plan.before });

  const durable = await makeDurable(parts, flight, run, attempt, intentOf(parts, run, attempt, account, flight));
  if (durable.kind !== "durable") {
    attempt.outcome = "NOT_SENT";
    attempt.reason = "STORE_UNAVAILABLE";
    return durable;
  }

  const command: OrderCommand = {
    instrument: plan.instrument,
    side: run.side,
    type: run.orderType === "LIMIT" ? "LIMIT" : "MARKET",
    timeInForce: attempt.timeInForce,
    priceTicks: plan.priceTicks,
    qtyLots: plan.qtyLots,
    reduceOnly: true,
    positionSide: plan.positionSide,
    clientIdHex: attempt.clientIdHex,
  };
  const sentNs = parts.clock.monoNs();
  attempt.sentAtMs = parts.clock.wallMs();
  let outcome: PlaceOutcome;
  try {
    outcome = await account.room.orders.place(account.session, command, {
      timeoutMs: sendTimeoutMs(flight),
      lane: "exit",
    });
  } catch (error) {
    // A room that throws is a bug of ours, and by now the order may be out.
    parts.logger.error("place_threw", {
      venue: plan.venue,
      routeId: run.routeId,
      problem: problemOf(error),
    });
    outcome = { outcome: "unknown", cause: "INTERNAL", notPlacedAfterMs: attempt.notPlacedAfterMs };
  }
  const tookMs = (parts.clock.monoNs() - sentNs) / 1e6;
  const ackMs = outcome.outcome === "accepted" ? Math.min(outcome.ackMs, tookMs) : tookMs;
  run.timingMs.venue += roundMs(ackMs);
  run.timingMs.sign += roundMs(tookMs - ackMs);
  try {
    return applyOutcome(parts, flight, run, plan, attempt, outcome);
  } catch (error) {
    // An answer that we stumble over is an answer all the same: the order is read from the venue instead.
    parts.logger.error("outcome_not_applied", { venue: plan.venue, routeId: run.routeId, problem: problemOf(error) });
    attempt.outcome = "UNKNOWN";
    attempt.order = null;
    return startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER);
  }
}

/** How the intent log remembers the attempt's end; null: it has none yet. */
export function intentOutcome(attempt: Attempt): IntentOutcome | null {
  switch (attempt.outcome) {
    case "CONFIRMED":
      return attempt.order !== null && isSettled(attempt.order, attempt.timeInForce === "GTC") ? "CONFIRMED" : null;
    case "NOT_SENT":
      return "NOT_SENT";
    case "REJECTED":
      return attempt.reason === "NOT_PLACED" ? "NOT_PLACED" : "REJECTED";
    default:
      return null;
  }
}

/** Writes what the resolver found into the attempt; false: still unknown. */
export function applyResolution(parts: CloseParts, attempt: Attempt, resolution: Resolution): boolean {
  if (resolution.kind === "found") {
    confirm(parts, attempt, resolution.order);
    attempt.ackAtMs ??= parts.clock.wallMs();
  } else if (resolution.kind === "notPlaced") {
    attempt.outcome = "REJECTED";
    attempt.reason = "NOT_PLACED";
    attempt.venueText = null;
  } else {
    // Known to exist, still working: the latest sight of it is worth keeping.
    if (attempt.outcome === "CONFIRMED" && resolution.order !== null) attempt.order = resolution.order;
    return false;
  }
  return true;
}

function mintAttempt(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  plan: SendPlan,
  account: OpenAccount,
): Attempt {
  const attemptNumber = run.attempts.length + 1;
  const clientIdHex = parts.clientIds.mint(flight.ticket?.scope ?? null, 0, attemptNumber);
  const nowMs = parts.clock.wallMs();
  return {
    leg: 0,
    attempt: attemptNumber,
    venue: plan.venue,
    nativeSymbol: plan.instrument.nativeSymbol,
    clientIdHex,
    intentAtMs: nowMs,
    venueClientOrderId: account.room.orders.venueClientOrderId(clientIdHex),
    side: run.side,
    positionSide: plan.positionSide,
    timeInForce: run.orderType === "LIMIT" ? "GTC" : "IOC",
    qtyLots: plan.qtyLots,
    priceTicks: plan.priceTicks,
    priceDecimals: plan.priceDecimals,
    qtyDecimals: plan.qtyDecimals,
    multiplierExp10: plan.instrument.multiplierExp10,
    quoteAsset: plan.instrument.quoteAsset,
    takerFeeMilliBps: plan.takerFeeMilliBps,
    makerFeeMilliBps: plan.makerFeeMilliBps,
    notPlacedAfterMs: notPlacedBoundMs(flight, account, nowMs),
    outcome: "PENDING",
    reason: null,
    venueText: null,
    order: null,
    sentAtMs: null,
    ackAtMs: null,
  };
}

type Durable = { readonly kind: "durable" } | Extract<SendEnd, { kind: "notDurable" | "keyTaken" }>;

async function makeDurable(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  attempt: Attempt,
  intent: OrderIntent,
): Promise<Durable> {
  const intentWrites = parts.intents.openWrites(intent);
  const running = flight.ticket === null ? null : parts.idempotency.runningRows(flight.ticket, run);
  const batch: StateBatch =
    running === null
      ? { writes: intentWrites }
      : { conditions: running.batch.conditions ?? [], writes: [...intentWrites, ...running.batch.writes] };
  if (batch.writes.length > MAX_BATCH_ROWS) throw new ServiceError("INTERNAL", { problem: "intent batch" });
  const startNs = parts.clock.monoNs();
  try {
    const committed = await within(parts.clock, parts.store.commit(batch), STORE_TIMEOUT_MS);
    // The clock has the last word: after a stall of this process the write may win against its timer, and the
    // intent's bound would not hold for an order sent then.
    if (!committed.done || (parts.clock.monoNs() - startNs) / 1e6 > STORE_TIMEOUT_MS) throw storeUnavailable("TIMEOUT");
    if (!committed.value) return { kind: "keyTaken" };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
    // It may land late; nothing was sent, so it is taken back behind it.
    const dropWrites = parts.intents.dropWrites({ clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs });
    const takenBack =
      flight.ticket === null || flight.ticket.stored !== null
        ? parts.store.commit({ writes: dropWrites })
        : parts.idempotency.abandon(flight.ticket, dropWrites);
    parts.background.run("intent_take_back", takenBack);
    return { kind: "notDurable", error };
  }
  if (running !== null && flight.ticket !== null) parts.idempotency.committed(flight.ticket, running.row);
  return { kind: "durable" };
}

function intentOf(
  parts: CloseParts,
  run: CloseRun,
  attempt: Attempt,
  account: OpenAccount,
  flight: CloseFlight,
): OrderIntent {
  return {
    clientIdHex: attempt.clientIdHex,
    accountHash: intentAccountHash(parts.hash, account.session),
    venue: attempt.venue,
    symbol: run.symbol,
    nativeSymbol: attempt.nativeSymbol,
    side: attempt.side,
    positionSide: attempt.positionSide,
    type: run.orderType,
    timeInForce: attempt.timeInForce,
    reduceOnly: true,
    qtyLots: attempt.qtyLots,
    priceTicks: attempt.priceTicks,
    notPlacedAfterMs: attempt.notPlacedAfterMs,
    routeId: run.routeId,
    idempotencyRecord: flight.ticket?.recordKey ?? null,
    leg: attempt.leg,
    attempt: attempt.attempt,
    createdAtMs: attempt.intentAtMs,
    // With a key the record in the same batch has it.
    run: flight.ticket === null ? run : null,
  };
}

function applyOutcome(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  plan: SendPlan,
  attempt: Attempt,
  outcome: PlaceOutcome,
): SendEnd {
  const mayRest = attempt.timeInForce === "GTC";
  switch (outcome.outcome) {
    case "accepted":
      confirm(parts, attempt, outcome.order);
      attempt.ackAtMs = parts.clock.wallMs();
      if (isSettled(outcome.order, mayRest)) return { kind: "settled" };
      // Acknowledged, so it exists: no proof of absence applies to it.
      return startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER);
    case "rejected":
      if (outcome.reason === "DUPLICATE_CLIENT_ID") {
        // The venue has an order under this id: it is looked up, not failed.
        attempt.outcome = "UNKNOWN";
        return startResolving(parts, flight, run, plan, attempt, Number.MAX_SAFE_INTEGER);
      }
      attempt.outcome = outcome.sent ? "REJECTED" : "NOT_SENT";
      attempt.reason = outcome.reason;
      attempt.venueText = redactVenueText(outcome.venueText, flight.secrets);
      if (outcome.sent) attempt.ackAtMs = parts.clock.wallMs();
      else attempt.sentAtMs = null;
      return { kind: "settled" };
    case "unknown":
      attempt.outcome = "UNKNOWN";
      // A room's bound may be wrong only in our favour if it lies before the send; then our own holds.
      if (outcome.notPlacedAfterMs >= (attempt.sentAtMs ?? 0)) attempt.notPlacedAfterMs = outcome.notPlacedAfterMs;
      parts.logger.warn("order_unknown", {
        venue: plan.venue,
        routeId: run.routeId,
        cause: outcome.cause.slice(0, 100),
      });
      return startResolving(parts, flight, run, plan, attempt, attempt.notPlacedAfterMs);
  }
}

function startResolving(
  parts: CloseParts,
  flight: CloseFlight,
  run: CloseRun,
  plan: SendPlan,
  attempt: Attempt,
  notPlacedAfterMs: number,
): SendEnd {
  const room = parts.rooms.get(plan.venue);
  const session = flight.accounts.take(plan.venue);
  if (room === undefined || session === null)
    throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  attempt.notPlacedAfterMs = notPlacedAfterMs;
  const order = {
    routeId: run.routeId,
    room,
    instrument: plan.instrument,
    clientIdHex: attempt.clientIdHex,
    notPlacedAfterMs,
    mayRest: attempt.timeInForce === "GTC",
  };
  return { kind: "resolving", resolution: parts.resolver.resolve(order, session) };
}

/** What a reply computes with is checked here, once: a venue's odd figure must not fail a close that happened. */
function confirm(parts: CloseParts, attempt: Attempt, order: VenueOrder): void {
  const filledLots = Number.isSafeInteger(order.filledLots)
    ? Math.min(Math.max(0, order.filledLots), attempt.qtyLots)
    : 0;
  const averagePrice = order.averagePrice !== null && isPlainDecimal(order.averagePrice) ? order.averagePrice : null;
  if (filledLots !== order.filledLots || averagePrice !== order.averagePrice)
    parts.logger.error("venue_order_implausible", { venue: attempt.venue, clientId: attempt.clientIdHex });
  // First the copy, which reads every field: should one fail, the attempt is as it was.
  attempt.order = { ...order, filledLots, averagePrice };
  attempt.outcome = "CONFIRMED";
  attempt.reason = null;
  attempt.venueText = null;
}

function sendTimeoutMs(flight: CloseFlight): number {
  return boundedTimeoutMs(flight.deadline.leftMs());
}

function boundedTimeoutMs(leftMs: number): number {
  return Math.min(MAX_SEND_TIMEOUT_MS, Math.max(MIN_SEND_TIMEOUT_MS, leftMs));
}

/**
 * When the order can no longer be accepted, at the latest: the proof of absence after a crash rests on it. The durable
 * wait before the send takes at most STORE_TIMEOUT_MS, and what it takes the send has less of. So, as a room's bound
 * grows no faster than its timeout, the longest wait is the worst case. While the process lives the room's own bound,
 * known after signing, replaces it.
 */
function notPlacedBoundMs(flight: CloseFlight, account: OpenAccount, nowMs: number): number {
  const timeoutMs = boundedTimeoutMs(flight.deadline.leftMs() - STORE_TIMEOUT_MS);
  return nowMs + STORE_TIMEOUT_MS + account.room.orders.placeBoundMs(account.session, timeoutMs);
}

/** Whose order an intent is, finer than the account's hash: the same key may act for several accounts of a venue. */
export function intentAccountHash(hash: KeyedHash, session: AccountSession): string {
  return hash.hmacHex("intent-account", [session.venue, session.accountId, session.accountScope ?? ""]);
}

/** Whole tenths: finer is noise. */
export function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
