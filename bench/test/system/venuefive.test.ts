/**
 * venuefive through the whole service, with a trader of the project's client on the local chain: after each step REST and
 * the stream show what the contracts' storage has.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenPositionParameters } from "../../../client/venuefive/open-order.js";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import type { Stand } from "../venuefive-client/stand.js";
import { type Row, startVenuefiveStand, type VenuefiveStand } from "../support/venuefive-stand.js";
import { storedOrders, storedPositions } from "../support/venuefive-storage.js";

const TEST_MS = 300_000;
const [ETH, BTC] = [0, 1];
const ORDER = {
  ...{ symbol: "BTC", direction: "LONG", positionSizeUsd: "100", leverage: 10 },
  ...{ openPrice: "92400", orderType: "MARKET" },
} as const satisfies OpenPositionParameters;

let stand: VenuefiveStand;
beforeAll(async () => {
  stand = await startVenuefiveStand(51);
}, TEST_MS);
afterAll(() => stand?.stop());

interface Streamed {
  readonly events: readonly string[];
  /** Until the topic shows exactly these. */
  shows(rows: readonly object[]): Promise<void>;
  stop(): Promise<void>;
}

async function streamed(address: string): Promise<Streamed> {
  const client = await StreamClient.open(stand.port);
  const wish = { topic: "positions", walletAddress: address, exchanges: ["venuefive"] };
  const { subs } = await client.subscribe(wish);
  const fold = await client.fold(subs[0]?.sub ?? "");
  return {
    get events() {
      return fold.events.map(([event]) => event);
    },
    shows: (rows) =>
      client.until(
        () => sorted([...fold.rows.values()].map((row) => fieldsOf(row, rows[0] ?? {}))) === sorted(rows),
        `the stream's rows are ${sorted(rows)}`,
      ),
    stop: () => client.stop(),
  };
}

const fieldsOf = (row: Readonly<Record<string, unknown>>, like: object): object =>
  Object.fromEntries(Object.keys(like).map((name) => [name, row[name]]));
const sorted = (rows: readonly object[]): string => JSON.stringify(rows.map((row) => JSON.stringify(row)).sort());

/** Both routes, and the stream, show what the storage has. */
async function agrees(trader: Stand, stream: Streamed): Promise<readonly Row[]> {
  const stored = await storedPositions(stand.world, trader.address, [ETH, BTC]);
  const rows = await stand.positions(trader.address);
  expect(rows).toMatchObject(stored.map((row) => ({ ...row, walletAddress: trader.address, unrealizedPnl: "0" })));
  const { status, body } = await stand.all(trader.address);
  expect([status, body]).toMatchObject([
    200,
    { totalPositions: 2, data: { positions: { venuefive: { count: rows.length, positions: rows } } } },
  ]);
  await stream.shows(stored);
  return rows;
}

const round = () => stand.world.keeper.round();
const price = (btc: string) => stand.world.setPrices({ [BTC]: btc });

describe("a wallet at venuefive, through the service,", () => {
  it(
    "opens, adds, closes a part, the rest, and is liquidated: each as the storage has it",
    async () => {
      const trader = await stand.trader();
      const stream = await streamed(trader.address);
      expect(await agrees(trader, stream)).toEqual([]);
      const { txHash } = await trader.trading.openPosition(ORDER);
      expect(await stand.status(txHash, null)).toMatchObject({ status: "OPEN", venueStatus: "PENDING", side: "BUY" });
      await round();
      expect(await agrees(trader, stream)).toMatchObject([{ symbol: "BTC", collateral: "99.55", leverage: 10 }]);
      await stand.indexed();
      expect(await stand.status(txHash, null)).toMatchObject({ status: "FILLED", averagePrice: "92400", txHash });

      await stand.world.chain.mine(2);
      await trader.trading.updateMargin({ pairIndex: BTC, tradeIndex: 0, type: "DEPOSIT", amountUsdc: "50" });
      expect(await agrees(trader, stream)).toMatchObject([{ collateral: "149.55" }]);
      // A second of the same symbol is another row.
      await trader.trading.openPosition({ ...ORDER, positionSizeUsd: "200", leverage: 50 });
      await round();
      expect(await agrees(trader, stream)).toHaveLength(2);

      const before = await stand.balances(trader.address);
      await price("93000");
      await trader.trading.closePosition({ pairIndex: BTC, tradeIndex: 0, closeAmountUsdc: "49.55" });
      await round();
      expect(await agrees(trader, stream)).toMatchObject([{ collateral: "100" }, { leverage: 50 }]);
      const [part] = await stand.history("trades", trader.address);
      expect(part).toMatchObject({
        collateral: "49.55",
        entryPrice: "92400",
        exitPrice: "93000",
        isLiquidation: false,
      });
      const after = await stand.balances(trader.address);
      expect(micros(amountOf(after)) - micros(amountOf(before))).toBe(micros(part?.["usdcReceived"]));
      expect(amountOf(after)).toBe(await stand.world.usdc(trader.address));

      const closing = await trader.trading.closePosition({ pairIndex: BTC, tradeIndex: 0 });
      await round();
      expect(await agrees(trader, stream)).toMatchObject([{ leverage: 50 }]);
      await price("90700");
      expect((await round()).triggered).toMatchObject([{ kind: "LIQ" }]);
      expect(await agrees(trader, stream)).toEqual([]);
      const trades = await stand.history("trades", trader.address);
      expect(trades.map((row) => [row["collateral"], row["isLiquidation"], row["usdcReceived"] !== "0"])).toEqual([
        ["195.5", true, false],
        ["100", false, true],
        ["49.55", false, true],
      ]);
      expect(await stand.status(closing, null)).toMatchObject({ status: "FILLED", reduceOnly: true, side: "SELL" });
      // Both of one block are one frame; the order of its events is that of its rows.
      expect(stream.events).toEqual(["opened", "changed", "opened", "changed", "closed", "liquidated"]);
      await stream.stop();
    },
    TEST_MS,
  );

  it(
    "places, changes, cancels a limit order, and one is filled: orders, their history and status agree",
    async () => {
      await price("92400");
      const trader = await stand.trader();
      const stream = await streamed(trader.address);
      const { address } = trader;
      const LIMIT = { ...ORDER, orderType: "LIMIT", openPrice: "90000" } as const;
      const placed = await trader.trading.openPosition(LIMIT);
      const placedAt = await stand.tip();
      await trader.trading.openPosition({ ...LIMIT, orderType: "STOP_LIMIT", openPrice: "95000", direction: "LONG" });
      const resting = async (): Promise<readonly Row[]> => {
        await stand.indexed();
        const rows = await stand.orders(address);
        expect(rows).toMatchObject(await storedOrders(stand.world, address, BTC));
        return rows;
      };
      const orderId = `${BTC}:0:${placedAt}`;
      expect(await resting()).toMatchObject([
        { orderId, orderType: "LIMIT", price: "90000", txHash: placed.txHash },
        { orderType: "STOP_LIMIT", price: "95000" },
      ]);
      for (const [id, by] of [
        [orderId, address],
        [placed.txHash, null],
      ] as const)
        expect(await stand.status(id, by)).toMatchObject({ orderId, status: "OPEN", price: "90000", type: "LIMIT" });

      await stand.world.chain.mine(2);
      const updated = await trader.trading.updateLimitOrder({ pairIndex: BTC, orderIndex: 0, price: "91000" });
      expect((await resting())[0]).toMatchObject({ orderId, price: "91000", txHash: updated });
      expect(await stand.status(updated, null)).toMatchObject({ orderId, status: "OPEN", price: "91000" });

      await trader.trading.cancelLimitOrder({ pairIndex: BTC, orderIndex: 1 });
      expect(await resting()).toHaveLength(1);
      await price("90900");
      await round();
      expect(await resting()).toEqual([]);
      expect(await agrees(trader, stream)).toHaveLength(1);
      const history = await stand.history("orders", address);
      expect(history.map((row) => [row["orderType"], row["status"], row["price"]])).toEqual([
        ["STOP_LIMIT", "CANCELED", "95000"],
        ["LIMIT", "FILLED", "91000"],
      ]);
      expect(await stand.status(orderId, address)).toMatchObject({ status: "FILLED" });
      expect(amountOf(await stand.balances(address))).toBe(await stand.world.usdc(address));
      await stream.stop();
    },
    TEST_MS,
  );
});

const amountOf = (balances: Row): string => (balances["collateral"] as Row)["amount"] as string;
/** Exact: a decimal text of six places at most. */
function micros(text: unknown): bigint {
  const [whole = "0", part = ""] = String(text).split(".");
  return BigInt(`${whole}${part.padEnd(6, "0")}`);
}
