// hot path
/**
 * Public trades between the listeners and the drain; built and bounded as tick-ring.ts. Number ids and text ids have a
 * column each, so that no column mixes kinds.
 */
export class TradeRing {
  readonly market: Uint16Array;
  readonly rxNs: Float64Array;
  readonly exMs: Float64Array;
  readonly priceTicks: Float64Array;
  readonly qtyLots: Float64Array;
  /** 1 BUY, 2 SELL, the values of the column's enum. */
  readonly side: Uint8Array;
  /** Order of arrival, growing for the life of the process. */
  readonly seq: Float64Array;
  /** -1: the id is in `idText`. */
  readonly idNumber: Float64Array;
  readonly idText: string[];
  readonly mask: number;
  head = 0;
  tail = 0;
  dropped = 0;

  constructor(capacity: number) {
    let size = 1;
    while (size < capacity) size *= 2;
    this.mask = size - 1;
    this.market = new Uint16Array(size);
    this.rxNs = new Float64Array(size);
    this.exMs = new Float64Array(size);
    this.priceTicks = new Float64Array(size);
    this.qtyLots = new Float64Array(size);
    this.side = new Uint8Array(size);
    this.seq = new Float64Array(size);
    this.idNumber = new Float64Array(size);
    this.idText = new Array<string>(size).fill("");
  }

  get size(): number {
    return this.head - this.tail;
  }

  /** Copies a trade unchanged, with its order of arrival. */
  copy(from: TradeRing, at: number): void {
    const to = this.push();
    this.market[to] = from.market[at] as number;
    this.rxNs[to] = from.rxNs[at] as number;
    this.exMs[to] = from.exMs[at] as number;
    this.priceTicks[to] = from.priceTicks[at] as number;
    this.qtyLots[to] = from.qtyLots[at] as number;
    this.side[to] = from.side[at] as number;
    this.seq[to] = from.seq[at] as number;
    this.idNumber[to] = from.idNumber[at] as number;
    this.idText[to] = from.idText[at] as string;
  }

  push(): number {
    if (this.head - this.tail > this.mask) {
      this.tail += 1;
      this.dropped += 1;
    }
    const at = this.head & this.mask;
    this.head += 1;
    return at;
  }
}

/**
 * The last trade ids of one market, to recognise trades that are delivered again: exact, bounded, the oldest dropped.
 * The set's own bookkeeping is the only allocation of the recorder's hot side, amortised over thousands of trades.
 */
export class SeenTrades {
  readonly #ids = new Set<string | number>();
  readonly #order: (string | number)[];
  readonly #mask: number;
  #written = 0;

  constructor(capacity: number) {
    let size = 1;
    while (size < capacity) size *= 2;
    this.#mask = size - 1;
    this.#order = [];
  }

  /** Returns false for an id that is known already. */
  add(id: string | number): boolean {
    if (this.#ids.has(id)) return false;
    const at = this.#written & this.#mask;
    if (this.#written > this.#mask) this.#ids.delete(this.#order[at] as string | number);
    this.#order[at] = id;
    this.#ids.add(id);
    this.#written += 1;
    return true;
  }
}
