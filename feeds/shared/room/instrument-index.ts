/** Instruments by the venue's own name, over a map by canonical symbol that may grow or have entries replaced. */
import type { Instrument } from "../../../engine/domain/instrument.js";

export class InstrumentIndex {
  readonly #instruments: () => ReadonlyMap<string, Instrument>;
  /** Native name → key in the map. Bounded by the map: rebuilt whole from it. */
  #keys = new Map<string, string>();

  constructor(instruments: () => ReadonlyMap<string, Instrument>) {
    this.#instruments = instruments;
  }

  byNativeSymbol(nativeSymbol: string): Instrument | null {
    return this.#lookUp(nativeSymbol) ?? this.#rebuildAndLookUp(nativeSymbol);
  }

  /** The present entry, if what was remembered still holds. */
  #lookUp(nativeSymbol: string): Instrument | null {
    const key = this.#keys.get(nativeSymbol);
    const instrument = key === undefined ? undefined : this.#instruments().get(key);
    return instrument?.nativeSymbol === nativeSymbol ? instrument : null;
  }

  #rebuildAndLookUp(nativeSymbol: string): Instrument | null {
    const keys = new Map<string, string>();
    for (const [key, instrument] of this.#instruments()) keys.set(instrument.nativeSymbol, key);
    this.#keys = keys;
    return this.#lookUp(nativeSymbol);
  }
}
