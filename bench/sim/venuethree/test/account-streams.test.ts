/** Account channels: who may listen, snapshots, and one update per channel after each round of events. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Frame, Listener } from "../../core/test/listener.js";
import { connect } from "./support.js";
import { BTC, startTraders, type Trader, type TraderVenue } from "./trader.js";

/** Rows of one market in a frame's map, or none. */
function rowsOf(frame: Frame | undefined, name: string): readonly Readonly<Record<string, unknown>>[] {
  const map = (frame?.[name] ?? {}) as Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  return map[BTC] ?? [];
}

describe("account channels", () => {
  let bench: TraderVenue;
  let trader: Trader;
  let listener: Listener;
  beforeEach(async () => {
    bench = await startTraders();
    ({ trader } = bench);
    listener = await connect(bench.venue);
  });
  afterEach(async () => {
    listener.socket.terminate();
    await bench.venue.stop();
  });

  const subscribe = async (channel: string, auth: string | null = trader.token()): Promise<Frame | undefined> => {
    const before = listener.frames.length;
    listener.send({ type: "subscribe", channel, ...(auth === null ? {} : { auth }) });
    await listener.drained();
    return listener.frames[before];
  };
  const updates = async (type: string): Promise<Frame[]> => {
    await listener.drained();
    return listener.frames.filter((frame) => frame.type === `update/${type}`);
  };
  const buy = async (base = 500): Promise<void> => {
    await trader.create({ type: 1, client: 21, base, price: trader.touch("SELL") + 5_000 });
    trader.settle();
  };
  const rest = async (client: number): Promise<void> => {
    await trader.create({ client, tif: 2, price: trader.touch("BUY") - 9_000 });
    trader.settle();
  };

  describe("tokens", () => {
    it("are asked for by name", async () => {
      expect(await subscribe("account_all_orders/65", null)).toEqual({
        error: { code: 20001, message: "invalid param : auth field is required: account_all_orders:65" },
      });
    });

    it("must be signed, in time, at most eight hours ahead, and of this account", async () => {
      const code = async (token: string): Promise<unknown> =>
        ((await subscribe("account_all_orders/65", token))?.error as { code: number; message: string } | undefined)
          ?.message;
      const good = trader.token();
      expect(await code(`${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`)).toBe(
        "invalid auth: invalid signature",
      );
      expect(await code(trader.token(-5))).toBe("invalid auth: expired token");
      expect(await code(trader.token(8 * 3_600 + 10))).toBe("invalid auth: invalid deadline");
      expect(await code(bench.other.token())).toBe("invalid auth: account index mismatch");
      expect(await code("nonsense")).toBe("invalid auth: invalid token");
      expect((await subscribe("account_all_orders/65", trader.token(8 * 3_600)))?.type).toBe(
        "subscribed/account_all_orders",
      );
    });

    it("are not needed for what the documentation gives away", async () => {
      expect((await subscribe("user_stats/65", null))?.type).toBe("subscribed/user_stats");
      expect((await subscribe("account_all/65", null))?.type).toBe("subscribed/account_all");
    });
  });

  it("refuse a second subscription and channels that are none", async () => {
    await subscribe("account_all_orders/65");
    expect(await subscribe("account_all_orders/65")).toEqual({
      error: { code: 30003, message: "Already Subscribed to : account_all_orders:65" },
    });
    for (const channel of ["account_all_orders/9999", "account_all_orders/", "account_market/36/65", "account_tx/1/65"])
      expect((await subscribe(channel))?.error).toMatchObject({ code: 30005 });
    listener.send({ type: "unsubscribe", channel: "account_all_orders/65" });
    await listener.drained();
    expect(listener.texts.at(-1)).toBe('{"type": "unsubscribed", "channel": "account_all_orders:65"}');
    expect((await subscribe("account_all_orders/65"))?.type).toBe("subscribed/account_all_orders");
  });

  it("begin with what is: open orders, positions, an empty history", async () => {
    await buy();
    await rest(31);
    const orders = await subscribe("account_all_orders/65");
    expect(orders).toMatchObject({
      channel: "account_all_orders:65",
      orders: { [BTC]: [{ client_order_id: "31", status: "open", integrator_taker_fee: "" }] },
    });
    expect(await subscribe("account_all_trades/65")).toMatchObject({ trades: {}, total_trades_count: 1 });
    expect(await subscribe("account_all_positions/65")).toMatchObject({
      positions: { [BTC]: { position: "0.00500", sign: 1, open_order_count: 1 } },
      shares: [],
    });
    expect(await subscribe("account_market/1/65")).toMatchObject({
      channel: "account_market/1/65",
      position: { position: "0.00500" },
      assets: null,
    });
    expect(await subscribe("account_orders/1/65")).toMatchObject({ channel: "account_orders:1", account: 65 });
    expect(await subscribe("account_all_assets/65")).toMatchObject({ assets: { "3": { symbol: "USDC" } } });
    expect(await subscribe("account_tx/65")).toMatchObject({ txs: [] });
    expect(await subscribe("notification/65")).toMatchObject({ notifs: [] });
  });

  it("send a fill once on each channel that it changes, and nothing to strangers", async () => {
    const stranger = await connect(bench.venue);
    stranger.send({ type: "subscribe", channel: "account_all_orders/66", auth: bench.other.token() });
    for (const name of ["account_all_orders", "account_all_trades", "account_all_positions", "account_tx"])
      await subscribe(`${name}/65`);
    await buy();
    const [order] = (await updates("account_all_orders")).slice(-1);
    expect(order).toMatchObject({
      orders: { [BTC]: [{ client_order_id: "21", status: "filled", integrator_taker_fee: "0" }] },
    });
    const [trade] = (await updates("account_all_trades")).slice(-1);
    const [print] = rowsOf(trade, "trades");
    const [bought] = rowsOf(order, "orders");
    expect(print).toMatchObject({ bid_account_id: 65, bid_client_id: 21, bid_id_str: bought?.order_id });
    expect(await updates("account_all_positions")).toHaveLength(1);
    const [tx] = await updates("account_tx");
    expect(tx?.txs).toMatchObject([{ account_index: 65, type: 14, status: 2, nonce: 1, hash: print?.tx_hash }]);
    await stranger.drained();
    expect(stranger.frames.filter((frame) => String(frame.type).startsWith("update/"))).toEqual([]);
    stranger.socket.terminate();
  });

  it("report refusals of the sequencer in the transaction only", async () => {
    await subscribe("account_all_orders/65");
    await subscribe("account_tx/65");
    await trader.send(15, { MarketIndex: BTC, Index: 12_345 });
    trader.settle();
    const [frame] = await updates("account_tx");
    const [row] = (frame?.txs ?? []) as { status: number; event_info: string }[];
    expect(row?.status).toBe(2);
    expect(JSON.parse((JSON.parse(row?.event_info ?? "") as { ae: string }).ae)).toEqual({
      code: 21700,
      message: "invalid order index",
    });
    expect(await updates("account_all_orders")).toEqual([]);
  });

  it("follow the mark with statistics that differ, and stay silent otherwise", async () => {
    await buy(50_000);
    await subscribe("user_stats/65", null);
    bench.clock.advance(3_000);
    const moved = await updates("user_stats");
    expect(moved.length).toBeGreaterThan(1);
    expect(new Set(moved.map((frame) => JSON.stringify(frame.stats))).size).toBe(moved.length);
    bench.venue.exchange.stop();
    bench.clock.advance(5_000);
    const after = (await updates("user_stats")).length;
    bench.clock.advance(5_000);
    expect(await updates("user_stats")).toHaveLength(after);
  });

  it("send payments of funding with the whole account", async () => {
    await buy(5_000);
    bench.clock.advance(3_600_000);
    // An hour of silence has ended the first connection.
    listener = await connect(bench.venue);
    const frame = await subscribe("account_all/65", null);
    const [payment] = rowsOf(frame, "funding_histories");
    expect(payment).toMatchObject({ market_id: BTC, position_size: "0.05000", position_side: "long" });
  });

  it("notify of a liquidation", async () => {
    await trader.send(20, { MarketIndex: BTC, InitialMarginFraction: 200, MarginMode: 1 });
    trader.settle();
    await buy();
    await subscribe("notification/65");
    bench.venue.exchange.controls.setPriceSkew(-300, 0);
    bench.clock.advance(3_000);
    const [frame] = await updates("notification");
    expect(frame?.notifs).toMatchObject([{ kind: "liquidation", account_index: 65, content: { market_index: BTC } }]);
  });

  it("count as subscriptions and accounts of their connection", async () => {
    const limited = await startTraders({
      limits: {
        subscriptionsPerConnection: 3,
        accountsPerConnection: 1,
        messagesPerMinute: 1_000,
        readsPerMinute: 1_000,
      },
    });
    const own = await connect(limited.venue);
    const code = async (channel: string, auth: string): Promise<unknown> => {
      const before = own.frames.length;
      own.send({ type: "subscribe", channel, auth });
      await own.drained();
      return (own.frames[before]?.error as { code: number } | undefined)?.code;
    };
    expect(await code("account_tx/65", limited.trader.token())).toBeUndefined();
    expect(await code("account_tx/66", limited.other.token())).toBe(23002);
    expect(await code("account_all_trades/65", limited.trader.token())).toBeUndefined();
    expect(await code("height", "")).toBeUndefined();
    expect(await code("account_all_orders/65", limited.trader.token())).toBe(23001);
    own.socket.terminate();
    await limited.venue.stop();
  });

  describe("transactions over the socket", () => {
    it("are answered under the client's id, refused ones with an error", async () => {
      const { text, hash } = trader.sign(14, trader.order({ tif: 2, price: trader.touch("BUY") - 9_000 }));
      const send = (id: unknown, info: unknown, type: unknown = 14): void =>
        listener.send({ type: "jsonapi/sendtx", data: { id, tx_type: type, tx_info: info } });
      send("a", JSON.parse(text));
      send("b", JSON.parse(text));
      send(7, { AccountIndex: "x" });
      send("d", {}, 99);
      listener.send({ type: "jsonapi/sendtx" });
      await listener.drained();
      const answers = listener.frames.slice(1);
      expect(answers[0]).toEqual({
        code: 200,
        id: "a",
        predicted_execution_time_ms: bench.clock.wallMs() + 200,
        tx_hash: hash,
        type: "jsonapi/sendtx",
      });
      expect(answers[1]).toEqual({ error: { code: 21104, message: "invalid nonce" }, id: "b" });
      expect(answers[2]).toEqual({ error: { code: 21501, message: "invalid tx info" } });
      expect(answers[3]).toEqual({ error: { code: 21505, message: "unsupported tx type" }, id: "d" });
      expect(answers[4]).toEqual({ error: { code: 21501, message: "invalid tx info" } });
    });

    it("keep order indexes beyond 2^53 exact", async () => {
      const index = 23_643_898_043_695_107n;
      const { text, hash } = trader.sign(15, { MarketIndex: 83, Index: index });
      listener.send(`{"type":"jsonapi/sendtx","data":{"id":"x","tx_type":15,"tx_info":${text}}}`);
      expect((await listener.waitFor((frame) => frame.id === "x")).tx_hash).toBe(hash);
    });

    it("come in batches of fifteen at most, each list a JSON text", async () => {
      const batch = (count: number): Promise<Frame> => {
        const signed = Array.from({ length: count }, (_, index) =>
          trader.sign(14, {
            ...trader.order({ tif: 2, client: index + 1, price: trader.touch("BUY") - 9_000 }),
            Nonce: index + 1,
          }),
        );
        const id = `batch of ${count}`;
        const data = {
          id,
          tx_types: JSON.stringify(signed.map(() => 14)),
          tx_infos: JSON.stringify(signed.map(({ text }) => text)),
        };
        listener.send({ type: "jsonapi/sendtxbatch", data });
        return listener.waitFor((frame) => frame.id === id);
      };
      expect(await batch(16)).toMatchObject({ error: { code: 21514 } });
      expect((await batch(2)).tx_hash).toHaveLength(2);
    });

    it("do not count as messages", async () => {
      const limited = await startTraders({ limits: { messagesPerMinute: 3 } });
      const own = await connect(limited.venue);
      for (let count = 0; count < 6; count++)
        own.send({ type: "jsonapi/sendtx", data: { id: String(count), tx_type: 14, tx_info: {} } });
      own.send({ type: "ping" });
      await own.drained();
      expect(own.frames.filter((frame) => frame.type === "pong")).toHaveLength(1);
      own.socket.terminate();
      await limited.venue.stop();
    });
  });
});
