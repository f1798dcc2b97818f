/** The room against the contracts of the local venue: what a trader did is what it shows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTrader, type VenuefiveTrader } from "../../bench/sim/venuefive/test/trader.js";
import { startVenuefive, type VenuefiveWorld } from "../../bench/sim/venuefive/world.js";
import type { ChainRead } from "../../engine/client-signed-room.js";
import type { HistoryPart } from "./history-guard.js";
import { noHistory } from "./test/no-history.js";
import { READ, type RoomStand, type RoomStandOptions, startRoomStand } from "./test/room-stand.js";

const [ETH, BTC, PEPE] = [0, 1, 21];
const NOBODY = `0x${"ab".repeat(20)}`;
/** The block twice, the numbers of pairs and slots, and how many of each pair. */
const COUNTS = 5;

let world: VenuefiveWorld;
let nextTrader = 1;
const trader = (usdc?: string): Promise<VenuefiveTrader> => startTrader(world, nextTrader++, usdc);

beforeAll(async () => {
  // A tenth of a percent of the notional an hour, so that it shows.
  world = await startVenuefive({ rolloverFeePerBlock: 5_555n });
});
afterAll(() => world.stop());

async function started(options: RoomStandOptions = {}): Promise<RoomStand> {
  const stand = await startRoomStand(world, options);
  await stand.settled(stand.room.start());
  return stand;
}

function shown<T>(read: ChainRead<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

describe("a position of venuefive", () => {
  it("is shown as its trade opened it: the fee is taken from the collateral, amounts are floored", async () => {
    const one = await trader();
    const index = await one.opened({
      ...{ pairIndex: BTC, collateral: "100", leverage: "10", price: "92400", tp: "95000.5", sl: "90000" },
    });
    const { room, settled } = await started();
    const [position, ...more] = shown(await settled(room.readPositions(one.address, READ)));
    const { timestamp } = await world.read<{ timestamp: bigint }>("TradingStorage", "openTrades", [
      one.address,
      BTC,
      0,
    ]);
    expect(more).toEqual([]);
    expect(position).toEqual({
      ...{ pairIndex: BTC, index, symbol: "BTC", direction: "LONG", leverage: "10", collateral: "99.55" },
      // 995.5 USD at 92400: 0.010773809523… tokens.
      ...{ size: "0.0107738095", entryPrice: "92400", liquidationPrice: "84546", rolloverFee: "0" },
      ...{ takeProfit: "95000.5", stopLoss: "90000", openedAtMs: Number(timestamp) * 1_000 },
      ...{ isZeroFee: false, isBeingClosed: false },
    });
  });

  it("shows the rollover fee and the liquidation price that the contracts say for the block of the read", async () => {
    const one = await trader();
    await one.opened({ pairIndex: ETH, isLong: false, collateral: "250.5", leverage: "25", price: "3180" });
    await world.chain.mine(30);
    const { room, settled } = await started();
    const read = await settled(room.readPositions(one.address, READ));
    const [position] = shown(read);
    const trade = await world.read<Record<string, bigint>>("TradingStorage", "openTrades", [one.address, ETH, 0]);
    const [collateral, leverage, openPrice] = [trade["initialPosToken"], trade["leverage"], trade["openPrice"]];
    const args = [one.address, ETH, 0, false, collateral, leverage];
    const fee = await world.read<bigint>("PairInfos", "getTradeRolloverFee", args);
    const priced = [one.address, ETH, 0, openPrice, false, collateral, leverage];
    const liquidation = await world.read<bigint>("PairInfos", "getTradeLiquidationPrice", priced);
    expect(fee).toBeGreaterThan(100_000n);
    expect([position?.rolloverFee, position?.liquidationPrice]).toEqual([text(fee, 6), text(liquidation, 10)]);
    expect(position).toMatchObject({ symbol: "ETH", direction: "SHORT", stopLoss: null });
    expect(read.ok && read.block).toBe(Number(await world.chain.rpc("eth_blockNumber")));
  });

  it("says that it is without fees, that it is being closed, and which of several slots it has", async () => {
    const one = await trader();
    const order = { pairIndex: BTC, collateral: "50", leverage: "10", price: "92400" };
    await one.opened(order);
    const zero = await one.opened({ ...order, leverage: "100", type: "MARKET_ZERO_FEE" });
    await one.opened({ ...order, pairIndex: PEPE, price: "0.0000062" });
    world.keeper.refuse();
    await one.close(BTC, 0, 49_000_000n);
    world.keeper.refuse(false);
    const { room, settled } = await started();
    const rows = shown(await settled(room.readPositions(one.address, READ)));
    expect(
      rows.map(({ symbol, index, isZeroFee, isBeingClosed }) => [symbol, index, isZeroFee, isBeingClosed]),
    ).toEqual([
      ["BTC", 0, false, true],
      ["BTC", zero, true, false],
      ["PEPE", 0, false, false],
    ]);
    // 497.75 USD at 0.0000062.
    expect(rows[2]).toMatchObject({ entryPrice: "0.0000062", size: "80282258.064516129", stopLoss: null });
  });

  it("is none of a wallet that has none: an empty list, with its block and the time when that was seen", async () => {
    const { room, settled, clock } = await started();
    const read = await settled(room.readPositions(NOBODY, READ));
    expect(read).toMatchObject({ ok: true, value: [], block: room.status().block });
    expect(read.ok && clock.wallMs() - read.asOfMs).toBeLessThan(1_000);
    expect(shown(await settled(room.readOpenOrders(NOBODY, READ)))).toEqual([]);
  });
});

describe("open limit orders of venuefive", () => {
  it("are shown with the collateral, the size at the trigger, and the time of their block", async () => {
    const one = await trader();
    await one.open({
      ...{ pairIndex: ETH, collateral: "60", leverage: "12.5", price: "3000", type: "LIMIT", slippagePercent: "0.5" },
      ...{ tp: "3500", sl: "2900" },
    });
    const { receipt } = await one.open({
      ...{ pairIndex: ETH, isLong: false, collateral: "30", leverage: "50", price: "2500", type: "STOP_LIMIT" },
    });
    const { timestamp } = (await world.chain.rpc("eth_getBlockByNumber", [
      `0x${receipt.blockNumber.toString(16)}`,
      false,
    ])) as { timestamp: string };
    const { room, settled, proxies } = await started();
    const rows = shown(await settled(room.readOpenOrders(one.address, READ)));
    expect(rows.map(({ price, direction, size }) => [price, direction, size])).toEqual([
      ["3000", "LONG", "0.25"],
      ["2500", "SHORT", "0.6"],
    ]);
    expect(rows[1]).toEqual({
      ...{ orderId: `${ETH}:1:${receipt.blockNumber}`, symbol: "ETH", direction: "SHORT", orderType: null },
      ...{ price: "2500", size: "0.6", collateral: "30", leverage: "50", takeProfit: null, stopLoss: null },
      ...{ slippagePercent: "0.3", liquidationPrice: "2542.5", status: "OPEN", txHash: null },
      timestampMs: Number(timestamp) * 1_000,
    });
    expect(rows[0]).toMatchObject({ takeProfit: "3500", stopLoss: "2900", slippagePercent: "0.5" });
    // Positions of the same block come out of the same read.
    expect(shown(await settled(room.readPositions(one.address, READ)))).toEqual([]);
    expect(proxies[0]?.walletReads().length).toBe(2);
  });

  it("take their number, type and time from the history where it has seen their last change", async () => {
    const one = await trader();
    const order = { pairIndex: BTC, collateral: "60", leverage: "10", price: "90000", type: "LIMIT" } as const;
    const { receipt } = await one.open(order);
    await world.chain.mine(2);
    await one.write("Trading", "updateOpenLimitOrder", [BTC, 0, 900_000_000_000_000n, 3_000_000_000n, 0n, 0n]);
    const changedAt = Number(await world.chain.rpc("eth_blockNumber"));
    const asked: unknown[] = [];
    const upTo = (toBlock: number) => ({
      createHistory: (): HistoryPart => ({
        ...noHistory(),
        placedOrders: async (address, slots) => {
          asked.push(address);
          const placed = {
            block: Number(receipt.blockNumber),
            orderType: "LIMIT",
            timestampMs: 5_000,
            txHash: "0x07",
          } as const;
          return slots.map(({ pairIndex, block }) => (pairIndex === BTC && block <= toBlock ? placed : null));
        },
      }),
    });
    const late = await started({ parts: upTo(changedAt) });
    const [known] = shown(await late.settled(late.room.readOpenOrders(one.address, READ)));
    expect(known).toMatchObject({ orderId: `${BTC}:0:${receipt.blockNumber}`, orderType: "LIMIT", timestampMs: 5_000 });
    expect(asked).toEqual([one.address.toLowerCase()]);
    const early = await started({ parts: upTo(changedAt - 1) });
    const [unknown] = shown(await early.settled(early.room.readOpenOrders(one.address, READ)));
    expect(unknown).toMatchObject({ orderId: `${BTC}:0:${changedAt}`, orderType: null, txHash: null });
  });
});

describe("balances of venuefive", () => {
  it("are the collateral, what the storage may take of it, and the coin of the chain, to the last place", async () => {
    const one = await trader("1234.567891");
    const { room, settled } = await started();
    const balances = shown(await settled(room.readBalances(one.address, READ)));
    const coins = BigInt((await world.chain.rpc("eth_getBalance", [one.address, "latest"])) as string);
    expect(balances).toEqual({
      collateral: { token: "USDC", amount: "1234.567891", allowance: "1000000000" },
      native: { symbol: "ETH", amount: text(coins, 18) },
    });
    expect(shown(await settled(room.readBalances(NOBODY, READ)))).toEqual({
      collateral: { token: "USDC", amount: "0", allowance: "0" },
      native: { symbol: "ETH", amount: "0" },
    });
  });
});

describe("a read of a wallet", () => {
  it("is one request once its pairs are known, all of it at one block, kept while that is the newest and shared by who asks at once", async () => {
    const one = await trader();
    await one.opened({ pairIndex: BTC, collateral: "100", leverage: "10", price: "92400" });
    const { room, settled, proxies, atTip } = await started();
    const reads = await settled(
      Promise.all([
        room.readPositions(one.address, READ),
        room.readPositions(one.address.toUpperCase().replace("0X", "0x"), READ),
        room.readOpenOrders(one.address, READ),
      ]),
    );
    expect(reads.map((read) => read.ok && read.value.length)).toEqual([1, 1, 0]);
    await settled(room.readPositions(one.address, READ));
    const requests = proxies[0]?.walletReads() ?? [];
    // How many it has of each pair, and once that is known the name and the page of that pair beside it.
    expect(requests.map(({ length }) => length)).toEqual([COUNTS, COUNTS + 2]);
    const tags = requests.flat().map(({ method, params }) => (method === "eth_call" ? params[1] : params[0]));
    expect(new Set(tags)).toEqual(new Set([`0x${room.status().block?.toString(16)}`]));
    await world.chain.mine();
    await atTip();
    await settled(room.readPositions(one.address, READ));
    expect(proxies[0]?.walletReads().map(({ length }) => length)).toEqual([COUNTS, COUNTS + 2, COUNTS + 2]);
  });

  it("of what is no address is refused, and nothing is asked", async () => {
    const { room, settled, proxies } = await started();
    const before = proxies[0]?.requests.length;
    for (const address of ["", "0x12", `${NOBODY}0`, "nobody"])
      for (const read of [
        room.readPositions(address, READ),
        room.readOpenOrders(address, READ),
        room.readBalances(address, READ),
      ])
        expect(await settled<ChainRead<unknown>>(read)).toMatchObject({ ok: false, code: "VENUE_ERROR" });
    expect(proxies[0]?.requests.length).toBe(before);
  });

  it("counts its calls in the status, which names endpoints by their hosts alone", async () => {
    const { room, settled, proxies, lines } = await started({ path: "/v2/a-key-of-the-operator?token=another-one" });
    await settled(room.readPositions(NOBODY, READ));
    const [row] = room.status().endpoints;
    const calls = (proxies[0]?.requests ?? []).reduce((sum, { length }) => sum + length, 0);
    expect(row).toEqual({
      ...{ host: new URL(proxies[0]?.url ?? "").host, state: "up", block: room.status().block },
      ...{ calls, failures: 0 },
    });
    expect(JSON.stringify([room.status(), lines])).not.toMatch(/a-key-of-the-operator|another-one/);
  });
});

function text(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, "");
}
