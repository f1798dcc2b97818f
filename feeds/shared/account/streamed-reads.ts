/**
 * May the streamed positions of an account be used in place of a live read, and as of when are they proven? One policy for
 * all rooms, pure state: a room notes what it sends, what it is answered, what its streams show and what it reads.
 *
 *   order sent ──► in doubt ──► answered, and its position moved by what our orders filled in all ──► trusted
 *                     │                                                                          ▲
 *                     └── not streamed for SURELY_LATER_MS: overdue ── a read begun surely later ┘
 *
 * Invariants: they are trusted only while the connection lives (connection-life.ts), nothing is in doubt as a whole, and
 * orders of ours that the streams do not show yet leave what is wanted whatever they did (unconfirmed-fills.ts): a
 * position's true size is never below what is held less what those may have taken. `asOfMs` is that of the newest whole
 * picture, never of a look at a clock, and not of a pong: a connection that lives may have lost frames.
 *
 * Frames that a venue does not number can be lost unseen where they report somebody else's orders: answers that turn on
 * positions are therefore read (verified-reads.ts), and a read that contradicts the streams puts them in doubt.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Read } from "../../../engine/ports.js";
import { monoMs } from "../net/weight-window.js";
import type { ConnectionLife } from "./connection-life.js";
import { signedChanges } from "./held-positions.js";
import { type SentOrder, UnconfirmedFills } from "./unconfirmed-fills.js";
import { UnconfirmedOrders } from "./unconfirmed-orders.js";

/**
 * A read shows an order for certain only when it began this long after its answer: the venues' reads lag by up to 1.1 s
 * (measured on order look-ups), and takers are delayed by up to 0.3 s.
 */
export const SURELY_LATER_MS = 1_500;
/** An order that is answered and neither streamed nor read for so long: the stream is not LIVE. */
export const UNSHOWN_AFTER_MS = 3_000;
/** A frame that comes so long after what it reports proves that others may be as late. */
const LATE_AFTER_MS = 3_000;

/** Positions that may be used in place of a live read. */
export type LiveRead = Extract<Read<readonly VenuePosition[]>, { readonly ok: true }>;

/** What a caller wants of one position; a whole position's exact size cannot be wanted so. */
export interface WantedLots {
  /** As the positions' `nativeSymbol`. */
  readonly coin: string;
  readonly lots: number;
}

export class StreamedReads {
  /** Of the order events alone: a read of positions says nothing of open orders. */
  readonly orders: UnconfirmedOrders;
  /** Of the positions. */
  readonly fills: UnconfirmedFills;
  readonly #clock: Clock;
  /** Monotonic ms of the last thing that orders alone cannot judge; null once a state surely newer was adopted. */
  #doubtMs: number | null = null;
  /** Monotonic ms at which frames may have been missed last; null once a state surely newer was adopted. */
  #missedMs: number | null = null;
  readonly #life: ConnectionLife;
  #isFollowed = true;
  #asOfMs = 0;
  #moveCount = 0;
  /** Monotonic ms of the last one. */
  #movedMs: number | null = null;

  constructor(clock: Clock, life: ConnectionLife) {
    this.#clock = clock;
    this.#life = life;
    this.orders = new UnconfirmedOrders(clock);
    this.fills = new UnconfirmedFills(clock);
  }

  // ---------------------------------------------------------------- orders of ours

  sent(order: SentOrder): void {
    const isTrusted = this.#isFollowed && this.#doubtMs === null && this.#missedMs === null;
    if (!this.fills.sent(order, isTrusted)) this.doubt();
  }

  /** The venue has taken it; `order` null: its answer does not say what it filled. */
  answered(clientId: string, order: Pick<VenueOrder, "filledLots" | "status"> | null): void {
    if (!this.fills.answered(clientId, order) && this.#doubtMs !== null) this.doubtPositions();
  }

  /** Its outcome is unknown; or it was refused, which says that the position may not be what was held. */
  unclear(clientId: string, isRefused = false): void {
    if (isRefused) {
      this.fills.forget(clientId);
      this.doubtPositions();
      return;
    }
    this.fills.unclear(clientId);
    this.doubt();
  }

  /** Something of ours went out or was answered, or frames were lost, and no order shows what that changed. */
  doubt(): void {
    this.doubtPositions();
    this.orders.doubt();
  }

  /** The same where it can have changed no order. */
  doubtPositions(): void {
    this.#doubtMs = monoMs(this.#clock);
  }

  // ---------------------------------------------------------------- what is streamed

  /** The state of an order. */
  told(order: VenueOrder): void {
    this.orders.told(order);
    this.fills.shown(order);
  }

  /**
   * False until a first whole picture is held: what changes before then is nobody's move, and that picture may include orders
   * that are under way, or not.
   */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
  }

  /**
   * The connection is gone, and frames with it: a read that begins soon may lag behind them. What such a read makes LIVE is
   * as old as it says, and replaces no read.
   */
  missed(): void {
    this.#missedMs = monoMs(this.#clock);
  }

  /** What is held changed. Called before or after the orders that did it. */
  moved(before: readonly VenuePosition[], after: readonly VenuePosition[]): void {
    for (const [coin, lots] of signedChanges(before, after)) {
      this.#moveCount++;
      this.#movedMs = monoMs(this.#clock);
      if (this.#isFollowed) this.fills.moved(coin, lots);
    }
  }

  /** A whole picture as of then, wall ms of ours, streamed or read; clock offsets have fractions, and it is never newer. */
  proven(asOfMs: number): void {
    const nowMs = this.#clock.wallMs();
    // What is held of a time still to come proves nothing: this machine's clock was set back.
    const beforeMs = this.#asOfMs <= nowMs ? this.#asOfMs : 0;
    this.#asOfMs = Math.max(beforeMs, Math.floor(Math.min(asOfMs, nowMs)));
  }

  /** A frame reports something that happened then, wall ms of ours. One that is late puts all in doubt. */
  happened(atMs: number, lateAfterMs: number = LATE_AFTER_MS): void {
    if (this.#clock.wallMs() - atMs > lateAfterMs) this.doubt();
  }

  // ---------------------------------------------------------------- what is read

  /** A read begins; returns what `agreed` takes. */
  begin(): number {
    return monoMs(this.#clock);
  }

  /** What is held is, or was made, what a read says that began then: it shows all that was answered surely before. */
  agreed(beganMs: number): void {
    const untilMs = beganMs - SURELY_LATER_MS;
    if (this.#doubtMs !== null && this.#doubtMs <= untilMs) this.#doubtMs = null;
    if (this.#missedMs !== null && this.#missedMs <= untilMs) this.#missedMs = null;
    this.fills.agreed(untilMs);
  }

  // ---------------------------------------------------------------- what may be believed

  /** Wall ms of the newest whole picture. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  get isAlive(): boolean {
    return this.#life.isAlive;
  }

  /** Grows with each position that moves. */
  get moveCount(): number {
    return this.#moveCount;
  }

  /** Monotonic ms of the last move of a position; null: none was. */
  get movedMs(): number | null {
    return this.#movedMs;
  }

  get isPending(): boolean {
    return this.#doubtMs !== null || this.#missedMs !== null || this.fills.isPending;
  }

  /** Is the venue to be asked, because the streams have not shown what is surely done? */
  get isOverdue(): boolean {
    const untilMs = monoMs(this.#clock) - SURELY_LATER_MS;
    const wasBy = (atMs: number | null): boolean => atMs !== null && atMs <= untilMs;
    return wasBy(this.#missedMs) || wasBy(this.#doubtMs) || this.fills.isOwedBy(untilMs);
  }

  /** The venue was asked, or could not be, and still nothing showed it. */
  get isUnshown(): boolean {
    const untilMs = monoMs(this.#clock) - UNSHOWN_AFTER_MS;
    return (this.#doubtMs !== null && this.#doubtMs <= untilMs) || this.fills.isOwedBy(untilMs);
  }

  /** May these positions be used in place of a live read? `wanted` null: exact sizes count. */
  isTrusted(positions: readonly VenuePosition[], wanted: WantedLots | null): boolean {
    if (!this.isAlive || this.#doubtMs !== null || this.#missedMs !== null) return false;
    if (!this.fills.isPending) return true;
    return wanted !== null && this.fills.coversAtLeast(positions, wanted.coin, wanted.lots);
  }

  /** These positions, each as it surely is, where they may be used in place of a live read of `wanted`; else null. */
  trusted(positions: readonly VenuePosition[], wanted: WantedLots | null): readonly VenuePosition[] | null {
    if (!this.isTrusted(positions, wanted)) return null;
    if (!this.fills.isPending) return positions;
    return positions.map((position) => this.fills.surelyOf(position)).filter((position) => position !== null);
  }
}

/** Did a position move so shortly before a read that began then, or since, that the read may be older than the move? */
export function mayPrecedeMove({ movedMs }: StreamedReads, beganMs: number, withinMs = SURELY_LATER_MS): boolean {
  return movedMs !== null && movedMs > beganMs - withinMs;
}

/**
 * What is held at least, of what is streamed and what was read. The venues' reads lag: one that comes soon after a
 * position moved may be older than the move, and takes nothing of it away but what orders of ours surely took. What is
 * left of it a reduce-only order finds.
 */
export function heldAtLeast(
  reads: StreamedReads,
  streamed: readonly VenuePosition[],
  read: readonly VenuePosition[],
): readonly VenuePosition[] {
  if (!reads.isAlive || !mayPrecedeMove(reads, reads.begin(), 2 * SURELY_LATER_MS)) return read;
  const isSame = (left: VenuePosition, right: VenuePosition): boolean =>
    left.nativeSymbol === right.nativeSymbol && left.direction === right.direction;
  const larger = streamed
    .map((own) => reads.fills.leftOf(own))
    .filter((own) => own !== null)
    .filter((own) => !read.some((other) => isSame(own, other) && other.qtyLots >= own.qtyLots));
  return [...larger, ...read.filter((other) => !larger.some((own) => isSame(own, other)))];
}

/** Of an account as it is streamed, grows with each position that moves; null where it is not streamed. */
export function streamedVersion(accounts: readonly { readonly reads: StreamedReads }[]): number | null {
  return accounts.length === 0 ? null : accounts.reduce((sum, { reads }) => sum + reads.moveCount, 0);
}
