/**
 * The open orders of one watched account: whole lists over REST, events between them, and a look-up of the end of each
 * order that a list no longer has.
 *
 * No venue numbers the frames of an account, so events can be lost unseen. A list is read in every poll interval, and
 * no more often in doubt; list-trust.ts decides whether list and events together can be trusted.
 *
 * Invariants: one list is read at a time; a failed list changes nothing that is known; an unknown end is reported as
 * UNKNOWN, never guessed; after `close` nothing is reported and the session is not used.
 */
import type { TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { AccountSession, CallOptions, VenueRoom } from "../ports.js";
import { LIMITED_PAUSE_MS, LOOK_TIMEOUT_MS, NO_PAUSE, pauseAfter, readSafely } from "./account-reads.js";
import { type ListRequest, ListTrust, type ListTrustHost } from "./list-trust.js";
import { isOpen, OpenOrders } from "./open-orders.js";
import type { LookResult, PollTask } from "./poll-schedule.js";
import type { AccountChange, CoverageError } from "./portfolio-types.js";

/** Most orders whose end is looked up after one list; the others end as UNKNOWN. */
const ENDS_PER_LOOK = 8;

/** What it needs from the watch that it belongs to. */
interface WatchedOrdersHost extends ListTrustHost {
  readonly logger: Logger;
  /** Whether any listener wants orders. */
  isWanted(): boolean;
  /** Whether the account is polled: the list then has its turn in the schedule. */
  isPolled(): boolean;
  /** Whether the reason why the account cannot be read is known already. */
  isFailed(): boolean;
  /** Sets the next poll this long from now, instead of one interval after the last. */
  lookSoon(afterMs: number): void;
  emit(change: AccountChange): void;
}

export class WatchedOrders {
  /** For the poll schedule. */
  readonly task: PollTask = { look: (isFirst) => this.read(isFirst ? "read" : "background") };
  readonly #room: VenueRoom;
  readonly #session: AccountSession;
  readonly #host: WatchedOrdersHost;
  readonly #trust: ListTrust;
  #orders: OpenOrders;
  /** Increases when everything is dropped: a list requested before then is out of date. */
  #epoch = 0;
  /** Wall ms of the last whole list. */
  #asOfMs: number | null = null;
  #isProven = false;
  #error: CoverageError | null = null;
  #isReading = false;
  #isClosed = false;
  #timer: TimerHandle | null = null;

  constructor(room: VenueRoom, session: AccountSession, host: WatchedOrdersHost) {
    this.#room = room;
    this.#session = session;
    this.#host = host;
    this.#trust = new ListTrust(host);
    this.#orders = this.#none();
  }

  #none(): OpenOrders {
    return new OpenOrders(() => this.#host.clock.monoNs() / 1e6);
  }

  /** Null before the first whole list. */
  list(): readonly VenueOrder[] | null {
    return this.#orders.isKnown ? this.#orders.list() : null;
  }

  /**
   * Whether the venue has listed open orders for this session. Positions prove nothing: some venues show them to
   * everyone.
   */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Wall ms of the last whole list; null before the first. */
  get asOfMs(): number | null {
    return this.#asOfMs;
  }

  /** Whether events and the last list together are, as far as can be known, what the venue has. */
  get isTrusted(): boolean {
    return this.#trust.covers(this.#orders);
  }

  /** Why the last list could not be read; null when it was, or none was requested. */
  get error(): CoverageError | null {
    return this.#error;
  }

  get isSettled(): boolean {
    return this.#orders.isKnown || this.#error !== null || this.#host.isFailed();
  }

  /** Applies an order from an event; returns true when anything is new. */
  apply(order: VenueOrder): boolean {
    this.#trust.explain(order);
    return this.#orders.apply(order);
  }

  /** Applies the order of a fill and returns its present state. */
  applyFill(order: VenueOrder): VenueOrder {
    this.#trust.explain(order);
    return this.#orders.applyFill(order);
  }

  /**
   * Events are received from now on. Reads a list to show; the one that surely includes everything before follows soon
   * (`read`).
   */
  follow(): void {
    this.#trust.follow();
    void this.read("read");
  }

  /** Reads the whole list, reports what is new in it, and looks up what is gone. */
  async read(lane: CallOptions["lane"]): Promise<LookResult> {
    if (this.#isReading || this.#isClosed) return NO_PAUSE;
    this.#isReading = true;
    const epoch = this.#epoch;
    const request = this.#trust.request();
    this.#orders.beginList();
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane };
    const { reader, venue } = this.#room;
    const read = await readSafely(this.#host.logger, venue, () => reader.readOpenOrders(this.#session, null, options));
    // Everything was dropped meanwhile; another list may be under way.
    if (epoch !== this.#epoch) return read.ok ? NO_PAUSE : pauseAfter(read);
    if (!this.#isClosed) {
      if (read.ok) await this.#adopt(read.value, read.asOfMs, request, options);
      else this.#unread({ code: read.code, message: read.message });
    }
    if (epoch === this.#epoch) this.#isReading = false;
    if (read.ok && !this.#isClosed && !this.#trust.isComplete && this.#host.liveRun() !== null)
      this.#host.lookSoon(this.#trust.completeInMs);
    return read.ok ? NO_PAUSE : pauseAfter(read);
  }

  /** Without listeners the state would only grow old. */
  forget(): void {
    this.#epoch++;
    this.#isReading = false;
    this.#orders = this.#none();
    this.#asOfMs = null;
    this.#error = null;
    this.#trust.forget();
    this.#clearTimer();
  }

  close(): void {
    this.#isClosed = true;
    this.#clearTimer();
  }

  #clearTimer(): void {
    if (this.#timer !== null) this.#host.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #unread(error: CoverageError): void {
    this.#error = error;
    this.#host.emit({ kind: "coverage" });
    // A known list has its turn already, and so has a polled account's.
    if (!this.#orders.isKnown && !this.#host.isPolled()) this.#readLater();
  }

  #readLater(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = this.#host.clock.setTimer(() => {
      this.#timer = null;
      if (this.#host.isWanted()) void this.read("background");
    }, LIMITED_PAUSE_MS);
  }

  async #adopt(rows: readonly VenueOrder[], asOfMs: number, request: ListRequest, options: CallOptions): Promise<void> {
    this.#isProven = true;
    const isFirst = !this.#orders.isKnown;
    const { news, gone } = this.#orders.adopt(rows);
    this.#error = null;
    this.#asOfMs = asOfMs;
    this.#trust.judge(request, news, gone);
    if (isFirst) {
      // A snapshot that begins with this list needs no news; one that was shown without orders must be replaced.
      this.#host.emit({ kind: "ordersReset" });
      return;
    }
    this.#host.emit({ kind: "coverage" });
    for (const order of news) this.#host.emit({ kind: "order", order });
    const epoch = this.#epoch;
    for (const [index, order] of gone.entries()) {
      if (this.#orders.isTouched(order)) continue;
      const end = index < ENDS_PER_LOOK ? await this.#endOf(order, options) : null;
      if (this.#isClosed || epoch !== this.#epoch) return;
      // An event came meanwhile: it is newer than the look-up, or replaces a failed one.
      if (this.#orders.isTouched(order)) continue;
      // Still listed open right after it left the list: the venue's index lags, and the next read shows the end.
      if (end !== null && isOpen(end)) continue;
      // An unknown end is not guessed, but the order is no longer open.
      this.#orders.apply(end ?? { ...order, status: "CANCELED" });
      this.#host.emit({ kind: "order", order: end ?? { ...order, status: "UNKNOWN", venueStatus: "" } });
    }
    // Once the last end is known the list may be trusted.
    if (gone.length > 0) this.#host.emit({ kind: "coverage" });
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
