/**
 * What orders of ours may have taken from an account's positions that its streams have not told of: at most each one's
 * size while its end is not known, then what it filled, less what was streamed. Pure state.
 *
 * Invariant: `lotsOf` is never below what is missing, so a position's true size lies between what is held less that and
 * what is held. Only orders that reduce are counted here: nothing else keeps that bound.
 *
 * Bounds: MAX_DOUBTS orders; one more is not counted, which its caller is told.
 */
import type { VenuePosition } from "../../engine/domain/position.js";

/** Answered within seconds and streamed within a block or two: far more than a signer can have under way. */
const MAX_DOUBTS = 1_024;

/** What a caller wants of one position; a whole position's exact size cannot be wanted so. */
export interface WantedLots {
  /** As the positions' `nativeSymbol`. */
  readonly coin: string;
  readonly lots: number;
}

interface Doubt {
  readonly coin: string;
  /** Upper bound of what it filled. */
  boundLots: number;
  toldLots: number;
  /** Wall ms; 0 while there is no answer. */
  answeredAtMs: number;
}

export class OrderDoubts {
  /** By the client id that the venue sees, in the order they were sent. */
  readonly #doubts = new Map<string, Doubt>();

  get size(): number {
    return this.#doubts.size;
  }

  /** An order goes out. False: too many are under way. */
  sent(clientId: string, coin: string, qtyLots: number): boolean {
    if (this.#doubts.size >= MAX_DOUBTS) return false;
    this.#doubts.set(clientId, { coin, boundLots: qtyLots, toldLots: 0, answeredAtMs: 0 });
    return true;
  }

  /**
   * The venue has answered; null: nothing of what it filled yet. Else at most `filledLots`, 0 when it never left. False:
   * the order is not counted (any more).
   */
  answered(clientId: string, filledLots: number | null, nowMs: number): boolean {
    const doubt = this.#doubts.get(clientId);
    if (doubt === undefined) return false;
    if (filledLots !== null) doubt.boundLots = filledLots;
    doubt.answeredAtMs = nowMs;
    this.#settle(clientId, doubt);
    return true;
  }

  /** A fill was streamed; each is told once. */
  told(clientId: string | null, qtyLots: number): void {
    const doubt = clientId === null ? undefined : this.#doubts.get(clientId);
    if (clientId === null || doubt === undefined) return;
    doubt.toldLots += qtyLots;
    this.#settle(clientId, doubt);
  }

  /**
   * For streams that tell positions and not whose fills they are: a position became smaller. Whichever of our orders it
   * was, so much less is missing; which one is settled by it makes no difference to the sum.
   */
  shrunk(coin: string, qtyLots: number): void {
    let leftLots = qtyLots;
    for (const [clientId, doubt] of this.#doubts) {
      if (leftLots <= 0) return;
      if (doubt.coin !== coin) continue;
      const lots = Math.min(leftLots, Math.max(0, doubt.boundLots - doubt.toldLots));
      leftLots -= lots;
      doubt.toldLots += lots;
      this.#settle(clientId, doubt);
    }
  }

  /** Its outcome is unknown: somebody else judges it from here. */
  drop(clientId: string): void {
    this.#doubts.delete(clientId);
  }

  /** A whole state tells of all that was answered by then. */
  forgetAnswered(untilMs: number): void {
    for (const [clientId, doubt] of this.#doubts)
      if (doubt.answeredAtMs > 0 && doubt.answeredAtMs <= untilMs) this.#doubts.delete(clientId);
  }

  /** Was any of them answered by then, and is not told of yet? */
  hasAnswered(untilMs: number): boolean {
    for (const { answeredAtMs } of this.#doubts.values()) if (answeredAtMs > 0 && answeredAtMs <= untilMs) return true;
    return false;
  }

  lotsOf(coin: string): number {
    let lots = 0;
    for (const doubt of this.#doubts.values())
      if (doubt.coin === coin) lots += Math.max(0, doubt.boundLots - doubt.toldLots);
    return lots;
  }

  /** Do `positions` leave what is wanted whatever these orders did? Null: exact sizes are wanted. */
  leaves(positions: readonly VenuePosition[], wanted: WantedLots | null): boolean {
    if (this.#doubts.size === 0) return true;
    if (wanted === null) return false;
    const doubtLots = this.lotsOf(wanted.coin);
    if (doubtLots === 0) return true;
    const held = positions.find((position) => position.nativeSymbol === wanted.coin);
    return held !== undefined && held.qtyLots - doubtLots >= Math.max(1, wanted.lots);
  }

  #settle(clientId: string, doubt: Doubt): void {
    if (doubt.answeredAtMs > 0 && doubt.toldLots >= doubt.boundLots) this.#doubts.delete(clientId);
  }
}
