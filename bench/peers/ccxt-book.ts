/**
 * Peer: ccxt pro's own futures message handler on recorded frames. Only its socket is replaced; the figures include
 * parsing, done as ccxt's client does it.
 */
import ccxt from "ccxt";

interface CcxtOrderBook {
  bids: [number, number][];
  asks: [number, number][];
  nonce: number | undefined;
  cache: unknown[];
  reset(snapshot: unknown): void;
}

/** The part of a pro exchange that its WebSocket client calls. */
interface CcxtPro {
  orderbooks: Record<string, CcxtOrderBook>;
  safeMarketStructure(market: Record<string, unknown>): unknown;
  setMarkets(markets: unknown[]): void;
  orderBook(snapshot: object, limit: number): CcxtOrderBook;
  parseOrderBook(snapshot: unknown, symbol: string, timestamp: number): Record<string, unknown>;
  handleMessage(client: unknown, message: unknown): void;
  handleOrderBookMessage(client: unknown, message: unknown, orderbook: CcxtOrderBook): void;
}

const SYMBOL = "BTC/USDT:USDT";

export class CcxtBook {
  readonly #exchange: CcxtPro;
  readonly #client = {
    url: "wss://fstream.binance.com/ws/1",
    subscriptions: {},
    futures: {},
    resolve() {},
    reject(error: unknown) {
      throw error;
    },
  };

  constructor(nativeSymbol: string) {
    this.#exchange = new ccxt.pro.binanceusdm({}) as unknown as CcxtPro;
    const market = this.#exchange.safeMarketStructure({
      id: nativeSymbol,
      symbol: SYMBOL,
      base: "BTC",
      quote: "USDT",
      settle: "USDT",
      type: "swap",
      swap: true,
      spot: false,
      contract: true,
      linear: true,
      active: true,
      precision: { price: 0.1, amount: 0.001 },
    });
    this.#exchange.setMarkets([market]);
    this.#exchange.orderbooks[SYMBOL] = this.#exchange.orderBook({}, 1000);
  }

  /** The REST snapshot, with the diffs buffered so far replayed on it as ccxt's own loader does. */
  applySnapshot(text: string): void {
    const snapshot = JSON.parse(text) as { lastUpdateId: number; E: number };
    const book = this.#book();
    const parsed = this.#exchange.parseOrderBook(snapshot, SYMBOL, snapshot.E);
    parsed.nonce = snapshot.lastUpdateId;
    const buffered = book.cache.slice() as { u?: number; data?: { u: number } }[];
    book.reset(parsed);
    for (const message of buffered) {
      if ((message.u ?? message.data?.u ?? 0) < snapshot.lastUpdateId) continue;
      this.#exchange.handleOrderBookMessage(this.#client, message, book);
    }
  }

  applyFrame(text: string): void {
    this.#exchange.handleMessage(this.#client, JSON.parse(text));
  }

  get touch(): { bid: number; ask: number; seq: number } {
    const book = this.#book();
    return { bid: book.bids[0]?.[0] ?? 0, ask: book.asks[0]?.[0] ?? 0, seq: book.nonce ?? 0 };
  }

  #book(): CcxtOrderBook {
    const book = this.#exchange.orderbooks[SYMBOL];
    if (book === undefined) throw new Error("no book");
    return book;
  }
}
