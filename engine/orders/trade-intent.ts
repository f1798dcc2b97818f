/**
 * What stands before an order leaves: its attempt, its client id, what the guards are told, and the one durable batch.
 *
 * Invariants: an intent names its client id, its account by keyed hash, and the time after which the venue takes the
 * order no more; the intents of all orders that leave together (with the RUNNING record of an idempotent request) are
 * one batch; what did not become durable in time is taken back behind it.
 */
import { formatScaled } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { GuardedOrder, GuardReservation } from "../guards/guards.js";
import type { AccountSession } from "../ports.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import { MAX_BATCH_ROWS, storeUnavailable, type StateBatch, type StateWrite } from "../storage/state-store.js";
import { within } from "../domain/deadline.js";
import { liveDoubleMid } from "../routing/market-price.js";
import { boundOf } from "./absence-proof.js";
import type { OrderIntent } from "./intent-log.js";
import { sessionHash, type OpenAccount } from "./trade-accounts.js";
import {
  MAX_SEND_TIMEOUT_MS,
  MIN_SEND_TIMEOUT_MS,
  STORE_TIMEOUT_MS,
  type TradeExecution,
  type TradeParts,
} from "./trade-context.js";
import type { SendPlan } from "./trade-plan.js";
import type { OrderAttempt, AttemptRole, TradeRun } from "./trade-run.js";

/** An attempt on its way. */
export interface Outgoing {
  readonly plan: SendPlan;
  readonly account: OpenAccount;
  readonly attempt: OrderAttempt;
  readonly reservation: GuardReservation;
}

export function guardedOrder(
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  attempt: OrderAttempt,
  accountHash: string,
): GuardedOrder {
  return {
    clientIdHex: attempt.clientIdHex,
    atMs: attempt.intentAtMs,
    apiKeyId: execution.apiKeyId,
    accountHash,
    venue: plan.venue,
    symbol: run.symbol,
    opens: !plan.reduceOnly,
    qtyLots: plan.qtyLots,
    qtyDecimals: plan.qtyDecimals,
    priceDecimals: plan.priceDecimals,
    priceTicks: plan.priceTicks,
    doubleMidTicks: plan.doubleMidTicks,
  };
}

/** Of a client id, apart from the legs of the trade: the same key and leg never name two orders. */
const LEG_BASE: Readonly<Record<AttemptRole, number>> = { POSITION: 0, TAKE_PROFIT: 100, STOP_LOSS: 200, UNDO: 300 };

export function mintAttempt(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  account: OpenAccount,
): OrderAttempt {
  const { role, leg, type } = plan;
  const attemptNumber =
    1 + run.attempts.filter((other) => (other.role ?? "POSITION") === role && other.leg === leg).length;
  const clientIdHex = parts.clientIds.mint(execution.ticket, LEG_BASE[role] + leg, attemptNumber, type === "MARKET");
  const nowMs = parts.clock.wallMs();
  return {
    ...(role === "POSITION" ? {} : { role }),
    leg,
    attempt: attemptNumber,
    venue: plan.venue,
    nativeSymbol: plan.instrument.nativeSymbol,
    accountHash: account.accountHash,
    clientIdHex,
    intentAtMs: nowMs,
    venueClientOrderId: account.room.orders.venueClientOrderId(clientIdHex),
    side: plan.side,
    positionSide: plan.positionSide,
    ...(type === run.orderType ? {} : { type }),
    timeInForce: plan.timeInForce,
    ...(plan.trigger === null ? {} : { triggerTicks: plan.trigger.priceTicks, rests: true }),
    ...(plan.reduceOnly ? {} : { reduceOnly: false }),
    ...(role === "UNDO" ? ownReference(parts, plan, execution.request.maxQuoteAgeMs) : {}),
    qtyLots: plan.qtyLots,
    ...(plan.marketableLots === undefined ? {} : { marketableLots: plan.marketableLots }),
    priceTicks: plan.priceTicks,
    ...(isUnpriced(plan) ? { unpriced: true } : {}),
    priceDecimals: plan.priceDecimals,
    qtyDecimals: plan.qtyDecimals,
    multiplierExp10: plan.instrument.multiplierExp10,
    quoteAsset: plan.instrument.quoteAsset,
    takerFeeMilliBps: plan.takerFeeMilliBps,
    makerFeeMilliBps: plan.makerFeeMilliBps,
    ...boundOf(account.room, notPlacedBoundMs(execution, account, nowMs)),
    outcome: "PENDING",
    reason: null,
    venueText: null,
    order: null,
    sentAtMs: null,
    ackAtMs: null,
  };
}

/** The market has moved since the decision: what undoes it is measured from where it stood then. */
function ownReference(parts: TradeParts, plan: SendPlan, maxQuoteAgeMs: number): Pick<OrderAttempt, "refMid"> {
  const market = parts.rooms.get(plan.venue)?.markets.get(plan.instrument.symbol);
  const doubleMid = market === undefined ? 0 : liveDoubleMid(market, maxQuoteAgeMs, parts.clock.monoNs());
  // Half a tick is one decimal finer.
  return typeof doubleMid === "number" && doubleMid > 0
    ? { refMid: formatScaled(doubleMid * 5, plan.priceDecimals + 1) }
    : {};
}

function isUnpriced({ instrument, trigger, type }: SendPlan): boolean {
  return trigger !== null && type === "STOP_MARKET" && instrument.marketTriggersUnpriced === true;
}

export type Durable =
  | { readonly kind: "durable" }
  /** Not durable in time: nothing was sent. */
  | { readonly kind: "notDurable"; readonly error: ServiceError }
  /** Another service took the idempotency key meanwhile: nothing was sent. */
  | { readonly kind: "keyTaken" };

/** All intents in one batch, so that no leg is on its way without the others being known. */
export async function makeDurable(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  outgoing: readonly Outgoing[],
): Promise<Durable> {
  const intentWrites = outgoing.flatMap(({ attempt, account, reservation }) => [
    ...parts.intents.openWrites(intentOf(parts, run, attempt, account, execution)),
    ...reservation.writes,
  ]);
  const running = execution.ticket === null ? null : parts.idempotency.runningRows(execution.ticket, run);
  const startNs = parts.clock.monoNs();
  const leftMs = () => STORE_TIMEOUT_MS - (parts.clock.monoNs() - startNs) / 1e6;
  try {
    const writes = [...intentWrites, ...(await nameRows(parts, run, outgoing)), ...(running?.batch.writes ?? [])];
    const batch: StateBatch = { conditions: running?.batch.conditions ?? [], writes };
    if (writes.length > MAX_BATCH_ROWS) throw new ServiceError("INTERNAL", { problem: "intent batch" });
    const committed = await within(parts.clock, parts.store.commit(batch), leftMs());
    // The clock has the last word: after a stall of this process the write may win against its timer, and the
    // intent's bound would not hold for an order sent then.
    if (!committed.done || (parts.clock.monoNs() - startNs) / 1e6 > STORE_TIMEOUT_MS) throw storeUnavailable("TIMEOUT");
    if (!committed.value) return { kind: "keyTaken" };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
    // It may land late; nothing was sent, so it is taken back behind it.
    const dropWrites = outgoing.flatMap(({ attempt, reservation }) => [
      ...parts.intents.dropWrites({ clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs }),
      ...reservation.release(),
    ]);
    const takenBack =
      execution.ticket === null || execution.ticket.stored !== null
        ? parts.store.commit({ writes: dropWrites })
        : parts.idempotency.abandon(execution.ticket, dropWrites);
    parts.background.run("intent_take_back", takenBack);
    return { kind: "notDurable", error };
  }
  if (running !== null && execution.ticket !== null) parts.idempotency.committed(execution.ticket, running.row);
  return { kind: "durable" };
}

const NO_ROWS: readonly StateWrite[] = [];

/** What the caller calls the trade, for each of its own orders; guards have no name of a caller. */
async function nameRows(
  { clock, hash, names }: TradeParts,
  { clientOrderId, routeId, symbol }: TradeRun,
  outgoing: readonly Outgoing[],
): Promise<readonly StateWrite[]> {
  if (clientOrderId === null) return NO_ROWS;
  const named = outgoing.flatMap(({ plan, attempt, account: { session, accountHash: account } }) => {
    if (plan.role !== "POSITION") return [];
    const { clientIdHex, venueClientOrderId, intentAtMs: createdAtMs } = attempt;
    const accountHash = intentAccountHash(hash, session);
    return [{ accountHash, account, clientIdHex, venueClientOrderId, routeId, symbol, clientOrderId, createdAtMs }];
  });
  const rows = await within(clock, names.tradeRows(named), STORE_TIMEOUT_MS);
  if (!rows.done) throw storeUnavailable("TIMEOUT");
  return rows.value;
}

function intentOf(
  parts: TradeParts,
  run: TradeRun,
  attempt: OrderAttempt,
  account: OpenAccount,
  execution: TradeExecution,
): OrderIntent {
  return {
    clientIdHex: attempt.clientIdHex,
    accountHash: intentAccountHash(parts.hash, account.session),
    venue: attempt.venue,
    symbol: run.symbol,
    nativeSymbol: attempt.nativeSymbol,
    side: attempt.side,
    positionSide: attempt.positionSide,
    type: attempt.type ?? run.orderType,
    timeInForce: attempt.timeInForce,
    reduceOnly: attempt.reduceOnly ?? true,
    qtyLots: attempt.qtyLots,
    priceTicks: attempt.priceTicks,
    notPlacedAfterMs: attempt.notPlacedAfterMs,
    routeId: run.routeId,
    idempotencyRecord: execution.ticket?.recordKey ?? null,
    leg: attempt.leg,
    attempt: attempt.attempt,
    createdAtMs: attempt.intentAtMs,
    // With a key the record in the same batch has it.
    run: execution.ticket === null ? run : null,
  };
}

export function sendTimeoutMs(execution: TradeExecution): number {
  return boundedTimeoutMs(execution.deadline.leftMs());
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
function notPlacedBoundMs(execution: TradeExecution, account: OpenAccount, nowMs: number): number {
  const timeoutMs = boundedTimeoutMs(execution.deadline.leftMs() - STORE_TIMEOUT_MS);
  return nowMs + STORE_TIMEOUT_MS + account.room.orders.placeBoundMs(account.session, timeoutMs);
}

/** Whose order an intent is, finer than the account's hash: the same key may act for several accounts of a venue. */
export function intentAccountHash(hash: KeyedHash, session: AccountSession): string {
  return sessionHash(hash, session);
}
