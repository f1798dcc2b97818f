/**
 * Changes to orders that rest: amend, cancel all, and the venue's own dead-man's switch.
 *
 * Invariants: an amendment is one action of the venue, never a cancel and a new order of ours; a cancel of all is what
 * the venue answered order by order; nothing is reported as done that might not be.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { formatScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  AmendOutcome,
  CancelAllOutcome,
  CancelOutcome,
  OrderChange,
  Refused,
  VenueOrder,
} from "../../../engine/domain/order.js";
import type { AccountSession, CallOptions } from "../../../engine/ports.js";
import { localReject, refusedByRead, refusedOf } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { limitChangeProblem } from "../../shared/orders/check-command.js";
import { failureOf, OUT_OF_TIME } from "../../shared/orders/exchange-outcome.js";
import { classifyText } from "../rules/errors.js";
import type { VenueoneAccount } from "../account/reader.js";
import type { VenueoneWireOrder } from "../market/wire.js";
import type { Exchanged, VenueoneExchange } from "./exchange.js";
import { refusal, type WireOrderItem } from "./request.js";
import { VenueoneSession } from "../account/session.js";

/** The venue takes so many items in one signed action. */
const MAX_BATCH = 200;
/** A scheduled cancel lies at least this far ahead of the venue's now. */
const MIN_SCHEDULE_MS = 5_000;
/** Of a block's time against the wall time that an expiry is computed by. */
const BLOCK_MARGIN_MS = 3_000;

type WireCancel = Readonly<Record<"a" | "o", number>>;

type BatchAnswer =
  | { readonly kind: "unknown"; readonly cause: string }
  | { readonly kind: "refused"; readonly refused: Refused }
  /** Per item: null for done, else its refusal. */
  | { readonly kind: "answered"; readonly statuses: readonly (Refused | null)[] };

export interface VenueoneOrderChangesDeps {
  readonly exchange: VenueoneExchange;
  readonly reader: Pick<VenueoneAccount, "readOpenRows">;
  /** The number of a coin that the venue lists, whether or not it is traded here. */
  readonly numberOf: (coin: string) => number | null;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

export class VenueoneOrderChanges {
  readonly #deps: VenueoneOrderChangesDeps;
  /** By account, in the venue's time: so long a scheduled cancel without an answer may come into force. Those over go. */
  readonly #unclearUntilMs = new Map<string, number>();

  constructor(deps: VenueoneOrderChangesDeps) {
    this.#deps = deps;
  }

  /**
   * The venue replaces the order in one step, under a new id and for what is left of it, and only by one that does not
   * take: GTC is forced to post-only. `batchModify` is used because `modify` alone does not answer the new id.
   */
  async amend(
    session: AccountSession,
    instrument: Instrument,
    current: VenueOrder,
    change: OrderChange,
    options: CallOptions,
    expiryMs: number,
  ): Promise<AmendOutcome> {
    const { exchange } = this.#deps;
    const problem = amendProblem(instrument, current, change);
    if (problem !== null) return problem;
    const item = amendedItem(instrument, current, change);
    const action = { type: "batchModify", modifies: [{ oid: Number(current.venueOrderId), order: { ...item } }] };
    // It places an order: a late one must not.
    const prepared = exchange.prepare(action, exchange.venueNowMs() + expiryMs);
    const exchanged = await exchange.send(session, prepared, options);
    if (exchanged.kind !== "answered") return failureOf(exchanged);
    const { response, statuses, type } = exchanged.answer;
    const [status] = statuses;
    if (type !== "order" || status === undefined || statuses.length !== 1)
      return { outcome: "unknown", cause: "REPLY_SHAPE" };
    if (status.kind === "error") return refusedOf(refusal(classifyText(status.text), status.text, null));
    if (status.kind !== "resting") return { outcome: "accepted", order: null };
    return {
      outcome: "accepted",
      order: {
        ...current,
        venueOrderId: String(status.oid),
        status: "OPEN",
        venueStatus: status.kind,
        priceTicks: change.priceTicks,
        qtyLots: change.qtyLots - current.filledLots,
        filledLots: 0,
        averagePrice: null,
        timeInForce: "POST_ONLY",
        tsVenueMs: Math.round(response.receivedAtMs + this.#deps.clockOffsetMs()),
        fee: null,
      },
    };
  }

  /** The venue has no such call: the open orders are read and cancelled in batches, each order with its own answer. */
  async cancelAll(
    session: AccountSession,
    instrument: Instrument | null,
    options: CallOptions,
  ): Promise<CancelAllOutcome> {
    const deadline = new Deadline(this.#deps.clock, options);
    if (!(session instanceof VenueoneSession) || !session.canSign)
      return refusedOf(localReject("AUTH", "NO_KEY", "an address alone signs nothing"));
    const open = await this.#deps.reader.readOpenRows(session, instrument, options);
    if (!open.ok) return refusedByRead(open);
    const { cancels, failed } = this.#cancelsOf(open.value, instrument);
    let canceledCount = 0;
    let unclear: string | null = null;
    /** Why no batch was taken at all; null once one was. */
    let refusedWhole: Refused | null = null;
    let answeredCount = 0;
    for (let from = 0; from < cancels.length; from += MAX_BATCH) {
      const batch = cancels.slice(from, from + MAX_BATCH);
      const left = deadline.left();
      const answer: BatchAnswer =
        left === null
          ? { kind: "refused", refused: refusedOf(OUT_OF_TIME.rejected) }
          : await this.#cancelBatch(session, batch, left);
      if (answer.kind === "unknown") {
        // The batches that follow are tried all the same: they are cancels.
        unclear ??= answer.cause;
      } else if (answer.kind === "refused") {
        refusedWhole ??= answer.refused;
        for (const _ of batch) failed.push(answer.refused);
      } else {
        answeredCount++;
        for (const status of answer.statuses) {
          if (status === null) canceledCount++;
          else failed.push(status);
        }
      }
    }
    if (unclear !== null) return { outcome: "unknown", cause: unclear };
    if (refusedWhole !== null && answeredCount === 0) return refusedWhole;
    return { outcome: "accepted", canceledCount, failed };
  }

  /** Orders of coins that the venue's list lacks cannot be named to it: `failed` reports them. */
  #cancelsOf(
    rows: readonly VenueoneWireOrder[],
    instrument: Instrument | null,
  ): { readonly cancels: readonly WireCancel[]; readonly failed: Refused[] } {
    const cancels: WireCancel[] = [];
    const failed: Refused[] = [];
    for (const { coin, oid } of rows) {
      // One that was named may be listed no more.
      const number = instrument?.nativeId ?? this.#deps.numberOf(coin);
      if (number !== null) cancels.push({ a: number, o: oid });
      else failed.push(refusedOf(localReject("VENUE_STATE", "UNLISTED", `order ${oid} is of a coin without a number`)));
    }
    return { cancels, failed };
  }

  /**
   * The last one that the venue takes is in force. One that comes late is therefore refused there: a time would be set
   * again after its end was confirmed, or ended after it was set again. Until then no answer to a newer one is final.
   */
  async scheduleCancel(
    session: AccountSession,
    atMs: number | null,
    options: CallOptions,
    expiryMs: number,
  ): Promise<CancelOutcome> {
    const { clock, clockOffsetMs, exchange } = this.#deps;
    const { accountId } = session;
    if (atMs !== null && (!Number.isSafeInteger(atMs) || atMs < clock.wallMs() + MIN_SCHEDULE_MS)) {
      const text = `a scheduled cancel lies at least ${MIN_SCHEDULE_MS} ms ahead`;
      return refusedOf(localReject("VENUE_STATE", "SCHEDULE_TOO_SOON", text));
    }
    // Without a time the venue forgets the schedule.
    const time = atMs === null ? {} : { time: Math.round(atMs + clockOffsetMs()) };
    const sentMs = exchange.venueNowMs();
    const unclearUntilMs = this.#unclearUntilMs.get(accountId) ?? 0;
    const prepared = exchange.prepare({ type: "scheduleCancel", ...time }, sentMs + expiryMs);
    const outcome = doneOutcome(await exchange.send(session, prepared, options));
    if (outcome.outcome === "rejected") return outcome;
    if (outcome.outcome === "unknown") this.#noteUnclear(accountId, sentMs + expiryMs + BLOCK_MARGIN_MS);
    else if (sentMs > unclearUntilMs) this.#unclearUntilMs.delete(accountId);
    else return { outcome: "unknown", cause: "EARLIER_UNCLEAR" };
    return outcome;
  }

  #noteUnclear(accountId: string, untilMs: number): void {
    const nowMs = this.#deps.exchange.venueNowMs();
    for (const [id, endsMs] of this.#unclearUntilMs) if (endsMs < nowMs) this.#unclearUntilMs.delete(id);
    this.#unclearUntilMs.set(accountId, Math.max(untilMs, this.#unclearUntilMs.get(accountId) ?? 0));
  }

  async #cancelBatch(
    session: AccountSession,
    cancels: readonly WireCancel[],
    options: CallOptions,
  ): Promise<BatchAnswer> {
    const { exchange } = this.#deps;
    const action = exchange.prepare({ type: "cancel", cancels }, null, cancels.length);
    const exchanged = await exchange.send(session, action, options);
    if (exchanged.kind === "unknown") return exchanged;
    if (exchanged.kind === "rejected") return { kind: "refused", refused: refusedOf(exchanged.rejected) };
    const statuses: (Refused | null)[] = [];
    for (const status of exchanged.answer.statuses) {
      if (status.kind === "success") statuses.push(null);
      else if (status.kind === "error") statuses.push(refusedOf(refusal(classifyText(status.text), status.text, null)));
    }
    const isAnswer = exchanged.answer.type === "cancel" && statuses.length === cancels.length;
    return isAnswer ? { kind: "answered", statuses } : { kind: "unknown", cause: "REPLY_SHAPE" };
  }
}

/** The answer to an action that is only confirmed. */
export function doneOutcome(exchanged: Exchanged): CancelOutcome {
  if (exchanged.kind !== "answered") return failureOf(exchanged);
  return exchanged.answer.type === "default" ? { outcome: "accepted" } : { outcome: "unknown", cause: "REPLY_SHAPE" };
}

function amendProblem(instrument: Instrument, current: VenueOrder, change: OrderChange): Refused | null {
  const refuse = (...reason: Parameters<typeof localReject>): Refused => refusedOf(localReject(...reason));
  if (instrument.venue !== "venueone" || instrument.nativeId < 0 || current.nativeSymbol !== instrument.nativeSymbol)
    return refuse("VENUE_STATE", "INSTRUMENT", "not an order of this instrument");
  if (!/^\d+$/.test(current.venueOrderId) || !Number.isSafeInteger(Number(current.venueOrderId)))
    return refuse("NOT_FOUND", "BAD_REF", "not an order id of this venue");
  const problem = limitChangeProblem(current, change);
  return problem === null ? null : refusedOf(problem);
}

function amendedItem(instrument: Instrument, current: VenueOrder, change: OrderChange): WireOrderItem {
  return {
    a: instrument.nativeId,
    b: current.side === "BUY",
    p: formatScaled(change.priceTicks, instrument.priceDecimals),
    // What replaces the order is a new one: what has filled is not part of it.
    s: formatScaled(change.qtyLots - current.filledLots, instrument.qtyDecimals),
    r: current.reduceOnly,
    t: { limit: { tif: current.timeInForce === "POST_ONLY" ? "Alo" : "Gtc" } },
    ...(current.venueClientOrderId === null ? {} : { c: current.venueClientOrderId.toLowerCase() }),
  };
}
