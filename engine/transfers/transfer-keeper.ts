/**
 * What no request waits for: rows that are open go on by themselves, after a restart as well. Lanes go side by side.
 *
 * Bounds: a row that does not move is looked at again after a pause that doubles up to five minutes; a row that moved
 * begins with the shortest pause again. A row that is searched for on its chain rests as its search does
 * (payout-searches.ts). At most eight rounds run at once; who has been due for longest comes first, so no row waits for
 * ever behind others, however many there are.
 */
import type { TimerHandle } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import { DueRows } from "./due-rows.js";
import type { Rounds } from "./rounds.js";
import type { TransferCount } from "./transfer-book.js";
import { laneOf, type TransferParts } from "./transfer-parts.js";
import { isOpen, type TransferRow } from "./transfer-row.js";

const PAUSE_MIN_MS = 1_000;
const PAUSE_MAX_MS = 300_000;
const ROUNDS_MAX = 8;
/** Rows that a request has just made are found so soon. */
const TICK_MS = 1_000;
/** As soon again where more were due than run at once. */
const CROWDED_MS = 100;

export class TransferKeeper {
  readonly #parts: TransferParts;
  readonly #rounds: Rounds;
  /** All that are open, also while a round of theirs runs. */
  readonly #due = new DueRows();
  readonly #running = new Set<Promise<void>>();
  #timer: TimerHandle | null = null;
  /** When the timer ends. */
  #wakesNs = 0;
  /** More were due at the last look than may run. */
  #isCrowded = false;
  #unlisten = () => {};
  #isStarted = false;
  #isStopped = false;

  constructor(parts: TransferParts, rounds: Rounds) {
    this.#parts = parts;
    this.#rounds = rounds;
  }

  start(): void {
    this.#isStarted = true;
    for (const row of this.#parts.book.open()) this.#heard(row);
    this.#unlisten = this.#parts.book.listen((row) => this.#heard(row));
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

  /** For the operator: what is searched for at long pauses, or not any more, is looked for at once. */
  lookAgain(): void {
    if (!this.#isStarted || this.#isStopped) return;
    for (const row of this.#parts.book.open()) {
      if (!this.#rounds.lookAgain(row)) continue;
      this.#due.rest(row.transferId, 0, this.#parts.clock.monoNs());
      this.#wakeWithin(0);
    }
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

  #heard(row: TransferRow): void {
    const { transferId } = row;
    if (!isOpen(row)) this.#due.delete(transferId);
    else if (this.#due.pauseOf(transferId) === null) {
      this.#due.rest(transferId, 0, this.#parts.clock.monoNs());
      this.#wakeWithin(TICK_MS);
    }
  }

  /** Until a pause is over; a tick where one is over and the lane was not free. Null: nothing is open. */
  #nextMs(): number | null {
    const soonestNs = this.#due.soonestNs();
    if (soonestNs === null) return null;
    if (this.#isCrowded) return CROWDED_MS;
    return Math.max(TICK_MS, (soonestNs - this.#parts.clock.monoNs()) / 1e6);
  }

  /** A request that acts in a lane now does what is to be done there, or the next look finds it. */
  #look(): void {
    this.#isCrowded = false;
    const begun = new Set<string>();
    for (const transferId of this.#due.due(this.#parts.clock.monoNs())) {
      const row = this.#parts.book.current(transferId);
      if (row === undefined) continue;
      const lane = laneOf(row);
      const isBehind = begun.has(lane);
      if (!isBehind && !this.#rounds.turns.isFree(lane)) continue;
      const isFull = this.#running.size >= ROUNDS_MAX;
      this.#isCrowded ||= isBehind || isFull;
      if (isFull) return;
      if (isBehind) continue;
      begun.add(lane);
      const round = this.#round(row).finally(() => this.#running.delete(round));
      this.#running.add(round);
    }
  }

  async #round(row: TransferRow): Promise<void> {
    const { transferId } = row;
    try {
      await this.#rounds.run(row, "kept");
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.warn("transfers.round_failed", { name: transferId, code });
    }
    const now = this.#parts.book.current(transferId);
    if (now === undefined) return;
    const longerMs = Math.max(2 * (this.#due.pauseOf(transferId) ?? 0), PAUSE_MIN_MS);
    const stillMs = this.#rounds.restMs(now) ?? Math.min(longerMs, PAUSE_MAX_MS);
    const pauseMs = now === row ? stillMs : PAUSE_MIN_MS;
    if (Number.isFinite(pauseMs)) this.#due.rest(transferId, pauseMs, this.#parts.clock.monoNs());
    else this.#due.delete(transferId);
  }
}
