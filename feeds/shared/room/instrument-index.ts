/** Instruments by a key of the venue's, over a map by canonical symbol that may grow or have entries replaced. */
import type { Instrument } from "../../../engine/domain/instrument.js";

class KeyedInstruments<Key extends string | number> {
  readonly #instruments: () => ReadonlyMap<string, Instrument>;
  readonly #keyOf: (instrument: Instrument) => Key;
  /** The venue's key → key in the map. Bounded by the map: rebuilt whole from it. */
  #symbols = new Map<Key, string>();

  constructor(instruments: () => ReadonlyMap<string, Instrument>, keyOf: (instrument: Instrument) => Key) {
    this.#instruments = instruments;
    this.#keyOf = keyOf;
  }

  find(key: Key): Instrument | null {
    return this.#lookUp(key) ?? this.#rebuildAndLookUp(key);
  }

  /** The present entry, if what was remembered still holds. */
  #lookUp(key: Key): Instrument | null {
    const symbol = this.#symbols.get(key);
    const instrument = symbol === undefined ? undefined : this.#instruments().get(symbol);
    return instrument !== undefined && this.#keyOf(instrument) === key ? instrument : null;
  }

  #rebuildAndLookUp(key: Key): Instrument | null {
    const symbols = new Map<Key, string>();
    for (const [symbol, instrument] of this.#instruments()) symbols.set(this.#keyOf(instrument), symbol);
    this.#symbols = symbols;
    return this.#lookUp(key);
  }
}

export class InstrumentIndex {
  readonly #byNativeSymbol: KeyedInstruments<string>;
  readonly #byNativeId: KeyedInstruments<number>;

  constructor(instruments: () => ReadonlyMap<string, Instrument>) {
    this.#byNativeSymbol = new KeyedInstruments(instruments, ({ nativeSymbol }) => nativeSymbol);
    this.#byNativeId = new KeyedInstruments(instruments, ({ nativeId }) => nativeId);
  }

  byNativeSymbol(nativeSymbol: string): Instrument | null {
    return this.#byNativeSymbol.find(nativeSymbol);
  }

  /** At venues that number their contracts. */
  byNativeId(nativeId: number): Instrument | null {
    return this.#byNativeId.find(nativeId);
  }
}
