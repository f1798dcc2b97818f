/** A stream of tickers during the whole run. Once the markets are frozen, its fold equals what REST returns. */
import { StreamClient } from "../../gateway/stream/test/stream-client.js";
import type { TestClient } from "../../gateway/test/client.js";
import { FOUR_VENUES } from "../test/support/four-venues.js";
import { pause } from "../test/support/system.js";

/** The prices of a ticker, without its ages, which keep growing. */
const PRICES = ["markPrice", "lastPrice"] as const;
const SWEEP_MS = 500;
const LOOK_EVERY_MS = 500;
const SAME_WITHIN_MS = 60_000;

export class TickerWatch {
  readonly #port: number;
  readonly #symbols: readonly string[];
  readonly #done: Promise<void>;
  #stream: StreamClient | null = null;
  #isOver = false;
  /** Frames of all connections. */
  frames = 0;
  /** What was wrong with a frame or a sequence; null while nothing was. */
  fault: Error | null = null;

  /** Opens a broken connection again, until `stop`. */
  constructor(port: number, symbols: readonly string[]) {
    this.#port = port;
    this.#symbols = symbols;
    this.#done = this.#watch();
  }

  /** Returns null when the fold and REST agree. The markets must be frozen. */
  async difference(client: TestClient): Promise<string | null> {
    const untilMs = performance.now() + SAME_WITHIN_MS;
    for (;;) {
      const found = this.fault?.message ?? (await this.#differenceNow(client));
      if (found === null || this.fault !== null || performance.now() > untilMs) return found;
      await pause(LOOK_EVERY_MS);
    }
  }

  stop(): Promise<void> {
    this.#isOver = true;
    return this.#done;
  }

  async #differenceNow(client: TestClient): Promise<string | null> {
    for (const symbol of this.#symbols) {
      const fold = [...(this.#stream?.folds.values() ?? [])].find(({ sub }) => sub.startsWith(`ticker:${symbol}:`));
      for (const venue of FOUR_VENUES) {
        const { body, status } = await client.get(`/api/trading/${venue}/ticker/${symbol}`);
        const { data = {} } = body as { readonly data?: Readonly<Record<string, unknown>> };
        for (const field of PRICES) {
          const streamed = fold?.fields[venue]?.[field];
          if (status === 200 && streamed !== undefined && streamed === data[field]) continue;
          return `${field} of ${venue} ${symbol}: REST ${status} ${String(data[field])}, streamed ${String(streamed)}`;
        }
      }
    }
    return null;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver && this.fault === null) {
      const stream = await StreamClient.open(this.#port).catch(() => null);
      if (stream !== null) {
        this.#stream = stream;
        const wish = { op: "subscribe", topic: "ticker", symbols: this.#symbols, exchanges: FOUR_VENUES };
        stream.raw(JSON.stringify(wish));
        while (!this.#isOver && stream.end === null && stream.fault === null) {
          // The folds have the result of these frames.
          this.frames += stream.frames.splice(0).length;
          await pause(SWEEP_MS);
        }
        this.fault = stream.fault;
        await stream.stop();
      }
      if (!this.#isOver) await pause(SWEEP_MS);
    }
  }
}
