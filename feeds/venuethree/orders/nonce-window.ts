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

export class NonceWindow {
  /** Of the next to start; null where only the venue knows. */
  next: number | null = null;
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

  /** Takes the next nonce, which must be known. */
  start(way: Way): Flight {
    const nonce = this.next ?? Number.NaN;
    const flight: Flight = { nonce, wayId: way.id };
    this.next = nonce + 1;
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
      this.#endLate(flight, outcome);
      return;
    }
    if (outcome === "spent") this.#taken(flight);
    else if (outcome === "kept") this.#notTaken(flight);
    else {
      const isConsequence =
        outcome === "refused" && this.#isHeld && this.#resume !== null && flight.nonce > this.#resume;
      if (!isConsequence) this.#resume = null;
      this.#isOvertaken = outcome === "refused" && wasBehind && (this.#isOvertaken || !this.#isHeld);
      this.#isHeld = true;
    }
    this.#settle();
  }

  /** Waits no longer for those in flight. What they were becomes known, or not, by themselves. */
  abandon(): void {
    if (!this.#isHeld) return;
    if (this.#flights.size > 0) {
      this.#resume = null;
      this.#isOvertaken = false;
    }
    this.#flights.clear();
    this.#settle();
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
    if (!this.#isHeld && this.next === nonce + 1) {
      this.next = nonce;
      return;
    }
    if (!this.#isHeld) this.#resume = nonce;
    else if (this.#resume !== null) this.#resume = Math.min(this.#resume, nonce);
    this.#isOvertaken = false;
    this.#isHeld = true;
  }

  /** It was given up: the count follows later answers of the venue, unless this one turns out to have been taken. */
  #endLate({ nonce }: Flight, outcome: NonceOutcome): void {
    if (outcome !== "spent") return;
    if (this.#isHeld) this.#resume = null;
    else if (this.next !== null && this.next <= nonce) this.next = null;
  }

  #settle(): void {
    if (!this.#isHeld || this.#flights.size > 0) return;
    this.#isHeld = false;
    this.next = this.#resume;
    this.#resume = null;
    // A venue that takes what we write in another order: fewer at once from now on, in the end one.
    if (this.#isReordered && this.#isOvertaken) this.#maxWidth = Math.max(1, this.#maxWidth >> 1);
    this.#isOvertaken = false;
    this.#isReordered = false;
    this.#width = 1;
  }
}
