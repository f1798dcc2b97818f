/** Makes the client-signed venue of the configuration: its room over its endpoints, with the index of events in the store. */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { HttpPool } from "../../feeds/shared/net/http-pool.js";
import { type VenuefiveConfig, venuefiveRoom } from "../../feeds/venuefive/descriptor.js";
import { VenuefiveHistory } from "../../feeds/venuefive/history/history.js";
import { OlderTrades } from "../../feeds/venuefive/history/older-trades.js";
import { RpcHistoryChain } from "../../feeds/venuefive/history/rpc-chain.js";
import { symbolOf } from "../../feeds/venuefive/market/pair-map.js";
import type { ClientSignedVenueParts } from "../api/routes/context.js";

interface MakerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Of the vendor's history service: it grants about ten requests a second. */
const HISTORY_WEIGHT_PER_MINUTE = 300;
const MINUTE_MS = 60_000;
const HISTORY_CONNECTIONS = 4;
const CLOSE_GRACE_MS = 1_000;

/** Returns null where it is not configured. */
export function createClientSigned(
  config: VenuefiveConfig | null,
  parts: MakerParts,
  store: StateStore,
): ClientSignedVenueParts | null {
  if (config === null) return null;
  const { map, chainId, addresses, fromBlock, historyUrl } = config;
  const symbol = (index: number) => symbolOf(map, index);
  const older = historyUrl === null ? null : olderTrades(historyUrl, symbol, parts);
  const room = venuefiveRoom(config, {
    ...parts,
    createHistory: (pool) => {
      const chain = new RpcHistoryChain(pool);
      const trades = older?.trades ?? null;
      const options = { chainId, addresses, chain, store, symbolOf: symbol, fromBlock, older: trades, ...parts };
      const history = new VenuefiveHistory(options);
      if (older === null) return history;
      return {
        start: () => history.start(),
        stop: async () => {
          await history.stop();
          await older.http.close(CLOSE_GRACE_MS);
        },
        status: () => history.status(),
        readClosedTrades: (address, query, call) => history.readClosedTrades(address, query, call),
        readOrders: (address, query, call) => history.readOrders(address, query, call),
        findOrder: (orderId, address, call) => history.findOrder(orderId, address, call),
      };
    },
  });
  return { room, symbols: new Set(map.symbols.values()) };
}

function olderTrades(url: string, symbol: (index: number) => string, { clock, random, logger }: MakerParts) {
  const { origin, pathname } = new URL(url);
  const http = new HttpPool({
    ...{ name: "venuefive-history", baseUrl: origin, clock, random, logger, connections: HISTORY_CONNECTIONS },
    ...{ budget: HISTORY_WEIGHT_PER_MINUTE, budgetWindowMs: MINUTE_MS, accountLimits: [], exitConnections: 1 },
  });
  const basePath = pathname.replace(/\/+$/, "");
  return { http, trades: new OlderTrades({ http, basePath, symbolOf: symbol, clock }) };
}
