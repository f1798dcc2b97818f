/**
 * The orders of a trade, one or several at once: those of a decision, or what follows them. All are durable before the
 * first of them leaves (order-core.ts), and each is brought to one of three outcomes.
 *
 * Invariants: an order names its side, and is reduce-only unless it is an entry's own; whatever goes wrong after the
 * send is UNKNOWN.
 */
import type { RouteObserver } from "../decide/route-observer.js";
import type { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import type { StateStore } from "../../storage/state-store.js";
import { formatScaled } from "../../domain/decimal.js";
import { ServiceError } from "../../domain/errors.js";
import { liveDoubleMid } from "../../routing/market-price.js";
import { countedAccount, type CountedAccountParts } from "../decide/account-behind.js";
import { sendTimeoutMs, type OrderNames, type OutgoingOrder, type OrderCore } from "./order-core.js";
import type { Resolution } from "./resolver.js";
import { sessionHash, type OpenAccount, type Rooms } from "../accounts.js";
import type { TradeExecution } from "./execution.js";
import type { SendPlan } from "../decide/plan.js";
import { isOpening, type OrderAttempt, type TradeRun } from "../run.js";
import { addAttempt, addPosition, recordNotSent, recordTimings, roundMs } from "../run-writes.js";
import type { TradeResult } from "../types.js";

/** What sends the orders of a trade. */
export interface SendParts extends CountedAccountParts {
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly names: ClientOrderIdIndex;
  readonly observer: RouteObserver;
  readonly core: OrderCore<TradeRun, TradeResult>;
}

/** One order of a batch, durable and sent. */
export interface SentOrder {
  readonly attempt: OrderAttempt;
  /** Outcome UNKNOWN, or accepted and still working: the resolver has it. Null when the attempt's outcome is final. */
  readonly resolution: Promise<Resolution> | null;
}

export type SendEnd =
  | { readonly kind: "sent"; readonly orders: readonly SentOrder[] }
  /** Not durable in time, or a limit of this service does not let it go. Nothing was sent. */
  | { readonly kind: "notSent"; readonly error: ServiceError }
  /** Another service took the idempotency key meanwhile: nothing was sent. */
  | { readonly kind: "keyTaken" };

interface Outgoing extends OutgoingOrder<TradeRun, TradeResult> {
  readonly terms: SendPlan;
  readonly account: OpenAccount;
}

/**
 * Sends all plans at once, each to a venue of its own or beside others there. Adds the attempts to the run, first of
 * all; where nothing was sent they report that.
 */
export async function sendOrders(
  parts: SendParts,
  execution: TradeExecution,
  run: TradeRun,
  plans: readonly SendPlan[],
): Promise<SendEnd> {
  const { clock, core, observer } = parts;
  const before = run.attempts.length;
  // Before the first check: the checks of all orders are one turn.
  const counted = await countedAccounts(parts, execution, plans);
  if (counted instanceof ServiceError) return { kind: "notSent", error: counted };
  const outgoing: Outgoing[] = [];
  for (const plan of plans) {
    const reserved = reserveOrder(parts, execution, run, plan, counted.get(plan) ?? null);
    if (reserved instanceof ServiceError) {
      markNotSent(run, before, reserved.code);
      for (const { reservation } of outgoing) reservation.release();
      return { kind: "notSent", error: reserved };
    }
    outgoing.push(reserved);
    addPosition(run, plan.before);
  }

  const startNs = clock.monoNs();
  const durable = await core.makeDurable(run, execution.ticket, outgoing, namesOf(parts, run, outgoing));
  if (durable.kind !== "durable") {
    markNotSent(run, before, "STORE_UNAVAILABLE");
    return durable.kind === "taken" ? { kind: "keyTaken" } : { kind: "notSent", error: durable.error };
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

/** One order, named and let through by the guards, or why it is not. `countedHash`: null counts it for its own account. */
function reserveOrder(
  parts: SendParts,
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  countedHash: string | null,
): Outgoing | ServiceError {
  const account = execution.accounts.get(plan.venue);
  if (account === null || execution.accounts.isTaken(plan.venue))
    throw new ServiceError("INTERNAL", { problem: "a plan without a session" });
  // The invariant of this path: whatever is not an entry's own order reduces.
  if (!plan.reduceOnly && !(isOpening(run) && plan.role === "POSITION"))
    throw new ServiceError("INTERNAL", { problem: "an order that does not reduce" });
  const { ownerId, deadline, secrets, ticket } = execution;
  const sender = { room: account.room, session: account.session, ownerId, deadline, secrets, ticket };
  const { leg, marketableLots, role } = plan;
  const reference = role === "UNDO" ? ownReference(parts, plan, execution.request.maxQuoteAgeMs) : {};
  const attempt = parts.core.mint(run, plan, sender, {
    role,
    leg,
    ...reference,
    ...(marketableLots === undefined ? {} : { marketableLots }),
  });
  const verdict = parts.core.reserve(run, attempt, plan, sender, countedHash ?? account.accountHash);
  addAttempt(run, attempt);
  if (!verdict.ok) return new ServiceError(verdict.code, verdict.details);
  return { terms: plan, account, sender, attempt, reservation: verdict.reservation };
}

/** Whose daily limits an opening order counts for, where the guards count by account. */
async function countedAccounts(
  parts: SendParts,
  execution: TradeExecution,
  plans: readonly SendPlan[],
): Promise<ReadonlyMap<SendPlan, string> | ServiceError> {
  const counted = new Map<SendPlan, string>();
  const { accounts, ownerId, deadline } = execution;
  if (!parts.guards.countsAccount(ownerId)) return counted;
  for (const plan of plans) {
    const account = accounts.get(plan.venue);
    if (account === null || plan.reduceOnly) continue;
    const { room, session, accountHash: own } = account;
    const order = { opens: true, ownerId, own, timeoutMs: sendTimeoutMs(deadline) };
    const behind = await countedAccount(parts, room, session, order);
    if (!behind.ok) return behind.error;
    counted.set(plan, behind.accountHash);
  }
  return counted;
}

/** Nothing of the batch left this machine, and no intent of it is stored. */
function markNotSent(run: TradeRun, before: number, reason: string): void {
  for (const attempt of run.attempts.slice(before)) recordNotSent(attempt, reason);
}

/** The market has moved since the decision: an undo is measured from the mid at its own send. */
function ownReference(parts: SendParts, plan: SendPlan, maxQuoteAgeMs: number): Pick<OrderAttempt, "refMid"> {
  const market = parts.rooms.get(plan.venue)?.markets.get(plan.instrument.symbol);
  const doubleMid = market === undefined ? 0 : liveDoubleMid(market, maxQuoteAgeMs, parts.clock.monoNs());
  // Half a tick is one decimal finer.
  return typeof doubleMid === "number" && doubleMid > 0
    ? { refMid: formatScaled(doubleMid * 5, plan.priceDecimals + 1) }
    : {};
}

/** What the caller calls the trade, for each of its own orders; guards have no name of a caller. */
function namesOf(
  { hash, names }: SendParts,
  { clientOrderId, routeId, symbol }: TradeRun,
  outgoing: readonly Outgoing[],
): OrderNames | null {
  if (clientOrderId === null) return null;
  const named = outgoing.flatMap(({ terms, attempt, sender, account: { session, accountHash: account } }) => {
    if (terms.role !== "POSITION") return [];
    const { clientIdHex, venueClientOrderId, intentAtMs: createdAtMs } = attempt;
    const accountHash = sessionHash(hash, session, sender.ownerId);
    return [{ accountHash, account, clientIdHex, venueClientOrderId, routeId, symbol, clientOrderId, createdAtMs }];
  });
  return { rows: async () => ({ conditions: [], writes: await names.tradeRows(named) }) };
}

/** Concurrent legs count once: the slowest of them. */
interface BatchTimings {
  venue: number;
  sign: number;
}

async function sendOne(
  parts: SendParts,
  execution: TradeExecution,
  run: TradeRun,
  outgoing: Outgoing,
  timings: BatchTimings,
): Promise<SentOrder> {
  const { terms: plan, attempt } = outgoing;
  const sent = await parts.core.send(run, outgoing);
  if (sent === null) return { attempt, resolution: null };
  const { outcome, tookMs, isOpen } = sent;
  const { observer } = parts;
  const ackMs = outcome.outcome === "accepted" ? Math.min(outcome.ackMs, tookMs) : tookMs;
  timings.venue = Math.max(timings.venue, roundMs(ackMs));
  timings.sign = Math.max(timings.sign, roundMs(tookMs - ackMs));
  observer.latency("venue", plan.venue, ackMs * 1e3);
  observer.latency("sign", plan.venue, (tookMs - ackMs) * 1e3);
  return { attempt, resolution: isOpen ? startResolving(parts, execution, run, plan, attempt) : null };
}

function startResolving(
  parts: SendParts,
  { accounts }: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  attempt: OrderAttempt,
): Promise<Resolution> {
  const room = parts.rooms.get(plan.venue);
  // What follows an entry shares its venue with others of its kind: their session must outlive this order's resolution.
  const session = plan.role === "POSITION" ? accounts.take(plan.venue) : accounts.another(plan.venue);
  if (room === undefined || session === null)
    throw new ServiceError("INTERNAL", { problem: "no session for the resolver" });
  return parts.core.resolve(run, attempt, plan.instrument, room, session);
}
