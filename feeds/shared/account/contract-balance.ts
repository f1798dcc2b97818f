/**
 * Orders of ours in one contract, balanced against the moves of its streamed position. Pure.
 *
 *   owed = what our orders filled by their answers − what the position moved since the balance began
 *
 * Invariant: while nobody else trades, the position is what is streamed plus what is owed, whatever frames were lost or are
 * late: the arithmetic needs none of them. So the streamed position is complete when nothing is owed and every order is
 * answered. Who else trades in that time leaves a remainder, and only a read settles it.
 *
 * It begins at a position that was trusted; where it was not (`isTraced` false), nothing is concluded from it, and a read
 * settles it that began surely after the last answer, while no other order was under way.
 */
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";

/** A balanced contract is watched on for so long: later frames put all in doubt by themselves (streamed-reads.ts). */
const KEPT_MS = 3_000;

/** An order that is not answered, or whose answer does not say what it filled. */
interface OpenOrder {
  readonly isBuy: boolean;
  readonly rests: boolean;
  /** Upper bound of what it filled. */
  boundLots: number;
  /** Filled by what was answered, streamed or looked up. */
  sureLots: number;
  /** Filled by what was streamed; null while nothing was. */
  shownLots: number | null;
  /** Sum of the fills that were streamed one by one: states of the order may show the same ones. */
  fillLots: number;
  /** It rests by its answer, which need not say what it filled on arrival: its state is still to be streamed. */
  isResting: boolean;
  /** Its end was answered or streamed: `boundLots` is what it filled. */
  hasEnded: boolean;
  /** Monotonic ms; null while there is no answer. */
  answeredMs: number | null;
}

export class ContractBalance {
  readonly open = new Map<string, OpenOrder>();
  #isTraced: boolean;
  /** Signed lots. */
  #owedLots = 0;
  /** Our fills since it was balanced last. */
  #boughtLots = 0;
  #soldLots = 0;
  /** Monotonic ms of the last thing that an order of ours did. */
  #lastMs: number;
  /** Monotonic ms since which something is known and not shown; null: nothing is. */
  #sinceMs: number | null = null;

  constructor(isTraced: boolean, nowMs: number) {
    this.#isTraced = isTraced;
    this.#lastMs = nowMs;
  }

  get isBalanced(): boolean {
    return this.#isTraced && this.open.size === 0 && this.#owedLots === 0;
  }

  /** Nothing late can unbalance it any more. */
  isOver(nowMs: number): boolean {
    return this.isBalanced && nowMs - this.#lastMs > KEPT_MS;
  }

  isOwedBy(untilMs: number): boolean {
    return this.#sinceMs !== null && this.#sinceMs <= untilMs;
  }

  untrace(nowMs: number): void {
    this.#isTraced = false;
    this.#lastMs = nowMs;
    this.#sinceMs ??= nowMs;
  }

  sent(clientId: string, order: Pick<OpenOrder, "isBuy" | "rests" | "boundLots">, nowMs: number): void {
    this.open.set(clientId, {
      ...order,
      sureLots: 0,
      shownLots: null,
      fillLots: 0,
      isResting: false,
      hasEnded: false,
      answeredMs: null,
    });
    this.#lastMs = nowMs;
  }

  answered(clientId: string, order: Pick<VenueOrder, "filledLots" | "status"> | null, nowMs: number): void {
    const own = this.open.get(clientId);
    if (own === undefined) return;
    own.answeredMs = nowMs;
    this.#lastMs = nowMs;
    if (order !== null) {
      own.sureLots = Math.max(own.sureLots, order.filledLots);
      own.isResting = own.rests && isWorking(order.status);
      // What the stream showed already is newer than any answer.
      if (!own.hasEnded && isEnd(order.status)) own.boundLots = order.filledLots;
      own.hasEnded ||= isEnd(order.status);
    }
    this.#settle(clientId, own, nowMs);
  }

  /** The state of an order is streamed. */
  shown(clientId: string, { filledLots, status }: Pick<VenueOrder, "filledLots" | "status">, nowMs: number): void {
    const own = this.open.get(clientId);
    if (own === undefined) return;
    own.shownLots = Math.max(own.shownLots ?? 0, filledLots);
    own.sureLots = Math.max(own.sureLots, own.shownLots);
    if (isEnd(status)) own.boundLots = filledLots;
    own.hasEnded ||= isEnd(status);
    this.#settle(clientId, own, nowMs);
  }

  moved(signedLots: number, nowMs: number): void {
    this.#owedLots -= signedLots;
    // An order that is not answered may have done it.
    if (this.open.size === 0) this.#note(nowMs);
  }

  /** It had no effect. */
  forget(clientId: string, nowMs: number): void {
    if (this.open.delete(clientId)) this.#note(nowMs);
  }

  /**
   * A read agrees with what is held: it shows all that was answered until then, monotonic ms. Returns true when it shows all
   * orders of ours there are, so that the balance is over. Else what is owed for longer is not explained by our orders.
   */
  agreed(untilMs: number, nowMs: number): boolean {
    let isWhole = this.#lastMs <= untilMs;
    for (const { answeredMs } of this.open.values()) isWhole &&= answeredMs !== null && answeredMs <= untilMs;
    if (!isWhole && this.isOwedBy(untilMs)) {
      this.#isTraced = false;
      this.#sinceMs = nowMs;
    }
    return isWhole;
  }

  /**
   * What is held of these at least, whatever our orders that are under way do; null where that is not known: also where more
   * is missing than orders of ours can have moved, so that somebody else took it.
   */
  leastOf(position: VenuePosition): number | null {
    const isLong = position.direction === "LONG";
    const surely = this.#isTraced ? this.surelyOf(position) : null;
    if (surely === null) return null;
    let takenLots = 0;
    // Added and not shown yet; or taken, shown, and not answered yet.
    let oursLots = isLong ? this.#boughtLots : this.#soldLots;
    for (const { boundLots, isBuy, sureLots } of this.open.values()) {
      if (isBuy === isLong) continue;
      takenLots += Math.max(0, boundLots - sureLots);
      oursLots += boundLots;
    }
    const missingLots = isLong ? this.#owedLots : -this.#owedLots;
    return missingLots > oursLots ? null : surely.qtyLots - takenLots;
  }

  /** The position with what our orders surely filled and no move shows yet; null where nothing is left of it. */
  surelyOf(position: VenuePosition): VenuePosition | null {
    if (!this.#isTraced) return position;
    const lots = this.#surelyOwedLots();
    return changedBy(position, position.direction === "LONG" ? lots : -lots);
  }

  /** What is left of it without what our orders surely took and no move shows yet; null where nothing is. */
  leftOf(position: VenuePosition): VenuePosition | null {
    const isLong = position.direction === "LONG";
    const owedLots = this.#surelyOwedLots();
    const tracedLots = isLong ? -owedLots : owedLots;
    // What is held may include them already, or not.
    const untracedLots = (isLong ? this.#soldLots : this.#boughtLots) + sureLotsOf(this.open, !isLong);
    const takenLots = this.#isTraced ? tracedLots : untracedLots;
    return takenLots <= 0 ? position : changedBy(position, -takenLots);
  }

  #surelyOwedLots(): number {
    return this.#owedLots + sureLotsOf(this.open, true) - sureLotsOf(this.open, false);
  }

  /** Of one that rests, once its state was streamed: what it fills from then on is any fill of the account. */
  #settle(clientId: string, own: OpenOrder, nowMs: number): void {
    if (own.answeredMs === null) return;
    if (own.hasEnded || (own.isResting && own.shownLots === own.sureLots)) {
      const filledLots = own.hasEnded ? own.boundLots : own.sureLots;
      this.open.delete(clientId);
      this.#owedLots += own.isBuy ? filledLots : -filledLots;
      if (own.isBuy) this.#boughtLots += filledLots;
      else this.#soldLots += filledLots;
    }
    this.#note(nowMs);
  }

  #note(nowMs: number): void {
    if (!this.isBalanced) {
      this.#sinceMs ??= nowMs;
      return;
    }
    this.#sinceMs = null;
    this.#boughtLots = 0;
    this.#soldLots = 0;
  }
}

/** By those of one side, as far as that is known. */
function sureLotsOf(open: ReadonlyMap<string, OpenOrder>, isBuy: boolean): number {
  let lots = 0;
  for (const own of open.values()) if (own.isBuy === isBuy) lots += own.sureLots;
  return lots;
}

/** UNKNOWN is no end. */
function isEnd(status: VenueOrder["status"]): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
}

function isWorking(status: VenueOrder["status"]): boolean {
  return status === "OPEN" || status === "PARTIALLY_FILLED";
}

/** Returns null when nothing is left. */
function changedBy(position: VenuePosition, lots: number): VenuePosition | null {
  const qtyLots = position.qtyLots + lots;
  if (lots === 0) return position;
  return qtyLots > 0 ? { ...position, qtyLots, unrealizedPnl: null } : null;
}
