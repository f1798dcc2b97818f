/**
 * One order's way to its venue, the same for trades and single orders: minted, let through by the guards, durable, sent
 * (send-attempt.ts), and handed to the resolver while its end is open. Nothing else sends an order.
 *
 * Invariants: an intent names its client id, its account by keyed hash, and the time after which the venue takes the
 * order no more; the intents of all orders that leave together, their names, their share of the daily limits and the
 * RUNNING record of an idempotent request are durable in one batch before any of them leaves, and that is the only durable
 * wait; nothing is ever sent twice under one client id; what did not become durable in time is taken back behind it.
 */
import { logUnsent } from "./debug-lines.js";
import type { Clock } from "../../domain/clock.js";
import { type Deadline, within } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Logger } from "../../domain/logger.js";
import type { OrderCommand, OrderType, PlaceOutcome } from "../../domain/order.js";
import type { GuardReservation, Guards, GuardVerdict } from "../../guards/guards.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import {
  MAX_BATCH_ROWS,
  storeUnavailable,
  type StateCondition,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import type { OrderTerms } from "../order-terms.js";
import { boundOf, type SendBounds } from "./absence-proof.js";
import type { Background } from "../background.js";
import type { ClientIdSource } from "./client-id.js";
import type { IdempotencyRecords, IdempotencyTicket, RunLike } from "../durable/idempotency.js";
import type { IntentLog, OrderIntent } from "../durable/intent-log.js";
import { rowsOnTheWay } from "../durable/rows-on-the-way.js";
import { MAX_SEND_TIMEOUT_MS, MIN_SEND_TIMEOUT_MS, STORE_TIMEOUT_MS } from "../limits.js";
import type { Resolution, Resolver } from "./resolver.js";
import { sendAttempt } from "./send-attempt.js";
import { accountHashOf, sessionHash } from "../accounts.js";
import type { AttemptRole, OrderAttempt } from "../run.js";
import { recordNotSent } from "../run-writes.js";
import { unknownOrder } from "./unknown-order.js";

export interface OrderCoreParts<Run extends OrderedRun, Result> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hash: KeyedHash;
  readonly store: Pick<StateStore, "commit">;
  readonly background: Background;
  readonly bounds: SendBounds;
  readonly clientIds: ClientIdSource;
  readonly intents: IntentLog<Run>;
  readonly idempotency: IdempotencyRecords<Run, Result>;
  readonly guards: Guards;
  /** What opening orders of this process took of the daily limits, until their end is stored. */
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
  readonly resolver: Resolver;
}

/** What an order belongs to: a trade, or a single order. */
export interface OrderedRun extends RunLike {
  /** Take-profit and stop-loss that wait for what it fills. */
  readonly protection?: object;
  readonly routeId: string;
  readonly symbol: string;
  readonly orderType: OrderType;
  readonly attempts: readonly OrderAttempt[];
}

/** Who sends it: the account, and the request that it is sent for. */
export interface OrderSender<Run, Result> {
  readonly room: VenueRoom;
  readonly session: AccountSession;
  /** Whose order it is; null in public mode. */
  readonly ownerId: string | null;
  readonly ticket: IdempotencyTicket<Run, Result> | null;
  readonly deadline: Deadline;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
}

/** An order let through by the guards, on its way. */
export interface OutgoingOrder<Run, Result> {
  readonly terms: OrderTerms;
  readonly sender: OrderSender<Run, Result>;
  readonly attempt: OrderAttempt;
  readonly reservation: GuardReservation;
}

/** What the caller calls the orders, made durable in one batch with them. */
export interface OrderNames {
  rows(): Promise<NameRows>;
  /** A condition of the batch did not hold: the rows as they are now, tried once more; null: no name to try again with. */
  rowsAgain?(): Promise<NameRows | null>;
  /** Nothing was sent, and what landed late has been taken back. */
  afterTakeBack?(): Promise<void>;
}

export interface NameRows {
  readonly conditions: readonly StateCondition[];
  readonly writes: readonly StateWrite[];
}

export type Durable =
  | { readonly kind: "durable" }
  /** Not durable in time: nothing was sent. */
  | { readonly kind: "notDurable"; readonly error: ServiceError }
  /** Another service took the key, or another order the name, meanwhile: nothing was sent. */
  | { readonly kind: "taken" };

export interface OrderSent {
  readonly outcome: PlaceOutcome;
  /** From the call to its answer. */
  readonly tookMs: number;
  /** Not ended yet: the resolver's to end. */
  readonly isOpen: boolean;
}

/** Of a client id, apart from the legs of the trade: the same key and leg never name two orders. */
const LEG_BASE: Readonly<Record<AttemptRole, number>> = { POSITION: 0, TAKE_PROFIT: 100, STOP_LOSS: 200, UNDO: 300 };
const UNSENT = {
  outcome: "PENDING",
  reason: null,
  venueText: null,
  order: null,
  sentAtMs: null,
  ackAtMs: null,
} as const;
const NO_NAMES: NameRows = { conditions: [], writes: [] };

export class OrderCore<Run extends OrderedRun, Result> {
  readonly #parts: OrderCoreParts<Run, Result>;

  constructor(parts: OrderCoreParts<Run, Result>) {
    this.#parts = parts;
  }

  /** The next attempt of the run, not a part of it yet. */
  mint(
    run: Run,
    terms: OrderTerms,
    sender: OrderSender<Run, Result>,
    as: { readonly role: AttemptRole; readonly leg: number } & Pick<OrderAttempt, "refMid" | "marketableLots">,
  ): OrderAttempt {
    const { clientIds, clock, hash } = this.#parts;
    const { role, leg, refMid, marketableLots } = as;
    const { instrument, trigger, type } = terms;
    const { ownerId, room, session, ticket } = sender;
    const isOfLeg = (other: OrderAttempt): boolean => (other.role ?? "POSITION") === role && other.leg === leg;
    const attempt = 1 + run.attempts.filter(isOfLeg).length;
    const clientIdHex = clientIds.mint(ticket, LEG_BASE[role] + leg, attempt, type === "MARKET", ownerId);
    const nowMs = clock.wallMs();
    return {
      ...(role === "POSITION" ? {} : { role }),
      leg,
      attempt,
      venue: instrument.venue,
      nativeSymbol: instrument.nativeSymbol,
      accountHash: accountHashOf(hash, session.venue, session.accountId, ownerId),
      clientIdHex,
      intentAtMs: nowMs,
      venueClientOrderId: room.orders.venueClientOrderId(clientIdHex),
      side: terms.side,
      positionSide: terms.positionSide,
      ...(type === run.orderType ? {} : { type }),
      timeInForce: terms.timeInForce,
      ...(trigger === null ? {} : { triggerTicks: trigger.priceTicks, rests: true }),
      ...(terms.reduceOnly ? {} : { reduceOnly: false }),
      ...(refMid === undefined ? {} : { refMid }),
      qtyLots: terms.qtyLots,
      ...(marketableLots === undefined ? {} : { marketableLots }),
      priceTicks: terms.priceTicks,
      ...(isUnpriced(terms) ? { unpriced: true } : {}),
      priceDecimals: terms.priceDecimals,
      qtyDecimals: terms.qtyDecimals,
      multiplierExp10: instrument.multiplierExp10,
      quoteAsset: instrument.quoteAsset,
      takerFeeMilliBps: terms.takerFeeMilliBps,
      makerFeeMilliBps: terms.makerFeeMilliBps,
      ...boundOf(room, notPlacedBoundMs(sender, nowMs)),
      ...(room.newIdPerChange === true ? { newIdPerChange: true } : {}),
      ...UNSENT,
    };
  }

  /** Asks the guards, and keeps what the order takes of the daily limits. `accountHash`: of the account that it counts for. */
  reserve(
    run: Run,
    attempt: OrderAttempt,
    terms: OrderTerms,
    { ownerId }: OrderSender<Run, Result>,
    accountHash: string,
  ): GuardVerdict {
    const { guards, reservations } = this.#parts;
    const verdict = guards.check({
      clientIdHex: attempt.clientIdHex,
      atMs: attempt.intentAtMs,
      ownerId,
      accountHash,
      venue: attempt.venue,
      symbol: run.symbol,
      opens: !terms.reduceOnly,
      qtyLots: terms.qtyLots,
      qtyDecimals: terms.qtyDecimals,
      priceDecimals: terms.priceDecimals,
      priceTicks: terms.priceTicks,
      doubleMidTicks: terms.doubleMidTicks,
    });
    if (verdict.ok) reservations.set(attempt, verdict.reservation);
    else logUnsent(this.#parts, run, attempt, { reason: "GUARD", code: verdict.code });
    return verdict;
  }

  /**
   * All intents in one batch, so that no leg is on its way without the others being known. Where they are not durable
   * nothing may be sent: what was reserved is released, and what may land late is taken back behind it.
   */
  async makeDurable(
    run: Run,
    ticket: IdempotencyTicket<Run, Result> | null,
    outgoing: readonly OutgoingOrder<Run, Result>[],
    names: OrderNames | null,
  ): Promise<Durable> {
    const { clock, idempotency, intents, store } = this.#parts;
    const startNs = clock.monoNs();
    const inTime = async <T>(work: Promise<T>): Promise<T> => {
      const leftMs = STORE_TIMEOUT_MS - (clock.monoNs() - startNs) / 1e6;
      const done = await within(clock, work, leftMs);
      // The clock has the last word: after a stall of this process the write may win against its timer, and the
      // intent's bound would not hold for an order sent then.
      if (!done.done || (clock.monoNs() - startNs) / 1e6 > STORE_TIMEOUT_MS) throw storeUnavailable("TIMEOUT");
      return done.value;
    };
    try {
      for (let rows = rowsOnTheWay(run); rows !== null; rows = rowsOnTheWay(run)) await inTime(rows);
      const running = ticket === null ? null : idempotency.runningRows(ticket, run);
      const opened = outgoing.flatMap((order) => [
        ...intents.openWrites(this.#intentOf(run, order)),
        ...order.reservation.writes,
      ]);
      const commit = (named: NameRows): Promise<boolean> => {
        const conditions = [...(running?.batch.conditions ?? []), ...named.conditions];
        const writes = [...opened, ...named.writes, ...(running?.batch.writes ?? [])];
        if (writes.length > MAX_BATCH_ROWS) throw new ServiceError("INTERNAL", { problem: "intent batch" });
        return inTime(store.commit({ conditions, writes }));
      };
      let isDurable = await commit(names === null ? NO_NAMES : await inTime(names.rows()));
      if (!isDurable && names?.rowsAgain !== undefined) {
        const again = await inTime(names.rowsAgain());
        if (again !== null) isDurable = await commit(again);
      }
      if (!isDurable) {
        for (const { reservation } of outgoing) reservation.release();
        return { kind: "taken" };
      }
      if (running !== null && ticket !== null) idempotency.committed(ticket, running.row);
      return { kind: "durable" };
    } catch (error) {
      const released = outgoing.flatMap(({ reservation }) => reservation.release());
      if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
      this.#parts.background.run("intent_take_back", this.#takeBack(ticket, outgoing, released, names));
      return { kind: "notDurable", error };
    }
  }

  /** Puts a durable order to its venue. Null: a guard stopped it while it was being written down, and it did not leave. */
  async send(run: Run, { attempt, reservation, sender, terms }: OutgoingOrder<Run, Result>): Promise<OrderSent | null> {
    const stop = reservation.stoppedBy();
    if (stop !== null) {
      recordNotSent(attempt, stop);
      logUnsent(this.#parts, run, attempt, { reason: "GUARD", code: stop });
      return null;
    }
    const { type, trigger } = terms;
    const command: OrderCommand = {
      instrument: terms.instrument,
      side: terms.side,
      type: type === "LIMIT" || type === "STOP_LIMIT" ? "LIMIT" : "MARKET",
      ...(trigger === null ? {} : { trigger }),
      timeInForce: terms.timeInForce,
      priceTicks: terms.priceTicks,
      qtyLots: terms.qtyLots,
      reduceOnly: terms.reduceOnly,
      positionSide: terms.positionSide,
      clientIdHex: attempt.clientIdHex,
    };
    const { room, secrets, session } = sender;
    const timeoutMs = sendTimeoutMs(sender.deadline);
    return sendAttempt(this.#parts, { room, session, command, attempt, timeoutMs, routeId: run.routeId, secrets });
  }

  /** The resolver takes the session over, and ends the order by reading its venue. */
  resolve(
    run: Run,
    attempt: OrderAttempt,
    instrument: Instrument,
    room: VenueRoom,
    session: AccountSession,
  ): Promise<Resolution> {
    const { bounds, resolver } = this.#parts;
    return resolver.resolve(unknownOrder(bounds, run, room, instrument, attempt), session);
  }

  /** Its batch may land late; these writes queue behind it. */
  async #takeBack(
    ticket: IdempotencyTicket<Run, Result> | null,
    outgoing: readonly OutgoingOrder<Run, Result>[],
    released: readonly StateWrite[],
    names: OrderNames | null,
  ): Promise<void> {
    const { idempotency, intents, store } = this.#parts;
    const dropped = outgoing.flatMap(({ attempt }) =>
      intents.dropWrites({ clientIdHex: attempt.clientIdHex, createdAtMs: attempt.intentAtMs }),
    );
    const writes = [...dropped, ...released];
    if (ticket === null || ticket.stored !== null) await store.commit({ writes });
    else await idempotency.abandon(ticket, writes);
    // Only now is it certain what the rows of the names say.
    await names?.afterTakeBack?.();
  }

  #intentOf(run: Run, { attempt, sender }: OutgoingOrder<Run, Result>): OrderIntent<Run> {
    return {
      clientIdHex: attempt.clientIdHex,
      accountHash: sessionHash(this.#parts.hash, sender.session, sender.ownerId),
      ownerId: sender.ownerId,
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
      idempotencyRecord: sender.ticket?.recordKey ?? null,
      leg: attempt.leg,
      attempt: attempt.attempt,
      createdAtMs: attempt.intentAtMs,
      // With a key the record in the same batch has it.
      run: sender.ticket === null ? run : null,
    };
  }
}

/** How long an order is waited for, in ms, by what is left of its request's time. */
export function sendTimeoutMs(deadline: Deadline): number {
  return boundedTimeoutMs(deadline.leftMs());
}

function boundedTimeoutMs(leftMs: number): number {
  return Math.min(MAX_SEND_TIMEOUT_MS, Math.max(MIN_SEND_TIMEOUT_MS, leftMs));
}

/** A trigger at market, at a venue that takes no price with it. */
function isUnpriced({ instrument, trigger, type }: OrderTerms): boolean {
  return trigger !== null && type === "STOP_MARKET" && instrument.marketTriggersUnpriced === true;
}

/**
 * When the order can no longer be accepted, at the latest: the proof of absence after a crash rests on it. The durable
 * wait before the send takes at most STORE_TIMEOUT_MS, and what it takes the send has less of. So, as a room's bound
 * grows no faster than its timeout, the longest wait is the worst case. While the process lives the room's own bound,
 * known after signing, replaces it.
 */
function notPlacedBoundMs<Run, Result>({ deadline, room, session }: OrderSender<Run, Result>, nowMs: number): number {
  const timeoutMs = boundedTimeoutMs(deadline.leftMs() - STORE_TIMEOUT_MS);
  return nowMs + STORE_TIMEOUT_MS + room.orders.placeBoundMs(session, timeoutMs);
}
