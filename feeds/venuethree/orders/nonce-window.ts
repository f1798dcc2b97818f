// hot path
/**
 * The nonces of one key that are on their way, pure. Several may be in flight at once over one socket; what the venue
 * refuses for its nonce was not executed, so an order of arrival that is not ours costs a second try and never an order
 * twice.
 *
 *   open --start--> open                 up to `width` in flight, each with the next nonce
 *   open --refused, doubtful--> held     nothing starts until all in flight are answered or given up
 *   held --last one ends--> open         the count goes on where the gap began, or is read again; one at a time again,
 *                                        twice as many after each success
 *
 * Invariant: a nonce is given out again only after a refusal proved that it was not spent, or after the venue named it.
 * One that is doubtful or given up is lost: it may have spent its nonce, or may do so at any moment until the venue
 * counts beyond it. So the count is certain only beyond the highest one lost; up to there the venue names each nonce,
 * for one start at once.
 */

/** Spent; not spent and nothing executed; refused for the nonce alone; not known. */
export type NonceOutcome = "spent" | "kept" | "refused" | "doubtful";

/** By which way transactions leave. Only those of one way may be in flight together. */
export interface Way {
  /** 0: single requests, which keep no order among each other. Else the number of a connection. */
  readonly id: number;
  /** In flight at once. */
  readonly width: number;
}

export interface Flight {
  readonly nonce: number;
  readonly wayId: number;
}

/** Below every nonce. */
const NONE = -1;

export class NonceWindow {
  #next: number | null = null;
  #highestLost = NONE;
  /** The highest of those given up that were reported as spent since the venue last named a nonce. */
  #highestSpentLate = NONE;
  /** In order of their nonces. */
  readonly #flights = new Set<Flight>();
  #width: number;
  #maxWidth: number;
  #isHeld = false;
  /** While held: where the count goes on; null where the venue must be asked. */
  #resume: number | null = null;
  /** While held: one was refused before an earlier one was answered, and nothing else went wrong. */
  #isOvertaken = false;
  /** While held: the overtaken one was then taken, so they arrived in another order than they were written. */
  #isReordered = false;

  constructor(maxWidth: number) {
    this.#maxWidth = maxWidth;
    this.#width = maxWidth;
  }

  /** Of the next to start; null where only the venue knows. */
  get next(): number | null {
    return this.#next;
  }

  /** Returns whether one that is lost may yet spend its nonce. */
  get isAnyLost(): boolean {
    return this.#next === null && this.#highestLost > NONE;
  }

  get isIdle(): boolean {
    return this.#flights.size === 0;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  get width(): number {
    return this.#width;
  }

  mayStart(way: Way): boolean {
    if (this.#isHeld) return false;
    if (this.#flights.size >= Math.min(this.#width, way.width)) return false;
    for (const { wayId } of this.#flights) return wayId === way.id;
    return true;
  }

  /** The venue was asked for the next nonce, which one starts with at once. A late answer is newer than the question. */
  name(nonce: number): void {
    this.#next = nonce > this.#highestSpentLate ? nonce : null;
    this.#highestSpentLate = NONE;
  }

  /** The venue named the next nonce, which waits for the next to start. */
  hint(nonce: number): void {
    this.#next ??= this.#counted(nonce);
  }

  /** Takes the next nonce, which must be known. */
  start(way: Way): Flight {
    const nonce = this.#next ?? Number.NaN;
    const flight: Flight = { nonce, wayId: way.id };
    this.#next = this.#counted(nonce + 1);
    this.#flights.add(flight);
    return flight;
  }

  /** An earlier one is unanswered or was not taken: a refused nonce is then the consequence, and no news. */
  isBehind(flight: Flight): boolean {
    if (this.#isHeld) return true;
    for (const other of this.#flights) return other !== flight;
    return false;
  }

  end(flight: Flight, outcome: NonceOutcome): void {
    const wasBehind = this.isBehind(flight);
    if (!this.#flights.delete(flight)) {
      if (outcome === "spent") this.#highestSpentLate = Math.max(this.#highestSpentLate, flight.nonce);
      return;
    }
    if (outcome === "spent") this.#taken(flight);
    else if (outcome === "kept") this.#notTaken(flight);
    else {
      if (outcome === "doubtful") this.#lose(flight);
      const isConsequence =
        outcome === "refused" && this.#isHeld && this.#resume !== null && flight.nonce > this.#resume;
      if (!isConsequence) this.#resume = null;
      this.#isOvertaken = outcome === "refused" && wasBehind && (this.#isOvertaken || !this.#isHeld);
      this.#isHeld = true;
    }
    this.#settle();
  }

  /** Waits no longer for those in flight: they are lost, unless a late answer of theirs comes. */
  abandon(): void {
    if (!this.#isHeld) return;
    for (const flight of this.#flights) this.#lose(flight);
    if (this.#flights.size > 0) {
      this.#resume = null;
      this.#isOvertaken = false;
    }
    this.#flights.clear();
    this.#settle();
  }

  #lose({ nonce }: Flight): void {
    this.#highestLost = Math.max(this.#highestLost, nonce);
  }

  /** The nonce as the next one, where that is certain. */
  #counted(nonce: number): number | null {
    return nonce > this.#highestLost ? nonce : null;
  }

  #taken({ nonce }: Flight): void {
    if (!this.#isHeld) {
      this.#width = Math.min(this.#maxWidth, this.#width * 2);
      return;
    }
    if (this.#isOvertaken) this.#isReordered = true;
    // Taken beyond a gap: the venue counts in a way that is not understood here.
    if (this.#resume !== null && nonce > this.#resume) this.#resume = null;
  }

  #notTaken({ nonce }: Flight): void {
    // The last one alone: nothing was sent behind it, so its nonce is simply the next again.
    if (!this.#isHeld && this.#next === this.#counted(nonce + 1)) {
      this.#next = this.#counted(nonce);
      return;
    }
    if (!this.#isHeld) this.#resume = this.#counted(nonce);
    else if (this.#resume !== null) this.#resume = this.#counted(Math.min(this.#resume, nonce));
    this.#isOvertaken = false;
    this.#isHeld = true;
  }

  #settle(): void {
    if (!this.#isHeld || this.#flights.size > 0) return;
    this.#isHeld = false;
    this.#next = this.#resume;
    this.#resume = null;
    // A venue that takes what we write in another order: fewer at once from now on, in the end one.
    if (this.#isReordered && this.#isOvertaken) this.#maxWidth = Math.max(1, this.#maxWidth >> 1);
    this.#isOvertaken = false;
    this.#isReordered = false;
    this.#width = 1;
  }
}
