/**
 * Positions of addresses at a client-signed venue, read again with each block of its chain while somebody listens. Every
 * address is read once, however many listen to it.
 *
 * Invariants: no read begins while one of the same address runs. What was read stays shown, with its time, while reads fail.
 * Bounds: `addressesMax` addresses, half of them for one key; IN_FLIGHT_MAX reads at once; LOOKS_PER_MINUTE and a burst of BURST, so that
 * more addresses than that are read less often than each block. Keys take turns, and of a key's addresses the one that waits
 * longest goes first; a key that is limited waits alone.
 */
import type { ChainRead, ClientSignedPosition, ClientSignedRoom, PositionSlot } from "../client-signed-room.js";
import type { Clock, TimerHandle } from "../domain/clock.js";
import { within } from "../domain/deadline.js";
import type { Logger } from "../domain/logger.js";
import type { CallOptions } from "../ports.js";
import { SharedRoom } from "../domain/shared-room.js";
import { LIMITED_PAUSE_MS, LOOK_TIMEOUT_MS } from "./account-reads.js";
import { NO_ANSWER_YET } from "./coverage.js";
import type { Coverage, CoverageError } from "./portfolio-types.js";

export interface ChainPortfolioOptions {
  readonly room: ClientSignedRoom;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly addressesMax?: number;
}

/** What is known of one address. */
export interface ChainWatch {
  /** Null before the first answer. */
  readonly positions: readonly ClientSignedPosition[] | null;
  readonly asOfMs: number | null;
  /** Those that the read before had, and the last has not, until it is known how they ended. */
  readonly ending: readonly ClientSignedPosition[];
  /** Of those that the read before had, and the last has not, those that the venue itself closed. */
  readonly liquidated: readonly ClientSignedPosition[];
  /** It has been read, or it is known why it cannot be. */
  readonly isSettled: boolean;
  coverage(): Coverage;
}

export interface ChainHandle {
  readonly watch: ChainWatch;
  close(): void;
}

/** Who pays for reads: an API key, or all callers without one. */
interface Payer {
  readonly key: string | null;
  watchCount: number;
  /** Monotonic; of the last look that it paid for. */
  lookedNs: number;
  /** It was limited: no look of its own begins before. */
  freeAtMs: number;
}

interface Watch extends ChainWatch {
  readonly address: string;
  readonly payer: Payer;
  readonly listeners: Set<() => void>;
  positions: readonly ClientSignedPosition[] | null;
  asOfMs: number | null;
  ending: readonly ClientSignedPosition[];
  liquidated: readonly ClientSignedPosition[];
  isSettled: boolean;
  error: CoverageError | null;
  isDue: boolean;
  /** Monotonic; of its last look. */
  lookedNs: number;
}

type GoodRead = Extract<ChainRead<readonly ClientSignedPosition[]>, { ok: true }>;

const ADDRESSES_MAX = 1_000;
const IN_FLIGHT_MAX = 4;
const LOOKS_PER_MINUTE = 300;
const GAP_MS = 60_000 / LOOKS_PER_MINUTE;
/** Looks that may begin at once after a quiet while: somebody waits for the first of each address. */
const BURST = 20;
/** Of the chain. */
const BLOCK_MS = 2_000;
/** So long may the venue's events take to say how positions ended: beyond, they are closed. */
const ENDS_MS_MAX = 1_500;
/** Time the room may need after its own timeout to report it. */
const GRACE_MS = 250;
const PAUSE_MS_MAX = 600_000;
/** A timer may fire slightly early. */
const EDGE_MS = 0.5;

export class ChainPortfolio {
  readonly room: ClientSignedRoom;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #places: SharedRoom;
  readonly #watches = new Map<string, Watch>();
  readonly #payers = new Map<string | null, Payer>();
  /** Addresses of reads that run, also of those that nobody waits for any more. */
  readonly #running = new Set<string>();
  #endBlocks: (() => void) | null = null;
  /** No look begins before; a quiet while puts it back by a burst. */
  #freeAtMs = Number.NEGATIVE_INFINITY;
  #timer: TimerHandle | null = null;

  constructor({ room, clock, logger, addressesMax = ADDRESSES_MAX }: ChainPortfolioOptions) {
    this.room = room;
    this.#clock = clock;
    this.#logger = logger;
    this.#places = new SharedRoom(addressesMax);
  }

  get addressCount(): number {
    return this.#watches.size;
  }

  /** `onChange`: positions or coverage are others; it may not throw. Returns null where too many addresses are watched. */
  open(address: string, onChange: () => void, payer: string | null): ChainHandle | null {
    const name = address.toLowerCase();
    const known = this.#watches.get(name);
    if (known === undefined && !this.#places.enter(payer)) return null;
    const watch = known ?? this.#watch(name, payer);
    // A listener of its own for each who opens, also where two bring the same function.
    const listener = () => onChange();
    watch.listeners.add(listener);
    this.#endBlocks ??= this.room.onBlock(() => this.#onBlock());
    this.#pump();
    return { watch, close: () => this.#leave(watch, listener) };
  }

  stop(): void {
    for (const watch of this.#watches.values()) watch.listeners.clear();
    this.#watches.clear();
    this.#payers.clear();
    this.#rest();
  }

  #payer(key: string | null): Payer {
    for (const { key: other, watchCount, freeAtMs } of this.#payers.values())
      if (watchCount === 0 && freeAtMs <= this.#nowMs()) this.#payers.delete(other);
    const payer = this.#payers.get(key) ?? { key, watchCount: 0, lookedNs: -1, freeAtMs: Number.NEGATIVE_INFINITY };
    this.#payers.set(key, payer);
    payer.watchCount++;
    return payer;
  }

  #watch(address: string, key: string | null): Watch {
    const payer = this.#payer(key);
    const watch: Watch = {
      ...{ address, payer, listeners: new Set<() => void>(), positions: null, asOfMs: null },
      ...{ ending: [], liquidated: [] },
      ...{ isSettled: false, error: null, isDue: true, lookedNs: -1 },
      coverage: () => this.#coverageOf(watch),
    };
    this.#watches.set(address, watch);
    return watch;
  }

  #leave(watch: Watch, listener: () => void): void {
    if (!watch.listeners.delete(listener) || watch.listeners.size > 0) return;
    this.#watches.delete(watch.address);
    const { payer } = watch;
    this.#places.leave(payer.key);
    // One that is limited is remembered for as long.
    if (--payer.watchCount === 0 && payer.freeAtMs <= this.#nowMs()) this.#payers.delete(payer.key);
    if (this.#watches.size === 0) this.#rest();
  }

  /** Nobody listens. */
  #rest(): void {
    this.#endBlocks?.();
    this.#endBlocks = null;
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #coverageOf({ positions, asOfMs, error }: Watch): Coverage {
    const isKnown = positions !== null;
    const isLive = error === null && isKnown && this.room.status().state === "LIVE";
    return {
      state: error !== null || !isKnown ? "ERROR" : isLive ? "LIVE" : "SNAPSHOT",
      mode: "poll",
      asOf: asOfMs,
      source: isKnown ? "venue" : null,
      intervalMs: Math.max(BLOCK_MS, Math.ceil(this.#watches.size * GAP_MS)),
      error: error ?? (isKnown ? null : NO_ANSWER_YET),
    };
  }

  #onBlock(): void {
    for (const watch of this.#watches.values()) watch.isDue = true;
    this.#pump();
  }

  /** Begins what may begin now, and comes back when the next may. */
  #pump(): void {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    while (this.#running.size < IN_FLIGHT_MAX) {
      const next = this.#next();
      if (next === null) return;
      const waitMs = Math.max(this.#freeAtMs, next.payer.freeAtMs) - this.#nowMs();
      if (waitMs > EDGE_MS) {
        this.#timer = this.#clock.setTimer(() => {
          this.#timer = null;
          this.#pump();
        }, waitMs);
        return;
      }
      this.#freeAtMs = Math.max(this.#freeAtMs, this.#nowMs() - BURST * GAP_MS) + GAP_MS;
      void this.#look(next);
    }
  }

  /** Of the key that had its turn longest ago the address that was looked at longest ago; a limited key comes last. */
  #next(): Watch | null {
    const nowMs = this.#nowMs();
    const limitMs = ({ freeAtMs }: Payer): number => (freeAtMs - nowMs > EDGE_MS ? freeAtMs : 0);
    const isBefore = (one: Watch, other: Watch): boolean => {
      const [its, others] = [one.payer, other.payer];
      const order = limitMs(its) - limitMs(others) || its.lookedNs - others.lookedNs || one.lookedNs - other.lookedNs;
      return order < 0;
    };
    let next: Watch | null = null;
    for (const watch of this.#watches.values())
      if (watch.isDue && !this.#running.has(watch.address) && (next === null || isBefore(watch, next))) next = watch;
    return next;
  }

  async #look(watch: Watch): Promise<void> {
    const { payer } = watch;
    watch.isDue = false;
    watch.lookedNs = this.#clock.monoNs();
    payer.lookedNs = watch.lookedNs;
    this.#running.add(watch.address);
    const { lane, error: before } = { lane: watch.isSettled ? "background" : "read", error: watch.error } as const;
    const read = await this.#ask(lane, payer, LOOK_TIMEOUT_MS, (options) =>
      this.room.readPositions(watch.address, options),
    );
    const wasSettled = watch.isSettled;
    watch.isSettled = true;
    if (read.ok) await this.#show(watch, read);
    this.#running.delete(watch.address);
    if (!read.ok) {
      watch.error = { code: read.code, message: read.message };
      const isLimited = read.code === "RATE_LIMITED" || read.code === "BREAKER_OPEN";
      const pauseMs = isLimited ? Math.min(read.retryAfterMs ?? LIMITED_PAUSE_MS, PAUSE_MS_MAX) : 0;
      payer.freeAtMs = Math.max(payer.freeAtMs, this.#nowMs() + pauseMs);
      // Without a block nobody comes back by itself.
      watch.isDue ||= isLimited;
    }
    if (read.ok || !wasSettled || before?.code !== read.code) for (const listener of watch.listeners) listener();
    this.#pump();
  }

  /** What is there comes first: how those ended that are gone may take longer. */
  async #show(watch: Watch, read: GoodRead): Promise<void> {
    const gone = (watch.positions ?? []).filter((one) => !read.value.some((other) => isSame(one, other)));
    watch.error = null;
    watch.positions = read.value;
    watch.asOfMs = read.asOfMs;
    watch.ending = gone;
    watch.liquidated = [];
    if (gone.length === 0) return;
    for (const listener of watch.listeners) listener();
    watch.liquidated = await this.#liquidated(watch, read.block);
    watch.ending = [];
  }

  /** Empty also where the venue's events cannot be read: those positions are closed, which is true of all of them. */
  async #liquidated({ address, payer, ending: gone }: Watch, block: number): Promise<readonly ClientSignedPosition[]> {
    const taken = await this.#ask("background", payer, ENDS_MS_MAX, (options) =>
      this.room.readLiquidated(address, { gone, block }, options),
    );
    return taken.ok ? gone.filter((one) => taken.value.some((other) => isSame(one, other))) : [];
  }

  /** A bug of the room must not end the watch: it counts as an unreadable reply. */
  async #ask<T>(
    lane: "background" | "read",
    { key: payer }: Payer,
    timeoutMs: number,
    read: (options: CallOptions) => Promise<ChainRead<T>>,
  ): Promise<ChainRead<T>> {
    const failed = (code: "TIMEOUT" | "BAD_RESPONSE", message: string) =>
      ({ ok: false, code, message, retryAfterMs: null }) as const;
    try {
      const asked = read({ timeoutMs, lane, payer });
      const answer = await within(this.#clock, asked, timeoutMs + GRACE_MS);
      return answer.done ? answer.value : failed("TIMEOUT", `no answer within ${timeoutMs} ms`);
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#logger.error("portfolio.read_failed", { venue: this.room.venue, errorName });
      return failed("BAD_RESPONSE", "the answer could not be read");
    }
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }
}

/** A slot is used again after a close. */
function isSame(one: PositionSlot, other: PositionSlot): boolean {
  return one.pairIndex === other.pairIndex && one.index === other.index && one.openedAtMs === other.openedAtMs;
}
