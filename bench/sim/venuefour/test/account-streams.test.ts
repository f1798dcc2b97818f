/** Private channels and orders over the socket, in the order and shape of the captures. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { Frame, Listener } from "../../core/test/listener.js";
import { keyPairOf } from "../records/keys.js";
import type { VenuefourSim } from "../sim.js";
import { act, type Signer, signedBody } from "./signer.js";
import { connect, control, startTestVenue, subscribe } from "./support.js";

const WALLET = keyPairOf(Buffer.alloc(32, 1));
const CLOID = "7b22b026-1b4f-4823-95bc-cb584a783b18";
type Row = Readonly<Record<string, unknown>>;

describe("private channels of the local venue", () => {
  let venue: VenuefourSim;
  let clock: VirtualClock;
  let signer: Signer;
  let listener: Listener;

  beforeEach(async () => {
    ({ venue, clock } = await startTestVenue());
    const keys = venue.addAccount({ walletAddress: WALLET.publicKey, deposit: "100000" });
    signer = { account: WALLET.publicKey, secret: keys.apiSecret, agent: keys.apiKey };
    listener = await connect(venue);
  });

  afterEach(async () => {
    listener.socket.terminate();
    await venue.stop();
  });

  const listen = (source: string): Promise<void> => subscribe(listener, { source, account: WALLET.publicKey });
  const of = (channel: string): Frame[] => listener.frames.filter((frame) => frame.channel === channel);
  const rows = (channel: string): Row[] => of(channel).flatMap((frame) => frame.data as Row[]);
  const limit = { symbol: "BTC", price: "50000", amount: "0.01", side: "bid", tif: "GTC", reduce_only: false };
  const market = { symbol: "BTC", amount: "0.01", side: "bid", slippage_percent: "1", reduce_only: false };
  const settle = async (): Promise<void> => {
    clock.advance(20);
    await listener.drained();
  };

  it("begin with the positions as they are, and with nothing for order updates and fills", async () => {
    await listen("account_positions");
    await listen("account_order_updates");
    await listen("account_trades");
    expect(listener.frames.map((frame) => frame.channel)).toEqual([
      "subscribe",
      "account_positions",
      "subscribe",
      "subscribe",
    ]);
    expect(of("account_positions")[0]).toMatchObject({ data: [], li: expect.any(Number) });
  });

  it("send a resting order and its cancel with the fields of the capture", async () => {
    await listen("account_order_updates");
    await act(venue, signer, "create_order", { ...limit, client_order_id: CLOID });
    await act(venue, signer, "cancel_order", { symbol: "BTC", client_order_id: CLOID });
    await settle();
    const [made, gone] = rows("account_order_updates");
    expect(Object.keys(made ?? {})).toEqual([
      "I",
      "a",
      "ct",
      "d",
      "f",
      "i",
      "ip",
      "li",
      "lp",
      "oe",
      "os",
      "ot",
      "p",
      "r",
      "s",
      "si",
      "sp",
      "tp",
      "u",
      "ut",
    ]);
    expect(made).toMatchObject({ I: CLOID, oe: "make", os: "open", ot: "limit", ip: "50000", p: "0", f: "0" });
    expect(made?.li).toBe(made?.i);
    expect(gone).toMatchObject({ oe: "cancel", os: "cancelled", ct: made?.ct });
    expect(Number(gone?.li)).toBeGreaterThan(Number(made?.li));
  });

  it("send a market order as made and filled in one frame, its fill apart, the position after both", async () => {
    for (const source of ["account_positions", "account_order_updates", "account_trades"]) await listen(source);
    const before = listener.frames.length;
    await act(venue, signer, "create_market_order", market);
    await settle();
    const update = (of("account_order_updates")[0]?.data ?? []) as Row[];
    expect(update.map((row) => row.oe).slice(0, 2)).toEqual(["make", "fulfill_market"]);
    expect(new Set(update.map((row) => row.li)).size).toBe(1);
    const channels = listener.frames.slice(before).map((frame) => frame.channel);
    expect([...channels.slice(0, 2)].sort()).toEqual(["account_order_updates", "account_trades"]);
    expect(channels[2]).toBe("account_positions");
    expect(rows("account_trades")[0]).toMatchObject({
      te: "fulfill_taker",
      ts: "open_long",
      tc: "normal",
      u: WALLET.publicKey,
    });
    expect(rows("account_positions")[0]).toMatchObject({ s: "BTC", d: "bid", a: "0.01", i: false, m: "0" });
    await act(venue, signer, "create_market_order", { ...market, side: "ask", reduce_only: true });
    await settle();
    expect(of("account_positions").at(-1)).toMatchObject({ data: [] });
  });

  it("show fills before the order update in some runs and after it in others, and late by a quirk", async () => {
    for (const source of ["account_order_updates", "account_trades"]) await listen(source);
    for (let round = 0; round < 12; round++) {
      const side = round % 2 === 0 ? "bid" : "ask";
      await act(venue, signer, "create_market_order", { ...market, side });
      await settle();
    }
    const order = listener.frames
      .map((frame) => frame.channel)
      .filter((channel) => channel === "account_trades" || channel === "account_order_updates");
    const firsts = new Set(order.filter((_channel, index) => index % 2 === 0));
    expect(firsts).toEqual(new Set(["account_trades", "account_order_updates"]));
    venue.room.setQuirks({ lateTradesMs: 500 });
    const count = of("account_trades").length;
    await act(venue, signer, "create_market_order", market);
    await settle();
    expect(of("account_trades")).toHaveLength(count);
    clock.advance(500);
    await listener.drained();
    expect(of("account_trades")).toHaveLength(count + 1);
  });

  it("never let a sequence number fall", async () => {
    for (const source of ["account_order_updates", "account_trades"]) await listen(source);
    for (let round = 0; round < 10; round++) {
      await act(venue, signer, "create_order", { ...limit, price: "300000", amount: "0.001" });
      await act(venue, signer, "create_market_order", { ...market, side: "ask" });
      clock.advance(100);
    }
    await settle();
    for (const channel of ["account_order_updates", "account_trades"]) {
      const numbers = rows(channel).map((row) => Number(row.li));
      expect(numbers.length).toBeGreaterThan(10);
      expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
    }
  });

  it("send leverage, margin mode, open orders and money", async () => {
    for (const source of ["account_leverage", "account_margin", "account_orders", "account_info"]) await listen(source);
    await act(venue, signer, "update_leverage", { symbol: "BTC", leverage: 12 });
    await act(venue, signer, "update_margin_mode", { symbol: "ETH", is_isolated: true });
    await act(venue, signer, "create_order", limit);
    await settle();
    expect(of("account_leverage")[0]).toMatchObject({ data: { u: WALLET.publicKey, s: "BTC", l: "12" } });
    expect(of("account_margin")[0]).toMatchObject({ data: { s: "ETH", i: true } });
    expect(of("account_orders").at(-1)).toMatchObject({ data: [{ s: "BTC", p: "50000", a: "0.01", ro: false }] });
    expect(of("account_info").at(-1)).toMatchObject({ data: { b: "100000", oc: 1, pc: 0, f: 0 } });
  });

  it("send nothing for an account that is no address, and nothing of other accounts", async () => {
    await subscribe(listener, { source: "account_positions", account: "abc" });
    expect(listener.frames).toEqual([]);
    const other = keyPairOf(Buffer.alloc(32, 2)).publicKey;
    await subscribe(listener, { source: "account_order_updates", account: other });
    await act(venue, signer, "create_order", limit);
    await settle();
    expect(of("account_order_updates")).toEqual([]);
  });

  it("obey the faults of the user scope", async () => {
    await listen("account_order_updates");
    venue.faults.add({ kind: "loss", scope: ["user"], match: "account_order_updates", count: 1 });
    await act(venue, signer, "create_order", limit);
    await settle();
    expect(of("account_order_updates")).toEqual([]);
    venue.faults.add({ kind: "duplicate", scope: ["user"], count: 1 });
    await act(venue, signer, "create_order", limit);
    await settle();
    expect(of("account_order_updates")).toHaveLength(2);
    venue.faults.add({ kind: "ignoreSubscribe", match: "account_trades", count: 1 });
    await listen("account_trades");
    expect(of("subscribe")).toHaveLength(1);
    venue.faults.add({ kind: "disconnect", scope: ["user"], count: 1 });
    await act(venue, signer, "create_order", limit);
    expect(await listener.closed).toBe(1006);
  });
});

describe("orders over the socket", () => {
  let venue: VenuefourSim;
  let clock: VirtualClock;
  let signer: Signer;
  let listener: Listener;

  beforeEach(async () => {
    ({ venue, clock } = await startTestVenue());
    const keys = venue.addAccount({ walletAddress: WALLET.publicKey, deposit: "100000" });
    signer = { account: WALLET.publicKey, secret: keys.apiSecret, agent: keys.apiKey };
    listener = await connect(venue);
  });

  afterEach(async () => {
    listener.socket.terminate();
    await venue.stop();
  });

  const limit = { symbol: "BTC", price: "50000", amount: "0.01", side: "bid", tif: "GTC", reduce_only: false };
  const ask = async (operation: string, body: unknown, id = "one"): Promise<Frame> => {
    listener.send({ id, params: { [operation]: body } });
    return listener.waitFor((frame) => frame.id === id);
  };

  it("are answered before the updates that they cause, in the shape of the capture", async () => {
    await subscribe(listener, { source: "account_order_updates", account: WALLET.publicKey });
    const body = signedBody(venue, signer, "create_order", { ...limit, client_order_id: CLOID });
    const made = await ask("create_order", body);
    expect(made).toMatchObject({
      code: 200,
      data: { I: CLOID, i: expect.any(Number), s: "BTC" },
      rl: { q: 1_000_000, r: expect.any(Number), t: expect.any(Number) },
      type: "create_order",
    });
    const cancel = signedBody(venue, signer, "cancel_order", { symbol: "BTC", client_order_id: CLOID });
    expect(await ask("cancel_order", cancel, "two")).toMatchObject({
      code: 200,
      data: { I: CLOID, i: null, s: "BTC" },
    });
    const all = signedBody(venue, signer, "cancel_all_orders", { all_symbols: true, exclude_reduce_only: false });
    expect(await ask("cancel_all_orders", all, "three")).toMatchObject({ data: { cancelled_count: 0 } });
    clock.advance(20);
    await listener.drained();
    const order = listener.frames.map((frame) => frame.channel ?? frame.type);
    expect(order).toEqual([
      "subscribe",
      "create_order",
      "account_order_updates",
      "cancel_order",
      "account_order_updates",
      "cancel_all_orders",
    ]);
  });

  it("are refused with the codes of the socket", async () => {
    const wrong = { ...signedBody(venue, signer, "create_order", limit), amount: "5" };
    expect(await ask("create_order", wrong, "a")).toMatchObject({ code: 401, type: "create_order" });
    const stranger = keyPairOf(Buffer.alloc(32, 9));
    const unbound = { account: WALLET.publicKey, secret: stranger.secret, agent: stranger.publicKey };
    const byStranger = signedBody(venue, unbound, "create_order", limit);
    expect(await ask("create_order", byStranger, "b")).toMatchObject({
      code: 402,
      err: "Agent not authorized for account",
    });
    const gone = signedBody(venue, signer, "cancel_order", { symbol: "BTC", order_id: 1 });
    expect(await ask("cancel_order", gone, "c")).toMatchObject({ code: 420, err: "Failed to cancel order" });
    expect(await ask("create_order", { account: 5 }, "d")).toMatchObject({ code: 400 });
    expect(await ask("withdraw", {}, "e")).toMatchObject({ code: 400, err: "Invalid request" });
    await control(venue, "limits", { creditsPerMinute: 0 });
    expect(await ask("create_order", signedBody(venue, signer, "create_order", limit), "f")).toMatchObject({
      code: 429,
    });
  });

  it("take batches", async () => {
    const actions = [
      { type: "Create", data: signedBody(venue, signer, "create_order", limit) },
      { type: "Cancel", data: signedBody(venue, signer, "cancel_order", { symbol: "BTC", order_id: 1 }) },
    ];
    const answer = await ask("batch_orders", { actions });
    expect((answer.data as { results: { success: boolean }[] }).results.map((result) => result.success)).toEqual([
      true,
      false,
    ]);
  });
});
