import { describe, expect, it } from "vitest";
import type { ChainHistoryPage, ClientSignedOrder } from "../../../engine/client-signed-room.js";
import { failedChainRead } from "../chain/pinned-reads.js";
import { type OrderHistory, placedOrders } from "./placed-orders.js";

const ADDRESS = `0x${"7a".repeat(20)}`;
const OPTIONS = { timeoutMs: 1_000, lane: "read" } as const;
const row = (orderId: string, status: ClientSignedOrder["status"]): ClientSignedOrder => ({
  ...{ orderId, status, symbol: "BTC", direction: "LONG", orderType: "STOP_LIMIT", price: "1", size: "1" },
  ...{ collateral: "1", leverage: "1", takeProfit: null, stopLoss: null, slippagePercent: "1" },
  ...{ liquidationPrice: null, timestampMs: 4_000, txHash: "0x04" },
});

function historyOf(rows: readonly ClientSignedOrder[], toBlock: number): OrderHistory {
  const page: ChainHistoryPage<ClientSignedOrder> = {
    ...{ rows, nextCursor: null, since: { block: 1, timeMs: 0 }, older: null, toBlock },
  };
  return { readOrders: async () => ({ ok: true, value: page, asOfMs: 0, block: toBlock }) };
}

describe("an order that rests", () => {
  const history = historyOf([row("1:0:90", "OPEN"), row("1:0:40", "FILLED"), row("1:1:50", "CANCELED")], 100);

  it("has its placing and type where the history has seen its last change", async () => {
    const placed = await placedOrders(history, ADDRESS, OPTIONS);
    const known = { block: 90, orderType: "STOP_LIMIT", timestampMs: 4_000, txHash: "0x04" };
    expect(placed({ pairIndex: 1, index: 0, block: 90 })).toEqual(known);
    expect(placed({ pairIndex: 1, index: 0, block: 100 })).toEqual(known);
  });

  it("may be another one in the same slot where its last change is younger than the history", async () => {
    const placed = await placedOrders(history, ADDRESS, OPTIONS);
    expect(placed({ pairIndex: 1, index: 0, block: 101 })).toBeNull();
  });

  it("is not the one that the history knows to be placed later in its slot", async () => {
    const placed = await placedOrders(history, ADDRESS, OPTIONS);
    expect(placed({ pairIndex: 1, index: 0, block: 89 })).toBeNull();
  });

  it("is not one that has ended, nor of another slot or pair", async () => {
    const placed = await placedOrders(history, ADDRESS, OPTIONS);
    expect(placed({ pairIndex: 1, index: 1, block: 50 })).toBeNull();
    expect(placed({ pairIndex: 2, index: 0, block: 90 })).toBeNull();
  });

  it("is shown by the chain's state alone where the history cannot be read", async () => {
    const none: OrderHistory = { readOrders: async () => failedChainRead("BEFORE_INDEX", "nothing is indexed yet") };
    const placed = await placedOrders(none, ADDRESS, OPTIONS);
    expect(placed({ pairIndex: 1, index: 0, block: 90 })).toBeNull();
  });
});
