/**
 * The open orders of one watched account: whole lists over REST, events between them, and the end of an order looked up
 * where a list no longer has it.
 *
 * Invariants: one list is read at a time; a failed list changes nothing that is known; an end that cannot be learnt is
 * told as UNKNOWN, never guessed; after `close` nothing is told and the session is not used.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { AccountSession, CallOptions, VenueRoom } from "../ports.js";
import { LIMITED_PAUSE_MS, LOOK_TIMEOUT_MS, NO_PAUSE, pauseAfter, readSafely } from "./account-reads.js";
import { isOpen, OpenOrders } from "./open-orders.js";
import type { LookResult, PollTask } from "./poll-schedule.js";
import type { AccountChange, CoverageError } from "./portfolio-types.js";

/** Orders whose end is looked up after one list; the others end as UNKNOWN. */
const ENDS_PER_LOOK = 8;

/** What it asks of the watch that it belongs to. */
interface WatchedOrdersHost {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Does anybody listen for orders? */
  isWanted(): boolean;
  /** Polled: the list has its turn in the schedule. */
  isPolled(): boolean;
  /** It is known already why the account cannot be had. */
  isFailed(): boolean;
  emit(change: AccountChange): void;
}

export class WatchedOrders {
  /** For the poll schedule. */
  readonly task: PollTask = { look: (isFirst) => this.read(isFirst ? "read" : "background") };
  readonly #room: VenueRoom;
  readonly #session: AccountSession;
  readonly #host: WatchedOrdersHost;
  readonly #orders = new OpenOrders();
  #isProven = false;
  #error: CoverageError | null = null;
  #isReading = false;
  #isClosed = false;
  #timer: TimerHandle | null = null;

  constructor(room: VenueRoom, session: AccountSession, host: WatchedOrdersHost) {
    this.#room = room;
    this.#session = session;
    this.#host = host;
  }

  /** Null before the first whole list. */
  list(): readonly VenueOrder[] | null {
    return this.#orders.isKnown ? this.#orders.list() : null;
  }

  /** The venue has listed open orders for this session. Positions prove nothing: some venues show them to anybody. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Why no list is known; null while one is, or none was asked for. */
  get error(): CoverageError | null {
    return this.#error;
  }

  get isSettled(): boolean {
    return this.#orders.isKnown || this.#error !== null || this.#host.isFailed();
  }

  /** An order as an event tells it; true when it is news. */
  apply(order: VenueOrder): boolean {
    return this.#orders.apply(order);
  }

  /** The order of a fill, as it stands now. */
  applyFill(order: VenueOrder): VenueOrder {
    return this.#orders.applyFill(order);
  }

  /** The whole list; what is new in it is told, what is gone is looked up. */
  async read(lane: CallOptions["lane"]): Promise<LookResult> {
    if (this.#isReading || this.#isClosed) return NO_PAUSE;
    this.#isReading = true;
    this.#orders.beginList();
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane };
    const { reader, venue } = this.#room;
    const read = await readSafely(this.#host.logger, venue, () => reader.readOpenOrders(this.#session, null, options));
    if (!this.#isClosed) {
      if (read.ok) await this.#adopt(read.value, options);
      else this.#unread({ code: read.code, message: read.message });
    }
    this.#isReading = false;
    return read.ok ? NO_PAUSE : pauseAfter(read);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) this.#host.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #unread(error: CoverageError): void {
    const wasSettled = this.isSettled;
    // A list that is known stays true through the events that follow it.
    if (!this.#orders.isKnown) this.#error = error;
    if (!wasSettled) this.#host.emit({ kind: "coverage" });
    // A polled account's list has its turn.
    if (!this.#host.isPolled()) this.#readLater();
  }

  #readLater(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = this.#host.clock.setTimer(() => {
      this.#timer = null;
      if (this.#host.isWanted()) void this.read("background");
    }, LIMITED_PAUSE_MS);
  }

  async #adopt(rows: readonly VenueOrder[], options: CallOptions): Promise<void> {
    this.#isProven = true;
    const isFirst = !this.#orders.isKnown;
    const wasSettled = this.isSettled;
    const { news, gone } = this.#orders.adopt(rows);
    this.#error = null;
    if (isFirst) {
      // Where a snapshot begins, it is no news; where one was shown without orders, it is to be replaced.
      this.#host.emit(wasSettled ? { kind: "ordersReset" } : { kind: "coverage" });
      return;
    }
    for (const order of news) this.#host.emit({ kind: "order", order });
    for (const [index, order] of gone.entries()) {
      if (this.#orders.isTouched(order)) continue;
      const end = index < ENDS_PER_LOOK ? await this.#endOf(order, options) : null;
      if (this.#isClosed) return;
      // Told of by an event meanwhile: that is newer than what was looked up, or could not be.
      if (this.#orders.isTouched(order)) continue;
      // Still listed open right after it left the list: the venue's index lags, the next look tells.
      if (end !== null && isOpen(end)) continue;
      // An end that cannot be learnt is not guessed; an open order it is not, all the same.
      this.#orders.apply(end ?? { ...order, status: "CANCELED" });
      this.#host.emit({ kind: "order", order: end ?? { ...order, status: "UNKNOWN", venueStatus: "" } });
    }
  }

  async #endOf(order: VenueOrder, options: CallOptions): Promise<VenueOrder | null> {
    const { markets, reader, venue } = this.#room;
    for (const { instrument } of markets.values()) {
      if (instrument.nativeSymbol !== order.nativeSymbol) continue;
      const ref = { venueOrderId: order.venueOrderId };
      const run = () => reader.readOrder(this.#session, instrument, ref, options);
      const read = await readSafely(this.#host.logger, venue, run);
      return read.ok ? read.value : null;
    }
    return null;
  }
}
