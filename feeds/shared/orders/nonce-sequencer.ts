/**
 * Nonces per signer: `next = max(now, last + 1)`, one at a time, never twice, also across crashes. Numbers come out
 * of blocks that NonceReservations made durable, the next block reserved before the present one runs out, so an order
 * waits for a write only on a signer's first use (or its first after a pause longer than a block).
 *
 * What a process has reserved when it is killed is lost, and the next one starts behind it. So that restarts do not outrun
 * the clock, it reserves no further ahead than it has lived: its first block is short, and they grow with it.
 *
 * Invariant: for one signer the numbers handed out strictly increase while it is remembered, and no number is handed
 * out twice ever: a forgotten signer starts in a fresh block, which overlaps none before it.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { NonceReservations } from "../../../engine/ports.js";

export interface NonceSequencerOptions {
  readonly clock: Clock;
  readonly reservations: NonceReservations;
  /** Nonces per millisecond of time: 1 where the venue counts ms, 1000 where µs. */
  readonly unitsPerMs: number;
  /** Longest block in ms of nonce time. After a crash numbers run ahead of the clock by at most one and a half of it. */
  readonly blockMs: number;
  /**
   * First block of a signer, from which they grow as it is remembered longer; default `blockMs`. After a crash numbers run
   * ahead by about as long as the life before lasted, and by this at least; lives longer than it do not add up.
   */
  readonly firstBlockMs?: number;
  /** A number may lie so far behind the venue's clock whose reservation took longer than its block; default 0. */
  readonly maxBehindMs?: number;
  /** A number may run this far ahead of the venue's clock; beyond it the venue would refuse, so `next` does. */
  readonly maxAheadMs: number;
  /**
   * Venue wall clock minus ours; while that is in doubt the least that it may be: a number that was too high is never
   * taken back, and all that follow are higher.
   */
  readonly clockOffsetMs: () => number;
  /** Signers remembered; the least recently used without waiters is forgotten first. */
  readonly maxSigners?: number;
}

export type NonceResult =
  | { readonly ok: true; readonly nonce: number }
  /** `AHEAD`: numbers ran too far ahead of the clock (try after `retryAfterMs`). `STORE`: the reservation could not be made durable. */
  | { readonly ok: false; readonly problem: "AHEAD" | "STORE"; readonly retryAfterMs: number | null };

interface Block {
  readonly from: number;
  readonly until: number;
}

interface SignerState {
  /** Monotonic ms of its first use. */
  readonly sinceMs: number;
  last: number;
  /** In use; its unused start is skipped when time moves on. */
  current: Block | null;
  /** Reserved ahead. */
  following: Block | null;
  pending: Promise<void> | null;
  waiterCount: number;
  /** What the last reservation took, where that is much of a block; else 0. */
  slowMs: number;
}

const DEFAULT_MAX_SIGNERS = 4096;
/** One reservation serves thousands of waiters; needing this many in a row means that the store gives unusable blocks. */
const MAX_RESERVATIONS_PER_CALL = 4;

export class NonceSequencer {
  readonly #options: NonceSequencerOptions;
  readonly #maxSigners: number;
  /** In order of use, oldest first. */
  readonly #signers = new Map<string, SignerState>();

  constructor(options: NonceSequencerOptions) {
    const shortestMs = Math.min(options.blockMs, options.firstBlockMs ?? options.blockMs);
    if (!(shortestMs * options.unitsPerMs >= 1)) throw new RangeError("a nonce block must hold a number");
    this.#options = options;
    this.#maxSigners = options.maxSigners ?? DEFAULT_MAX_SIGNERS;
  }

  get signerCount(): number {
    return this.#signers.size;
  }

  /** The signer's next number. Settles without waiting for a write when a block is at hand. */
  async next(signer: string): Promise<NonceResult> {
    const state = this.#touch(signer);
    state.waiterCount++;
    try {
      for (let attempt = 0; attempt <= MAX_RESERVATIONS_PER_CALL; attempt++) {
        const taken = this.#take(signer, state, attempt > 0);
        if (taken !== null) return taken;
        if (attempt === MAX_RESERVATIONS_PER_CALL) break;
        await this.#reserve(signer, state);
      }
    } catch {
      // The store's own error is its own to log; an order without a durable nonce must not be sent.
      return { ok: false, problem: "STORE", retryAfterMs: null };
    } finally {
      state.waiterCount--;
    }
    return { ok: false, problem: "STORE", retryAfterMs: null };
  }

  /** Reserves ahead for a signer that is likely to send soon. Never rejects: `next` will meet the same fault and say it. */
  async warm(signer: string): Promise<void> {
    const state = this.#touch(signer);
    if (this.#candidateIn(state, this.#wanted(state)) !== null) return;
    await this.#reserve(signer, state).catch(() => undefined);
  }

  /**
   * The venue named a number it remembers (`duplicate nonce N`, `nonce too low N < M`): the signer goes on above
   * it, unless it lies beyond what the venue itself could accept, which would lock the signer out.
   */
  raise(signer: string, seenNonce: number): void {
    if (!Number.isSafeInteger(seenNonce)) return;
    if (seenNonce > this.#now() + this.#options.maxAheadMs * this.#options.unitsPerMs) return;
    const state = this.#touch(signer);
    state.last = Math.max(state.last, seenNonce);
  }

  #now(): number {
    const { clock, clockOffsetMs, unitsPerMs } = this.#options;
    return Math.round((clock.wallMs() + clockOffsetMs()) * unitsPerMs);
  }

  #wanted(state: SignerState): number {
    return Math.max(this.#now(), state.last + 1);
  }

  /** Null means a reservation is needed. `hasWaited`: for one, just now. */
  #take(signer: string, state: SignerState, hasWaited: boolean): NonceResult | null {
    const nonce = this.#candidateIn(state, this.#wanted(state)) ?? (hasWaited ? this.#late(state) : null);
    if (nonce === null) return null;
    const aheadUnits = nonce - this.#now();
    const { maxAheadMs, unitsPerMs } = this.#options;
    if (aheadUnits > maxAheadMs * unitsPerMs) {
      return { ok: false, problem: "AHEAD", retryAfterMs: Math.ceil(aheadUnits / unitsPerMs - maxAheadMs) };
    }
    if (state.following !== null && nonce >= state.following.from) {
      state.current = state.following;
      state.following = null;
    }
    state.last = nonce;
    this.#reserveAhead(signer, state);
    return { ok: true, nonce };
  }

  /** The smallest number ≥ wanted that lies in a reserved block. */
  #candidateIn(state: SignerState, wanted: number): number | null {
    for (const block of [state.current, state.following]) {
      if (block === null) continue;
      const candidate = Math.max(wanted, block.from);
      if (candidate < block.until) return candidate;
    }
    return null;
  }

  /** Of a block that was over before its write was done: the next one would be too, while the store is as slow. */
  #late({ current, last }: SignerState): number | null {
    if (current === null) return null;
    const { maxBehindMs = 0, unitsPerMs } = this.#options;
    const candidate = Math.max(current.from, last + 1);
    return candidate < current.until && this.#now() - candidate <= maxBehindMs * unitsPerMs ? candidate : null;
  }

  /** With half of the block behind, the next one is reserved while orders go on. */
  #reserveAhead(signer: string, state: SignerState): void {
    const { current } = state;
    if (current === null || state.following !== null || state.pending !== null) return;
    if (state.last < current.from + (current.until - current.from) / 2) return;
    // A failure here delays nothing: the call that runs out of numbers tries again and reports it.
    this.#reserve(signer, state).catch(() => undefined);
  }

  #reserve(signer: string, state: SignerState): Promise<void> {
    state.pending ??= this.#reserveNow(signer, state).finally(() => {
      state.pending = null;
    });
    return state.pending;
  }

  async #reserveNow(signer: string, state: SignerState): Promise<void> {
    const { blockMs, clock, firstBlockMs = blockMs, maxAheadMs, reservations, unitsPerMs } = this.#options;
    const floor = Math.max(this.#wanted(state), state.current?.until ?? 0);
    const startMs = clock.monoNs() / 1e6;
    const grownMs = Math.min(blockMs, Math.max(firstBlockMs, startMs - state.sinceMs));
    // A block that is over before its write is done is none: behind a slow store the next one is longer.
    const spanMs = Math.max(grownMs, Math.min(2 * state.slowMs, maxAheadMs / 2));
    const block = await reservations.reserve(signer, floor, Math.ceil(spanMs * unitsPerMs));
    const tookMs = clock.monoNs() / 1e6 - startMs;
    state.slowMs = tookMs > grownMs / 2 ? tookMs : 0;
    if (!isUsable(block, floor)) throw new RangeError("nonce reservation is not a range above its floor");
    // Time may have left the current block behind while the write was on its way.
    if (state.current === null || this.#candidateIn({ ...state, following: null }, this.#wanted(state)) === null) {
      state.current = block;
      state.following = null;
    } else {
      state.following = block;
    }
  }

  #touch(signer: string): SignerState {
    let state = this.#signers.get(signer);
    if (state === undefined) {
      const sinceMs = this.#options.clock.monoNs() / 1e6;
      state = { sinceMs, last: -1, current: null, following: null, pending: null, waiterCount: 0, slowMs: 0 };
    } else {
      this.#signers.delete(signer);
    }
    this.#signers.set(signer, state);
    if (this.#signers.size > this.#maxSigners) this.#forgetOldest(signer);
    return state;
  }

  /** One with orders waiting stays, so that their order is kept; then the bound is exceeded by those alone. */
  #forgetOldest(keep: string): void {
    for (const [signer, state] of this.#signers) {
      if (signer === keep || state.waiterCount > 0 || state.pending !== null) continue;
      this.#signers.delete(signer);
      return;
    }
  }
}

function isUsable(block: Block, floor: number): boolean {
  return (
    Number.isSafeInteger(block.from) &&
    Number.isSafeInteger(block.until) &&
    block.from >= floor &&
    block.until > block.from
  );
}
