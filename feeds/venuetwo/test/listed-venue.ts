/** A venuetwo on loopback whose listing a test changes while the room runs: exchangeInfo, one level a side, and the frames of it. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";

export interface ListedRow {
  symbol: string;
  status: string;
  contractType: string;
  pricePrecision: number;
  quantityPrecision: number;
  baseAsset: string;
  quoteAsset: string;
  filters: Record<string, string | number>[];
}

const FIXTURE = readFileSync(new URL("../fixtures/exchange-info.json", import.meta.url), "utf8");

export class ListedVenue {
  readonly paths: string[] = [];
  rows: ListedRow[] = (JSON.parse(FIXTURE) as { symbols: ListedRow[] }).symbols;
  /** Decimals of the prices in books, by native symbol. */
  readonly priceTexts = new Map<string, readonly [bid: string, ask: string]>();
  isListDown = false;
  readonly #clock: VirtualClock;
  readonly #server: Server;
  readonly #answered = new Map<FakeConnection, number>();
  readonly #lastIds = new Map<string, number>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#server = createServer((request, response) => this.#answer(request, response));
    // A connection that the pool keeps is never closed under it.
    this.#server.keepAliveTimeout = 0;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  row(symbol: string): ListedRow {
    const row = this.rows.find((listed) => listed.symbol === symbol);
    if (row === undefined) throw new Error(`${symbol} is not listed`);
    return row;
  }

  filter(symbol: string, type: string): Record<string, string | number> {
    const filter = this.row(symbol).filters.find((one) => one["filterType"] === type);
    if (filter === undefined) throw new Error(`${symbol} has no ${type}`);
    return filter;
  }

  count(part: string): number {
    return this.paths.filter((path) => path.includes(part)).length;
  }

  /** Acknowledges what was asked for on the connection since the last call. */
  acknowledge(connection: FakeConnection): void {
    const from = this.#answered.get(connection) ?? 0;
    this.#answered.set(connection, connection.sent.length);
    for (const text of connection.sent.slice(from)) {
      const { id } = JSON.parse(text) as { id?: number };
      if (id !== undefined) connection.receive(JSON.stringify({ result: null, id }));
    }
  }

  /** A change that leaves the book as it is, so that the diff stream speaks. */
  diff(symbol: string): string {
    const prevId = this.#lastId(symbol);
    this.#lastIds.set(symbol, prevId + 7);
    const [bid, ask] = this.#prices(symbol);
    const wallMs = this.#clock.wallMs();
    const data = {
      e: "depthUpdate",
      E: wallMs,
      T: wallMs,
      s: symbol,
      U: prevId + 1,
      u: prevId + 7,
      pu: prevId,
      b: [[bid, "2"]],
      a: [[ask, "3"]],
    };
    return JSON.stringify({ stream: `${symbol.toLowerCase()}@depth@100ms`, data });
  }

  #lastId(symbol: string): number {
    return this.#lastIds.get(symbol) ?? 1_000;
  }

  #prices(symbol: string): readonly [string, string] {
    return this.priceTexts.get(symbol) ?? ["100.0", "100.5"];
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "";
    this.paths.push(path);
    const symbol = new URL(path, "http://venue").searchParams.get("symbol") ?? "";
    const body = this.#bodyOf(path, symbol);
    response.writeHead(body === null ? 503 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? {}));
  }

  #bodyOf(path: string, symbol: string): unknown {
    const wallMs = this.#clock.wallMs();
    if (path.startsWith("/fapi/v1/exchangeInfo"))
      return this.isListDown ? null : { serverTime: wallMs, symbols: this.rows };
    if (path.startsWith("/fapi/v1/time")) return { serverTime: wallMs };
    if (path.startsWith("/fapi/v1/depth")) {
      const [bid, ask] = this.#prices(symbol);
      return { lastUpdateId: this.#lastId(symbol), E: wallMs, T: wallMs, bids: [[bid, "2"]], asks: [[ask, "3"]] };
    }
    if (path.startsWith("/fapi/v1/ticker/bookTicker"))
      return this.rows.map(({ symbol: name }) => {
        const [bidPrice, askPrice] = this.#prices(name);
        return { symbol: name, bidPrice, bidQty: "2", askPrice, askQty: "3", time: wallMs };
      });
    return [];
  }
}
