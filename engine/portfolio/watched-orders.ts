/**
 * The open orders of one watched account: whole lists over REST, events between them, and a look-up of the end of each
 * order that a list no longer has.
 *
 * No venue numbers the frames of an account, so events can be lost unseen. A list is read in every poll interval, and
 * no more often in doubt. The list is trusted while all of these hold: a whole list of this run of the stream was
 * adopted that surely includes everything before events were received, and everything the room doubts; the end of every
 * order that it left out is known; the lists before it found nothing that events had not reported.
 *
 * Invariants: one list is read at a time; a failed list changes nothing that is known; an unknown end is reported as
 * UNKNOWN, never guessed; after `close` nothing is reported and the session is not used.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { AccountSession, CallOptions, VenueRoom } from "../ports.js";
import { LIMITED_PAUSE_MS, LOOK_TIMEOUT_MS, NO_PAUSE, pauseAfter, readSafely } from "./account-reads.js";
import { isOpen, LIST_LAG_MS, OpenOrders } from "./open-orders.js";
import type { LookResult, PollTask } from "./poll-schedule.js";
import type { AccountChange, CoverageError } from "./portfolio-types.js";

/** Number of lists in a row without unreported changes that restores trust. */
const CLEAN_LISTS = 2;
/** A list older than this many intervals proves nothing about the present. */
const LIST_INTERVALS_MAX = 3;
/** Most orders whose end is looked up after one list; the others end as UNKNOWN. */
const ENDS_PER_LOOK = 8;

/** What it needs from the watch that it belongs to. */
interface WatchedOrdersHost {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether any listener wants orders. */
  isWanted(): boolean;
  /** Whether the account is polled: the list then has its turn in the schedule. */
  isPolled(): boolean;
  /** Whether the reason why the account cannot be read is known already. */
  isFailed(): boolean;
  /**
   * The number of the stream's run; null if it is not LIVE. Within one run events report everything but what was lost
   * unseen.
   */
  liveRun(): number | null;
  /** Monotonic ms since which the room knows that its order events are incomplete. */
  doubtMs(): number | null;
  /** Time between two reads of the list. */
  intervalMs(): number;
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
  #orders: OpenOrders;
  /** Increases when everything is dropped: a list requested before then is out of date. */
  #epoch = 0;
  /** Monotonic ms since which events are received and kept. */
  #heardSinceMs = 0;
  /** Wall ms of the last whole list, and monotonic ms of its request. */
  #asOfMs: number | null = null;
  #beganMs = 0;
  /** The run of the stream in which the last list was requested and adopted. */
  #listRun: number | null = null;
  /** Number of lists since the last one that showed something events had not. */
  #cleanCount = CLEAN_LISTS;
  /** Shown by the last list alone; a late event may still report it. */
  readonly #untold = new Set<string>();
  #cleanBefore = CLEAN_LISTS;
  /** Missing from the last list. They are shown until their end is known, or an event reports them open. */
  readonly #leftOut = new Map<string, VenueOrder>();
  #isProven = false;
  #error: CoverageError | null = null;
  #isReading = false;
  #isClosed = false;
  #timer: TimerHandle | null = null;

  constructor(room: VenueRoom, session: AccountSession, host: WatchedOrdersHost) {
    this.#room = room;
    this.#session = session;
    this.#host = host;
    this.#orders = this.#none();
  }

  #none(): OpenOrders {
    return new OpenOrders(() => this.#nowMs());
  }

  #nowMs(): number {
    return this.#host.clock.monoNs() / 1e6;
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
    const run = this.#host.liveRun();
    if (run === null || run !== this.#listRun || !this.#orders.isKnown || !this.#isSure) return false;
    if (this.#cleanCount < CLEAN_LISTS) return false;
    for (const order of this.#leftOut.values()) if (this.#orders.has(order)) return false;
    if (this.#nowMs() - this.#beganMs > LIST_INTERVALS_MAX * this.#host.intervalMs()) return false;
    const doubtMs = this.#host.doubtMs();
    return doubtMs === null || this.#beganMs >= doubtMs + LIST_LAG_MS;
  }

  /** Whether the last list was requested late enough to include everything before events were received. */
  get #isSure(): boolean {
    return this.#beganMs >= this.#heardSinceMs + LIST_LAG_MS;
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
    this.#explain(order);
    return this.#orders.apply(order);
  }

  /** Applies the order of a fill and returns its present state. */
  applyFill(order: VenueOrder): VenueOrder {
    this.#explain(order);
    return this.#orders.applyFill(order);
  }

  /**
   * Events are received from now on. Reads a list to show; the one that surely includes everything before follows soon
   * (`read`).
   */
  follow(): void {
    this.#heardSinceMs = this.#nowMs();
    void this.read("read");
  }

  /** Reads the whole list, reports what is new in it, and looks up what is gone. */
  async read(lane: CallOptions["lane"]): Promise<LookResult> {
    if (this.#isReading || this.#isClosed) return NO_PAUSE;
    this.#isReading = true;
    const epoch = this.#epoch;
    const asked = { run: this.#host.liveRun(), beganMs: this.#nowMs() };
    this.#orders.beginList();
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane };
    const { reader, venue } = this.#room;
    const read = await readSafely(this.#host.logger, venue, () => reader.readOpenOrders(this.#session, null, options));
    // Everything was dropped meanwhile; another list may be under way.
    if (epoch !== this.#epoch) return read.ok ? NO_PAUSE : pauseAfter(read);
    if (!this.#isClosed) {
      if (read.ok) await this.#adopt(read.value, read.asOfMs, asked, options);
      else this.#unread({ code: read.code, message: read.message });
    }
    if (epoch === this.#epoch) this.#isReading = false;
    const surelyInMs = this.#heardSinceMs + LIST_LAG_MS - this.#nowMs();
    if (read.ok && !this.#isClosed && !this.#isSure && this.#host.liveRun() !== null)
      this.#host.lookSoon(Math.max(0, surelyInMs));
    return read.ok ? NO_PAUSE : pauseAfter(read);
  }

  /** Without listeners the state would only grow old. */
  forget(): void {
    this.#epoch++;
    this.#isReading = false;
    this.#orders = this.#none();
    this.#asOfMs = null;
    this.#listRun = null;
    this.#error = null;
    this.#cleanCount = CLEAN_LISTS;
    this.#untold.clear();
    this.#leftOut.clear();
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

  async #adopt(
    rows: readonly VenueOrder[],
    asOfMs: number,
    { run, beganMs }: { readonly run: number | null; readonly beganMs: number },
    options: CallOptions,
  ): Promise<void> {
    this.#isProven = true;
    const isFirst = !this.#orders.isKnown;
    const { news, gone } = this.#orders.adopt(rows);
    this.#error = null;
    this.#asOfMs = asOfMs;
    const wasSure = this.#isSure;
    this.#beganMs = beganMs;
    this.#judge(run, wasSure, [...news, ...gone]);
    this.#leftOut.clear();
    for (const order of gone) this.#leftOut.set(keyOf(order), order);
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

  /** Compares a list with the events received in the same time: a difference means frames that are lost or late. */
  #judge(run: number | null, wasSure: boolean, different: readonly VenueOrder[]): void {
    const isCovered = run !== null && run === this.#host.liveRun() && run === this.#listRun && wasSure;
    this.#listRun = run !== null && run === this.#host.liveRun() ? run : null;
    this.#untold.clear();
    if (!isCovered) return;
    if (different.length === 0) {
      this.#cleanCount = Math.min(CLEAN_LISTS, this.#cleanCount + 1);
      return;
    }
    this.#cleanBefore = this.#cleanCount;
    this.#cleanCount = 0;
    for (const order of different) this.#untold.add(keyOf(order));
  }

  /** An event of this order comes after all: it was late, not lost. */
  #explain(order: VenueOrder): void {
    this.#leftOut.delete(keyOf(order));
    if (!this.#untold.delete(keyOf(order)) || this.#untold.size > 0) return;
    if (this.#nowMs() - this.#beganMs <= LIST_LAG_MS) this.#cleanCount = this.#cleanBefore;
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

function keyOf(order: VenueOrder): string {
  return `${order.nativeSymbol}|${order.venueOrderId}`;
}
