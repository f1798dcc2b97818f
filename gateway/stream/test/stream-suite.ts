/** The real server with fake rooms, and the clients of one test file; installs its hooks. */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { Market } from "../../../engine/market/market.js";
import { type Harness, startHarness } from "../../test/harness.js";
import type { StreamLimits } from "../limits.js";
import { StreamClient } from "./stream-client.js";

export interface StreamSuite {
  readonly harness: Harness;
  /** Opens a client that is closed after the test. */
  open(): Promise<StreamClient>;
  /** Restarts the server with other limits for the rest of the test. */
  restart(limits: Partial<StreamLimits>): Promise<void>;
  setBid(market: Market, ticks: number, lots: number): void;
  setMark(market: Market, markPrice: string): void;
}

/** `shared`: one server for the whole file, whose tests leave nothing behind. */
export function streamSuite(life: "perTest" | "shared" = "perTest"): StreamSuite {
  let harness: Harness;
  let clients: StreamClient[] = [];
  const start = async () => {
    harness = await startHarness();
  };
  const stop = () => harness.stop();
  if (life === "shared") {
    beforeAll(start);
    afterAll(stop);
  } else beforeEach(start);
  afterEach(async () => {
    for (const client of clients) await client.stop();
    clients = [];
    if (life === "perTest") await stop();
    else while (harness.server.streamCounts.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  });
  return {
    get harness() {
      return harness;
    },
    async open() {
      const client = await StreamClient.open(harness.server.port);
      clients.push(client);
      return client;
    },
    async restart(limits) {
      await harness.stop();
      harness = await startHarness({ server: { stream: limits } });
    },
    setBid(market, ticks, lots) {
      market.book.applyBid(ticks, lots);
      market.book.commit(market.book.seq + 1, harness.clock.wallMs(), harness.clock.monoNs());
    },
    setMark(market, markPrice) {
      market.ticker.markPrice = markPrice;
      market.ticker.stamp(harness.clock.wallMs(), harness.clock.monoNs());
    },
  };
}
