/**
 * Room for what runs or is kept at the same time, shared by callers who do not know of each other. One caller has at most
 * a share of it, by default half; where the room has a clock, a caller that nobody else was beside for a minute may have
 * all. Who has more than an equal part among those present and one more leaves the last eighth, so that one who comes
 * finds a place. Callers without a name may have all of it: there is nobody else then.
 *
 * Present is who is inside and, by the clock, who asked or left within the last minute. Places are never taken back: what
 * a lone caller has beyond its share becomes free as it leaves. So a room whose places are kept for long has no clock.
 *
 * Invariant: each `enter` that returned true is followed by one `leave` of the same caller. Bound: no more names than
 * there is room and keys that asked within a minute.
 */
import type { Clock } from "./clock.js";

const PRESENT_MS = 60_000;
const LAST_PART = 1 / 8;

export class SharedRoom {
  readonly max: number;
  readonly #perCallerMax: number;
  /** Left by those who have more than an equal part. */
  readonly #lastPlaces: number;
  readonly #ofCaller = new Map<string, number>();
  readonly #clock: Clock | null;
  /** When each asked or left, ns of the monotonic clock; the one of longest ago is the first. Empty without a clock. */
  readonly #seenNs = new Map<string, number>();
  #count = 0;

  /** `share`: of one caller, which has a single place in any case. */
  constructor(max: number, share = 0.5, clock: Clock | null = null) {
    this.max = max;
    this.#perCallerMax = Math.max(1, Math.floor(max * share));
    this.#lastPlaces = Math.max(1, Math.floor(max * LAST_PART));
    this.#clock = clock;
  }

  get count(): number {
    return this.#count;
  }

  /** `wanted`: places. */
  hasRoom(caller: string | null, wanted = 1): boolean {
    if (caller !== null) this.#see(caller);
    if (this.#count + wanted > this.max) return false;
    if (caller === null) return true;
    const own = (this.#ofCaller.get(caller) ?? 0) + wanted;
    if (own === 1) return true;
    const others = this.#othersOf(caller);
    const isLone = this.#clock !== null && others === 0;
    if (!isLone && own > this.#perCallerMax) return false;
    return own <= this.max / (others + 2) || this.#count + wanted <= this.max - this.#lastPlaces;
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
    this.#see(caller);
  }

  /** Present callers but this one. */
  #othersOf(caller: string): number {
    const present = this.#clock === null ? this.#ofCaller : this.#seenNs;
    return present.has(caller) ? present.size - 1 : present.size;
  }

  #see(caller: string): void {
    if (this.#clock === null) return;
    const nowNs = this.#clock.monoNs();
    this.#seenNs.delete(caller);
    this.#seenNs.set(caller, nowNs);
    for (const [first, seenNs] of this.#seenNs) {
      if (nowNs - seenNs < PRESENT_MS * 1e6) break;
      this.#seenNs.delete(first);
      // One inside is there, however long ago it asked.
      if (this.#ofCaller.has(first)) this.#seenNs.set(first, nowNs);
    }
  }
}
