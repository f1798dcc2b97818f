/** Orders and accounts over REST: signatures, refusals in the venue's words, fills, protection, histories. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { keyPairOf } from "../records/keys.js";
import type { VenuefourSim } from "../sim.js";
import { act, type Signer, signedBody } from "./signer.js";
import { control, get, post, startTestVenue } from "./support.js";

const CLOID = "7b22b026-1b4f-4823-95bc-cb584a783b18";
const STRANGER = keyPairOf(Buffer.alloc(32, 9));
const WALLET = keyPairOf(Buffer.alloc(32, 1));

describe("the account side of the local venue", () => {
  let venue: VenuefourSim;
  let clock: VirtualClock;
  let signer: Signer;
  let owner: Signer;

  beforeEach(async () => {
    ({ venue, clock } = await startTestVenue());
    const keys = venue.addAccount({ walletAddress: WALLET.publicKey, deposit: "100000" });
    signer = { account: WALLET.publicKey, secret: keys.apiSecret, agent: keys.apiKey };
    owner = { account: WALLET.publicKey, secret: WALLET.secret, agent: null };
  });

  afterEach(async () => {
    await venue.stop();
  });

  const read = async (path: string): Promise<{ data: Record<string, unknown>[] } & Record<string, unknown>> =>
    (await get(venue, `${path}${path.includes("?") ? "&" : "?"}account=${WALLET.publicKey}`)).json as never;
  const limit = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
    symbol: "BTC",
    price: "50000",
    amount: "0.01",
    side: "bid",
    tif: "GTC",
    reduce_only: false,
    ...fields,
  });
  const market = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
    symbol: "BTC",
    amount: "0.01",
    side: "bid",
    slippage_percent: "1",
    reduce_only: false,
    ...fields,
  });
  const hold = (qty: string): Promise<unknown> =>
    control(venue, "positions", { accountId: WALLET.publicKey, symbol: "BTC", qty });

  it("takes what agent and owner sign, and says which order it became", async () => {
    const byAgent = await act(venue, signer, "create_order", limit());
    const byOwner = await act(venue, owner, "create_order", limit());
    expect(byAgent.json).toMatchObject({ success: true, error: null, code: null });
    expect((byAgent.json.data as { order_id: number }).order_id).toBeGreaterThan(336_536_000);
    expect(byOwner.status).toBe(200);
    const { data, last_order_id: last } = await read("orders");
    expect(data).toHaveLength(2);
    expect(data[1]).toMatchObject({
      symbol: "BTC",
      side: "bid",
      price: "50000",
      initial_amount: "0.01",
      order_type: "limit",
    });
    expect(last).toBeGreaterThanOrEqual(Number(data[0]?.order_id));
    expect(venue.log.records().map((record) => [record.action, record.signer])).toEqual([
      ["place", signer.agent],
      ["place", WALLET.publicKey],
    ]);
  });

  it.each([
    ["another operation's text", { type: "create_market_order" }, {}, "Verification failed"],
    ["an expired window", { timestamp: 1, expiryWindow: 5_000 }, {}, "Invalid message"],
    ["a time far ahead", { timestamp: 9_000_000_000_000 }, {}, "Invalid message"],
    ["no base58", {}, { signature: "0OIl" }, "Invalid signature"],
    ["a short signature", {}, { signature: "abc" }, "Invalid signature"],
    ["an account that is no key", {}, { account: "abc" }, "Invalid public key"],
    ["an amount changed after signing", {}, { amount: "0.02" }, "Verification failed"],
    ["the same amount written otherwise", {}, { amount: "0.010" }, "Verification failed"],
    ["an agent of nobody", {}, { agent_wallet: STRANGER.publicKey }, "Verification failed"],
  ])("refuses %s with status 400 and executes nothing", async (_what, options, changes, text) => {
    const body = { ...signedBody(venue, signer, "create_order", limit(), options), ...changes };
    const answer = await post(venue, "orders/create", body);
    expect(answer.status).toBe(400);
    expect(String(answer.json.error)).toContain(text);
    expect((await read("orders")).data).toEqual([]);
    expect(venue.log.records()).toEqual([]);
  });

  it("refuses an agent that was never bound, and one that was revoked", async () => {
    const stranger = { account: WALLET.publicKey, secret: STRANGER.secret, agent: STRANGER.publicKey };
    const never = await act(venue, stranger, "create_order", limit());
    expect(never).toMatchObject({ status: 400, json: { error: "Agent not authorized for account", code: 400 } });
    expect((await act(venue, owner, "bind_agent_wallet", { agent_wallet: STRANGER.publicKey })).status).toBe(200);
    expect((await act(venue, stranger, "create_order", limit())).status).toBe(200);
    expect((await act(venue, owner, "revoke_agent_wallet", { agent_wallet: STRANGER.publicKey })).status).toBe(200);
    expect((await act(venue, stranger, "create_order", limit())).json.error).toBe("Agent not authorized for account");
  });

  it("lets no agent make agents", async () => {
    const asAgent = signedBody(venue, signer, "bind_agent_wallet", { agent_wallet: STRANGER.publicKey });
    const answer = await post(venue, "agent/bind", asAgent);
    expect(answer).toMatchObject({ status: 400, json: { error_id: "signature_verification_failed" } });
    expect(venue.room.keys.isAgentOf(STRANGER.publicKey, WALLET.publicKey)).toBe(false);
  });

  it("answers a wrong signature in plain text by a quirk, as servers of 2025 do", async () => {
    venue.room.setQuirks({ plainVerification: true });
    const answer = await act(venue, signer, "create_order", limit(), { type: "edit_order" });
    expect(answer).toMatchObject({ status: 400, text: "Verification failed" });
  });

  it("fills a market order within its bound, and shows position, fills and money", async () => {
    const best = venue.exchange.market.bestAsk("BTC");
    const answer = await act(venue, signer, "create_market_order", market({ client_order_id: CLOID }));
    const orderId = (answer.json.data as { order_id: number }).order_id;
    const events = (await get(venue, `orders/history_by_id?order_id=${orderId}`)).json.data as Record<
      string,
      unknown
    >[];
    expect(events.at(-1)).toMatchObject({ event_type: "make", order_status: "open", filled_amount: "0" });
    expect(events[0]).toMatchObject({
      event_type: "fulfill_market",
      order_status: "filled",
      filled_amount: "0.01",
      client_order_id: CLOID,
    });
    expect(Number(events.at(-1)?.price)).toBeCloseTo(Number(best?.priceTicks) * 1.01, -1);
    const [position] = (await read("positions")).data;
    expect(position).toMatchObject({ symbol: "BTC", side: "bid", amount: "0.01", margin: "0", isolated: false });
    const trades = (await read("trades/history")).data;
    const sum = trades.reduce((total, trade) => total + Number(trade.amount), 0);
    expect(sum).toBeCloseTo(0.01, 8);
    for (const trade of trades) {
      const fee = Number(trade.price) * Number(trade.amount) * 0.0004;
      expect(Math.abs(Number(trade.fee) - fee)).toBeLessThanOrEqual(0.000_000_6);
      expect(trade).toMatchObject({ event_type: "fulfill_taker", side: "open_long", pnl: `-${String(trade.fee)}` });
    }
    const account = (await get(venue, `account?account=${WALLET.publicKey}`)).json.data as Record<string, string>;
    expect(Number(account.balance)).toBeLessThan(100_000);
    expect(account).toMatchObject({ positions_count: 1, orders_count: 0, taker_fee: "0.0004", maker_fee: "0.00015" });
  });

  it("waits with market, GTC and IOC orders before the book sees them, with nothing else", async () => {
    await venue.stop();
    ({ venue, clock } = await startTestVenue({ cadences: { speedBumpMs: 200 } }));
    const keys = venue.addAccount({ walletAddress: WALLET.publicKey, deposit: "100000" });
    signer = { account: WALLET.publicKey, secret: keys.apiSecret, agent: keys.apiKey };
    const slow = [
      act(venue, signer, "create_market_order", market()),
      act(venue, signer, "create_order", limit()),
      act(venue, signer, "create_order", limit({ tif: "IOC" })),
    ];
    expect((await act(venue, signer, "create_order", limit({ tif: "ALO" }))).status).toBe(200);
    expect((await read("orders")).data).toHaveLength(1);
    await expect.poll(() => venue.log.records().length).toBe(4);
    expect((await read("positions")).data).toEqual([]);
    await clock.advanceAsync(200);
    expect((await Promise.all(slow)).map((answer) => answer.status)).toEqual([200, 200, 200]);
    expect((await read("positions")).data).toHaveLength(1);
  });

  it("refuses reduce-only orders in the order position, side, amount", async () => {
    const flat = await act(venue, signer, "create_market_order", market({ side: "ask", reduce_only: true }));
    expect(flat).toMatchObject({ status: 422, json: { success: false, code: 23 } });
    await hold("0.005");
    const adds = await act(venue, signer, "create_market_order", market({ reduce_only: true }));
    expect(adds).toMatchObject({ status: 422, json: { code: 21 } });
    const tooMuch = await act(
      venue,
      signer,
      "create_order",
      limit({ side: "ask", price: "200000", reduce_only: true }),
    );
    expect(tooMuch).toMatchObject({ status: 422, json: { code: 22 } });
    expect(tooMuch.json.error).toBe("Invalid reduce-only order amount: 0.01 exceeds position amount 0.005");
    const closes = market({ side: "ask", amount: "0.005", reduce_only: true });
    expect((await act(venue, signer, "create_market_order", closes)).status).toBe(200);
    expect(await read("positions")).toMatchObject({ data: [], last_order_id: expect.any(Number) });
  });

  it.each([
    [{ symbol: "NOPE" }, 422, 3],
    [{ symbol: "WIF/USDC" }, 422, 51],
    [{ price: "50000.5" }, 422, 52],
    [{ amount: "0.0000001" }, 422, 59],
    [{ amount: "0.0001" }, 422, 0],
    [{ amount: "1000000" }, 422, 8],
    [{ amount: "90" }, 422, 5],
    [{ side: "long" }, 400, null],
    [{ tif: "FOK" }, 400, null],
    [{ client_order_id: "abc" }, 400, null],
    [{ amount: 0.01 }, 400, null],
    [{ amount: "-1" }, 400, null],
    [{ amount: "NaN" }, 400, null],
  ])("refuses %j with %i", async (fields, status, code) => {
    const answer = await act(venue, signer, "create_order", limit(fields));
    expect(answer.status).toBe(status);
    if (code !== null) expect(answer.json).toMatchObject({ success: false, data: null, code });
    expect((await read("orders/history")).data).toEqual([]);
  });

  it("uses the codes of 2025 by a quirk", async () => {
    venue.room.setQuirks({ errorTable: "2025" });
    expect((await act(venue, signer, "create_order", limit({ symbol: "NOPE" }))).json.code).toBe(2);
    expect((await act(venue, signer, "cancel_order", { symbol: "BTC", order_id: 1 })).json.code).toBe(5);
    expect((await act(venue, signer, "create_order", limit({ price: "50000.5" }))).status).toBe(500);
  });

  it("takes a client id once, also after its order has ended", async () => {
    expect((await act(venue, signer, "create_order", limit({ client_order_id: CLOID }))).status).toBe(200);
    expect((await act(venue, signer, "create_order", limit({ client_order_id: CLOID }))).json.code).toBe(36);
    expect((await act(venue, signer, "cancel_order", { symbol: "BTC", client_order_id: CLOID })).status).toBe(200);
    const again = await act(venue, signer, "create_order", limit({ client_order_id: CLOID.toUpperCase() }));
    expect(again).toMatchObject({ status: 422, json: { code: 36 } });
    expect((await read("orders/history")).data).toHaveLength(1);
  });

  it("ends post-only orders that would take, and moves TOB ones to one tick from the far side", async () => {
    const crossing = { price: "500000", tif: "ALO", amount: "0.001" };
    await act(venue, signer, "create_order", limit(crossing));
    expect((await read("orders/history")).data[0]).toMatchObject({
      order_status: "rejected",
      reason: "post_only_rejected",
      filled_amount: "0",
    });
    const ask = venue.exchange.market.bestAsk("BTC")?.priceTicks ?? 0;
    await act(venue, signer, "create_order", limit({ ...crossing, tif: "TOB" }));
    expect((await read("orders")).data[0]).toMatchObject({ price: String(ask - 1) });
  });

  it("ends what an IOC order could not fill as cancelled with what it filled", async () => {
    const bid = venue.exchange.market.bestBid("BTC")?.priceTicks ?? 0;
    await act(venue, signer, "create_order", limit({ tif: "IOC", price: String(bid - 100) }));
    expect((await read("orders/history")).data[0]).toMatchObject({
      order_status: "cancelled",
      filled_amount: "0",
      reason: "expired",
    });
  });

  it("cancels by either id, refuses what is gone or another's, and cancels all but stops", async () => {
    const made = await act(venue, signer, "create_order", limit({ client_order_id: CLOID }));
    const { order_id: orderId } = made.json.data as { order_id: number };
    expect((await act(venue, signer, "cancel_order", { symbol: "ETH", order_id: orderId })).json.code).toBe(6);
    const answer = await act(venue, signer, "cancel_order", { symbol: "BTC", order_id: orderId });
    expect(answer.json).toEqual({ success: true, data: null, error: null, code: null });
    expect((await act(venue, signer, "cancel_order", { symbol: "BTC", order_id: orderId })).json).toMatchObject({
      error: "Failed to cancel order",
    });
    expect((await act(venue, signer, "cancel_order", { symbol: "BTC" })).status).toBe(400);
    for (let count = 0; count < 3; count++) await act(venue, signer, "create_order", limit());
    await act(venue, signer, "create_order", limit({ symbol: "ETH", price: "1000", amount: "0.1" }));
    await act(venue, signer, "create_stop_order", {
      symbol: "BTC",
      side: "ask",
      reduce_only: true,
      stop_order: { stop_price: "20000", amount: "0.01" },
    });
    const one = await act(venue, signer, "cancel_all_orders", {
      all_symbols: false,
      exclude_reduce_only: false,
      symbol: "BTC",
    });
    expect(one.json.data).toEqual({ cancelled_count: 3 });
    const all = await act(venue, signer, "cancel_all_orders", { all_symbols: true, exclude_reduce_only: false });
    expect(all.json.data).toEqual({ cancelled_count: 1 });
    expect((await read("orders")).data).toMatchObject([{ order_type: "stop_market", stop_price: "20000" }]);
  });

  it("edits into a new post-only order with the old side and client id", async () => {
    const made = await act(venue, signer, "create_order", limit({ client_order_id: CLOID }));
    const { order_id: oldId } = made.json.data as { order_id: number };
    const fields = { symbol: "BTC", price: "49000", amount: "0.02", client_order_id: CLOID };
    const { order_id: newId } = (await act(venue, signer, "edit_order", fields)).json.data as { order_id: number };
    expect(newId).toBeGreaterThan(oldId);
    expect((await read("orders")).data).toMatchObject([
      { order_id: newId, client_order_id: CLOID, price: "49000", initial_amount: "0.02", side: "bid" },
    ]);
    expect(
      (await act(venue, signer, "edit_order", { ...fields, client_order_id: undefined, order_id: oldId })).json.code,
    ).toBe(6);
  });

  it("fires a stop when the mark gets there, and cancels one by its own call only", async () => {
    await hold("0.01");
    const stop = { symbol: "BTC", side: "ask", reduce_only: true };
    const fires = await act(venue, signer, "create_stop_order", {
      ...stop,
      stop_order: {
        stop_price: String(Math.round(venue.exchange.market.mark("BTC").markE8 / 1e8) - 500),
        amount: "0.01",
      },
    });
    const { order_id: stopId } = fires.json.data as { order_id: number };
    const far = await act(venue, signer, "create_stop_order", {
      ...stop,
      stop_order: { stop_price: "10000", amount: "0.01", client_order_id: CLOID },
    });
    const { order_id: farId } = far.json.data as { order_id: number };
    expect((await act(venue, signer, "cancel_order", { symbol: "BTC", order_id: farId })).status).toBe(422);
    expect((await act(venue, signer, "cancel_stop_order", { symbol: "BTC", client_order_id: CLOID })).status).toBe(200);
    await control(venue, "skew", { bps: -200 });
    await clock.advanceAsync(5_000);
    const events = (await get(venue, `orders/history_by_id?order_id=${stopId}`)).json.data as Record<string, unknown>[];
    expect(events.map((event) => event.event_type)).toContain("stop_triggered");
    expect(events[0]).toMatchObject({ order_status: "filled" });
    expect((await read("positions")).data).toEqual([]);
  });

  it("protects a position with take-profit and stop-loss, which end with it", async () => {
    const tpsl = {
      symbol: "BTC",
      side: "ask",
      take_profit: { stop_price: "900000" },
      stop_loss: { stop_price: "1000" },
    };
    expect((await act(venue, signer, "set_position_tpsl", tpsl)).json.code).toBe(13);
    await hold("0.01");
    expect((await act(venue, signer, "set_position_tpsl", { ...tpsl, side: "bid" })).json.code).toBe(17);
    expect((await act(venue, signer, "set_position_tpsl", tpsl)).json).toMatchObject({ success: true, data: null });
    expect((await act(venue, signer, "set_position_tpsl", tpsl)).status).toBe(200);
    const types = (await read("orders")).data.map((order) => order.order_type);
    expect(types.sort()).toEqual(["stop_loss_market", "take_profit_market"]);
    await act(venue, signer, "create_market_order", market({ side: "ask", reduce_only: true }));
    expect((await read("orders")).data).toEqual([]);
  });

  it("places the protection that came with an order once that has filled", async () => {
    await act(venue, signer, "create_market_order", market({ stop_loss: { stop_price: "1000" } }));
    const [child] = (await read("orders")).data;
    expect(child).toMatchObject({
      order_type: "stop_loss_market",
      stop_price: "1000",
      initial_amount: "0.01",
      reduce_only: true,
    });
    expect(child?.stop_parent_order_id).toEqual(expect.any(Number));
  });

  it("sets leverage and margin mode and lists only what differs from the default, in both shapes", async () => {
    expect((await read("account/settings")).data).toEqual([]);
    expect((await act(venue, signer, "update_leverage", { symbol: "BTC", leverage: 7 })).status).toBe(200);
    expect((await act(venue, signer, "update_leverage", { symbol: "BTC", leverage: 51 })).json.code).toBe(11);
    expect((await act(venue, signer, "update_margin_mode", { symbol: "ETH", is_isolated: true })).status).toBe(200);
    const rows = [
      { symbol: "BTC", isolated: false, leverage: 7 },
      { symbol: "ETH", isolated: true, leverage: 50 },
    ];
    expect((await read("account/settings")).data).toMatchObject(rows);
    venue.room.setQuirks({ settingsShape: "new" });
    expect((await read("account/settings")).data).toMatchObject({ margin_settings: rows });
    await hold("0.01");
    const lower = await act(venue, signer, "update_leverage", { symbol: "BTC", leverage: 5 });
    expect(lower.json.error).toBe("Cannot decrease leverage with open position.: 5");
    expect((await act(venue, signer, "update_leverage", { symbol: "BTC", leverage: 9 })).status).toBe(200);
    expect((await act(venue, signer, "update_margin_mode", { symbol: "BTC", is_isolated: true })).json.code).toBe(12);
  });

  it("batches up to ten actions, each with its own outcome", async () => {
    const actions = [
      { type: "Create", data: signedBody(venue, signer, "create_order", limit({ client_order_id: CLOID })) },
      { type: "Cancel", data: signedBody(venue, signer, "cancel_order", { symbol: "BTC", order_id: 1 }) },
      { type: "Create", data: { ...signedBody(venue, signer, "create_order", limit()), amount: "5" } },
      { type: "CreateMarket", data: signedBody(venue, signer, "create_market_order", market()) },
      { type: "Cancel", data: signedBody(venue, signer, "cancel_order", { symbol: "BTC", client_order_id: CLOID }) },
    ];
    const answer = await post(venue, "orders/batch", { actions });
    const { results } = answer.json.data as { results: { success: boolean; error: string | null }[] };
    expect(answer.status).toBe(200);
    expect(results.map((result) => result.success)).toEqual([true, false, false, true, true]);
    expect(results[1]).toEqual({ success: false, order_id: null, error: "Failed to cancel order" });
    expect(results[2]?.error).toContain("Verification failed");
    const tooMany = Array.from({ length: 11 }, () => actions[1]);
    expect((await post(venue, "orders/batch", { actions: tooMany })).status).toBe(400);
    expect((await post(venue, "orders/batch", { actions: [{ type: "create", data: {} }] })).status).toBe(400);
  });

  it("pages histories from the newest on without repeating or skipping while more comes on top", async () => {
    for (let count = 0; count < 5; count++) await act(venue, signer, "create_order", limit());
    const first = await read("orders/history?limit=2");
    await act(venue, signer, "create_order", limit());
    const second = await read(`orders/history?limit=2&cursor=${String(first.next_cursor)}`);
    const third = await read(`orders/history?limit=2&cursor=${String(second.next_cursor)}`);
    const ids = [first, second, third].flatMap((page) => page.data.map((row) => Number(row.order_id)));
    expect(ids).toHaveLength(5);
    expect([...ids].sort((left, right) => right - left)).toEqual(ids);
    expect(new Set(ids).size).toBe(5);
    expect([first.has_more, second.has_more, third.has_more]).toEqual([true, true, false]);
    expect(await get(venue, `orders/history?account=${WALLET.publicKey}&cursor=zz`)).toMatchObject({ status: 400 });
  });

  it("pays funding by the hour and lists it", async () => {
    await hold("1");
    await clock.advanceAsync(3_600_000);
    const [payment] = (await read("funding/history")).data;
    expect(payment).toMatchObject({ symbol: "BTC", side: "bid", amount: "1" });
    const [position] = (await read("positions")).data;
    expect(Number(position?.funding)).toBeCloseTo(Number(payment?.payout), 6);
  });

  it("finds an order by id only after the lag of its options", async () => {
    venue.room.setQuirks({ historyLagMs: 1_000 });
    const made = await act(venue, signer, "create_order", limit());
    const path = `orders/history_by_id?order_id=${(made.json.data as { order_id: number }).order_id}`;
    expect(await get(venue, path)).toMatchObject({ status: 404, json: { code: 404 } });
    clock.advance(1_000);
    expect((await get(venue, path)).status).toBe(200);
  });

  it("shows nothing of addresses that nobody has, and refuses texts that are none", async () => {
    const other = STRANGER.publicKey;
    expect((await get(venue, `positions?account=${other}`)).json.data).toEqual([]);
    expect((await get(venue, `orders?account=${other}`)).json.data).toEqual([]);
    expect((await get(venue, `account?account=${other}`)).status).toBe(404);
    expect((await get(venue, "positions?account=abc")).status).toBe(400);
    expect((await get(venue, "positions")).status).toBe(400);
    const stranger = { account: other, secret: STRANGER.secret, agent: null };
    expect((await act(venue, stranger, "create_order", limit())).json).toMatchObject({ code: 1 });
  });

  it("does the same with the same seed, to the last digit", async () => {
    const run = async (): Promise<unknown> => {
      const { venue: other } = await startTestVenue({ seed: 77 });
      const keys = other.addAccount({ accountId: "somebody", deposit: "5000" });
      const trader = { account: keys.walletAddress, secret: keys.apiSecret, agent: keys.apiKey };
      for (const side of ["bid", "ask", "bid"])
        await act(other, trader, "create_market_order", market({ side, slippage_percent: "5" }));
      const account = `account=${keys.walletAddress}`;
      const answers = [];
      for (const path of ["positions", "trades/history", "orders/history", "account"])
        answers.push((await get(other, `${path}?${account}`)).text);
      await other.stop();
      return [keys, answers];
    };
    expect(await run()).toEqual(await run());
  });
});
