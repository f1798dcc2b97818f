/**
 * Orders, one or several at once: minted, let through by the guards, durable, sent (send-outcome.ts), and each brought to
 * one of three outcomes. The only place of the trade path that places orders.
 *
 * Invariants: the intents of all (with the RUNNING record of an idempotent request, in one batch) are durable before any
 * request leaves, and are the only durable wait; an order names its side, and is reduce-only unless it is an entry's
 * own; nothing is ever sent twice under one client id; whatever goes wrong after the send is UNKNOWN.
 */
import { ServiceError } from "../domain/errors.js";
import type { OrderCommand } from "../domain/order.js";
import type { TradeExecution, TradeParts } from "./trade-context.js";
import { guardedOrder, makeDurable, mintAttempt, sendTimeoutMs, type Durable, type Outgoing } from "./trade-intent.js";
import type { SendPlan } from "./trade-plan.js";
import { countedAccount } from "./account-behind.js";
import {
  addAttempt,
  addPosition,
  isOpening,
  recordNotSent,
  recordTimings,
  roundMs,
  type OrderAttempt,
  type TradeRun,
} from "./trade-run.js";
import type { Resolution } from "./resolver.js";
import { unknownOrder } from "./unknown-order.js";
import { sendAttempt } from "./send-outcome.js";

/** One order of a batch, durable and sent. */
export interface SentOrder {
  readonly attempt: OrderAttempt;
  /** Outcome UNKNOWN, or accepted and still working: the resolver has it. Null when the attempt's outcome is final. */
  readonly resolution: Promise<Resolution> | null;
}

export type SendEnd =
  | { readonly kind: "sent"; readonly orders: readonly SentOrder[] }
  | Exclude<Durable, { kind: "durable" }>
  /** A limit of this service does not let it go. Nothing was sent. */
  | { readonly kind: "guarded"; readonly error: ServiceError };

/**
 * Sends all plans at once, each to a venue of its own or beside others there. Adds the attempts to the run, first of
 * all; where nothing was sent they say so.
 */
export async function sendOrders(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  plans: readonly SendPlan[],
): Promise<SendEnd> {
  const { observer, clock } = parts;
  const before = run.attempts.length;
  const outgoing: Outgoing[] = [];
  const counted = new Map<SendPlan, string>();
  if (parts.guards.countsAccount(execution.apiKeyId)) {
    // Before the first check: the checks of all orders are one turn.
    for (const plan of plans) {
      const account = execution.accounts.get(plan.venue);
      if (account === null || plan.reduceOnly) continue;
      const { room, session, accountHash: own } = account;
      const order = { opens: true, apiKeyId: execution.apiKeyId, own, timeoutMs: sendTimeoutMs(execution) };
      const behind = await countedAccount(parts, room, session, order);
      if (!behind.ok) return { kind: "guarded", error: behind.error };
      counted.set(plan, behind.accountHash);
    }
  }
  for (const plan of plans) {
    const account = execution.accounts.get(plan.venue);
    if (account === null || execution.accounts.isTaken(plan.venue))
      throw new ServiceError("INTERNAL", { problem: "a plan without a session" });
    // The invariant of this path: whatever is not an entry's own order reduces.
    if (!plan.reduceOnly && !(isOpening(run) && plan.role === "POSITION"))
      throw new ServiceError("INTERNAL", { problem: "an order that does not reduce" });
    const attempt = mintAttempt(parts, execution, run, plan, account);
    const verdict = parts.guards.check(
      guardedOrder(execution, run, plan, attempt, counted.get(plan) ?? account.accountHash),
    );
    addAttempt(run, attempt);
    if (!verdict.ok) {
      markNotSent(run, before, verdict.code);
      for (const { reservation } of outgoing) reservation.release();
      return { kind: "guarded", error: new ServiceError(verdict.code, verdict.details) };
    }
    outgoing.push({ plan, account, attempt, reservation: verdict.reservation });
    addPosition(run, plan.before);
  }

  const startNs = clock.monoNs();
  const durable = await makeDurable(parts, execution, run, outgoing);
  if (durable.kind !== "durable") {
    markNotSent(run, before, "STORE_UNAVAILABLE");
    for (const { reservation } of outgoing) reservation.release();
    return durable;
  }
  observer.latency("intent", "", (clock.monoNs() - startNs) / 1e3);
  const timings = { venue: 0, sign: 0 };
  const orders =
    outgoing.length === 1
      ? [await sendOne(parts, execution, run, outgoing[0] as Outgoing, timings)]
      : await Promise.all(outgoing.map((one) => sendOne(parts, execution, run, one, timings)));
  recordTimings(run, timings);
  return { kind: "sent", orders };
}

/** Nothing of the batch left this machine, and no intent of it stands. */
function markNotSent(run: TradeRun, before: number, reason: string): void {
  for (const attempt of run.attempts.slice(before)) recordNotSent(attempt, reason);
}

/** Concurrent legs count once: the slowest of them. */
interface BatchTimings {
  venue: number;
  sign: number;
}

async function sendOne(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  outgoing: Outgoing,
  timings: BatchTimings,
): Promise<SentOrder> {
  const { plan, account, attempt, reservation } = outgoing;
  const { observer } = parts;
  if (!plan.reduceOnly) parts.reservations.set(attempt, reservation);
  if (!reservation.mayStillSend()) {
    recordNotSent(attempt, "TRADING_HALTED");
    return { attempt, resolution: null };
  }
  const command: OrderCommand = {
    instrument: plan.instrument,
    side: plan.side,
    type: plan.type === "LIMIT" || plan.type === "STOP_LIMIT" ? "LIMIT" : "MARKET",
    ...(plan.trigger === null ? {} : { trigger: plan.trigger }),
    timeInForce: attempt.timeInForce,
    priceTicks: plan.priceTicks,
    qtyLots: plan.qtyLots,
    reduceOnly: plan.reduceOnly,
    positionSide: plan.positionSide,
    clientIdHex: attempt.clientIdHex,
  };
  const { outcome, tookMs, isOpen } = await sendAttempt(parts, {
    room: account.room,
    session: account.session,
    command,
    attempt,
    timeoutMs: sendTimeoutMs(execution),
    routeId: run.routeId,
    secrets: execution.secrets,
  });
  const ackMs = outcome.outcome === "accepted" ? Math.min(outcome.ackMs, tookMs) : tookMs;
  timings.venue = Math.max(timings.venue, roundMs(ackMs));
  timings.sign = Math.max(timings.sign, roundMs(tookMs - ackMs));
  observer.latency("venue", plan.venue, ackMs * 1e3);
  observer.latency("sign", plan.venue, (tookMs - ackMs) * 1e3);
  const resolution = isOpen ? startResolving(parts, execution, run, plan, attempt) : null;
  return { attempt, resolution };
}

function startResolving(
  parts: TradeParts,
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  attempt: OrderAttempt,
): Promise<Resolution> {
  const room = parts.rooms.get(plan.venue);
  // What follows an entry shares its venue with others of its kind: their session must outlive this order's resolution.
  const session =
    plan.role === "POSITION" ? execution.accounts.take(plan.venue) : execution.accounts.another(plan.venue);
  if (room === undefined || session === null)
    throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  const order = unknownOrder(parts.bounds, run.routeId, room, plan.instrument, attempt);
  return parts.resolver.resolve(order, session);
}
