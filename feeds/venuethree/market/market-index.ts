/** Instruments by the venue's market number, over a map by canonical symbol that may grow or have entries replaced. */
import type { Instrument } from "../../../engine/domain/instrument.js";

export class MarketIndex {
  readonly #instruments: () => ReadonlyMap<string, Instrument>;
  /** Market number → key in the map. Bounded by the map: rebuilt whole from it. */
  #keys = new Map<number, string>();

  constructor(instruments: () => ReadonlyMap<string, Instrument>) {
    this.#instruments = instruments;
  }

  byMarketId(marketId: number): Instrument | null {
    return this.#lookUp(marketId) ?? this.#rebuildAndLookUp(marketId);
  }

  /** The present entry, if what was remembered still holds. */
  #lookUp(marketId: number): Instrument | null {
    const key = this.#keys.get(marketId);
    const instrument = key === undefined ? undefined : this.#instruments().get(key);
    return instrument?.nativeId === marketId ? instrument : null;
  }

  #rebuildAndLookUp(marketId: number): Instrument | null {
    const keys = new Map<number, string>();
    for (const [key, instrument] of this.#instruments()) keys.set(instrument.nativeId, key);
    this.#keys = keys;
    return this.#lookUp(marketId);
  }
}
