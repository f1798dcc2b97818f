/** Reads of accounts over REST: what is public, what needs a token, filters, pages. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { get } from "./support.js";
import {
  ADDRESS,
  ASTER,
  BTC,
  publicHex,
  rows,
  startTraders,
  testKey,
  type Trader,
  type TraderVenue,
} from "./trader.js";

describe("reads of accounts", () => {
  let bench: TraderVenue;
  let trader: Trader;
  beforeEach(async () => {
    bench = await startTraders();
    ({ trader } = bench);
  });
  afterEach(() => bench.venue.stop());

  const open = (path: string): ReturnType<typeof get> => get(bench.venue, `/api/v1/${path}`);

  it("show accounts, keys and nonces to everyone", async () => {
    const byIndex = await open("account?by=index&value=65");
    expect(byIndex.json).toMatchObject({
      code: 200,
      total: 1,
      accounts: [
        {
          index: 65,
          account_index: 65,
          account_type: 0,
          l1_address: ADDRESS,
          collateral: "1000000.000000",
          available_balance: "1000000.000000",
          positions: [],
        },
      ],
    });
    const byAddress = await open(`account?by=l1_address&value=${ADDRESS.toUpperCase().replace("0X", "0x")}`);
    expect(byAddress.json.total).toBe(1);
    expect((await open(`accountsByL1Address?l1_address=${ADDRESS}`)).json.sub_accounts).toMatchObject([{ index: 65 }]);
    const keys = await open("apikeys?account_index=65&api_key_index=255");
    expect(keys.json.api_keys).toEqual([
      { account_index: 65, api_key_index: 5, nonce: 1, public_key: publicHex(testKey(3)), transaction_time: 0 },
    ]);
    expect((await open("nextNonce?account_index=65&api_key_index=9")).json).toEqual({ code: 200, nonce: 0 });
  });

  it.each([
    ["account?by=index&value=9", 21100],
    ["account?by=name&value=9", 20001],
    ["account?by=index&value=x", 20001],
    ["account?by=l1_address&value=0x12", 20001],
    ["accountsByL1Address?l1_address=0x0000000000000000000000000000000000000001", 21100],
    ["apikeys?account_index=9", 21100],
    ["apikeys?account_index=65&api_key_index=6", 21109],
    ["nextNonce?account_index=65", 20001],
    ["nextNonce?account_index=65&api_key_index=255", 21110],
    ["tx?by=hash&value=00", 20001],
    [`tx?by=hash&value=${"0".repeat(80)}`, 21500],
    ["txFromL1TxHash?hash=0x12", 21500],
    ["accountTxs?by=account_index&value=65", 20001],
    ["accountTxs?by=account_index&value=65&limit=101", 20001],
  ])("%s is refused with %d", async (path, code) => {
    expect(await open(path)).toMatchObject({ status: 400, json: { code } });
  });

  it.each([
    "accountActiveOrders?account_index=65",
    "accountInactiveOrders?account_index=65&limit=5",
    "accountLimits?account_index=65",
    "positionFunding?account_index=65&limit=5",
    "trades?sort_by=timestamp&limit=5&account_index=65",
  ])("%s needs a token of this account", async (path) => {
    expect(await open(path)).toMatchObject({
      status: 400,
      json: { code: 20001, message: "invalid param : auth query param and Authorization header are empty" },
    });
    expect(await trader.read(path, bench.other.token())).toMatchObject({ status: 401, json: { code: 20013 } });
    const tooFar = await trader.read(path, trader.token(9 * 3_600));
    expect(tooFar).toMatchObject({ status: 401, json: { code: 20013, message: "invalid auth: invalid deadline" } });
    expect(await trader.read(path, trader.token(-1))).toMatchObject({ status: 401 });
    expect((await trader.read(path)).status).toBe(200);
    // The older way.
    expect((await open(`${path}&auth=${encodeURIComponent(trader.token())}`)).status).toBe(200);
  });

  it("page through ended orders without a gap or a repeat", async () => {
    for (let client = 1; client <= 7; client++)
      await trader.create({ client, tif: 0, price: trader.touch("BUY") - 900 });
    trader.settle();
    const seen: unknown[] = [];
    let cursor = "";
    for (let page = 0; page < 10; page++) {
      const path = `accountInactiveOrders?account_index=65&limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const answer = await trader.read(path);
      seen.push(...rows(answer, "orders").map((row) => row.client_order_index));
      if (answer.json.next_cursor === undefined) break;
      cursor = String(answer.json.next_cursor);
    }
    expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect((await trader.read("accountInactiveOrders?account_index=65&limit=3&cursor=zzz")).json.code).toBe(20001);
  });

  it("filter orders and trades by market, side and role", async () => {
    await trader.create({ type: 1, base: 1_000, price: trader.touch("SELL") + 5_000 });
    await trader.create({ type: 1, market: ASTER, base: 500, ask: true, price: trader.touch("BUY", ASTER) - 5_000 });
    trader.settle();
    const count = async (path: string, name: string): Promise<number> => rows(await trader.read(path), name).length;
    const orders = "accountInactiveOrders?account_index=65&limit=50";
    expect(await count(orders, "orders")).toBe(2);
    expect(await count(`${orders}&market_id=83`, "orders")).toBe(1);
    expect(await count(`${orders}&ask_filter=0`, "orders")).toBe(1);
    expect(await count(`${orders}&between_timestamps=0-1`, "orders")).toBe(0);
    const trades = "trades?sort_by=timestamp&limit=50&account_index=65";
    const all = await count(trades, "trades");
    expect(all).toBeGreaterThan(1);
    expect((await count(`${trades}&market_id=1`, "trades")) + (await count(`${trades}&market_id=83`, "trades"))).toBe(
      all,
    );
    expect(await count(`${trades}&role=maker`, "trades")).toBe(0);
    expect(await count(`${trades}&role=taker&ask_filter=1&market_id=83`, "trades")).toBeGreaterThan(0);
    const [order] = rows(await trader.read(`${orders}&market_id=83`), "orders");
    const own = rows(await trader.read(`${trades}&order_index=${String(order?.order_id)}`), "trades");
    const size = own.reduce((sum, row) => sum + Number(row.size), 0);
    expect(size).toBeCloseTo(Number(order?.filled_base_amount), 9);
    expect(own.every((row) => row.ask_id_str === order?.order_id && row.ask_account_id === 65)).toBe(true);
  });

  it("show the same trade to everyone, under the same ids", async () => {
    await trader.create({ type: 1, client: 9, base: 100, price: trader.touch("SELL") + 5_000 });
    trader.settle();
    const [own] = rows(await trader.read("trades?sort_by=timestamp&limit=1&account_index=65"), "trades");
    const tape = await open("recentTrades?market_id=1&limit=100");
    expect(rows(tape, "trades").find((row) => row.trade_id === own?.trade_id)).toEqual(own);
  });

  it("show the fees of the account's tier, which its fills pay", async () => {
    const premium = await startTraders({}, { tier: "premium" });
    const limits = await premium.trader.read("accountLimits?account_index=65");
    expect(limits.json).toMatchObject({
      user_tier: "premium",
      current_maker_fee_tick: 40,
      current_taker_fee_tick: 280,
    });
    await premium.trader.create({ type: 1, base: 100, price: premium.trader.touch("SELL") + 5_000 });
    premium.trader.settle();
    const [own] = rows(await premium.trader.read("trades?sort_by=timestamp&limit=1&account_index=65"), "trades");
    expect(own?.taker_fee).toBe(280);
    await premium.venue.stop();
    expect((await trader.read("accountLimits?account_index=65")).json).toMatchObject({ current_taker_fee_tick: 0 });
  });

  it("list payments of funding as what the account got", async () => {
    await trader.create({ type: 1, base: 10_000, price: trader.touch("SELL") + 9_000 });
    trader.settle();
    bench.clock.advance(2 * 3_600_000);
    const answer = await trader.read("positionFunding?account_index=65&limit=1");
    const [row] = rows(answer, "position_fundings");
    expect(row).toMatchObject({ market_id: BTC, position_side: "long", position_size: "0.10000" });
    const next = await trader.read(
      `positionFunding?account_index=65&limit=5&cursor=${String(answer.json.next_cursor)}`,
    );
    expect(rows(next, "position_fundings").map((each) => each.funding_id)).not.toContain(row?.funding_id);
    const position = await trader.position();
    const paid = [row, ...rows(next, "position_fundings")].reduce((sum, each) => sum - Number(each?.change), 0);
    expect(Number(position?.total_funding_paid_out)).toBeCloseTo(paid, 4);
  });

  it("list transactions of an account, newest first", async () => {
    await trader.create({ tif: 2, price: trader.touch("BUY") - 9_000 });
    await trader.send(16, { TimeInForce: 0, Time: 0 });
    const waiting = await open("accountTxs?by=account_index&value=65&limit=5");
    expect(rows(waiting, "txs").map((row) => [row.type, row.status, row.event_info])).toEqual([
      [16, 1, ""],
      [14, 1, ""],
    ]);
    trader.settle();
    const path = "accountTxs?by=account_index&value=65&limit=5&types=[14]";
    const [row] = rows(await open(path), "txs");
    expect(row).toMatchObject({ type: 14, status: 2, nonce: 1, api_key_index: 5, account_index: 65 });
    const same = await open(`tx?by=sequence_index&value=${String(row?.sequence_index)}`);
    expect(same.json.hash).toBe(row?.hash);
  });

  it("spend the budget of the account's owner when they show a token, else that of the address", async () => {
    const limited = await startTraders({ limits: { readsPerMinute: 3, messagesPerMinute: 100 } });
    const token = limited.trader.token();
    for (let count = 0; count < 3; count++)
      expect((await limited.trader.read("accountLimits?account_index=65", token)).status).toBe(200);
    expect((await limited.trader.read("accountLimits?account_index=65", token)).status).toBe(429);
    expect((await get(limited.venue, "/api/v1/nextNonce?account_index=65&api_key_index=5")).status).toBe(200);
    expect((await limited.other.read("accountLimits?account_index=66")).status).toBe(200);
    await limited.venue.stop();
  });
});
