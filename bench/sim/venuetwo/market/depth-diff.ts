/**
 * Changes of one book between two pushes of one stream speed. `pu` of an event is the `u` of the event before, whether
 * or not anybody received it. Ids count over the whole engine, so only that chain proves continuity.
 */
import { priceText, qtyText } from "../../core/model/fixed.js";
import type { SimInstrument, SimSide } from "../../core/model/types.js";

export class DepthDiff {
  readonly #instrument: SimInstrument;
  readonly #bids = new Map<number, number>();
  readonly #asks = new Map<number, number>();
  #firstSeq = 0;
  #lastSeq = 0;
  #previousSeq: number;
  #tsMs = 0;

  constructor(instrument: SimInstrument, seq: number) {
    this.#instrument = instrument;
    this.#previousSeq = seq;
  }

  add(side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    (side === "BUY" ? this.#bids : this.#asks).set(priceTicks, qtyLots);
    if (this.#firstSeq === 0) this.#firstSeq = seq;
    this.#lastSeq = seq;
    this.#tsMs = tsMs;
  }

  /** Returns the event, or null when nothing changed. Advances the chain in both cases. */
  take(eventMs: number): Record<string, unknown> | null {
    if (this.#firstSeq === 0) return null;
    const event = {
      e: "depthUpdate",
      E: eventMs,
      T: this.#tsMs,
      s: this.#instrument.symbol,
      U: this.#firstSeq,
      u: this.#lastSeq,
      pu: this.#previousSeq,
      b: this.#print(this.#bids, -1),
      a: this.#print(this.#asks, 1),
    };
    this.#previousSeq = this.#lastSeq;
    this.#firstSeq = 0;
    this.#bids.clear();
    this.#asks.clear();
    return event;
  }

  #print(changes: ReadonlyMap<number, number>, direction: 1 | -1): [string, string][] {
    return [...changes]
      .sort((left, right) => direction * (left[0] - right[0]))
      .map(([priceTicks, qtyLots]) => [priceText(this.#instrument, priceTicks), qtyText(this.#instrument, qtyLots)]);
  }
}
