/** Peer: tardis-dev's mapper and order book on recorded combined-stream frames. */
import { normalizeBookChanges, OrderBook } from "tardis-dev";

export class TardisBook {
  readonly #mapper = normalizeBookChanges("binance-futures", new Date(0));
  readonly #book = new OrderBook();
  readonly #stream: string;

  constructor(nativeSymbol: string) {
    this.#stream = `${nativeSymbol.toLowerCase()}@depthSnapshot`;
  }

  applySnapshot(text: string): void {
    this.#apply({
      stream: this.#stream.replace("depthSnapshot", "depth"),
      data: JSON.parse(text) as unknown,
      generated: true,
    });
  }

  applyFrame(text: string): void {
    this.#apply(JSON.parse(text));
  }

  get touch(): { bid: number; ask: number } {
    return { bid: this.#book.bestBid()?.price ?? 0, ask: this.#book.bestAsk()?.price ?? 0 };
  }

  #apply(message: unknown): void {
    if (!this.#mapper.canHandle(message)) return;
    for (const change of this.#mapper.map(message, new Date(0)) ?? []) this.#book.update(change);
  }
}
