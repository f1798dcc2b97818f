/** The real server and history routes with a store of the test's choice; the fake rooms list BTC, ETH and PEPE. */
import { Owners } from "../../../engine/domain/owner.js";
import uws from "uWebSockets.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { createKeyedHash } from "../../../engine/storage/server-secret.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { Edge } from "../../http/edge.js";
import { OriginGuard } from "../../http/origin-guard.js";
import { RateLimiter } from "../../http/limiter.js";
import { mountRoutes } from "../../http/mount.js";
import { createLogger } from "../../app/log.js";
import { MarketView } from "../../api/market-view.js";
import { type HistoryOptions, historyRoutes } from "../../api/routes/history.js";
import { TestClient } from "../../test/client.js";
import type { TestAuth } from "../../test/test-keys.js";
import { createFakeRoom, fakeMarket } from "../../test/fake-room.js";
import { anInstrument } from "../../../engine/domain/test/instruments.js";

const RULE = { perSecond: 1_000_000, burst: 1_000_000 };
export const HASH = createKeyedHash(Buffer.alloc(32, 9));

export interface HistoryServer {
  readonly port: number;
  readonly url: string;
  readonly client: TestClient;
  readonly edge: Edge;
  readonly logLines: string[];
  stop(): Promise<void>;
}

export async function startHistoryServer(
  store: RecordsStore,
  options: Partial<HistoryOptions> = {},
  auth?: TestAuth,
): Promise<HistoryServer> {
  const clock = createSystemClock();
  const logLines: string[] = [];
  const logger = createLogger("debug", { write: (line: string) => void logLines.push(line) });
  const edge = new Edge({
    clock,
    logger,
    limiter: new RateLimiter({ read: RULE, trade: RULE, exit: RULE, transfer: RULE, anon: RULE }, 10),
    nextRequestId: () => "history-1",
    origins: new OriginGuard(
      { listenHost: "127.0.0.1", allowedHosts: ["api.example"], allowedOrigins: ["https://desk.example"] },
      clock,
    ),
    loopbackOnly: true,
    targetBytesMax: 4096,
    ...(auth === undefined ? {} : { authenticator: auth.authenticator }),
  });
  const revocations = auth?.revocations ?? null;
  const one = createFakeRoom(
    "venueone",
    ["BTC", "ETH"].map((symbol) => fakeMarket(anInstrument({ symbol }))),
    () => clock.wallMs(),
  );
  const two = createFakeRoom(
    "venuetwo",
    ["BTC", "PEPE"].map((symbol) => fakeMarket(anInstrument({ venue: "venuetwo", symbol }))),
    () => clock.wallMs(),
  );
  const context = { edge, clock, view: new MarketView([one, two]) };
  const app = uws.App();
  mountRoutes(
    app,
    edge,
    historyRoutes(context, store, {
      hash: HASH,
      owners: new Owners(),
      loopbackOnly: true,
      open: false,
      revocations,
      ...options,
    }),
    false,
  );
  const port = await new Promise<number>((resolve, reject) => {
    app.listen("127.0.0.1", 0, (socket) => {
      if (socket === false) reject(new Error("cannot listen"));
      else resolve(uws.us_socket_local_port(socket));
    });
  });
  const url = `http://127.0.0.1:${port}`;
  const client = new TestClient(url);
  return {
    port,
    url,
    client,
    edge,
    logLines,
    async stop() {
      await client.stop();
      app.close();
    },
  };
}
