/** Fair prices of this venue's contracts: the shared source, moved as a whole by the venue's own skew. Floats. */
import type { Clock } from "../../../../engine/domain/clock.js";
import type { PriceSource } from "./factor-model.js";
import type { SimInstrument } from "../model/types.js";

export class FairPrices {
  readonly #source: PriceSource;
  readonly #clock: Clock;
  #skew = { fromBps: 0, toBps: 0, sinceMs: 0, rampMs: 0 };

  constructor(source: PriceSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Of one contract, in quote units. */
  of(instrument: SimInstrument): number {
    const fair = this.#source.fairPrice(instrument.base, this.#clock.wallMs()) * instrument.contractSize;
    return fair * (1 + this.skewBps() / 10_000);
  }

  /** At once or linearly over `rampMs`. */
  setSkew(bps: number, rampMs: number): void {
    this.#skew = { fromBps: this.skewBps(), toBps: bps, sinceMs: this.#clock.wallMs(), rampMs };
  }

  skewBps(): number {
    const { fromBps, toBps, sinceMs, rampMs } = this.#skew;
    const elapsed = this.#clock.wallMs() - sinceMs;
    return elapsed >= rampMs ? toBps : fromBps + ((toBps - fromBps) * elapsed) / rampMs;
  }
}
