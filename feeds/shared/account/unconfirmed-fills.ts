/**
 * Orders of ours whose fills the streamed positions do not show yet: what each filled at least and at most, and what of it
 * was seen to move a position. Pure state.
 *
 *   sent ──► answered, its end and its fills streamed, its position moved as far ──► confirmed, and forgotten
 *
 * Frames come in any order: a move may come before or after the orders that did it, and is counted for those that may
 * have done it, oldest first. A stranger's order that moves a position the same way in the same moment counts for one of
 * ours that has ended: then a close may be asked for more than there is until the next picture, and reduce-only makes it the smaller
 * fill it is.
 *
 * The first picture of an account may include an order that was under way, or not: such an order is untraced. Its contract
 * is not trusted until moves beyond those of other orders confirm it, or a read agrees that began surely after its answer.
 * An order that goes out beside it may have been counted its moves, and is confirmed by such a read alone.
 *
 * Bounds: MAX_ORDERS; one more is not counted, and `sent` returns false.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Side, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { monoMs } from "../net/weight-window.js";
import {
  changedBy,
  isCountable,
  isEnd,
  learn,
  maybeTakenLots,
  missingLots,
  type OwnOrder,
  stepsBesideOf,
  sureLots,
  unmovedOf,
} from "./own-order.js";

/** Answered within seconds and streamed within a block or two: far more than a signer can have under way. */
const MAX_ORDERS = 1_024;

export interface SentOrder {
  /** The client id that the venue sees. */
  readonly clientId: string;
  readonly coin: string;
  readonly side: Side;
  readonly qtyLots: number;
  /** What does not fill at once waits. */
  readonly rests: boolean;
}

export class UnconfirmedFills {
  readonly #clock: Clock;
  /** By client id, in the order they were sent. */
  readonly #orders = new Map<string, OwnOrder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#orders.size;
  }

  /** Returns false when there are too many, and this one is not counted. */
  sent({ clientId, coin, rests, side, qtyLots }: SentOrder): boolean {
    if (this.#orders.size >= MAX_ORDERS) return false;
    const stepsBeside = stepsBesideOf(this.#orders.values(), coin);
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
      isUntraced: false,
      stepsBeside,
    });
    return true;
  }

  /** The account is followed from here on, by a picture that may include any of the orders under way. */
  untrace(): void {
    for (const own of this.#orders.values()) own.isUntraced = true;
  }

  /** The venue has taken it; `order` null: its answer does not say what it filled. Returns false when it is not counted, or confirmed already. */
  answered(clientId: string, order: Pick<VenueOrder, "filledLots" | "status"> | null): boolean {
    const own = this.#orders.get(clientId);
    if (own === undefined) return false;
    own.answeredMs = monoMs(this.#clock);
    if (order !== null) learn(own, order);
    this.#settle(clientId, own);
    return true;
  }

  /** A look-up at the venue: what it reports as filled is surely done. The streams are still to show it. */
  looked(order: Pick<VenueOrder, "filledLots" | "venueClientOrderId">): void {
    const { filledLots, venueClientOrderId } = order;
    const own = venueClientOrderId === null ? undefined : this.#orders.get(venueClientOrderId);
    if (own !== undefined) own.answeredLots = Math.max(own.answeredLots, filledLots);
  }

  /** It had no effect, or an unknown one. */
  forget(clientId: string): void {
    this.#orders.delete(clientId);
  }

  /** The streams showed the state of an order. */
  shown({ filledLots, status, venueClientOrderId }: VenueOrder): void {
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

  /** One fill, each shown once: for streams that show fills and not the states of orders. */
  filled(clientId: string | null, qtyLots: number): void {
    const own = clientId === null ? undefined : this.#orders.get(clientId);
    if (clientId === null || own === undefined) return;
    own.isShown = true;
    own.shownLots += qtyLots;
    this.#settle(clientId, own);
  }

  /** A position moved by so many signed lots. */
  moved(coin: string, signedLots: number): void {
    let leftLots = Math.abs(signedLots);
    // An untraced one may have moved it before, and all others have not.
    for (const isUntraced of [false, true])
      for (const [clientId, own] of this.#orders) {
        if (leftLots <= 0) return;
        if (own.isUntraced !== isUntraced || own.coin !== coin || own.isBuy !== signedLots > 0) continue;
        const lots = Math.min(leftLots, missingLots(own));
        leftLots -= lots;
        own.movedLots += lots;
        this.#settle(clientId, own);
      }
  }

  /** A read agrees with what is held: it shows all that was answered until then, monotonic ms. */
  agreed(untilMs: number): void {
    /** By coin: signed lots that orders of ours filled and no move was seen for. */
    const hiddenLots = new Map<string, number>();
    for (const [clientId, own] of this.#orders) {
      if (own.answeredMs === null || own.answeredMs > untilMs) continue;
      this.#orders.delete(clientId);
      // The first picture may have included it, and no later one have hidden it.
      if (own.isUntraced) continue;
      const unmovedLots = unmovedOf(own);
      hiddenLots.set(own.coin, (hiddenLots.get(own.coin) ?? 0) + (own.isBuy ? unmovedLots : -unmovedLots));
    }
    // What is held includes them: a picture netted them against others of ours, and the moves counted for those.
    for (const [coin, lots] of hiddenLots) this.moved(coin, -lots);
  }

  /** Was any of them answered by then, monotonic ms? */
  hasAnsweredBy(untilMs: number): boolean {
    for (const { answeredMs } of this.#orders.values()) if (answeredMs !== null && answeredMs <= untilMs) return true;
    return false;
  }

  /** Do these positions hold so many lots of a contract, whatever orders of ours have done to it? */
  coversAtLeast(positions: readonly VenuePosition[], coin: string, lots: number): boolean {
    const ours = [...this.#orders.values()].filter((own) => own.coin === coin);
    if (ours.length === 0) return true;
    if (ours.some(({ isUntraced, stepsBeside }) => isUntraced || stepsBeside > 0)) return false;
    const held = positions.filter(({ nativeSymbol }) => nativeSymbol === coin);
    const [only] = held;
    // With both sides of a hedge held it is not known which is wanted.
    if (only === undefined || held.length > 1) return false;
    return only.qtyLots - maybeTakenLots(ours, only) >= Math.max(1, lots);
  }

  /** The position as it surely is, null where nothing is left of it: with what orders of ours filled and no move shows yet. */
  surelyOf(position: VenuePosition): VenuePosition | null {
    if (!isCountable(position)) return position;
    // Per side as a whole: a move may be counted for another order of ours than the one that did it.
    const unmovedLots = { bought: 0, sold: 0 };
    for (const own of this.#orders.values())
      if (own.coin === position.nativeSymbol)
        unmovedLots[own.isBuy ? "bought" : "sold"] += sureLots(own) - own.movedLots;
    const boughtLots = Math.max(0, unmovedLots.bought) - Math.max(0, unmovedLots.sold);
    return changedBy(position, position.direction === "LONG" ? boughtLots : -boughtLots);
  }

  /**
   * What is left of a streamed position without what orders of ours surely took of it, and no move shows yet: less what
   * others surely added. Returns null when nothing is left.
   */
  leftOf(position: VenuePosition): VenuePosition | null {
    if (!isCountable(position)) return position;
    const { direction, nativeSymbol } = position;
    let takenLots = 0;
    for (const own of this.#orders.values()) {
      if (own.coin !== nativeSymbol) continue;
      const unmovedLots = Math.max(0, sureLots(own) - own.movedLots);
      if (own.isBuy !== (direction === "LONG")) takenLots += unmovedLots;
      // What is held may include the untraced one already.
      else if (!own.isUntraced) takenLots -= unmovedLots;
    }
    return takenLots <= 0 ? position : changedBy(position, -takenLots);
  }

  #settle(clientId: string, own: OwnOrder): void {
    if (own.answeredMs === null || (own.stepsBeside > 0 && !(own.isFinal && own.boundLots === 0))) return;
    const { answeredLots, boundLots, isFinal, isResting, isShown, movedLots, shownLots } = own;
    const isTold = isFinal ? shownLots >= boundLots : isResting && isShown && shownLots >= answeredLots;
    if (!isTold || movedLots < (isFinal ? boundLots : shownLots)) return;
    this.#orders.delete(clientId);
    // Beyond what it filled in all the move was another's.
    const otherLots = isFinal ? movedLots - boundLots : 0;
    if (otherLots > 0) this.moved(own.coin, own.isBuy ? otherLots : -otherLots);
  }
}
