/**
 * What orders of ours may have taken from an account's positions that its streams have not told of: at most each one's
 * size while its answer is out, then what the answer says it filled, less the fills that were streamed. Pure state.
 *
 * Invariant: `lotsOf` is never below what is missing, so a position's true size lies between what is held less that and
 * what is held. Only orders that reduce are counted here: nothing else keeps that bound.
 *
 * Bounds: MAX_DOUBTS orders; one more is not counted, which its caller is told.
 */

/** Answered within seconds and streamed within a block or two: far more than a signer can have under way. */
const MAX_DOUBTS = 1_024;

interface Doubt {
  readonly coin: string;
  /** Upper bound of what it filled. */
  boundLots: number;
  toldLots: number;
  /** Wall ms; 0 while there is no answer. */
  answeredAtMs: number;
}

export class OrderDoubts {
  /** By the client id that the venue sees. */
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

  /** What it filled by the venue's word; 0 when it never left. False: the order was not counted. */
  answered(clientId: string, filledLots: number, nowMs: number): boolean {
    const doubt = this.#doubts.get(clientId);
    if (doubt === undefined) return false;
    doubt.boundLots = filledLots;
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

  /** Its outcome is unknown: somebody else judges it from here. */
  drop(clientId: string): void {
    this.#doubts.delete(clientId);
  }

  /** A whole state tells of all that was answered by then. */
  forgetAnswered(untilMs: number): void {
    for (const [clientId, doubt] of this.#doubts)
      if (doubt.answeredAtMs > 0 && doubt.answeredAtMs <= untilMs) this.#doubts.delete(clientId);
  }

  lotsOf(coin: string): number {
    let lots = 0;
    for (const doubt of this.#doubts.values())
      if (doubt.coin === coin) lots += Math.max(0, doubt.boundLots - doubt.toldLots);
    return lots;
  }

  #settle(clientId: string, doubt: Doubt): void {
    if (doubt.answeredAtMs > 0 && doubt.toldLots >= doubt.boundLots) this.#doubts.delete(clientId);
  }
}
