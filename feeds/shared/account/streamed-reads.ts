/**
 * May the streamed positions of an account stand for a live read, and as of when are they proven? One policy for all
 * rooms, pure state: a room tells what it sends, what it is answered, what its streams tell and what it reads.
 *
 *   order sent ──► in doubt ──► answered, and its end, its fills and the moves of its position streamed ──► trusted
 *                     │                                                                              ▲
 *                     └── not streamed for SURELY_LATER_MS: overdue ── a read begun surely later ────┘
 *
 * Invariants: they stand only while the connection spoke within SILENT_AFTER_MS, nothing is in doubt as a whole, and
 * the orders of ours that are not told of yet leave what is wanted whatever they did (a position's true size is never
 * below what is held less what those may have taken). `asOfMs` is that of the newest whole picture, never of a look at a
 * clock, and not of a pong: a connection that lives may have lost frames.
 *
 * Frames that a venue does not number can be lost unseen when they tell of somebody else's orders: answers that turn on
 * positions are therefore read (verified-reads.ts), and a read that contradicts the streams puts them in doubt.
 *
 * A stranger's order that moves a position the same way in the same moment counts for one of ours where the end of ours
 * is told too: then a close may be asked for more than there is until the picture of ours comes, and reduce-only makes
 * it the smaller fill it is.
 *
 * Bounds: MAX_ORDERS in doubt; one more puts all in doubt.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Side, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Read } from "../../../engine/ports.js";
import { UnconfirmedOrders } from "./unconfirmed-orders.js";

/**
 * A read tells of an order only when it began this long after its answer: the venues' reads lag by up to 1.1 s
 * (measured on order look-ups), and takers are delayed by up to 0.3 s.
 */
export const SURELY_LATER_MS = 1_500;
/** Heard nothing for so long, pongs included: not proven alive. */
export const SILENT_AFTER_MS = 6_000;
/** An order that is answered and neither streamed nor read for so long: the stream is not LIVE. */
export const UNSHOWN_AFTER_MS = 3_000;
/** A frame that comes so long after what it tells of proves that others may be as late. */
const LATE_AFTER_MS = 3_000;
/** Answered within seconds and streamed within a block or two: far more than a signer can have under way. */
const MAX_ORDERS = 1_024;

/** Positions that may stand for a live read. */
export type LiveRead = Extract<Read<readonly VenuePosition[]>, { readonly ok: true }>;

/** What a caller wants of one position; a whole position's exact size cannot be wanted so. */
export interface WantedLots {
  /** As the positions' `nativeSymbol`. */
  readonly coin: string;
  readonly lots: number;
}

export interface SentOrder {
  /** The client id that the venue sees. */
  readonly clientId: string;
  readonly coin: string;
  readonly side: Side;
  readonly qtyLots: number;
  /** What does not fill at once waits. */
  readonly rests: boolean;
}

/** One connection, and whether it lives: shared by the accounts that are streamed over it. */
export class ConnectionLife {
  readonly #clock: Clock;
  /** Monotonic ms. */
  #heardMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It said something, a pong at least. */
  noteFrame(): void {
    this.#heardMs = this.#clock.monoNs() / 1e6;
  }

  lost(): void {
    this.#heardMs = null;
  }

  get isAlive(): boolean {
    return this.#heardMs !== null && this.#clock.monoNs() / 1e6 - this.#heardMs <= SILENT_AFTER_MS;
  }
}

interface OwnOrder {
  readonly coin: string;
  readonly isBuy: boolean;
  /** Upper bound of what it filled. */
  boundLots: number;
  /** It fills no more: `boundLots` is what it filled. */
  isFinal: boolean;
  readonly rests: boolean;
  /** It rests, and its answer said so: what it fills from here on is any fill of the account. */
  isResting: boolean;
  /** What its answer said. */
  answeredLots: number;
  /** Its state was streamed. */
  isShown: boolean;
  shownLots: number;
  movedLots: number;
  /** Monotonic ms; null while there is no answer. */
  answeredMs: number | null;
}

export class StreamedReads {
  /** Of the order events alone: a read of positions says nothing of open orders. */
  readonly orders: UnconfirmedOrders;
  readonly #clock: Clock;
  /** By client id, in the order they were sent. */
  readonly #orders = new Map<string, OwnOrder>();
  /** Monotonic ms of the last thing that orders alone cannot judge; null once a state surely newer was adopted. */
  #doubtMs: number | null = null;
  readonly #life: ConnectionLife;
  #asOfMs = 0;
  #moveCount = 0;
  /** Monotonic ms of the last one. */
  #movedMs: number | null = null;

  constructor(clock: Clock, life: ConnectionLife) {
    this.#clock = clock;
    this.#life = life;
    this.orders = new UnconfirmedOrders(clock);
  }

  // ---------------------------------------------------------------- orders of ours

  sent({ clientId, coin, rests, side, qtyLots }: SentOrder): void {
    if (this.#orders.size >= MAX_ORDERS) {
      this.doubt();
      return;
    }
    this.#orders.set(clientId, {
      coin,
      isBuy: side === "BUY",
      boundLots: qtyLots,
      isFinal: false,
      rests,
      isResting: false,
      answeredLots: 0,
      isShown: false,
      shownLots: 0,
      movedLots: 0,
      answeredMs: null,
    });
  }

  /** The venue has taken it; null: it does not say its outcome. */
  answered(clientId: string, order: Pick<VenueOrder, "filledLots" | "status"> | null): void {
    const own = this.#orders.get(clientId);
    if (own === undefined) {
      // Not counted, or told of altogether before its answer.
      if (this.#doubtMs !== null) this.doubtPositions();
      return;
    }
    own.answeredMs = this.#nowMs();
    if (order !== null) this.#learn(own, order);
    this.#settle(clientId, own);
  }

  /** The venue was asked about it: what it says to have filled is surely done. The streams are to tell of it all the same. */
  looked(order: Pick<VenueOrder, "filledLots" | "venueClientOrderId">): void {
    const { filledLots, venueClientOrderId } = order;
    const own = venueClientOrderId === null ? undefined : this.#orders.get(venueClientOrderId);
    if (own !== undefined) own.answeredLots = Math.max(own.answeredLots, filledLots);
  }

  /** It never left this machine. */
  notSent(clientId: string): void {
    this.#orders.delete(clientId);
  }

  /** Its outcome is unknown; or it was refused, which says that the position may not be what was held. */
  unclear(clientId: string, isRefused = false): void {
    this.#orders.delete(clientId);
    if (isRefused) this.doubtPositions();
    else this.doubt();
  }

  /** Something of ours went out or was answered, or frames were lost, and no order tells what that changed. */
  doubt(): void {
    this.doubtPositions();
    this.orders.doubt();
  }

  /** The same where it can have changed no order. */
  doubtPositions(): void {
    this.#doubtMs = this.#nowMs();
  }

  // ---------------------------------------------------------------- what is streamed

  /** The state of an order. */
  told(order: VenueOrder): void {
    this.orders.told(order);
    const { venueClientOrderId, filledLots, status } = order;
    const own = venueClientOrderId === null ? undefined : this.#orders.get(venueClientOrderId);
    if (venueClientOrderId === null || own === undefined) return;
    own.isShown = true;
    own.shownLots = Math.max(own.shownLots, filledLots);
    if (isEnd(status)) {
      own.boundLots = filledLots;
      own.isFinal = true;
    }
    this.#settle(venueClientOrderId, own);
  }

  /** One fill, each told once: for streams that tell fills and not the states of orders. */
  filled(clientId: string | null, qtyLots: number): void {
    const own = clientId === null ? undefined : this.#orders.get(clientId);
    if (clientId === null || own === undefined) return;
    own.isShown = true;
    own.shownLots += qtyLots;
    this.#settle(clientId, own);
  }

  /** What is held changed. Told before or after the orders that did it. */
  moved(before: readonly VenuePosition[], after: readonly VenuePosition[]): void {
    for (const [coin, lots] of signedChanges(before, after)) {
      this.#moveCount++;
      this.#movedMs = this.#nowMs();
      this.#move(coin, lots);
    }
  }

  /** A whole picture as of then, wall ms of ours, streamed or read; clock offsets have fractions, and it is never newer. */
  proven(asOfMs: number): void {
    const nowMs = this.#clock.wallMs();
    // What is held of a time still to come proves nothing: this machine's clock was set back.
    const beforeMs = this.#asOfMs <= nowMs ? this.#asOfMs : 0;
    this.#asOfMs = Math.max(beforeMs, Math.floor(Math.min(asOfMs, nowMs)));
  }

  /** A frame tells of something that happened then, wall ms of ours. One that is late puts all in doubt. */
  happened(atMs: number, lateAfterMs: number = LATE_AFTER_MS): void {
    if (this.#clock.wallMs() - atMs > lateAfterMs) this.doubt();
  }

  // ---------------------------------------------------------------- what is read

  /** A read begins; what `agreed` is told of it. */
  begin(): number {
    return this.#nowMs();
  }

  /** What is held is, or was made, what a read says that began then: it tells of all that was answered surely before. */
  agreed(beganMs: number): void {
    const untilMs = beganMs - SURELY_LATER_MS;
    if (this.#doubtMs !== null && this.#doubtMs <= untilMs) this.#doubtMs = null;
    /** By coin: signed lots that orders of ours filled and no move was seen for. */
    const hiddenLots = new Map<string, number>();
    for (const [clientId, own] of this.#orders) {
      if (own.answeredMs === null || own.answeredMs > untilMs) continue;
      this.#orders.delete(clientId);
      const unmovedLots = unmovedOf(own);
      hiddenLots.set(own.coin, (hiddenLots.get(own.coin) ?? 0) + (own.isBuy ? unmovedLots : -unmovedLots));
    }
    // What is held has them all the same: a picture netted them against others of ours, whose moves that were.
    for (const [coin, lots] of hiddenLots) this.#move(coin, -lots);
  }

  // ---------------------------------------------------------------- what may be believed

  /** Wall ms of the newest whole picture. */
  get asOfMs(): number {
    return this.#asOfMs;
  }

  get isAlive(): boolean {
    return this.#life.isAlive;
  }

  /** Monotonic ms since which the order events may not tell all; a list asked for surely later does. Null: they tell all. */
  ordersDoubtMs(): number | null {
    return this.orders.sinceMs();
  }

  /** Grows with each position that moves. */
  get moveCount(): number {
    return this.#moveCount;
  }

  /** So lately that a read of now need not tell of it. */
  get hasMovedLately(): boolean {
    return this.#movedMs !== null && this.#nowMs() - this.#movedMs < 2 * SURELY_LATER_MS;
  }

  get isPending(): boolean {
    return this.#doubtMs !== null || this.#orders.size > 0;
  }

  /** Is the venue to be asked, because the streams have not told of what is surely done? */
  get isOverdue(): boolean {
    return this.#isUnsettledFor(SURELY_LATER_MS);
  }

  /** The venue was asked, or could not be, and still nothing told of it. */
  get isUnshown(): boolean {
    return this.#isUnsettledFor(UNSHOWN_AFTER_MS);
  }

  /** May these positions stand for a live read? `wanted` null: exact sizes count. */
  stand(positions: readonly VenuePosition[], wanted: WantedLots | null): boolean {
    return this.isAlive && this.#doubtMs === null && this.#coversAtLeast(positions, wanted);
  }

  /** These positions where they may stand for a live read of `wanted`, each as it surely is; else null. */
  standing(positions: readonly VenuePosition[], wanted: WantedLots | null): readonly VenuePosition[] | null {
    if (!this.stand(positions, wanted)) return null;
    if (this.#orders.size === 0) return positions;
    return positions.map((position) => this.#surelyOf(position)).filter((position) => position !== null);
  }

  /**
   * What is left of a streamed position without what orders of ours surely took of it, by their answers, by looks at them
   * or by their own frames, and no move of it was streamed for: less what others surely added. Null means nothing.
   */
  leftOf(position: VenuePosition): VenuePosition | null {
    if (!isCountable(position)) return position;
    const { direction, nativeSymbol } = position;
    let takenLots = 0;
    for (const own of this.#orders.values()) {
      if (own.coin !== nativeSymbol) continue;
      const unmovedLots = Math.max(0, sureLots(own) - own.movedLots);
      takenLots += own.isBuy === (direction === "LONG") ? -unmovedLots : unmovedLots;
    }
    return takenLots <= 0 ? position : changedBy(position, -takenLots);
  }

  /**
   * The same with what they surely added. Per side as a whole: a move may have been counted for another order of ours than
   * the one that did it. Null when nothing is left.
   */
  #surelyOf(position: VenuePosition): VenuePosition | null {
    if (!isCountable(position)) return position;
    const unmovedLots = { bought: 0, sold: 0 };
    for (const own of this.#orders.values())
      if (own.coin === position.nativeSymbol)
        unmovedLots[own.isBuy ? "bought" : "sold"] += sureLots(own) - own.movedLots;
    const boughtLots = Math.max(0, unmovedLots.bought) - Math.max(0, unmovedLots.sold);
    return changedBy(position, position.direction === "LONG" ? boughtLots : -boughtLots);
  }

  // ----------------------------------------------------------------

  #coversAtLeast(positions: readonly VenuePosition[], wanted: WantedLots | null): boolean {
    if (this.#orders.size === 0) return true;
    if (wanted === null) return false;
    const { coin, lots } = wanted;
    let hasOrders = false;
    for (const own of this.#orders.values()) hasOrders ||= own.coin === coin;
    if (!hasOrders) return true;
    const held = positions.filter(({ nativeSymbol }) => nativeSymbol === coin);
    const [only] = held;
    // With both sides of a hedge held nobody says which is wanted.
    if (only === undefined || held.length > 1) return false;
    return only.qtyLots - this.#takenLots(only) >= Math.max(1, lots);
  }

  /** What orders of ours may have taken of it and the streams have not shown. */
  #takenLots({ direction, nativeSymbol }: VenuePosition): number {
    let takenLots = 0;
    for (const own of this.#orders.values())
      if (own.coin === nativeSymbol && own.isBuy !== (direction === "LONG")) takenLots += missingLots(own);
    return takenLots;
  }

  #learn(own: OwnOrder, { filledLots, status }: Pick<VenueOrder, "filledLots" | "status">): void {
    // What the stream told already is newer than any answer.
    if (own.isFinal) return;
    own.isFinal = isEnd(status);
    own.isResting = own.rests && (status === "OPEN" || status === "PARTIALLY_FILLED");
    own.answeredLots = filledLots;
    if (own.isFinal) own.boundLots = filledLots;
  }

  #move(coin: string, signedLots: number): void {
    let leftLots = Math.abs(signedLots);
    for (const [clientId, own] of this.#orders) {
      if (leftLots <= 0) return;
      if (own.coin !== coin || own.isBuy !== signedLots > 0) continue;
      const lots = Math.min(leftLots, missingLots(own));
      leftLots -= lots;
      own.movedLots += lots;
      this.#settle(clientId, own);
    }
  }

  #settle(clientId: string, own: OwnOrder): void {
    if (own.answeredMs === null) return;
    const { answeredLots, boundLots, isFinal, isResting, isShown, movedLots, shownLots } = own;
    const isTold = isFinal ? shownLots >= boundLots : isResting && isShown && shownLots >= answeredLots;
    if (!isTold || movedLots < (isFinal ? boundLots : shownLots)) return;
    this.#orders.delete(clientId);
    // Beyond what it filled in all the move was another's.
    const otherLots = isFinal ? movedLots - boundLots : 0;
    if (otherLots > 0) this.#move(own.coin, own.isBuy ? otherLots : -otherLots);
  }

  #isUnsettledFor(ms: number): boolean {
    const untilMs = this.#nowMs() - ms;
    if (this.#doubtMs !== null && this.#doubtMs <= untilMs) return true;
    for (const { answeredMs } of this.#orders.values()) if (answeredMs !== null && answeredMs <= untilMs) return true;
    return false;
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }
}

/** What it filled at least. */
function sureLots({ answeredLots, shownLots }: OwnOrder): number {
  return Math.max(answeredLots, shownLots);
}

/** What it filled and no move was seen for; negative: moves of others were counted for it. */
function unmovedOf(own: OwnOrder): number {
  return own.isFinal ? own.boundLots - own.movedLots : Math.max(0, sureLots(own) - own.movedLots);
}

/** Of a hedge nobody says which side an order was for: it may have opened the other. */
function isCountable({ positionSide, uncounted }: VenuePosition): boolean {
  return uncounted === undefined && positionSide !== "LONG" && positionSide !== "SHORT";
}

/** Null when nothing is left. */
function changedBy(position: VenuePosition, lots: number): VenuePosition | null {
  const qtyLots = position.qtyLots + lots;
  if (lots === 0) return position;
  return qtyLots > 0 ? { ...position, qtyLots, unrealizedPnl: null } : null;
}

function missingLots({ boundLots, movedLots }: OwnOrder): number {
  return Math.max(0, boundLots - movedLots);
}

/** Not UNKNOWN, which says that nobody could tell. */
function isEnd(status: VenueOrder["status"]): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
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
  if (!reads.isAlive || !reads.hasMovedLately) return read;
  const isSame = (left: VenuePosition, right: VenuePosition): boolean =>
    left.nativeSymbol === right.nativeSymbol && left.direction === right.direction;
  const larger = streamed
    .map((own) => reads.leftOf(own))
    .filter((own) => own !== null)
    .filter((own) => !read.some((other) => isSame(own, other) && other.qtyLots >= own.qtyLots));
  return [...larger, ...read.filter((other) => !larger.some((own) => isSame(own, other)))];
}

/** Of an account as it is streamed, grows with each position that moves; null where it is not streamed. */
export function streamedVersion(accounts: readonly { readonly reads: StreamedReads }[]): number | null {
  return accounts.length === 0 ? null : accounts.reduce((sum, { reads }) => sum + reads.moveCount, 0);
}

/** Do these pictures hold the same sizes? */
export function sameSizes(left: readonly VenuePosition[], right: readonly VenuePosition[]): boolean {
  const sizes = (positions: readonly VenuePosition[]): string =>
    positions
      .filter(({ qtyLots, uncounted }) => qtyLots > 0 || uncounted !== undefined)
      .map(({ direction, nativeSymbol, qtyLots, uncounted }) => `${nativeSymbol} ${direction} ${uncounted ?? qtyLots}`)
      .sort()
      .join();
  return sizes(left) === sizes(right);
}

function signedChanges(before: readonly VenuePosition[], after: readonly VenuePosition[]): ReadonlyMap<string, number> {
  const changes = new Map<string, number>();
  const add = ({ direction, nativeSymbol, qtyLots }: VenuePosition, sign: number): void => {
    const lots = direction === "LONG" ? qtyLots : -qtyLots;
    changes.set(nativeSymbol, (changes.get(nativeSymbol) ?? 0) + sign * lots);
  };
  for (const position of before) add(position, -1);
  for (const position of after) add(position, 1);
  for (const [coin, lots] of changes) if (lots === 0) changes.delete(coin);
  return changes;
}
