/**
 * One order on its way: session, idempotency, price, guards, name, send, answer, and what a retry, a replay or a crash
 * before it makes of that. What can go wrong here is a refusal, as long as no order was sent.
 */
import { logRetried } from "../send/debug-lines.js";
import type { UnsettledOrders } from "./unsettled-orders.js";
import type { GuardReservation } from "../../guards/guards.js";
import { ServiceError } from "../../domain/errors.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Owners } from "../../domain/owner.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";
import { type Deadline, within } from "../../domain/deadline.js";
import type { IdempotencyBegin, IdempotencyTicket } from "../durable/idempotency.js";
import { beginOwned, scopeOf } from "../durable/owned-key.js";
import { collectSecrets } from "../redact.js";
import { mintRouteId } from "../route-ids.js";
import type { OrderAttempt, PositionBefore } from "../run.js";
import { dropAttempts, recordAbandoned } from "../run-writes.js";
import { countedAccount, type CountedAccountParts } from "../decide/account-behind.js";
import { sessionHash } from "../accounts.js";
import { accountHashesOf, callOptions } from "./open-account.js";
import { waitForPrices } from "../send/fill-price.js";
import { applyResolution } from "../send/outcome.js";
import { refusal, type CheckedOrder } from "./order-check.js";
import type { OrderAccount, OrderAdjustment, OrderAnswer, OrderRequestContext, OrderRefusal } from "./order-desk.js";
import { freshBound, isBandRefusal, bandAdjustment } from "../send/band-retry.js";
import { answerOf, domainOrderType, unsentAnswer } from "./order-facts.js";
import { beyondBand, boundOf, liveDoubleMidOf, priceOrder, tightestBound, type HeldBound } from "./order-price.js";
import type { SingleConclusion } from "./single-conclude.js";
import type { OrderContext } from "./single-context.js";
import { isUnsettled, lastAttempt, type SingleRun, type StoredAnswer } from "./single-run.js";
import { sendOrder, termsOf, type SingleSendEnd, type SingleSendParts } from "./single-send.js";
import { recoverOrder, type SettleParts } from "./single-settle.js";

/** What places an order. */
export interface PlaceParts extends SingleSendParts, SettleParts, CountedAccountParts {
  readonly owners: Owners;
  readonly randomIds: RandomIds;
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
  readonly unsettled: UnsettledOrders;
}

export type Planned =
  | { readonly ok: true; readonly order: CheckedOrder; readonly positionsBefore: readonly PositionBefore[] }
  | OrderRefusal;

/** What is to be done, whoever asked for it: a caller's order, or a leg of a close. */
interface OrderJob {
  readonly account: OrderAccount;
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly clientOrderId: string | null;
  readonly deadline: Deadline;
  /** Reference of a refused order whose name it may take; null: of none. */
  readonly inPlaceOf: string | null;
  /** Shared by the orders that one request sends one after the other for the same position; absent: there is only one. */
  readonly held?: HeldBound;
  /** Null means without. A leg's key is derived from its request's. */
  readonly idempotencyKey: string | null;
  /** What the order is to be; called once no earlier order of the key is in the way. */
  plan(orderContext: OrderContext): Promise<Planned>;
}

type AskedTerms = Omit<
  SingleRun,
  "routeId" | "requestId" | "adjustments" | "startedAtMs" | "positionsBefore" | "routing" | "attempts" | "venueCode"
>;

/** An attempt that was put to its venue, or kept back at the last moment. */
interface Tried {
  readonly attempt: OrderAttempt;
  readonly end: Exclude<SingleSendEnd, { readonly kind: "notSent" }>;
}

export class SinglePlacements {
  readonly #parts: PlaceParts;
  readonly #conclusion: SingleConclusion;
  readonly #randomIds: RandomIds;

  constructor(parts: PlaceParts, conclusion: SingleConclusion) {
    this.#parts = parts;
    this.#conclusion = conclusion;
    this.#randomIds = parts.randomIds;
  }

  /** Never rejects. The session it opened is closed when it resolves, or belongs to the resolver. */
  async perform(job: OrderJob, caller: OrderRequestContext): Promise<OrderAnswer> {
    const { account, room, instrument, deadline } = job;
    const opened = room.openSession(account.credentials, caller.payer);
    if (!opened.ok) return refusal("MISSING_CREDENTIALS", { exchange: account.venue, problem: opened.problem });
    const { session } = opened;
    const { idempotency } = this.#parts;
    let ticket: IdempotencyTicket<SingleRun, StoredAnswer> | null = null;
    let orderContext: OrderContext | null = null;
    try {
      const { begun, ownerId } = await this.#begin(job, caller, session);
      if (begun?.kind === "refused") return refusal(begun.code);
      const context = ownerId === caller.ownerId ? caller : { ...caller, ownerId };
      const { accountHash, accountHashes } = accountHashesOf(this.#parts, session, ownerId);
      ticket = begun === null ? null : begun.ticket;
      // The same key and body for another account is another request.
      if (begun !== null && begun.kind !== "fresh" && begun.run.accountHash !== accountHash) {
        return refusal("IDEMPOTENCY_MISMATCH");
      }
      const secrets = collectSecrets(account.credentials);
      const { credentials } = account;
      this.#parts.follows.meet(account.venue, { session, credentials }, caller.ownerId);
      orderContext = {
        room,
        instrument,
        session,
        credentials,
        ownerId,
        accountHash,
        accountHashes,
        ticket,
        deadline,
        secrets,
        taken: false,
      };
      if (job.held !== undefined && begun !== null && begun.kind !== "fresh") job.held.ticks = boundOf(begun.run);
      if (begun?.kind === "replay") return await this.#replay(orderContext, begun.result, begun.run);
      if (begun?.kind === "recover") {
        const answer = await this.#recover(orderContext, job, context, begun.run);
        // The use of the key that the crash cut short, carried on.
        return answer.ok ? { ...answer, replayed: true } : answer;
      }
      return await this.#placeFresh(orderContext, job, context, null);
    } catch (error) {
      return this.#explain(error);
    } finally {
      if (orderContext?.taken !== true) session.close();
      // One whose last write is under way frees itself once that is durable.
      if (ticket !== null && !ticket.isEnding) idempotency.release(ticket);
    }
  }

  /** Without a key `begun` is null. `ownerId`: whose the order is, nobody's where the caller adopted what it retries. */
  async #begin(
    { idempotencyKey: key }: OrderJob,
    { ownerId, rawBody }: OrderRequestContext,
    session: AccountSession,
  ): Promise<{ readonly begun: IdempotencyBegin<SingleRun, StoredAnswer> | null; readonly ownerId: string | null }> {
    if (key === null) return { begun: null, ownerId };
    const { hash, idempotency, owners } = this.#parts;
    const publicScope = scopeOf(null, sessionHash(hash, session, null));
    return beginOwned(idempotency, owners, { ownerId, key, rawBody, publicScope });
  }

  /** `earlier`: the run of a crashed request, whose orders are all known never to have been placed. */
  async #placeFresh(
    orderContext: OrderContext,
    job: OrderJob,
    context: OrderRequestContext,
    earlier: SingleRun | null,
  ): Promise<OrderAnswer> {
    const { clock } = this.#parts;
    const { instrument } = orderContext;
    if (instrument.status !== "TRADING") {
      return refusal("VENUE_UNAVAILABLE", { exchange: instrument.venue, reason: "HALTED" });
    }
    const planned = await job.plan(orderContext);
    if (!planned.ok) return planned;
    const { order } = planned;
    const beyond = beyondBand(orderContext, order, clock.monoNs());
    if (beyond !== null) return beyond;
    const counted = await countedAccount(this.#parts, orderContext.room, orderContext.session, {
      opens: !order.reduceOnly,
      ownerId: orderContext.ownerId,
      own: orderContext.accountHash,
      timeoutMs: callOptions(orderContext.deadline, "trade").timeoutMs,
    });
    if (!counted.ok) return refusal(counted.error.code, counted.error.context);
    const heldTicks = tightestBound(order.side, job.held ?? null, earlier);
    const priced = priceOrder(orderContext, order, heldTicks, clock.monoNs());
    if (!priced.ok) return priced;
    if (job.held !== undefined && order.priceTicks === null) job.held.ticks = priced.priceTicks;
    const adjustments = [...order.adjustments, ...priced.adjustments];
    const run: SingleRun = {
      routeId: earlier?.routeId ?? mintRouteId("or", clock.wallMs(), this.#randomIds),
      requestId: context.requestId,
      ...askedOf(orderContext, order, job.clientOrderId),
      adjustments,
      startedAtMs: earlier?.startedAtMs ?? clock.wallMs(),
      positionsBefore: [...planned.positionsBefore],
      routing: null,
      attempts: earlier?.attempts ?? [],
      venueCode: null,
    };
    const { accountHash: countedHash } = counted;
    const first = await this.#attempt(orderContext, job, run, order, { priceTicks: priced.priceTicks, countedHash });
    if ("code" in first) return first;
    const again = await this.#attemptAgain(orderContext, job, run, order, { adjustments, countedHash }, first);
    return this.#conclude(orderContext, run, again ?? first);
  }

  /** One order of the run: named, let through, sent. A refusal: nothing left this machine. */
  async #attempt(
    orderContext: OrderContext,
    job: OrderJob,
    run: SingleRun,
    { qtyLots, timeInForce }: CheckedOrder,
    { priceTicks, countedHash }: { readonly priceTicks: number; readonly countedHash: string },
  ): Promise<Tried | OrderRefusal> {
    const { clock, core, logger, names } = this.#parts;
    const { clientOrderId, routeId } = run;
    const routeIds = job.inPlaceOf === null ? [routeId] : [routeId, job.inPlaceOf];
    const { accountHashes } = orderContext;
    const claim = clientOrderId === null ? null : await names.claim(accountHashes, clientOrderId, ...routeIds);
    if (clientOrderId !== null && claim === null) return refusal("DUPLICATE_CLIENT_ORDER_ID", { clientOrderId });
    const doubleMidTicks = liveDoubleMidOf(orderContext, clock.monoNs());
    const terms = termsOf(orderContext, run, { qtyLots, timeInForce, priceTicks, doubleMidTicks });
    const attempt = core.mint(run, terms, orderContext, { role: "POSITION", leg: 0 });
    const verdict = core.reserve(run, attempt, terms, orderContext, countedHash);
    if (!verdict.ok) return refusal(verdict.code, verdict.details);
    const { reservation } = verdict;
    try {
      const end = await sendOrder(this.#parts, orderContext, run, { terms, attempt, reservation, claim });
      return end.kind === "notSent" ? end.refusal : { attempt, end };
    } catch (error) {
      if (attempt.sentAtMs === null) throw error;
      // A fault of ours after a send is an unknown outcome, never an error.
      logger.error("order_failed_after_send", { routeId: run.routeId, problem: problemOf(error) });
      recordAbandoned(attempt);
      return { attempt, end: { kind: "settled" } };
    }
  }

  /** A MARKET that was refused for the venue's band is priced once more, by a fresh mark. Returns null when the first attempt counts. */
  async #attemptAgain(
    orderContext: OrderContext,
    job: OrderJob,
    run: SingleRun,
    order: CheckedOrder,
    { adjustments, countedHash }: { readonly adjustments: OrderAdjustment[]; readonly countedHash: string },
    { attempt }: Tried,
  ): Promise<Tried | null> {
    if (order.priceTicks !== null || !isBandRefusal(attempt)) return null;
    const { deadline, instrument, room } = orderContext;
    const lane = order.reduceOnly ? "exit" : "trade";
    const refused = { instrument, lane, priceTicks: attempt.priceTicks, side: order.side } as const;
    const priceTicks = await freshBound(this.#parts, room, refused, deadline);
    if (priceTicks === null) return null;
    const before = adjustments.length;
    const noted = bandAdjustment(attempt.priceTicks, priceTicks, attempt.priceDecimals);
    if (noted !== null) adjustments.push(noted);
    logRetried(this.#parts, run, attempt, "PRICE_BAND");
    this.#parts.reservations.get(attempt)?.release();
    const attemptCount = run.attempts.length;
    try {
      const again = await this.#attempt(orderContext, job, run, order, { priceTicks, countedHash });
      if (!("code" in again)) return again;
    } catch (error) {
      // Thrown before anything left: the refusal that the venue gave is the answer all the same.
      this.#parts.logger.error("order_not_priced_again", { routeId: run.routeId, problem: problemOf(error) });
      dropAttempts(run, attemptCount);
    }
    adjustments.length = before;
    return null;
  }

  async #conclude(orderContext: OrderContext, run: SingleRun, { attempt, end }: Tried): Promise<OrderAnswer> {
    if (end.kind === "settled") {
      if (attempt.outcome !== "NOT_SENT") return this.#conclusion.finish(orderContext, run, null);
      this.#conclusion.discard(orderContext, run);
      return unsentAnswer(run, attempt);
    }
    const resolved = await within(this.#parts.clock, end.resolution, orderContext.deadline.leftMs());
    if (!resolved.done) return this.#conclusion.finish(orderContext, run, end.resolution);
    applyResolution(this.#parts, attempt, resolved.value);
    await waitForPrices(this.#parts, [attempt], orderContext.deadline.leftMs());
    return this.#conclusion.finish(orderContext, run, null);
  }

  /** The stored answer; one of unknown outcome, or of an order that was working still, in its current state. */
  async #replay(orderContext: OrderContext, stored: StoredAnswer, storedRun: SingleRun): Promise<OrderAnswer> {
    const run = this.#shared(storedRun);
    if (!stored.ok || (stored.order.outcome !== "UNKNOWN" && !isUnsettled(storedRun)))
      return { ...stored, replayed: true };
    if (
      isUnsettled(run) &&
      orderContext.ticket !== null &&
      (await recoverOrder(this.#parts, orderContext, run, false)) !== "OPEN"
    ) {
      return { ...(await this.#conclusion.publishFound(orderContext, run)), replayed: true };
    }
    return { ...(answerOf(run, this.#parts.clock.wallMs()) ?? stored), replayed: true };
  }

  /** A crash left the record RUNNING: its order first. */
  async #recover(
    orderContext: OrderContext,
    job: OrderJob,
    context: OrderRequestContext,
    storedRun: SingleRun,
  ): Promise<OrderAnswer> {
    const run = this.#shared(storedRun);
    const end = await recoverOrder(this.#parts, orderContext, run, true);
    if (end === "SETTLED") return this.#conclusion.finish(orderContext, run, null);
    if (end === "NOT_PLACED") {
      await this.#conclusion.settleAbsent(run);
      return this.#placeFresh(orderContext, job, context, run);
    }
    // Its record stays RUNNING: the next request with the key looks again.
    const answer = answerOf(run, this.#parts.clock.wallMs());
    return answer ?? refusal("INTERNAL");
  }

  /** Who finds out what became of an order changes the one record of it that all readers share. */
  #shared(storedRun: SingleRun): SingleRun {
    const attempt = lastAttempt(storedRun);
    const shared = attempt === null ? null : this.#parts.unsettled.sharedRun(attempt.clientIdHex);
    return shared?.routeId === storedRun.routeId ? shared : storedRun;
  }

  #explain(error: unknown): OrderRefusal {
    if (error instanceof ServiceError && error.code !== "INTERNAL") return refusal(error.code, error.context);
    const problem = error instanceof ServiceError ? String(error.context.problem ?? "") : problemOf(error);
    this.#parts.logger.error("order_failed", { problem });
    return refusal("INTERNAL");
  }
}

/** What was asked, as the order's record has it. */
function askedOf(
  { accountHash, instrument, ownerId }: OrderContext,
  order: CheckedOrder,
  clientOrderId: string | null,
): AskedTerms {
  return {
    ownerId,
    venue: instrument.venue,
    accountHash,
    symbol: instrument.symbol,
    side: order.side,
    direction: order.direction,
    type: order.type,
    orderType: domainOrderType(order.type),
    positionSide: order.positionSide,
    reduceOnly: order.reduceOnly,
    trigger: order.trigger,
    clientOrderId,
  };
}
