/** The history of the room: the index of events over the room's own endpoints, and the venue's service for what is older. */
import type { StateStore } from "../../engine/storage/state-store.js";
import { HttpPool } from "../shared/net/http-pool.js";
import type { RpcPool } from "../shared/chain/rpc-pool.js";
import type { VenuefiveConfig } from "./descriptor.js";
import { VenuefiveHistory } from "./history/history.js";
import { OlderTrades } from "./history/older-trades.js";
import { RpcHistoryChain } from "./history/rpc-chain.js";
import { symbolOf } from "./market/pair-map.js";
import type { HistoryPart, VenuefiveRoomParts } from "./room.js";

export type HistoryParts = Pick<VenuefiveRoomParts, "clock" | "random" | "logger"> & { readonly store: StateStore };

/** The service takes about ten requests a second of an address. */
const REQUESTS_PER_MINUTE = 300;
const CONNECTIONS = 4;
const EXIT_CONNECTIONS = 1;
const CLOSE_GRACE_MS = 1_000;

type HistoryConfig = Pick<VenuefiveConfig, "chainId" | "addresses" | "map" | "fromBlock" | "historyUrl">;

export function createHistoryPart(config: HistoryConfig, parts: HistoryParts, pool: RpcPool): HistoryPart {
  const { chainId, addresses, map, fromBlock, historyUrl } = config;
  const { clock, random, logger, store } = parts;
  const named = (pairIndex: number): string => symbolOf(map, pairIndex);
  const service = historyUrl === null ? null : new URL(historyUrl);
  const http =
    service === null
      ? null
      : new HttpPool({
          ...{ name: "venuefive.history", baseUrl: service.origin, clock, random, logger },
          ...{ budget: REQUESTS_PER_MINUTE, budgetWindowMs: 60_000, accountLimits: [] },
          ...{ connections: CONNECTIONS, exitConnections: EXIT_CONNECTIONS },
        });
  const basePath = service?.pathname.replace(/\/+$/, "") ?? "";
  const history = new VenuefiveHistory({
    ...{ chainId, addresses, chain: new RpcHistoryChain(pool), store, symbolOf: named, fromBlock },
    older: http === null ? null : new OlderTrades({ http, basePath, symbolOf: named, clock }),
    ...{ clock, random, logger },
  });
  return {
    start: () => history.start(),
    async stop() {
      await Promise.all([history.stop(), http?.close(CLOSE_GRACE_MS)]);
    },
    status: () => history.status(),
    readClosedTrades: (...args) => history.readClosedTrades(...args),
    readOrders: (...args) => history.readOrders(...args),
    findOrder: (...args) => history.findOrder(...args),
  };
}
