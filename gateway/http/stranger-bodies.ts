// hot path
/**
 * Room for bodies whose sender is not known before the body is there: a key that was not proven from this address yet.
 * Whoever writes any text as a key can send such a body as slowly as it likes, so they may not take all of the room: half
 * of it is for known callers, whose exits then go on, and one address has an eighth.
 *
 * Invariant: each `enter` that returned true is followed by one `leave`.
 */
export class StrangerBodies {
  readonly #totalMax: number;
  readonly #perAddressMax: number;
  /** By the bucket of the address. */
  readonly #ofAddress = new Map<object, number>();
  #count = 0;

  constructor(openBodiesMax: number) {
    this.#totalMax = Math.max(1, Math.floor(openBodiesMax / 2));
    this.#perAddressMax = Math.max(1, Math.floor(openBodiesMax / 8));
  }

  get count(): number {
    return this.#count;
  }

  /** False: there is no room. */
  enter(address: object): boolean {
    const count = this.#ofAddress.get(address) ?? 0;
    if (this.#count >= this.#totalMax || count >= this.#perAddressMax) return false;
    this.#ofAddress.set(address, count + 1);
    this.#count++;
    return true;
  }

  leave(address: object): void {
    const left = (this.#ofAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
    this.#count--;
  }
}
