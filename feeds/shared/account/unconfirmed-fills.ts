/**
 * Orders of ours whose fills the streamed positions do not show yet, balanced for each contract (contract-balance.ts). Pure
 * state.
 *
 *   sent ──► answered, and its position moved by as much as all our orders filled ──► confirmed
 *
 * Nothing is counted for one order or another: what our orders filled in all is compared with how far the position moved in
 * all. A stranger's order in that time leaves a remainder, and a read settles it. An order that goes out while the position is
 * not trusted, or before the first picture of an account, leaves its contract untrusted until a read settles it.
 *
 * Bounds: MAX_ORDERS under way and MAX_CONTRACTS; one more is not counted, and `sent` returns false.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Side, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { monoMs } from "../net/weight-window.js";
import { ContractBalance } from "./contract-balance.js";

/** Answered within seconds and streamed within a block or two: far more than a signer can have under way. */
const MAX_ORDERS = 1_024;
const MAX_CONTRACTS = 1_024;

export interface SentOrder {
  /** The client id that the venue sees. */
  readonly clientId: string;
  readonly coin: string;
  readonly side: Side;
  readonly qtyLots: number;
  /** What does not fill at once waits. */
  readonly rests: boolean;
  /** It names a side of a hedge: what it does to the sum of both says nothing of either. */
  readonly isHedged?: boolean;
}

export class UnconfirmedFills {
  readonly #clock: Clock;
  readonly #byCoin = new Map<string, ContractBalance>();
  /** Where each order that is under way is counted, by client id. */
  readonly #byClientId = new Map<string, ContractBalance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Is there a contract whose streamed position may lack what orders of ours did? */
  get isPending(): boolean {
    for (const balance of this.#byCoin.values()) if (!balance.isBalanced) return true;
    return false;
  }

  /** Returns false when there are too many, and this one is not counted. `isTrusted`: the position is as it is streamed. */
  sent({ clientId, coin, isHedged, qtyLots, rests, side }: SentOrder, isTrusted: boolean): boolean {
    if (this.#byClientId.size >= MAX_ORDERS) return false;
    const nowMs = monoMs(this.#clock);
    let balance = this.#balanceOf(coin);
    if (balance === null) {
      if (this.#byCoin.size >= MAX_CONTRACTS)
        for (const [other, kept] of this.#byCoin) if (kept.isOver(nowMs)) this.#byCoin.delete(other);
      if (this.#byCoin.size >= MAX_CONTRACTS) return false;
      balance = new ContractBalance(isTrusted, nowMs);
      this.#byCoin.set(coin, balance);
    }
    if (isHedged === true) balance.untrace(nowMs);
    balance.sent(clientId, { isBuy: side === "BUY", rests, boundLots: qtyLots }, nowMs);
    this.#byClientId.set(clientId, balance);
    return true;
  }

  /** The venue has taken it; `order` null: its answer does not say what it filled. Returns false when it is not counted. */
  answered(clientId: string, order: Pick<VenueOrder, "filledLots" | "status"> | null): boolean {
    const balance = this.#byClientId.get(clientId);
    if (balance === undefined) return false;
    balance.answered(clientId, order, monoMs(this.#clock));
    if (!balance.open.has(clientId)) this.#byClientId.delete(clientId);
    return true;
  }

  /** A look-up at the venue: what it reports as filled is surely done. The streams are still to show it. */
  looked({ filledLots, venueClientOrderId }: Pick<VenueOrder, "filledLots" | "venueClientOrderId">): void {
    const id = venueClientOrderId ?? "";
    const own = this.#byClientId.get(id)?.open.get(id);
    if (own !== undefined) own.sureLots = Math.max(own.sureLots, filledLots);
  }

  /** It had no effect. */
  forget(clientId: string): void {
    this.#byClientId.get(clientId)?.forget(clientId, monoMs(this.#clock));
    this.#byClientId.delete(clientId);
  }

  /** What it did is not known: neither is its position until a read settles it. */
  unclear(clientId: string): void {
    const balance = this.#byClientId.get(clientId);
    this.forget(clientId);
    balance?.untrace(monoMs(this.#clock));
  }

  /** The streams showed the state of an order. */
  shown(order: Pick<VenueOrder, "filledLots" | "status" | "venueClientOrderId">): void {
    const { venueClientOrderId } = order;
    const balance = venueClientOrderId === null ? undefined : this.#byClientId.get(venueClientOrderId);
    if (venueClientOrderId === null || balance === undefined) return;
    balance.shown(venueClientOrderId, order, monoMs(this.#clock));
    if (!balance.open.has(venueClientOrderId)) this.#byClientId.delete(venueClientOrderId);
  }

  /** One fill, each shown once: for streams that show fills, whatever they show of the states of orders. */
  filled(clientId: string | null, qtyLots: number): void {
    const balance = clientId === null ? undefined : this.#byClientId.get(clientId);
    const own = clientId === null ? undefined : balance?.open.get(clientId);
    if (clientId === null || balance === undefined || own === undefined) return;
    own.fillLots += qtyLots;
    balance.shown(clientId, { filledLots: own.fillLots, status: "PARTIALLY_FILLED" }, monoMs(this.#clock));
    if (!balance.open.has(clientId)) this.#byClientId.delete(clientId);
  }

  /** A position moved by so many signed lots. */
  moved(coin: string, signedLots: number): void {
    this.#balanceOf(coin)?.moved(signedLots, monoMs(this.#clock));
  }

  /** A read agrees with what is held: it shows all that was answered until then, monotonic ms. */
  agreed(untilMs: number): void {
    for (const [coin, balance] of this.#byCoin)
      if (balance.agreed(untilMs, monoMs(this.#clock))) {
        this.#byCoin.delete(coin);
        for (const clientId of balance.open.keys()) this.#byClientId.delete(clientId);
      }
  }

  /** Is something known since then, monotonic ms, that no move showed? */
  isOwedBy(untilMs: number): boolean {
    for (const balance of this.#byCoin.values()) if (balance.isOwedBy(untilMs)) return true;
    return false;
  }

  /** Do these positions hold so many lots of a contract, whatever orders of ours have done to it? */
  coversAtLeast(positions: readonly VenuePosition[], coin: string, lots: number): boolean {
    const balance = this.#balanceOf(coin);
    if (balance === null || balance.isBalanced) return true;
    const held = positions.filter(({ nativeSymbol }) => nativeSymbol === coin);
    const [only] = held;
    // With both sides of a hedge held it is not known which is wanted.
    if (only === undefined || held.length > 1 || !isCountable(only)) return false;
    const leastLots = balance.leastOf(only);
    return leastLots !== null && leastLots >= Math.max(1, lots);
  }

  /** The position as it surely is, null where nothing is left of it: with what orders of ours filled and no move shows yet. */
  surelyOf(position: VenuePosition): VenuePosition | null {
    const balance = isCountable(position) ? this.#balanceOf(position.nativeSymbol) : null;
    return balance === null ? position : balance.surelyOf(position);
  }

  /**
   * What is left of a streamed position without what orders of ours surely took of it, and no move shows yet: less what
   * others surely added. Returns null when nothing is left.
   */
  leftOf(position: VenuePosition): VenuePosition | null {
    const balance = isCountable(position) ? this.#balanceOf(position.nativeSymbol) : null;
    return balance === null ? position : balance.leftOf(position);
  }

  /** Null where no order of ours is counted, or nothing that is late can unbalance it. */
  #balanceOf(coin: string): ContractBalance | null {
    const balance = this.#byCoin.get(coin) ?? null;
    if (balance?.isOver(monoMs(this.#clock)) !== true) return balance;
    this.#byCoin.delete(coin);
    return null;
  }
}

/** Of a hedge it is not known which side an order was for: it may have opened the other. */
function isCountable({ positionSide, uncounted }: VenuePosition): boolean {
  return uncounted === undefined && positionSide !== "LONG" && positionSide !== "SHORT";
}
