/** A history that knows nothing, for tests of the state. */
import type { HistoryPart } from "../history-guard.js";

const NOTHING = { ok: false, code: "BEFORE_INDEX", message: "no history", retryAfterMs: null } as const;

export function noHistory(): HistoryPart {
  return {
    start: async () => {},
    stop: async () => {},
    status: () => ({
      cursorBlock: null,
      sinceBlock: null,
      behindBlocks: null,
      eventCount: 0,
      retractedCount: 0,
      problem: null,
    }),
    readClosedTrades: async () => NOTHING,
    readLiquidated: async () => NOTHING,
    readOrders: async () => NOTHING,
    placedOrders: async (_, slots) => slots.map(() => null),
    findOrder: async () => NOTHING,
  };
}
