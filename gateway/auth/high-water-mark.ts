/**
 * A durable mark above the timestamp of every accepted write. After a start, writes up to it are refused: the process
 * before may have accepted them, and what it remembered of them is gone. A clock set back cannot reopen the window.
 *
 * The mark is kept ahead of the clock, in one commit for many writes: a write near it moves it on in the background, and
 * only a write above it, the first after a pause, waits for a commit (`cover`). Without writes nothing is committed.
 *
 * - A clean stop lowers the mark to what was accepted, so the next start refuses nothing that is new.
 * - After a crash writes are refused for MARK_AHEAD_MS at most, unless the clock was set back.
 * - When a commit fails the write goes on: cancels need no store, and what does need it is refused by the store itself.
 *   A start after an unclean stop refuses timestamps up to a second after its own time as well, so such a write could be
 *   repeated only if the clock is also set back between the two.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import { decodeJson, encodeJson, type StateStore, storeUnavailable } from "../../engine/storage/state-store.js";
import { AHEAD_MAX_MS } from "./request-form.js";

const NAMESPACE = "auth-mark";
const KEY = "writes";
/** How far ahead of the clock the mark is put. */
export const MARK_AHEAD_MS = 3_000;
/** A write that is this close to the mark moves it on; half of it is for the commit. */
const RENEW_BELOW_MS = 2_000;
/** A write waits no longer for the mark. */
const COMMIT_TIMEOUT_MS = 2_000;
/** At the start and at the stop no caller waits: a disk that stands still for seconds keeps no service from starting. */
const EDGE_TIMEOUT_MS = 15_000;
const NO_MARK = -1;

interface MarkRow {
  readonly markMs: number;
  /** The mark is the greatest accepted timestamp itself. */
  readonly clean: boolean;
}

export class HighWaterMark {
  /** Timestamps up to it may have been accepted before the start; -1: none. */
  readonly floorMs: number;
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #durableMs: number;
  #acceptedMs: number;
  #moving: Promise<void> | null = null;
  #failedCount = 0;
  #isFailing = false;

  private constructor(store: StateStore, clock: Clock, logger: Logger, floorMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.floorMs = floorMs;
    this.#durableMs = floorMs;
    this.#acceptedMs = floorMs;
  }

  /** Rejects with STORE_UNAVAILABLE: without the mark no write can be accepted. */
  static async open(store: StateStore, clock: Clock, logger: Logger): Promise<HighWaterMark> {
    const row = await readRow(store);
    const nowMs = clock.wallMs();
    let floorMs = NO_MARK;
    if (row !== null) floorMs = row.clean ? row.markMs : Math.max(row.markMs, nowMs + AHEAD_MAX_MS);
    if (floorMs > nowMs + MARK_AHEAD_MS) logger.warn("auth.mark_ahead", { aheadMs: floorMs - nowMs });
    const mark = new HighWaterMark(store, clock, logger, floorMs);
    await mark.#put({ markMs: floorMs, clean: false }, EDGE_TIMEOUT_MS);
    return mark;
  }

  /** Commits of the mark that failed. */
  get failedCount(): number {
    return this.#failedCount;
  }

  /**
   * Call for each accepted write, before it does anything. Null: the mark is above it. Otherwise the write may go on
   * when the promise resolves, which it always does.
   */
  cover(tsMs: number): Promise<void> | null {
    this.#acceptedMs = Math.max(this.#acceptedMs, tsMs);
    if (tsMs + RENEW_BELOW_MS <= this.#durableMs) return null;
    this.#moving ??= this.#move();
    return tsMs <= this.#durableMs ? null : this.#reach(tsMs);
  }

  /** Call when no write is accepted any more. */
  async stop(): Promise<void> {
    await this.#moving;
    await this.#put({ markMs: this.#acceptedMs, clean: true }, EDGE_TIMEOUT_MS);
  }

  /** The commit under way may have begun too early for this timestamp; the one after it has not. */
  async #reach(tsMs: number): Promise<void> {
    await this.#moving;
    if (tsMs <= this.#durableMs) return;
    this.#moving ??= this.#move();
    await this.#moving;
  }

  async #move(): Promise<void> {
    // Timestamps are at most AHEAD_MAX_MS after now, so every write of the next two seconds is below it. A clock that
    // was set back since a write was accepted does not leave that write above the mark.
    const markMs = Math.max(this.#durableMs, this.#acceptedMs, this.#clock.wallMs() + MARK_AHEAD_MS);
    try {
      await this.#put({ markMs, clean: false }, COMMIT_TIMEOUT_MS);
      this.#durableMs = Math.max(this.#durableMs, markMs);
      this.#isFailing = false;
    } catch (error) {
      this.#failedCount++;
      // Once, not for each write of a store that is gone.
      if (!this.#isFailing) this.#logger.error("auth.mark_failed", { reason: reasonOf(error) });
      this.#isFailing = true;
    } finally {
      this.#moving = null;
    }
  }

  /** A store that never answers must not hold up exits. */
  async #put(row: MarkRow, timeoutMs: number): Promise<void> {
    let timer: TimerHandle | null = null;
    const late = new Promise<never>((_, reject) => {
      timer = this.#clock.setTimer(() => reject(storeUnavailable("TIMEOUT")), timeoutMs);
    });
    try {
      await Promise.race([this.#store.put(NAMESPACE, KEY, encodeJson(row)), late]);
    } finally {
      if (timer !== null) this.#clock.clearTimer(timer);
    }
  }
}

/** The store's own word for it. */
function reasonOf(error: unknown): string {
  return error instanceof ServiceError ? String(error.context["reason"]) : "INTERNAL";
}

/** A row that cannot be read is not ours: better no start than a window that is open. */
async function readRow(store: StateStore): Promise<MarkRow | null> {
  const bytes = await store.get(NAMESPACE, KEY);
  if (bytes === null) return null;
  const { markMs, clean } = decodeJson(bytes) as Partial<MarkRow>;
  if (!Number.isSafeInteger(markMs) || markMs === undefined || typeof clean !== "boolean")
    throw storeUnavailable("READ_FAILED");
  return { markMs, clean };
}
