/**
 * A venue of one price level a side for tests of the stream: answers what the client sent over a fake connection by the
 * rules of the venue (acknowledgements, snapshots, refusals), and the two public REST calls.
 */
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";

interface TinyMarket {
  bidTicks: number;
  nonce: number;
}

export class TinyVenue implements VenueHttp {
  readonly requests: HttpRequest[] = [];
  /** Book channels refused without an answer. */
  readonly mute = new Set<string>();
  /** All channels are refused without an answer. */
  isMute = false;
  /** Subscribes are taken, their snapshots do not arrive. */
  losesSnapshots = false;
  answersPings = true;
  /** Unsubscribes are not acknowledged. */
  isForgetful = false;
  isRestDown = false;
  readonly #clock: VirtualClock;
  readonly #markets = new Map<number, TinyMarket>();
  readonly #subscribed = new WeakMap<FakeConnection, Set<string>>();
  readonly #handled = new WeakMap<FakeConnection, number>();
  /** The engine's, over all markets. */
  #nonce = 1_000;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  market(marketId: number): TinyMarket {
    let market = this.#markets.get(marketId);
    if (market === undefined) {
      market = { bidTicks: 1_000, nonce: this.#nonce };
      this.#markets.set(marketId, market);
    }
    return market;
  }

  /** Answers everything the client has sent since the last call; true when there was something. */
  serve(connection: FakeConnection): boolean {
    const from = this.#handled.get(connection) ?? 0;
    const texts = connection.sent.slice(from);
    this.#handled.set(connection, connection.sent.length);
    for (const text of texts) this.#answer(connection, JSON.parse(text) as { type: string; channel?: string });
    return texts.length > 0;
  }

  snapshot(marketId: number): string {
    const { nonce } = this.market(marketId);
    const book = {
      code: 0,
      asks: [this.#ask(marketId)],
      bids: [this.#bid(marketId)],
      offset: 1,
      nonce,
      begin_nonce: 0,
    };
    return this.#frame(`order_book:${marketId}`, "subscribed/order_book", { order_book: book });
  }

  /** Moves the market and makes the update of it. */
  move(marketId: number, bidTicks: number): string {
    const market = this.market(marketId);
    const begin = market.nonce;
    const gone = [
      { ...this.#bid(marketId), size: "0.0" },
      { ...this.#ask(marketId), size: "0.0" },
    ] as const;
    this.#nonce += 17;
    market.nonce = this.#nonce;
    market.bidTicks = bidTicks;
    const bids = [gone[0], this.#bid(marketId)];
    const asks = [gone[1], this.#ask(marketId)];
    const book = { code: 0, asks, bids, offset: 3, nonce: market.nonce, begin_nonce: begin };
    return this.#frame(`order_book:${marketId}`, "update/order_book", { order_book: book });
  }

  /** The ticker of the market as it is now. */
  ticker(marketId: number): string {
    const ticker = { s: "X", a: this.#ask(marketId), b: this.#bid(marketId) };
    return this.#frame(`ticker:${marketId}`, "update/ticker", { ticker, nonce: this.market(marketId).nonce });
  }

  height(): string {
    return this.#frame("height", "update/height", { height: 5 });
  }

  stats(marketId: number, stats: Record<string, unknown>): string {
    const row = { market_id: marketId, ...stats };
    return this.#frame("market_stats:all", "update/market_stats", { market_stats: { [marketId]: row } });
  }

  trades(marketId: number, rows: readonly Record<string, unknown>[], isSnapshot = false): string {
    const base = { type: "trade", size: "2.0", price: "100.0", is_maker_ask: true, timestamp: this.#clock.wallMs() };
    const trades = rows.map((row) => ({ ...base, ...row }));
    const type = isSnapshot ? "subscribed/trade" : "update/trade";
    return this.#frame(`trade:${marketId}`, type, { trades, liquidation_trades: [] });
  }

  count(part: string): number {
    return this.requests.filter(({ path }) => path.includes(part)).length;
  }

  request(request: HttpRequest): Promise<HttpResult> {
    this.requests.push(request);
    if (this.isRestDown) return Promise.resolve({ kind: "noResponse", reason: "TIMEOUT" });
    const marketId = Number(/market_id=(\d+)/.exec(request.path)?.[1]);
    const order = (level: { price: string; size: string }) => ({
      price: level.price,
      remaining_base_amount: level.size,
    });
    const body = request.path.includes("orderBookOrders")
      ? { code: 200, asks: [order(this.#ask(marketId))], bids: [order(this.#bid(marketId))] }
      : { code: 200, order_book_details: [] };
    const sentAtMs = this.#clock.wallMs();
    const text = JSON.stringify(body);
    return Promise.resolve({
      kind: "response",
      status: 200,
      headers: {},
      body: text,
      sentAtMs,
      receivedAtMs: sentAtMs,
    });
  }

  #answer(connection: FakeConnection, message: { type: string; channel?: string }): void {
    if (message.type === "ping") {
      if (this.answersPings) connection.receive('{"type":"pong"}');
      return;
    }
    const channel = message.channel ?? "";
    let subscribed = this.#subscribed.get(connection);
    if (subscribed === undefined) {
      subscribed = new Set();
      this.#subscribed.set(connection, subscribed);
    }
    const written = channel.replaceAll("/", ":");
    if (message.type === "unsubscribe") {
      const was = subscribed.delete(channel);
      if (this.isForgetful) return;
      connection.receive(was ? `{"type": "unsubscribed", "channel": "${written}"}` : error(30002, "Not Subscribed"));
    } else if (message.type === "subscribe") {
      if (this.isMute || this.mute.has(channel)) return;
      if (subscribed.has(channel)) {
        connection.receive(error(30003, `Already Subscribed to : ${written}`));
        return;
      }
      subscribed.add(channel);
      const marketId = Number(/^order_book\/(\d+)$/.exec(channel)?.[1]);
      if (!Number.isNaN(marketId) && !this.losesSnapshots) connection.receive(this.snapshot(marketId));
    }
  }

  #bid(marketId: number): { price: string; size: string } {
    return { price: (this.market(marketId).bidTicks / 10).toFixed(1), size: "2.0" };
  }

  #ask(marketId: number): { price: string; size: string } {
    return { price: ((this.market(marketId).bidTicks + 5) / 10).toFixed(1), size: "3.0" };
  }

  #frame(channel: string, type: string, payload: Record<string, unknown>): string {
    return JSON.stringify({ channel, ...payload, timestamp: this.#clock.wallMs(), type });
  }
}

function error(code: number, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
