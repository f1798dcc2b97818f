/**
 * The markets in which this process has read a position: their books are loaded before others. A
 * guess for an order of work and nothing else, so it is kept for a while and bounded.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountReader } from "../../../engine/ports.js";

/** A position that was not read for so long counts no more. */
const HELD_NS = 10 * 60_000 * 1e6;
/** The oldest is forgotten for one more; the venue lists fewer symbols. */
const SYMBOLS_MAX = 4_096;

export class HeldSymbols {
  readonly #clock: Clock;
  /** Monotonic ns of the newest read, the newest last. */
  readonly #readNs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 1 or 0. */
  countOf(symbol: string): number {
    const readNs = this.#readNs.get(symbol);
    return readNs !== undefined && this.#clock.monoNs() - readNs <= HELD_NS ? 1 : 0;
  }

  note(symbol: string): void {
    this.#readNs.delete(symbol);
    this.#readNs.set(symbol, this.#clock.monoNs());
    if (this.#readNs.size <= SYMBOLS_MAX) return;
    for (const oldest of this.#readNs.keys()) {
      this.#readNs.delete(oldest);
      return;
    }
  }

  /** The same reader, whose reads of positions are noted. */
  noteReadsOf<Reader extends Pick<AccountReader, "readPositions">>(reader: Reader): Reader {
    const readPositions = reader.readPositions.bind(reader);
    // The instance's own method in front of the prototype's: the reader stays what it is to everybody else.
    reader.readPositions = async (session, instrument, options) => {
      const read = await readPositions(session, instrument, options);
      if (read.ok) for (const position of read.value) this.note(position.symbol);
      return read;
    };
    return reader;
  }
}
