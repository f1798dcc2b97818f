/**
 * Watches one account at one venue with one set of credentials. The account is streamed where the venue streams and has
 * room. The poll schedule reads it otherwise, and while a stream is away for longer than a moment.
 *
 *   stream LIVE ── its positions, reconciled by the room ──► LIVE, push
 *   no stream, or none free, or away ── polls over REST ──► SNAPSHOT, poll; a stream is tried again now and then
 *
 * The stream is kept in watched-stream.ts, positions in watched-positions.ts, open orders in watched-orders.ts.
 *
 * Invariants: the session is closed at the end and not used after it; listeners run after a change is applied.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { VenuePosition } from "../domain/position.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { AccountEvent, AccountSession, Read, VenueRoom } from "../ports.js";
import { ordersCoverageOf } from "./coverage.js";
import type { PollSchedule } from "./poll-schedule.js";
import type { AccountChange, AccountListener, Coverage } from "./portfolio-types.js";
import type { PositionChange } from "./position-changes.js";
import type { ResolvedExecution } from "./resolved-executions.js";
import { WatchListeners } from "./watch-listeners.js";
import { WatchedOrders } from "./watched-orders.js";
import { WatchedPositions } from "./watched-positions.js";
import { WatchedStream } from "./watched-stream.js";

/**
 * The poll schedules of one venue. There are two because a list of open orders weighs about ten times as much as
 * positions.
 */
export interface VenueSchedules {
  readonly positions: PollSchedule;
  readonly orders: PollSchedule;
}

export interface WatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedules: VenueSchedules;
  /** Whether it was opened with keys, and not by a public address. */
  readonly isCredentialed: boolean;
  /** Of the account and each owner whose executions are shown, the same as orders use. Asked at each execution. */
  readonly accountHashes: () => readonly string[];
}

export class AccountWatch {
  readonly venue: RoutableVenue;
  readonly room: VenueRoom;
  readonly #parts: WatchParts;
  readonly #session: AccountSession;
  readonly #listeners: WatchListeners;
  readonly #stream: WatchedStream;
  readonly #positions: WatchedPositions;
  readonly #orders: WatchedOrders;
  #isClosed = false;
  #coverageShown = "";

  constructor(room: VenueRoom, session: AccountSession, parts: WatchParts) {
    const { clock, logger, schedules } = parts;
    this.venue = room.venue;
    this.room = room;
    this.#session = session;
    this.#parts = parts;
    this.#listeners = new WatchListeners(room.venue, logger);
    this.#stream = new WatchedStream(room, session, {
      ...{ clock, logger },
      onEvent: (event) => this.#applyEvent(event),
      onPositions: (read, isNewRun) => this.#applyPushed(read, isNewRun),
      onRefused: (read) => this.#show(this.#positions.apply(read, "stream")),
      onAway: () => this.#poll(),
      onState: () => this.#show([]),
    });
    this.#positions = new WatchedPositions(room, session, {
      ...{ clock, logger, schedule: schedules.positions },
      isLive: () => this.#stream.isLive,
      onPolled: (changes) => this.#show(changes),
    });
    this.#orders = new WatchedOrders(room, session, {
      ...{ clock, logger },
      isWanted: () => this.#listeners.wantOrders,
      isPolled: () => this.#positions.isPolled,
      isFailed: () => this.#positions.error !== null,
      liveRun: () => this.#stream.liveRun,
      doubtMs: () => this.#stream.doubtMs,
      intervalMs: () => schedules.orders.intervalMs,
      lookSoon: (afterMs) => {
        if (this.#listeners.wantOrders) schedules.orders.soon(this.#orders.task, afterMs);
      },
      emit: (change) => this.#listeners.emit(change),
    });
  }

  // ---------------------------------------------------------------- what is shown

  /** The owner of these orders, shown only to callers who proved that they own them; null for a public address. */
  get owner(): Pick<AccountSession, "venue" | "accountId"> | null {
    return this.#parts.isCredentialed ? this.#session : null;
  }

  /** Null before the first reply. */
  get positions(): readonly VenuePosition[] | null {
    return this.#positions.list;
  }

  /** Null before the first whole list. */
  get openOrders(): readonly VenueOrder[] | null {
    return this.#orders.list();
  }

  /** Whether the venue has answered for the account, or the reason why it cannot is known. */
  get isSettled(): boolean {
    return this.#positions.isSettled;
  }

  get areOrdersSettled(): boolean {
    return this.#orders.isSettled;
  }

  /**
   * Reports whether one of these was opened with exactly the credentials of this watch, by an owner whose executions it
   * shows, and the venue has proven them.
   */
  owns(accounts: ResolvedExecution["accounts"]): boolean {
    const { isCredentialed, accountHashes } = this.#parts;
    if (!isCredentialed || !this.#orders.isProven) return false;
    const shown = accountHashes();
    return accounts.some(({ accountHash }) => shown.includes(accountHash));
  }

  coverage(): Coverage {
    const positions = this.#positions;
    const mode = this.#mode;
    return {
      state: this.#stream.isLive ? "LIVE" : positions.readState,
      mode,
      asOf: this.#stream.provenMs ?? positions.asOfMs,
      source: positions.source,
      intervalMs: mode === "poll" ? this.#parts.schedules.positions.intervalMs : null,
      error: positions.shortfall,
    };
  }

  /** Coverage of its open orders, which are read separately: own time, interval and error (watched-orders.ts). */
  ordersCoverage(): Coverage {
    const { intervalMs } = this.#parts.schedules.orders;
    return ordersCoverageOf(this.#orders, { mode: this.#mode, intervalMs, error: this.#positions.error });
  }

  get #mode(): "poll" | "push" {
    return this.#positions.isPolled || !this.#stream.isOpen ? "poll" : "push";
  }

  // ---------------------------------------------------------------- life

  /** Returns false when the account has no room for another listener. */
  listen(listener: AccountListener, wantsOrders: boolean): boolean {
    const wanted = this.#listeners.wantOrders;
    if (!this.#listeners.add(listener, wantsOrders)) return false;
    if (wantsOrders && !wanted) this.#watchOrders();
    return true;
  }

  /** Returns true when it was the last listener. */
  unlisten(listener: AccountListener): boolean {
    this.#listeners.remove(listener);
    if (!this.#listeners.wantOrders) {
      this.#parts.schedules.orders.remove(this.#orders.task);
      this.#orders.forget();
    }
    return this.#listeners.count === 0;
  }

  start(): void {
    if (!this.#stream.open()) this.#poll();
  }

  get hasStream(): boolean {
    return this.#stream.isOpen;
  }

  /** Called when a stream may have become free. */
  promote(): void {
    this.#stream.open();
  }

  emit(change: AccountChange): void {
    if (!this.#isClosed) this.#listeners.emit(change);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.clear();
    this.#stream.close();
    this.#positions.close();
    this.#parts.schedules.orders.remove(this.#orders.task);
    this.#orders.close();
    this.#session.close();
  }

  // ---------------------------------------------------------------- what arrives

  #applyEvent(event: Extract<AccountEvent, { readonly kind: "order" | "fill" }>): void {
    const { wantOrders } = this.#listeners;
    if (event.kind === "order") {
      // Without listeners for orders there is no list to change.
      if (wantOrders && this.#orders.apply(event.order)) this.#listeners.emit(event);
      return;
    }
    this.#positions.noteFill(event);
    if (wantOrders) this.#listeners.emit({ ...event, order: this.#orders.applyFill(event.order) });
  }

  #applyPushed(read: Read<readonly VenuePosition[]>, isNewRun: boolean): void {
    this.#positions.endPolling();
    this.#show(this.#positions.apply(read, "stream"));
    // Polled lists miss fills and ends between two polls; a new list closes that gap.
    if (isNewRun && this.#listeners.wantOrders) this.#watchOrders();
  }

  #poll(): void {
    if (!this.#positions.beginPolling()) return;
    if (this.#listeners.wantOrders) this.#watchOrders();
    this.#show([]);
  }

  /** Reads the list now and then in its interval, whether the account is streamed or polled. */
  #watchOrders(): void {
    const { orders } = this.#parts.schedules;
    if (this.#stream.isLive) {
      this.#orders.follow();
      orders.add(this.#orders.task, true);
    } else if (this.#positions.isPolled) orders.add(this.#orders.task);
  }

  /**
   * Emits a change of coverage, if a subscriber would see a difference (new times alone are none), then the changes of
   * positions.
   */
  #show(changes: readonly PositionChange[]): void {
    if (this.#isClosed) return;
    const { state, mode, source, error } = this.coverage();
    const shown = `${state} ${mode} ${source} ${error?.code ?? ""} ${this.isSettled}`;
    if (shown !== this.#coverageShown) {
      this.#coverageShown = shown;
      this.#listeners.emit({ kind: "coverage" });
    }
    if (changes.length > 0) this.#listeners.emit({ kind: "positions", changes });
  }
}
