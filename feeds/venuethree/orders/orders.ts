// hot path
/**
 * Orders, changes and cancels of venuethree. Outcomes are exact (orders/exchange.ts). The venue's yes is only "submitted": an
 * accepted order is OPEN with nothing filled, and its outcome is reported by the account stream or a read; one that
 * the sequencer refused is found by its transaction (account/reader.ts). Every transaction carries `ExpiredAt`, so an order of
 * unknown outcome, or one submitted and never seen, has a moment after which it provably was not placed.
 */
import { clientIdHexOf, clientOrderIndexOf } from "../account/client-id.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  CancelOutcome,
  OrderChange,
  OrderCommand,
  PlaceOutcome,
  Refused,
  Unclear,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountSession, CallOptions, OrderRef, OrderSender } from "../../../engine/ports.js";
import { refusedOf } from "../../shared/net/call-results.js";
import { failureOf } from "../../shared/orders/exchange-outcome.js";
import { outdatedChange, outdatedProblem } from "../../shared/room/listing-terms.js";
import { cancelAllTx, cancelTx, createOrderTx, modifyTx, type Prepared, scheduleCancelTx } from "./request.js";
import { orderOf, type SentOrders } from "../account/sent-orders.js";
import type { OnSigned, VenuethreeExchange } from "./exchange.js";

/**
 * Time for a transaction to be executed. Below the first, clock error and the venue's own delay of 0.3 s could expire
 * it; above the second an unknown order could not be resolved in a minute.
 */
const MIN_EXPIRY_MS = 3_000;
const MAX_EXPIRY_MS = 30_000;
/** After `ExpiredAt`: 3 s for the error of our clock offset, 2 s for the lag with which an order becomes findable. */
const EXPIRY_MARGIN_MS = 5_000;
/** The venue's now is rounded, and so is the end in our time. */
const ROUNDING_MS = 2;
/** Cancels do no harm late; their life is the venue tools' own. */
const CANCEL_EXPIRY_MS = 599_000;

/** The API's answer to a transaction, whose outcome is still to be learnt (orders/tx-confirmation.ts). */
export interface Asked<T> {
  readonly outcome: T;
  /** Of the last attempt; null where none was signed. */
  readonly txHash: string | null;
}

export interface VenuethreeOrdersDeps {
  readonly exchange: VenuethreeExchange;
  readonly sentOrders: SentOrders;
  /** What the venue lists now, by canonical symbol. */
  readonly listed: () => ReadonlyMap<string, Instrument>;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

export class VenuethreeOrders implements OrderSender {
  readonly #deps: VenuethreeOrdersDeps;

  constructor(deps: VenuethreeOrdersDeps) {
    this.#deps = deps;
  }

  venueClientOrderId(clientIdHex: string): string {
    return String(clientOrderIndexOf(clientIdHex));
  }

  parseClientOrderId(text: string): string | null {
    return clientIdHexOf(text);
  }

  placeBoundMs(_session: AccountSession, timeoutMs: number): number {
    return expiryMs(timeoutMs) + EXPIRY_MARGIN_MS + ROUNDING_MS;
  }

  async place(session: AccountSession, command: OrderCommand, options: CallOptions): Promise<PlaceOutcome> {
    const { exchange, sentOrders, listed, clockOffsetMs } = this.#deps;
    const outdated = outdatedProblem(command, listed());
    if (outdated !== null) return outdated;
    const venueNowMs = this.#venueNowMs();
    const prepared = createOrderTx(command, venueNowMs);
    if (!prepared.ok) return prepared.why;
    // Fixed here, before anything is waited for: placeBoundMs rests on it.
    const expiresAtMs = venueNowMs + expiryMs(options.timeoutMs);
    const sent = await exchange.send(session, prepared.tx, expiresAtMs, options, (key, signed) => {
      sentOrders.note(key.accountIndex, command, signed.hash, venueNowMs);
    });
    if (sent.kind === "rejected") return sent.rejected;
    const notPlacedAfterMs = Math.ceil(expiresAtMs - clockOffsetMs()) + EXPIRY_MARGIN_MS;
    if (sent.kind === "unknown") return { outcome: "unknown", cause: sent.cause, notPlacedAfterMs };
    const { receivedAtMs, sentAtMs } = sent.answer;
    return {
      outcome: "accepted",
      order: orderOf(command, clientOrderIndexOf(command.clientIdHex), Math.round(receivedAtMs + clockOffsetMs())),
      ackMs: receivedAtMs - sentAtMs,
      // The transaction dies with its end if the sequencer has not taken it.
      notPlacedAfterMs,
    };
  }

  async cancel(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<CancelOutcome> {
    return (await this.askCancel(session, instrument, ref, options)).outcome;
  }

  async askCancel(
    session: AccountSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ): Promise<Asked<CancelOutcome>> {
    return this.#ask(session, cancelTx(instrument, ref), options, CANCEL_EXPIRY_MS, PENDING);
  }

  async amend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<AmendOutcome> {
    return (await this.askAmend(session, instrument, current, change, options)).outcome;
  }

  async askAmend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
  ): Promise<Asked<AmendOutcome>> {
    const outdated = outdatedChange(instrument, current, change, this.#deps.listed());
    if (outdated !== null) return Promise.resolve({ outcome: outdated, txHash: null });
    // A late change could undo a later one: it lives no longer than an order would.
    return this.#ask(session, modifyTx(instrument, current, change), options, expiryMs(options.timeoutMs), CHANGED);
  }

  async cancelAll(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<CancelAllOutcome> {
    return (await this.askCancelAll(session, instrument, options)).outcome;
  }

  async askCancelAll(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<Asked<CancelAllOutcome>> {
    return this.#ask(session, cancelAllTx(instrument), options, expiryMs(options.timeoutMs), ALL_CANCELED);
  }

  async scheduleCancel(session: AccountSession, atMs: number | null, options: CallOptions): Promise<CancelOutcome> {
    const atVenueMs = atMs === null ? null : atMs + this.#deps.clockOffsetMs();
    const tx = scheduleCancelTx(atVenueMs, this.#venueNowMs());
    return (await this.#send(session, tx, options, expiryMs(options.timeoutMs))) ?? ACCEPTED;
  }

  #venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  async #ask<T>(
    session: AccountSession,
    prepared: Prepared,
    options: CallOptions,
    lifeMs: number,
    accepted: T,
  ): Promise<Asked<T | Refused | Unclear>> {
    let txHash: string | null = null;
    const refused = await this.#send(session, prepared, options, lifeMs, (_key, signed) => {
      txHash = signed.hash;
    });
    return { outcome: refused ?? accepted, txHash };
  }

  /** Null means accepted. */
  async #send(
    session: AccountSession,
    prepared: Prepared,
    options: CallOptions,
    lifeMs: number,
    onSigned?: OnSigned,
  ): Promise<Refused | Unclear | null> {
    if (!prepared.ok) return refusedOf(prepared.why);
    const sent = await this.#deps.exchange.send(session, prepared.tx, this.#venueNowMs() + lifeMs, options, onSigned);
    return sent.kind === "answered" ? null : failureOf(sent);
  }
}

const ACCEPTED: CancelOutcome = { outcome: "accepted" };
/** The API took it; its sequencer says later whether there was an order to cancel. */
const PENDING: CancelOutcome = { outcome: "accepted", isPending: true };
const CHANGED: AmendOutcome = { outcome: "accepted", order: null };
const ALL_CANCELED: CancelAllOutcome = { outcome: "accepted", canceledCount: null, failed: [] };

function expiryMs(timeoutMs: number): number {
  return Math.min(Math.max(Math.ceil(timeoutMs), MIN_EXPIRY_MS), MAX_EXPIRY_MS);
}
