// hot path
/**
 * Signatures of accepted writes, so that none is accepted twice. In memory only; what a restart forgets is refused by
 * the high-water mark (high-water-mark.ts).
 *
 * A signature is kept until its own window has passed: timestamp + receive window + 1 s. Signatures are grouped by the
 * second of their timestamp, and a group goes as a whole, so a write costs one entry of a set and nothing else.
 *
 * ```
 * key → second of the timestamp → { signatures, greatest timestamp, when the last of them expires }
 * ```
 *
 * Two things could bring a forgotten signature back:
 * - The clock is set back, and its timestamp is in the window again. While the clock is behind where it has been,
 *   timestamps up to the greatest forgotten one of the key are stale.
 * - There is no room. A key over its bound forgets its own earliest seconds and from then on refuses every timestamp up
 *   to them. So a flood by one key shortens the windows of that key alone: fresh writes of it go on, and nothing of
 *   another key is forgotten. When all keys together are over their bound, the one with the most pays.
 */

/** Signatures of one key: 200 trades and 200 exits a second fill the longest window with 24,800. */
export const SEEN_PER_KEY_MAX = 32_768;
/** Of all keys, at some 150 bytes each. */
export const SEEN_MAX = 1_048_576;
/** A group is kept a little longer than its window says: a timestamp at its very end is still accepted. */
const KEPT_AFTER_MS = 1_000;
/** Keys that write nothing any more are looked at this often. */
const SWEEP_MS = 10_000;

export interface ReplayBounds {
  readonly perKey: number;
  readonly total: number;
}

/** Signatures whose timestamps are in one second. */
interface Group {
  readonly signatures: Set<string>;
  lastTsMs: number;
  expiresAtMs: number;
}

interface KeyWindow {
  /** By second of the timestamp. */
  readonly groups: Map<number, Group>;
  count: number;
  /** When groups were last looked through. */
  sweptAtMs: number;
  /** Greatest timestamp among those whose window has passed; -1: none. */
  forgottenTsMs: number;
  /** Greatest timestamp among those that were forgotten before it had. */
  droppedTsMs: number;
}

export type Sight = "new" | "seen" | "stale";

export class ReplayWindow {
  readonly #bounds: ReplayBounds;
  readonly #keys = new Map<string, KeyWindow>();
  #count = 0;
  #sweptAtMs = 0;
  /** The latest that the wall clock has been. */
  #latestMs = 0;

  constructor(bounds: ReplayBounds = { perKey: SEEN_PER_KEY_MAX, total: SEEN_MAX }) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#count;
  }

  /** The timestamp is within its window by `nowMs`. "new": it is remembered, and the next sight of it is "seen". */
  admit(keyId: string, signature: string, tsMs: number, recvWindowMs: number, nowMs: number): Sight {
    this.#latestMs = Math.max(this.#latestMs, nowMs);
    this.#sweepAll(nowMs);
    const window = this.#windowOf(keyId);
    this.#sweep(window, nowMs);
    const second = Math.floor(tsMs / 1_000);
    let group = window.groups.get(second);
    if (group?.signatures.has(signature)) return "seen";
    if (tsMs <= window.droppedTsMs) return "stale";
    if (nowMs < this.#latestMs && tsMs <= window.forgottenTsMs) return "stale";
    this.#makeRoom(window);
    if (tsMs <= window.droppedTsMs) return "stale";
    if (group === undefined || !window.groups.has(second)) {
      group = { signatures: new Set(), lastTsMs: tsMs, expiresAtMs: 0 };
      window.groups.set(second, group);
    }
    group.signatures.add(signature);
    group.lastTsMs = Math.max(group.lastTsMs, tsMs);
    group.expiresAtMs = Math.max(group.expiresAtMs, tsMs + recvWindowMs + KEPT_AFTER_MS);
    window.count++;
    this.#count++;
    return "new";
  }

  /** For a key that is revoked: nothing is accepted of it any more. */
  forget(keyId: string): void {
    const window = this.#keys.get(keyId);
    if (window === undefined) return;
    this.#count -= window.count;
    this.#keys.delete(keyId);
  }

  #windowOf(keyId: string): KeyWindow {
    let window = this.#keys.get(keyId);
    if (window === undefined) {
      window = { groups: new Map(), count: 0, sweptAtMs: 0, forgottenTsMs: -1, droppedTsMs: -1 };
      this.#keys.set(keyId, window);
    }
    return window;
  }

  #sweepAll(nowMs: number): void {
    if (nowMs < this.#sweptAtMs + SWEEP_MS && nowMs >= this.#sweptAtMs) return;
    this.#sweptAtMs = nowMs;
    for (const window of this.#keys.values()) if (window.count > 0) this.#sweep(window, nowMs);
  }

  /** Looks through the groups, some sixty at most, once a second. */
  #sweep(window: KeyWindow, nowMs: number): void {
    if (nowMs < window.sweptAtMs + 1_000 && nowMs >= window.sweptAtMs) return;
    window.sweptAtMs = nowMs;
    for (const [second, group] of window.groups) {
      if (nowMs <= group.expiresAtMs) continue;
      window.forgottenTsMs = Math.max(window.forgottenTsMs, group.lastTsMs);
      this.#remove(window, second, group);
    }
  }

  #makeRoom(window: KeyWindow): void {
    if (window.count >= this.#bounds.perKey) this.#drop(window);
    if (this.#count >= this.#bounds.total) this.#drop(this.#largest(window));
  }

  /** Forgets the earlier half of the seconds of a key, at least one. */
  #drop(window: KeyWindow): void {
    const seconds = [...window.groups.keys()].sort((left, right) => left - right);
    for (const second of seconds.slice(0, Math.ceil(seconds.length / 2))) {
      const group = window.groups.get(second);
      if (group === undefined) continue;
      window.droppedTsMs = Math.max(window.droppedTsMs, group.lastTsMs);
      this.#remove(window, second, group);
    }
  }

  #remove(window: KeyWindow, second: number, group: Group): void {
    window.groups.delete(second);
    window.count -= group.signatures.size;
    this.#count -= group.signatures.size;
  }

  #largest(first: KeyWindow): KeyWindow {
    let largest = first;
    for (const window of this.#keys.values()) if (window.count > largest.count) largest = window;
    return largest;
  }
}
