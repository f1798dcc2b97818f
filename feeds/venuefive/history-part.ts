/** The history of the room: the index of events over the room's own endpoints, and the venue's service for what is older. */
import type { StateStore } from "../../engine/storage/state-store.js";
import { VenuefiveHistory } from "./history/history.js";
import { connectOlderTrades } from "./history/older-trades.js";
import { RpcHistoryChain } from "./history/rpc-chain.js";
import { symbolOf } from "./market/pair-map.js";
import type { HistoryPart } from "./history-guard.js";
import type { VenuefiveRoomParts } from "./room.js";

export type HistoryParts = Pick<VenuefiveRoomParts, "clock" | "random" | "logger"> & { readonly store: StateStore };

interface HistoryConfig extends Pick<VenuefiveRoomParts, "chainId" | "map"> {
  readonly addresses: { readonly Trading: string; readonly TradingStorage: string };
  /** Null: where the index begins by itself. */
  readonly fromBlock: number | null;
  /** Null: what is older is missing. */
  readonly historyUrl: string | null;
}

const CLOSE_GRACE_MS = 1_000;

export function createHistoryPart(
  config: HistoryConfig,
  parts: HistoryParts,
  ...[pool, isDollarBased, believed]: Parameters<VenuefiveRoomParts["createHistory"]>
): HistoryPart {
  const { chainId, addresses, map, fromBlock, historyUrl } = config;
  const { store, ...common } = parts;
  const pairs = { symbolOf: (pairIndex: number): string => symbolOf(map, pairIndex), isDollarBased };
  const older = historyUrl === null ? null : connectOlderTrades(historyUrl, { ...common, ...pairs });
  const history = new VenuefiveHistory({
    ...{ chainId, addresses, chain: new RpcHistoryChain(pool, believed), store, ...pairs, fromBlock },
    ...{ older: older?.trades ?? null, ...common },
  });
  return {
    start: () => history.start(),
    async stop() {
      await Promise.all([history.stop(), older?.close(CLOSE_GRACE_MS)]);
    },
    status: () => history.status(),
    readClosedTrades: (...args) => history.readClosedTrades(...args),
    readOrders: (...args) => history.readOrders(...args),
    placedOrders: (...args) => history.placedOrders(...args),
    readLiquidated: (...args) => history.readLiquidated(...args),
    findOrder: (...args) => history.findOrder(...args),
  };
}
