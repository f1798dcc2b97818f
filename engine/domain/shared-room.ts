/**
 * Room for what runs or is kept at the same time, shared by callers who do not know of each other. One caller has at most
 * a share of it, by default half, so the others always find some. Callers without a name count as one caller, which may
 * have all of it: there is nobody else then.
 *
 * Invariant: each `enter` that returned true is followed by one `leave` of the same caller. Bound: no more names than
 * there is room.
 */
export class SharedRoom {
  readonly max: number;
  readonly #perCallerMax: number;
  readonly #ofCaller = new Map<string, number>();
  #count = 0;

  /** `share`: of one caller, which has a single place in any case. */
  constructor(max: number, share = 0.5) {
    this.max = max;
    this.#perCallerMax = Math.max(1, Math.floor(max * share));
  }

  get count(): number {
    return this.#count;
  }

  /** `wanted`: places. */
  hasRoom(caller: string | null, wanted = 1): boolean {
    if (this.#count + wanted > this.max) return false;
    return caller === null || (this.#ofCaller.get(caller) ?? 0) + wanted <= this.#perCallerMax;
  }

  /** False: there is no room for this caller. */
  enter(caller: string | null): boolean {
    if (!this.hasRoom(caller)) return false;
    this.force(caller);
    return true;
  }

  /** Takes a place whether there is room or not; `leave` gives it back too. */
  force(caller: string | null): void {
    this.#count++;
    if (caller !== null) this.#ofCaller.set(caller, (this.#ofCaller.get(caller) ?? 0) + 1);
  }

  leave(caller: string | null): void {
    this.#count--;
    if (caller === null) return;
    const left = (this.#ofCaller.get(caller) ?? 1) - 1;
    if (left > 0) this.#ofCaller.set(caller, left);
    else this.#ofCaller.delete(caller);
  }
}
