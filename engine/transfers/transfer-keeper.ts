/**
 * What no request waits for: rows that are open go on by themselves, after a restart as well. Lanes go side by side.
 *
 * Bounds: a row that does not move is looked at again after a pause that doubles up to five minutes; a row that moved
 * begins with the shortest pause again. A withdrawal that its venue has let go, and says no more of, is left after a day
 * (withdrawals.ts). At most eight rounds run at once.
 */
import type { TimerHandle } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import type { Rounds } from "./rounds.js";
import type { TransferCount } from "./transfer-book.js";
import type { TransferParts } from "./transfer-parts.js";
import { isOpen, type TransferRow } from "./transfer-row.js";

const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 300_000;
const ROUNDS_MAX = 8;
/** Rows that a request has just made are found so soon. */
const TICK_MS = 1_000;

interface Rest {
  untilNs: number;
  pauseMs: number;
}

export class TransferKeeper {
  readonly #parts: TransferParts;
  readonly #rounds: Rounds;
  readonly #rests = new Map<string, Rest>();
  readonly #running = new Set<Promise<void>>();
  #timer: TimerHandle | null = null;
  /** When the timer ends. */
  #wakesNs = 0;
  #unlisten = () => {};
  #isStopped = false;

  constructor(parts: TransferParts, rounds: Rounds) {
    this.#parts = parts;
    this.#rounds = rounds;
  }

  start(): void {
    this.#unlisten = this.#parts.book.listen((row) => {
      if (!this.#rests.has(row.transferId) && isOpen(row)) this.#wakeWithin(TICK_MS);
    });
    this.#wakeWithin(0);
  }

  /** Resolves when what is under way has ended; nothing of it is lost. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unlisten();
    if (this.#timer !== null) this.#parts.clock.clearTimer(this.#timer);
    await Promise.all(this.#running);
    await this.#rounds.turns.idle();
  }

  counts(): readonly TransferCount[] {
    return this.#parts.book.counts();
  }

  #wakeWithin(delayMs: number): void {
    const { clock } = this.#parts;
    const wakesNs = clock.monoNs() + delayMs * 1e6;
    if (this.#isStopped || (this.#timer !== null && this.#wakesNs <= wakesNs)) return;
    if (this.#timer !== null) clock.clearTimer(this.#timer);
    this.#wakesNs = wakesNs;
    this.#timer = clock.setTimer(() => {
      this.#timer = null;
      this.#look();
      const nextMs = this.#nextMs();
      if (nextMs !== null) this.#wakeWithin(nextMs);
    }, delayMs);
  }

  /** Until a pause is over; a tick where one is over and the lane was not free. Null: nothing is open. */
  #nextMs(): number | null {
    const nowNs = this.#parts.clock.monoNs();
    let nextMs: number | null = null;
    for (const { transferId } of this.#parts.book.open()) {
      const rest = this.#rests.get(transferId);
      const leftMs = rest === undefined ? TICK_MS : Math.max(TICK_MS, (rest.untilNs - nowNs) / 1e6);
      nextMs = Math.min(nextMs ?? leftMs, leftMs);
    }
    return nextMs;
  }

  #look(): void {
    const open = [...this.#parts.book.open()];
    const known = new Set(open.map(({ transferId }) => transferId));
    for (const transferId of this.#rests.keys()) if (!known.has(transferId)) this.#rests.delete(transferId);
    for (const row of open) {
      if (this.#running.size >= ROUNDS_MAX) return;
      if (!this.#isDue(row)) continue;
      const round = this.#round(row).finally(() => this.#running.delete(round));
      this.#running.add(round);
    }
  }

  /** A request that acts in the lane now does what is to be done, or the next look finds it. */
  #isDue(row: TransferRow): boolean {
    const rest = this.#rests.get(row.transferId);
    const isResting = rest !== undefined && this.#parts.clock.monoNs() < rest.untilNs;
    return !isResting && this.#rounds.isFree(row);
  }

  async #round(row: TransferRow): Promise<void> {
    const { transferId } = row;
    try {
      await this.#rounds.run(row, "kept");
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.warn("transfers.round_failed", { name: transferId, code });
    }
    const hasMoved = this.#parts.book.current(transferId) !== row;
    const pauseMs = hasMoved
      ? PAUSE_MIN_MS
      : Math.min((this.#rests.get(transferId)?.pauseMs ?? PAUSE_MIN_MS / 2) * 2, PAUSE_MAX_MS);
    this.#rests.set(transferId, { pauseMs, untilNs: this.#parts.clock.monoNs() + pauseMs * 1e6 });
  }
}
