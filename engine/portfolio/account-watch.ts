/**
 * One account at one venue being watched, with one set of credentials: pushed where the venue pushes and has room,
 * looked at by the poll schedule where it does not, and while a stream is away for longer than a moment.
 *
 *   stream LIVE ── its positions, reconciled by the room ──► LIVE, push
 *   no stream, or none free, or away ── looks over REST ──► SNAPSHOT, poll; a stream is tried again now and then
 *
 * Invariants: a state is replaced only by a whole one that is not older; a failed look changes no position (it is not a
 * flat account); the session is closed at the end and used by nothing after it; listeners hear of a change after it.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { VenuePosition } from "../domain/position.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountEvent, AccountSession, AccountStream, CallOptions, Read, VenueRoom } from "../ports.js";
import { Liquidations } from "./liquidations.js";
import { isOpen, OpenOrders } from "./open-orders.js";
import type { LookResult, PollSchedule, PollTask } from "./poll-schedule.js";
import type { AccountChange, AccountListener, Coverage, CoverageError } from "./portfolio-types.js";
import { positionChanges } from "./position-changes.js";
import type { ResolvedExecution } from "./resolved-executions.js";

/** A stream that is not LIVE so long is helped out by polling; the room goes on trying. */
const STREAM_GRACE_MS = 3_000;
/** An account that got no stream asks again. */
const STREAM_RETRY_MS = 60_000;
/** Credentials that were refused are tried again: an agent may have been approved meanwhile. */
const REFUSED_PAUSE_MS = 60_000;
const LIMITED_PAUSE_MS = 5_000;
const LOOK_TIMEOUT_MS = 5_000;
/** Orders whose end is looked up after one list; the others end as UNKNOWN. */
const ENDS_PER_LOOK = 8;
/** Listeners of one account: subscriptions with the very same credentials. */
const LISTENERS_MAX = 1_000;

/** Not known is not flat. */
const NO_ANSWER_YET: CoverageError = { code: "NO_ANSWER_YET", message: "the venue has not answered yet" };
const NO_PAUSE: LookResult = { pauseVenueMs: 0, pauseAccountMs: 0 };

/** Of one venue. Apart, because a list of open orders weighs about ten times as much as positions. */
export interface VenueSchedules {
  readonly positions: PollSchedule;
  readonly orders: PollSchedule;
}

export interface WatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedules: VenueSchedules;
  /** Opened with keys, not by an address that everybody may know. */
  readonly isCredentialed: boolean;
  /** Names the account as orders do. */
  readonly accountHash: string;
}

export class AccountWatch {
  readonly venue: RoutableVenue;
  readonly room: VenueRoom;
  readonly #parts: WatchParts;
  readonly #session: AccountSession;
  /** The listener, and whether it wants open orders. */
  readonly #listeners = new Map<AccountListener, boolean>();
  readonly #orders = new OpenOrders();
  readonly #liquidations: Liquidations;
  #stream: AccountStream | null = null;
  #positions: readonly VenuePosition[] | null = null;
  #asOfMs: number | null = null;
  #source: "stream" | "venue" | null = null;
  #error: CoverageError | null = null;
  #isPolled = false;
  #isLive = false;
  /** The venue has listed open orders for this session. Positions prove nothing: some venues show them to anybody. */
  #isProven = false;
  #ordersError: CoverageError | null = null;
  #isReadingOrders = false;
  #isClosed = false;
  #graceTimer: TimerHandle | null = null;
  #retryTimer: TimerHandle | null = null;
  #ordersTimer: TimerHandle | null = null;
  #coverageShown = "";
  readonly #positionsTask: PollTask = { look: (isFirst) => this.#lookAtPositions(isFirst) };
  readonly #ordersTask: PollTask = { look: (isFirst) => this.#readOrders(isFirst ? "read" : "background") };

  constructor(room: VenueRoom, session: AccountSession, parts: WatchParts) {
    this.venue = room.venue;
    this.room = room;
    this.#session = session;
    this.#parts = parts;
    this.#liquidations = new Liquidations(parts.clock);
  }

  // ---------------------------------------------------------------- what is shown

  /** Null before the first answer. */
  get positions(): readonly VenuePosition[] | null {
    return this.#positions;
  }

  /** Null before the first whole list. */
  get openOrders(): readonly VenueOrder[] | null {
    return this.#orders.isKnown ? this.#orders.list() : null;
  }

  /** The account was answered for, or it is known why it cannot be. */
  get isSettled(): boolean {
    return this.#positions !== null || this.#error !== null;
  }

  get areOrdersSettled(): boolean {
    return this.#orders.isKnown || this.#ordersError !== null || this.#error !== null;
  }

  /** Was one of these opened with the very credentials of this watch, and has the venue proven them? */
  owns(accounts: ResolvedExecution["accounts"]): boolean {
    const { isCredentialed, accountHash } = this.#parts;
    return isCredentialed && this.#isProven && accounts.some((account) => account.accountHash === accountHash);
  }

  coverage(): Coverage {
    const mode = this.#isPolled || this.#stream === null ? "poll" : "push";
    return {
      state: this.#state(),
      mode,
      asOf: this.#provenMs(),
      source: this.#source,
      intervalMs: mode === "poll" ? this.#parts.schedules.positions.intervalMs : null,
      error: this.#error ?? (this.#positions === null ? NO_ANSWER_YET : null),
    };
  }

  /** A stream that is LIVE proves its state again and again, also while nothing happens. */
  #provenMs(): number | null {
    const read = this.#isLive ? this.#stream?.positions() : undefined;
    return read?.ok === true ? read.asOfMs : this.#asOfMs;
  }

  /** The same of its open orders, which are read apart. */
  ordersCoverage(): Coverage {
    const coverage = this.coverage();
    const error = coverage.error ?? this.#ordersError;
    return error === null || coverage.error !== null ? coverage : { ...coverage, state: "ERROR", error };
  }

  #state(): Coverage["state"] {
    if (this.#isLive) return "LIVE";
    if (this.#error?.code === "AUTH" || this.#error?.code === "NEEDS_CREDENTIALS") return "AUTH_REQUIRED";
    return this.#error !== null || this.#positions === null ? "ERROR" : "SNAPSHOT";
  }

  // ---------------------------------------------------------------- life

  /** False when the account has no room for another listener. */
  listen(listener: AccountListener, wantsOrders: boolean): boolean {
    if (this.#listeners.size >= LISTENERS_MAX) return false;
    this.#listeners.set(listener, wantsOrders);
    if (wantsOrders && this.#isLive) void this.#readOrders("read");
    if (wantsOrders && this.#isPolled) this.#parts.schedules.orders.add(this.#ordersTask);
    return true;
  }

  /** True when it was the last one. */
  unlisten(listener: AccountListener): boolean {
    this.#listeners.delete(listener);
    if (!this.#wantsOrders) this.#parts.schedules.orders.remove(this.#ordersTask);
    return this.#listeners.size === 0;
  }

  start(): void {
    if (!this.#openStream()) this.#poll();
  }

  get hasStream(): boolean {
    return this.#stream !== null;
  }

  /** A stream may have become free. */
  promote(): void {
    if (this.#stream === null && !this.#isClosed) this.#openStream();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.clear();
    this.#dropStream();
    this.#endPolling();
    this.#clearTimers();
    this.#session.close();
  }

  // ---------------------------------------------------------------- push

  #openStream(): boolean {
    const { streams } = this.room;
    if (streams === null) return false;
    const opened = streams.openAccountStream(this.#session, (event) => this.#hear(event));
    if (!opened.ok) {
      this.#retryStreamLater();
      return false;
    }
    this.#stream = opened.stream;
    this.#awaitLive();
    this.#follow();
    return this.#stream !== null;
  }

  #hear(event: AccountEvent): void {
    if (this.#isClosed) return;
    switch (event.kind) {
      case "order":
        if (this.#orders.apply(event.order)) this.#emit(event);
        return;
      case "fill":
        this.#liquidations.note(event);
        this.#emit({ ...event, order: this.#orders.applyFill(event.order) });
        return;
      case "positions":
      case "state":
        this.#follow();
        return;
    }
  }

  /** Takes over what the stream holds now. */
  #follow(): void {
    const stream = this.#stream;
    if (stream === null || this.#isClosed) return;
    const { state } = stream;
    if (state === "LIVE") {
      const read = stream.positions();
      if (read.ok) this.#pushed(read.value, read.asOfMs);
      return;
    }
    this.#isLive = false;
    if (state === "DOWN") this.#streamEnded(stream);
    else this.#awaitLive();
    this.#showCoverage();
  }

  #pushed(positions: readonly VenuePosition[], asOfMs: number): void {
    const wasLive = this.#isLive;
    this.#isLive = true;
    this.#error = null;
    this.#clearGrace();
    this.#endPolling();
    this.#adopt(positions, asOfMs, "stream");
    // What was polled before says nothing of fills and ends between two looks; the list closes the gap.
    if (!wasLive && this.#wantsOrders) void this.#readOrders("read");
  }

  #streamEnded(stream: AccountStream): void {
    const read = stream.positions();
    if (!read.ok && read.code === "AUTH") this.#fail(read);
    this.#dropStream();
    this.#poll();
    this.#retryStreamLater();
  }

  #dropStream(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#isLive = false;
    this.#clearGrace();
  }

  #awaitLive(): void {
    if (this.#graceTimer !== null || this.#isClosed) return;
    this.#graceTimer = this.#parts.clock.setTimer(() => {
      this.#graceTimer = null;
      if (!this.#isLive) this.#poll();
    }, STREAM_GRACE_MS);
  }

  #retryStreamLater(): void {
    if (this.#retryTimer !== null || this.#isClosed) return;
    this.#retryTimer = this.#parts.clock.setTimer(() => {
      this.#retryTimer = null;
      this.promote();
    }, STREAM_RETRY_MS);
  }

  // ---------------------------------------------------------------- poll

  #poll(): void {
    if (this.#isPolled || this.#isClosed) return;
    this.#isPolled = true;
    const { positions, orders } = this.#parts.schedules;
    positions.add(this.#positionsTask);
    if (this.#wantsOrders) orders.add(this.#ordersTask);
    this.#showCoverage();
  }

  #endPolling(): void {
    if (!this.#isPolled) return;
    this.#isPolled = false;
    const { positions, orders } = this.#parts.schedules;
    positions.remove(this.#positionsTask);
    orders.remove(this.#ordersTask);
  }

  async #lookAtPositions(isFirst: boolean): Promise<LookResult> {
    const lane = isFirst ? "read" : "background";
    const read = await this.#call(() =>
      this.room.reader.readPositions(this.#session, null, { timeoutMs: LOOK_TIMEOUT_MS, lane }),
    );
    if (this.#isClosed) return NO_PAUSE;
    // The stream came back meanwhile: what it holds is newer.
    if (this.#isLive) return NO_PAUSE;
    if (!read.ok) return this.#fail(read);
    this.#error = null;
    this.#adopt(read.value, read.asOfMs, "venue");
    return NO_PAUSE;
  }

  #fail(read: FailedRead): LookResult {
    this.#error = { code: read.code, message: read.message };
    this.#showCoverage();
    return pauseAfter(read);
  }
  // ---------------------------------------------------------------- open orders

  get #wantsOrders(): boolean {
    for (const wants of this.#listeners.values()) if (wants) return true;
    return false;
  }

  /** The whole list; what is new in it is told, what is gone is looked up. One at a time. */
  async #readOrders(lane: CallOptions["lane"]): Promise<LookResult> {
    if (this.#isReadingOrders || this.#isClosed) return NO_PAUSE;
    this.#isReadingOrders = true;
    this.#orders.beginList();
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane };
    const read = await this.#call(() => this.room.reader.readOpenOrders(this.#session, null, options));
    if (!this.#isClosed) {
      if (read.ok) await this.#adoptOrders(read.value, options);
      else this.#ordersUnread({ code: read.code, message: read.message });
    }
    this.#isReadingOrders = false;
    return read.ok ? NO_PAUSE : pauseAfter(read);
  }

  #ordersUnread(error: CoverageError): void {
    const wasSettled = this.areOrdersSettled;
    // A list that is known stays true through the events that follow it.
    if (!this.#orders.isKnown) this.#ordersError = error;
    if (!wasSettled) this.#emit({ kind: "coverage" });
    // A polled account's list has its turn.
    if (!this.#isPolled) this.#readOrdersLater();
  }

  #readOrdersLater(): void {
    if (this.#ordersTimer !== null || this.#isClosed) return;
    this.#ordersTimer = this.#parts.clock.setTimer(() => {
      this.#ordersTimer = null;
      if (this.#wantsOrders) void this.#readOrders("background");
    }, LIMITED_PAUSE_MS);
  }

  async #adoptOrders(rows: readonly VenueOrder[], options: CallOptions): Promise<void> {
    this.#isProven = true;
    const isFirst = !this.#orders.isKnown;
    const wasSettled = this.areOrdersSettled;
    const { news, gone } = this.#orders.adopt(rows);
    this.#ordersError = null;
    if (isFirst) {
      // Where a snapshot begins, it is no news; where one was shown without orders, it is to be replaced.
      this.#emit(wasSettled ? { kind: "ordersReset" } : { kind: "coverage" });
      return;
    }
    for (const order of news) this.#emit({ kind: "order", order });
    for (const [index, order] of gone.entries()) {
      const end = index < ENDS_PER_LOOK ? await this.#endOf(order, options) : null;
      if (this.#isClosed) return;
      // Still listed open right after it left the list: the venue's index lags, the next look tells.
      if (end !== null && isOpen(end)) continue;
      // An end that cannot be learnt is not guessed; an open order it is not, all the same.
      this.#orders.apply(end ?? { ...order, status: "CANCELED" });
      this.#emit({ kind: "order", order: end ?? { ...order, status: "UNKNOWN", venueStatus: "" } });
    }
  }

  async #endOf(order: VenueOrder, options: CallOptions): Promise<VenueOrder | null> {
    const instrument = this.room.markets.get(this.#symbolOf(order.nativeSymbol) ?? "")?.instrument;
    if (instrument === undefined) return null;
    const ref = { venueOrderId: order.venueOrderId };
    const read = await this.#call(() => this.room.reader.readOrder(this.#session, instrument, ref, options));
    return read.ok ? read.value : null;
  }

  #symbolOf(nativeSymbol: string): string | null {
    for (const [symbol, { instrument }] of this.room.markets) {
      if (instrument.nativeSymbol === nativeSymbol) return symbol;
    }
    return null;
  }

  // ---------------------------------------------------------------- state

  #adopt(positions: readonly VenuePosition[], asOfMs: number, source: "stream" | "venue"): void {
    // Two looks, or a look and a stream, may end in another order than they began.
    if (this.#asOfMs !== null && asOfMs < this.#asOfMs) {
      this.#showCoverage();
      return;
    }
    const changes = positionChanges(this.#positions ?? [], positions, (position) => this.#liquidations.has(position));
    this.#positions = positions;
    this.#asOfMs = asOfMs;
    this.#source = source;
    this.#showCoverage();
    if (changes.length > 0) this.#emit({ kind: "positions", changes });
  }

  /** Tells once of what a subscriber sees otherwise; times alone are no news. */
  #showCoverage(): void {
    if (this.#isClosed) return;
    const { state, mode, source, error } = this.coverage();
    const shown = `${state} ${mode} ${source} ${error?.code ?? ""} ${this.isSettled}`;
    if (shown === this.#coverageShown) return;
    this.#coverageShown = shown;
    this.#emit({ kind: "coverage" });
  }

  #emit(change: AccountChange): void {
    for (const listener of [...this.#listeners.keys()]) {
      try {
        listener(change);
      } catch (error) {
        // A listener's bug is its own: the others still hear.
        this.#parts.logger.error("portfolio.listener_failed", {
          venue: this.venue,
          errorName: error instanceof Error ? error.name : "unknown",
        });
      }
    }
  }

  tell(change: AccountChange): void {
    if (!this.#isClosed) this.#emit(change);
  }

  /** A room's bug must not end the watch: it counts as an answer that could not be read. */
  async #call<T>(run: () => Promise<Read<T>>): Promise<Read<T>> {
    try {
      return await run();
    } catch (error) {
      this.#parts.logger.error("portfolio.read_failed", {
        venue: this.venue,
        errorName: error instanceof Error ? error.name : "unknown",
      });
      return { ok: false, code: "BAD_RESPONSE", message: "the answer could not be read", retryAfterMs: null };
    }
  }

  #clearGrace(): void {
    if (this.#graceTimer !== null) this.#parts.clock.clearTimer(this.#graceTimer);
    this.#graceTimer = null;
  }

  #clearTimers(): void {
    this.#clearGrace();
    for (const timer of [this.#retryTimer, this.#ordersTimer]) if (timer !== null) this.#parts.clock.clearTimer(timer);
    this.#retryTimer = null;
    this.#ordersTimer = null;
  }
}

type FailedRead = Extract<Read<never>, { readonly ok: false }>;

function pauseAfter({ code, retryAfterMs }: FailedRead): LookResult {
  if (code === "AUTH" || code === "NEEDS_CREDENTIALS") return { pauseVenueMs: 0, pauseAccountMs: REFUSED_PAUSE_MS };
  if (code === "RATE_LIMITED" || code === "BREAKER_OPEN")
    return { pauseVenueMs: retryAfterMs ?? LIMITED_PAUSE_MS, pauseAccountMs: 0 };
  return NO_PAUSE;
}
