/** Peer: ccxt pro's own handlers of the venues that send whole books or chained updates. Only its socket is replaced. */
import ccxt from "ccxt";

interface CcxtOrderBook {
  bids: [number, number][];
  asks: [number, number][];
}

/** The part of a pro exchange that its WebSocket client calls. */
interface CcxtPro {
  orderbooks: Record<string, CcxtOrderBook>;
  safeMarketStructure(market: Record<string, unknown>): unknown;
  setMarkets(markets: unknown[]): void;
  handleMessage(client: unknown, message: unknown): void;
}

const SYMBOL = "BTC/USDC:USDC";

export class CcxtDepth {
  readonly #exchange: CcxtPro;
  readonly #client = {
    url: "wss://peer.invalid/ws",
    subscriptions: {},
    futures: {},
    resolve() {},
    reject(error: unknown) {
      throw error;
    },
  };

  /** `marketId`: the class's own id for the contract. */
  constructor(className: string, marketId: string) {
    const exchanges = ccxt.pro as unknown as Readonly<Record<string, new (options: object) => CcxtPro>>;
    const Exchange = exchanges[className];
    if (Exchange === undefined) throw new RangeError(`ccxt pro has no class ${className}`);
    this.#exchange = new Exchange({});
    const market = this.#exchange.safeMarketStructure({
      id: marketId,
      symbol: SYMBOL,
      base: "BTC",
      quote: "USDC",
      settle: "USDC",
      type: "swap",
      swap: true,
      spot: false,
      contract: true,
      linear: true,
      active: true,
    });
    this.#exchange.setMarkets([market]);
  }

  applyFrame(text: string): void {
    this.#exchange.handleMessage(this.#client, JSON.parse(text));
  }

  get book(): CcxtOrderBook {
    const book = this.#exchange.orderbooks[SYMBOL];
    if (book === undefined) throw new Error("the peer made no book of the frames");
    return book;
  }
}
