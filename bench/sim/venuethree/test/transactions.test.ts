/** The door for transactions: what is taken, what is refused, with which code, and what a refusal costs. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, control, get } from "./support.js";
import { BTC, OWNER, postForm, publicHex, startTraders, testKey, type Trader, type TraderVenue } from "./trader.js";

const MINUTE_MS = 60_000;

describe("transactions", () => {
  let bench: TraderVenue;
  let trader: Trader;
  beforeEach(async () => {
    bench = await startTraders({}, { l1Address: OWNER.address });
    ({ trader } = bench);
  });
  afterEach(() => bench.venue.stop());

  const nextNonce = async (): Promise<unknown> =>
    (await get(bench.venue, "/api/v1/nextNonce?account_index=65&api_key_index=5")).json.nonce;
  const resting = (): ReturnType<Trader["order"]> => trader.order({ tif: 2, price: trader.touch("BUY") - 9_000 });

  describe("nonces", () => {
    it("go up by one, and a refused one is not spent", async () => {
      expect(await nextNonce()).toBe(1);
      await trader.send(14, resting());
      expect(await nextNonce()).toBe(2);
      for (const nonce of [0, 1, 3, 1_000]) {
        const refused = await trader.send(14, { ...resting(), Nonce: nonce });
        expect(refused).toMatchObject({ status: 400, json: { code: 21104, message: "invalid nonce" } });
      }
      expect(await nextNonce()).toBe(2);
      await trader.send(14, resting());
      expect(await nextNonce()).toBe(3);
    });

    it("may be skipped forward by the attribute only", async () => {
      const skip = new Map([[4, 1]]);
      expect((await trader.send(14, { ...resting(), Nonce: 1_790_000_000_000 }, skip)).status).toBe(200);
      expect(await nextNonce()).toBe(1_790_000_000_001);
      expect((await trader.send(14, { ...resting(), Nonce: 1_790_000_000_000 }, skip)).json.code).toBe(21104);
      expect((await trader.send(14, { ...resting(), Nonce: 2 ** 47 - 1 }, skip)).json.code).toBe(21104);
      expect((await trader.send(14, { ...resting(), Nonce: 2 ** 47 - 2 }, skip)).status).toBe(200);
    });

    it("stay spent when the sequencer refuses", async () => {
      await trader.send(15, { MarketIndex: BTC, Index: 12_345 });
      trader.settle();
      expect(await nextNonce()).toBe(2);
    });

    it("come back when a transaction dies of its own expiry", async () => {
      const { text, hash } = trader.sign(14, { ...resting(), ExpiredAt: bench.clock.wallMs() + 100 });
      expect((await trader.post("sendTx", { tx_type: "14", tx_info: text })).status).toBe(200);
      expect(await nextNonce()).toBe(2);
      trader.settle();
      expect(await nextNonce()).toBe(1);
      const { json } = await get(bench.venue, `/api/v1/tx?by=hash&value=${hash}`);
      expect(json).toMatchObject({ status: 0, event_info: "" });
    });

    it("belong to each key", async () => {
      await control(bench.venue, "accounts", {
        accountId: "65",
        l1Address: OWNER.address,
        apiKeys: [{ apiKeyIndex: 6, publicKey: publicHex(testKey(9)), nonce: 40 }],
      });
      const order = trader.sign(14, { ...resting(), ApiKeyIndex: 6, Nonce: 40 }, null, testKey(9));
      expect((await trader.post("sendTx", { tx_type: "14", tx_info: order.text })).status).toBe(200);
      expect(await nextNonce()).toBe(1);
    });
  });

  describe("signatures", () => {
    it("must be of the registered key, over this very transaction, for this chain", async () => {
      const order = resting();
      const { text } = trader.sign(14, order);
      const forged = [
        trader.sign(14, order, null, testKey(8)).text,
        text.replace(`"BaseAmount":${order.BaseAmount}`, '"BaseAmount":999999'),
        text.replace('"IsAsk":0', '"IsAsk":1'),
        text.replace(/"Sig":"[^"]*"/, '"Sig":""'),
        text.replace(/"Sig":"(.)/, (_all, first: string) => `"Sig":"${first === "A" ? "B" : "A"}`),
        text.replace('"L2TxAttributes":null', '"L2TxAttributes":{"4":1}'),
      ];
      for (const forgery of forged) {
        const answer = await trader.post("sendTx", { tx_type: "14", tx_info: forgery });
        expect(answer).toMatchObject({ status: 400, json: { code: 21120 } });
      }
      expect(await nextNonce()).toBe(1);
      expect((await trader.post("sendTx", { tx_type: "14", tx_info: text })).status).toBe(200);
      const replay = await trader.post("sendTx", { tx_type: "14", tx_info: text });
      expect(replay.json.code).toBe(21104);
    });

    it("hash attributes at their nil values, and a text without any, like none", async () => {
      const nil = trader.sign(
        14,
        resting(),
        new Map([
          [1, 0],
          [2, 0],
          [3, 0],
        ]),
      ).text;
      expect((await trader.post("sendTx", { tx_type: "14", tx_info: nil })).status).toBe(200);
      trader.nonce++;
      const without = trader.sign(14, resting()).text.replace(',"L2TxAttributes":null', "");
      expect((await trader.post("sendTx", { tx_type: "14", tx_info: without })).status).toBe(200);
    });

    it("are asked for after account and key are known", async () => {
      const stranger = { ...resting(), AccountIndex: 12_345 };
      expect((await trader.send(14, stranger)).json).toEqual({ code: 21100, message: "account not found" });
      expect((await trader.send(14, { ...resting(), ApiKeyIndex: 99 })).json.code).toBe(21109);
      expect((await trader.send(14, { ...resting(), ApiKeyIndex: 255 })).json.code).toBe(21110);
    });
  });

  it("refuses what has expired, and orders whose life is too short or too long", async () => {
    const now = bench.clock.wallMs();
    expect((await trader.send(14, { ...resting(), ExpiredAt: now - 1 })).json.code).toBe(21711);
    for (const ahead of [MINUTE_MS, 31 * 1_440 * MINUTE_MS])
      expect((await trader.send(14, { ...resting(), OrderExpiry: now + ahead })).json.code).toBe(21711);
    expect(await nextNonce()).toBe(1);
  });

  it.each([
    ["an unlisted market", { MarketIndex: 200 }, 21602],
    ["a market that is none", { MarketIndex: 255 }, 21602],
    ["an inactive market", { MarketIndex: 36 }, 21605],
    ["a spot market", { MarketIndex: 2048 }, 21605],
    ["a client index too large", { ClientOrderIndex: 2 ** 48 }, 21727],
    ["no base amount", { BaseAmount: 0 }, 21701],
    ["a base amount too large", { BaseAmount: 2 ** 48 }, 21701],
    ["no price", { Price: 0 }, 21702],
    ["a side that is none", { IsAsk: 2 }, 21703],
    ["a type that is none", { Type: 7 }, 21704],
    ["a time in force that is none", { TimeInForce: 3 }, 21705],
    ["a limit order without expiry", { OrderExpiry: 0 }, 21711],
    ["an immediate order with one", { TimeInForce: 0 }, 21711],
    ["a limit order with a trigger", { TriggerPrice: 5 }, 21729],
    ["a market order that rests", { Type: 1 }, 21705],
    ["a stop without trigger", { Type: 2, TimeInForce: 0 }, 21729],
    ["a stop that rests", { Type: 2, TriggerPrice: 5 }, 21705],
    ["less than the least amount", { BaseAmount: 2 }, 21706],
    ["a price far from the mark", { Price: 1 }, 21706],
    ["a reduce-only that is neither", { ReduceOnly: 2 }, 21740],
  ])("refuses %s and keeps the nonce", async (_what, change, code) => {
    const refused = await trader.send(14, { ...resting(), ...change });
    expect(refused).toMatchObject({ status: 400, json: { code } });
    expect(await nextNonce()).toBe(1);
  });

  it("guards against accidental prices unless told not to", async () => {
    const price = Math.round(trader.touch("SELL") * 1.4);
    expect((await trader.create({ type: 1, price })).json.code).toBe(21733);
    expect((await trader.create({ tif: 2, base: 500_000, price: 800 })).json.code).toBe(21734);
    const trigger = trader.touch("BUY") - 9_000;
    const stop = { type: 2, tif: 0, ask: true, reduce: true, trigger, price: 9_000 };
    expect((await trader.create(stop)).json.code).toBe(21735);
    const bold = await trader.create({ type: 1, price }, null, { price_protection: "false" });
    expect(bold.status).toBe(200);
  });

  describe("batches", () => {
    const batch = async (count: number, change: (index: number) => object = () => ({})): Promise<unknown> => {
      const signed = Array.from({ length: count }, (_, index) =>
        trader.sign(14, { ...resting(), ClientOrderIndex: index + 1, Nonce: trader.nonce + index, ...change(index) }),
      );
      const answer = await trader.post("sendTxBatch", {
        tx_types: JSON.stringify(signed.map(() => 14)),
        tx_infos: JSON.stringify(signed.map(({ text }) => text)),
      });
      if (answer.json.code === 200) {
        trader.nonce += count;
        expect(answer.json.tx_hash).toEqual(signed.map(({ hash }) => hash));
      }
      return answer.json.code;
    };

    it("are taken whole, in order", async () => {
      expect(await batch(3)).toBe(200);
      trader.settle();
      expect((await trader.activeOrders()).map((row) => row.client_order_index)).toEqual([1, 2, 3]);
    });

    it("are refused whole", async () => {
      expect(await batch(3, (index) => (index === 2 ? { Nonce: 1 } : {}))).toBe(21105);
      expect(await batch(2, () => ({ Nonce: 9 }))).toBe(21104);
      expect(await batch(2, (index) => (index === 1 ? { BaseAmount: 0 } : {}))).toBe(21701);
      expect(await batch(51)).toBe(21514);
      expect(await batch(0)).toBe(21501);
      expect(await nextNonce()).toBe(1);
      trader.settle();
      expect(await trader.activeOrders()).toEqual([]);
    });

    it("come from one key, with as many types as texts", async () => {
      const own = trader.sign(14, resting()).text;
      const strange = bench.other.sign(14, resting()).text;
      const send = (types: unknown, infos: unknown): Promise<{ json: Readonly<Record<string, unknown>> }> =>
        trader.post("sendTxBatch", { tx_types: JSON.stringify(types), tx_infos: JSON.stringify(infos) });
      expect((await send([14, 14], [own, strange])).json.code).toBe(21121);
      expect((await send([14, 14], [own])).json.code).toBe(21513);
      expect((await send({}, [own])).json.code).toBe(21501);
      // One client writes bare objects.
      expect((await send([14], [JSON.parse(own) as unknown])).json.code).toBe(200);
    });
  });

  it("takes a multipart form as well", async () => {
    const form = new FormData();
    form.append("tx_type", "14");
    form.append("tx_info", trader.sign(14, resting()).text);
    const response = await fetch(`${bench.venue.restUrl}/api/v1/sendTx`, { method: "POST", body: form });
    expect(((await response.json()) as { code: number }).code).toBe(200);
  });

  it("answers forms that are none in its own words", async () => {
    const cases: [Readonly<Record<string, string>>, number][] = [
      [{}, 20001],
      [{ tx_type: "14" }, 20001],
      [{ tx_type: "fourteen", tx_info: "{}" }, 20001],
      [{ tx_type: "99", tx_info: "{}" }, 21505],
      [{ tx_type: "14", tx_info: "{" }, 21501],
      [{ tx_type: "14", tx_info: "[]" }, 21501],
      [{ tx_type: "14", tx_info: '{"AccountIndex":"65"}' }, 21501],
      [{ tx_type: "14", tx_info: '{"AccountIndex":65.5}' }, 21501],
      [{ tx_type: "14", tx_info: '{"ApiKeyIndex":256}' }, 21501],
      [{ tx_type: "14", tx_info: "{}", price_protection: "maybe" }, 20001],
      [{ tx_type: "15", tx_info: '{"Index":99999999999999999999999}' }, 21501],
    ];
    for (const [fields, code] of cases)
      expect(await postForm(bench.venue, "sendTx", fields)).toMatchObject({ status: 400, json: { code } });
  });

  it("counts transactions per owner, and those outside the volume quota apart", async () => {
    await control(bench.venue, "limits", { transactionsPerMinute: 3 });
    for (let count = 0; count < 3; count++) expect((await trader.send(14, resting())).status).toBe(200);
    const refused = await trader.send(14, resting());
    expect(refused).toMatchObject({ status: 429, json: { code: 23000, message: "Too Many Requests!" } });
    expect((await bench.other.send(14, resting())).status).toBe(200);
    bench.clock.advance(MINUTE_MS);
    expect((await trader.send(14, resting())).status).toBe(200);
    await control(bench.venue, "limits", { otherTransactionsPerMinute: 1, transactionsPerMinute: 100 });
    const leverage = { MarketIndex: BTC, InitialMarginFraction: 1_000, MarginMode: 0 };
    expect((await trader.send(20, leverage)).status).toBe(200);
    expect((await trader.send(20, leverage)).json.code).toBe(23000);
  });

  it("writes every signed instruction into the order log, with its outcome", async () => {
    await trader.create({ type: 1, client: 77, base: 1_000, price: trader.touch("SELL") + 5_000 });
    await trader.send(14, { ...resting(), Nonce: 9 });
    trader.settle();
    const response = await fetch(`${bench.venue.restUrl}/_sim/orders?accountId=65`);
    const { records } = (await response.json()) as { records: Readonly<Record<string, unknown>>[] };
    expect(records[0]).toMatchObject({
      action: "place",
      signer: publicHex(testKey(3)),
      symbol: "BTC",
      clientId: "77",
      side: "BUY",
      type: "MARKET",
      timeInForce: "IOC",
      reduceOnly: false,
      qty: "0.01000",
      nonce: "1",
      refusal: null,
      status: "FILLED",
      filledQty: "0.01000",
    });
    expect(records[1]).toMatchObject({ nonce: "9", orderId: null, refusal: { code: "21104" } });
    const state = (await (await fetch(`${bench.venue.restUrl}/_sim/state`)).json()) as { accounts: unknown[] };
    expect(state.accounts[0]).toMatchObject({ accountId: "65", positions: [{ symbol: "BTC", qty: "0.01000" }] });
  });

  it("executes two hundred that arrive together, each once", async () => {
    const signed = Array.from({ length: 200 }, (_, index) =>
      trader.sign(14, {
        ...trader.order({ type: 1, client: index + 1, base: 100, price: trader.touch("SELL") + 5_000 }),
        Nonce: index + 1,
      }),
    );
    const listener = await connect(bench.venue);
    for (const [index, { text }] of signed.entries())
      listener.send({
        type: "jsonapi/sendtx",
        data: { id: String(index), tx_type: 14, tx_info: JSON.parse(text) as unknown },
      });
    const answers = await listener.waitForCount(200, (frame) => frame.type === "jsonapi/sendtx");
    expect(answers.map((frame) => frame.tx_hash)).toEqual(signed.map(({ hash }) => hash));
    trader.settle(1_000);
    const records = bench.venue.log.records({ accountId: "65" });
    expect(new Set(records.map(({ clientId }) => clientId)).size).toBe(200);
    expect(records.every(({ refusal, status }) => refusal === null && status === "FILLED")).toBe(true);
    expect(await trader.position()).toMatchObject({ position: "0.20000" });
    listener.socket.terminate();
  });

  it("executes one transaction once, however often it arrives at the same time", async () => {
    const { text } = trader.sign(14, trader.order({ type: 1, base: 100, price: trader.touch("SELL") + 5_000 }));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => trader.post("sendTx", { tx_type: "14", tx_info: text })),
    );
    expect(answers.map(({ json }) => json.code).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 21104)]);
    trader.settle();
    expect(await trader.position()).toMatchObject({ position: "0.00100" });
  });
});
