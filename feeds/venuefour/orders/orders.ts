// hot path
/**
 * Orders, changes and cancels of venuefour. The venue answers a new order with its id and nothing else, so one that
 * cannot rest is followed to its end, by the account's stream where there is one and by reads within the caller's time;
 * an order whose end was not seen in time is accepted and open, which is what is known of it.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  CancelOutcome,
  OrderChange,
  OrderCommand,
  PlaceOutcome,
  Refused,
  VenueOrder,
} from "../../../engine/domain/order.js";
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { AccountReader, AccountSession, CallOptions, OrderRef, OrderSender, Read } from "../../../engine/ports.js";
import { localReject, refusedOf } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { outdatedChange, outdatedProblem } from "../../shared/room/listing-terms.js";
import { expiryWindowMs } from "../account/rest.js";
import { decodeCancelledCount, decodeOrderId } from "../account/wire.js";
import { clientIdHexOf, uuidOf } from "../account/client-id.js";
import { CANCEL_CREDITS, EXPIRY_MARGIN_MS, ORDER_CREDITS } from "../rules/limits.js";
import { isEnded, type OrderMemory } from "../account/order-memory.js";
import { editOperation, orderKey, orderOperation, orderProblem } from "./request.js";
import type { Exchanged, VenuefourExchange } from "./exchange.js";

export interface VenuefourOrdersDeps {
  readonly exchange: VenuefourExchange;
  readonly memory: OrderMemory;
  readonly reader: AccountReader;
  readonly instruments: InstrumentIndex;
  /** What the venue lists now, by canonical symbol. */
  readonly listed: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** One own order by its events, without a search. Null means not known yet. */
  readonly glance: (
    session: AccountSession,
    instrument: Instrument,
    venueOrderId: string,
    options: CallOptions,
  ) => Promise<Read<VenueOrder | null>>;
  /** Is a stream of this account LIVE, so that ends are reported without asking? */
  readonly isStreamed: (session: AccountSession) => boolean;
}

/** Waits before each look at an order that must end at once; a look costs a credit. */
const LOOK_AFTER_MS = [0, 250, 600, 1_200] as const;
/** With a stream the first look is left to it for this long. */
const STREAM_FIRST_MS = 300;
/** Left of the caller's time for the reply. */
const RESERVE_MS = 50;
/** Waiting stops that one cancel-all ends, one by one; more are reported as remaining. */
const MAX_STOPS = 50;

const DONE = (): null => null;

export class VenuefourOrders implements Required<Omit<OrderSender, "scheduleCancel">> {
  readonly #deps: VenuefourOrdersDeps;

  constructor(deps: VenuefourOrdersDeps) {
    this.#deps = deps;
  }

  venueClientOrderId(clientIdHex: string): string {
    return uuidOf(clientIdHex);
  }

  parseClientOrderId(text: string): string | null {
    return clientIdHexOf(text);
  }

  placeBoundMs(_session: AccountSession, timeoutMs: number): number {
    return expiryWindowMs(timeoutMs) + EXPIRY_MARGIN_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const problem = orderProblem(command) ?? outdatedProblem(command, this.#deps.listed());
    if (problem !== null) return problem;
    const { exchange, memory } = this.#deps;
    const deadline = new Deadline(this.#deps.clock, options);
    const { type, payload } = orderOperation(command);
    const decode = type === "set_position_tpsl" ? () => "" : decodeOrderId;
    const exchanged = await exchange.send(session, type, payload, ORDER_CREDITS, decode, options);
    if (exchanged.kind === "rejected") return exchanged.rejected;
    if (exchanged.kind === "unknown")
      return { outcome: "unknown", cause: exchanged.cause, notPlacedAfterMs: exchanged.notPlacedAfterMs };
    const { ackMs, value: venueOrderId } = exchanged.answer;
    const clientId = uuidOf(command.clientIdHex);
    if (venueOrderId !== "") memory.note(session.accountId, venueOrderId, clientId);
    const order = acceptedOrder(command, venueOrderId, clientId, this.#deps.clock.wallMs());
    const isImmediate = command.trigger === undefined && (command.type === "MARKET" || command.timeInForce === "IOC");
    const isChecked = isImmediate || (command.trigger === undefined && command.timeInForce === "POST_ONLY");
    if (!isChecked) return { outcome: "accepted", order, ackMs };
    const seen = await this.#follow(session, command, order, isImmediate, deadline, options);
    return this.#settled(command, seen, ackMs);
  }

  async cancel(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<CancelOutcome> {
    const key = orderKey(ref);
    if (key === null) return refusedOf(localReject("NOT_FOUND", "BAD_REF", "not an order id of this venue"));
    const deadline = new Deadline(this.#deps.clock, options);
    const payload = { symbol: instrument.nativeSymbol, ...key };
    const exchanged = await this.#deps.exchange.send(session, "cancel_order", payload, CANCEL_CREDITS, DONE, options);
    if (exchanged.kind === "answered") return { outcome: "accepted" };
    // Orders that wait for a trigger have a cancel of their own, and nothing in a reference says which it is.
    const left = isGone(exchanged) ? deadline.left() : null;
    if (left === null) return failureOf(exchanged);
    const stop = await this.#deps.exchange.send(session, "cancel_stop_order", payload, CANCEL_CREDITS, DONE, left);
    return stop.kind === "answered" ? { outcome: "accepted" } : failureOf(stop);
  }

  async amend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<AmendOutcome> {
    const problem = outdatedChange(instrument, current, change, this.#deps.listed());
    if (problem !== null) return problem;
    const operation = editOperation(instrument, current, change);
    if ("outcome" in operation) return refusedOf(operation);
    const { clock, exchange, memory } = this.#deps;
    const deadline = new Deadline(clock, options);
    const exchanged = await exchange.send(
      session,
      operation.type,
      operation.payload,
      ORDER_CREDITS,
      decodeOrderId,
      options,
    );
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const venueOrderId = exchanged.answer.value;
    memory.note(session.accountId, venueOrderId, current.venueClientOrderId);
    // Post-only: it may have ended in the same instant.
    const left = deadline.left();
    const read = left === null ? null : await this.#deps.glance(session, instrument, venueOrderId, left);
    if (read?.ok === true && read.value !== null) return { outcome: "accepted", order: read.value };
    const order: VenueOrder = {
      ...current,
      venueOrderId,
      status: "OPEN",
      venueStatus: "open",
      priceTicks: change.priceTicks,
      qtyLots: change.qtyLots - current.filledLots,
      filledLots: 0,
      averagePrice: null,
      timeInForce: "POST_ONLY",
      tsVenueMs: clock.wallMs(),
      fee: null,
    };
    return { outcome: "accepted", order };
  }

  /** Whether the venue's own cancel-all takes waiting stops is not documented: what is left of them is ended after it. */
  async cancelAll(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<CancelAllOutcome> {
    const { exchange, instruments, reader } = this.#deps;
    const deadline = new Deadline(this.#deps.clock, options);
    const scope = instrument === null ? { all_symbols: true } : { all_symbols: false, symbol: instrument.nativeSymbol };
    const payload = { ...scope, exclude_reduce_only: false };
    const exchanged = await exchange.send(
      session,
      "cancel_all_orders",
      payload,
      CANCEL_CREDITS,
      decodeCancelledCount,
      options,
    );
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const left = deadline.left();
    const open = left === null ? null : await reader.readOpenOrders(session, instrument, left);
    if (open === null || !open.ok) return { outcome: "unknown", cause: "STOPS_UNREAD" };
    const stops = open.value.filter((order) => order.triggerPrice !== null);
    if (stops.length > MAX_STOPS) return { outcome: "unknown", cause: "TOO_MANY_STOPS" };
    const failed: Refused[] = [];
    let canceledCount = exchanged.answer.value;
    for (const { nativeSymbol, venueOrderId } of stops) {
      const of = instruments.byNativeSymbol(nativeSymbol);
      const time = deadline.left();
      if (of === null || time === null) return { outcome: "unknown", cause: "STOPS_LEFT" };
      const key = orderKey({ venueOrderId });
      if (key === null) return { outcome: "unknown", cause: "STOPS_LEFT" };
      const stopPayload = { symbol: nativeSymbol, ...key };
      const stop = await exchange.send(session, "cancel_stop_order", stopPayload, CANCEL_CREDITS, DONE, time);
      if (stop.kind === "answered") canceledCount++;
      else if (stop.kind === "unknown") return { outcome: "unknown", cause: stop.cause };
      // Gone meanwhile is what was wanted.
      else if (!isGone(stop)) failed.push(refusedOf(stop.rejected));
    }
    return { outcome: "accepted", canceledCount, failed };
  }

  /** The newest that could be learnt in the caller's time; `order` itself if that is nothing. */
  async #follow(
    session: AccountSession,
    command: OrderCommand,
    order: VenueOrder,
    isImmediate: boolean,
    deadline: Deadline,
    options: CallOptions,
  ): Promise<VenueOrder> {
    const { clock, glance, memory, isStreamed } = this.#deps;
    const { venueOrderId } = order;
    let seen = order;
    const leftMs = (): number => deadline.leftMs() - RESERVE_MS;
    if (isImmediate && isStreamed(session)) {
      const end = await memory.endOf(session.accountId, venueOrderId, Math.min(STREAM_FIRST_MS, leftMs()));
      if (end !== null) return end;
    }
    // A post-only order is asked about once: it ended on arrival or rests.
    for (const waitMs of isImmediate ? LOOK_AFTER_MS : LOOK_AFTER_MS.slice(0, 1)) {
      if (waitMs >= leftMs()) return seen;
      if (waitMs > 0) await delay(clock, waitMs);
      const timeoutMs = leftMs();
      if (timeoutMs <= 0) return seen;
      const read = await glance(session, command.instrument, venueOrderId, { timeoutMs, lane: options.lane });
      if (read.ok && read.value !== null) seen = read.value;
      if (isEnded(seen) || (!read.ok && read.code !== "TIMEOUT" && read.code !== "VENUE_ERROR")) return seen;
    }
    return seen;
  }

  #settled(command: OrderCommand, seen: VenueOrder, ackMs: number): PlaceOutcome {
    if (seen.side !== command.side || seen.filledLots > command.qtyLots) {
      // Not what was sent; the id was the venue's own answer, so the order exists all the same.
      this.#deps.logger.error("venuefour.order.reply", { problem: "REPLY_OF_ANOTHER_ORDER" });
      const clientId = uuidOf(command.clientIdHex);
      return {
        outcome: "accepted",
        order: acceptedOrder(command, seen.venueOrderId, clientId, seen.tsVenueMs),
        ackMs,
      };
    }
    if (seen.status === "REJECTED" && seen.filledLots === 0) {
      const isPostOnly = command.timeInForce === "POST_ONLY";
      const rejected = localReject(
        isPostOnly ? "PRICE" : "VENUE_STATE",
        seen.venueStatus,
        "the venue rejected the order",
      );
      return { ...rejected, sent: true };
    }
    // What was meant, where the wire form differs from it: a MARKET as IOC limit.
    const { type, reduceOnly, timeInForce } = command;
    return { outcome: "accepted", order: { ...seen, type, reduceOnly, timeInForce }, ackMs };
  }
}

function isGone(exchanged: Exchanged<unknown>): boolean {
  return exchanged.kind === "rejected" && exchanged.rejected.sent && exchanged.rejected.reason === "NOT_FOUND";
}

/** An order that the venue accepted, before anything more is known of it. */
function acceptedOrder(command: OrderCommand, venueOrderId: string, clientId: string, nowMs: number): VenueOrder {
  const { instrument, trigger } = command;
  const isLimit = command.type === "LIMIT";
  return {
    venue: "venuefour",
    nativeSymbol: instrument.nativeSymbol,
    venueOrderId,
    venueClientOrderId: clientId,
    side: command.side,
    type: trigger === undefined ? command.type : isLimit ? "STOP_LIMIT" : "STOP_MARKET",
    status: "OPEN",
    venueStatus: "open",
    priceTicks: command.priceTicks,
    qtyLots: command.qtyLots,
    filledLots: 0,
    averagePrice: null,
    reduceOnly: command.reduceOnly,
    triggerPrice: trigger === undefined ? null : formatScaled(trigger.priceTicks, instrument.priceDecimals),
    timeInForce: command.timeInForce,
    ...(trigger === undefined ? {} : { triggerKind: trigger.kind }),
    tsVenueMs: nowMs,
    fee: null,
  };
}
