/** Malformed input at the account side: the venue answers in its own words, spends no nonce, and goes on serving. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "./support.js";
import { postForm, startTraders, type TraderVenue } from "./trader.js";

const TYPES = fc.constantFrom(8, 9, 12, 13, 14, 15, 16, 17, 20, 28, 29, 45, 0, 7, 99);
const VALUE = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom<unknown>(null, "", "1", 1.5, -1, 255, 2 ** 48, 2 ** 53, true, [], {}, "0x"),
);
const NAMES = [
  "AccountIndex",
  "FromAccountIndex",
  "ApiKeyIndex",
  "MarketIndex",
  "ClientOrderIndex",
  "Index",
  "BaseAmount",
  "Price",
  "IsAsk",
  "Type",
  "TimeInForce",
  "ReduceOnly",
  "TriggerPrice",
  "OrderExpiry",
  "ExpiredAt",
  "Nonce",
  "Sig",
  "L2TxAttributes",
  "Orders",
  "GroupingType",
  "PubKey",
  "Time",
  "Amount",
];
const FIELDS = fc.dictionary(fc.constantFrom(...NAMES), VALUE, { maxKeys: NAMES.length });
const INFO = fc.oneof(
  fc.string(),
  fc.json(),
  FIELDS.map((fields) => JSON.stringify({ AccountIndex: 65, ApiKeyIndex: 5, ...fields })),
  fc.constantFrom("[".repeat(50_000), `{"a":${'{"a":'.repeat(2_000)}1${"}".repeat(2_001)}`, '{"AccountIndex":1e400}'),
);

describe("malformed input of accounts", () => {
  let bench: TraderVenue;
  beforeAll(async () => {
    bench = await startTraders();
  });
  afterAll(() => bench.venue.stop());

  const nonce = async (): Promise<unknown> =>
    (await bench.trader.read("nextNonce?account_index=65&api_key_index=5", null)).json.nonce;

  it("as forms is refused with a code of the venue", async () => {
    await fc.assert(
      fc.asyncProperty(TYPES, INFO, async (type, info) => {
        const answer = await postForm(bench.venue, "sendTx", { tx_type: String(type), tx_info: info });
        expect(answer.status).toBe(400);
        expect(answer.json.code).toBeGreaterThan(20_000);
        expect(answer.json.message).toBeTypeOf("string");
      }),
      { numRuns: 300 },
    );
    expect(await nonce()).toBe(1);
    expect(bench.venue.log.length).toBe(0);
  });

  it("as batches is refused whole", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(TYPES, { maxLength: 60 }), fc.array(INFO, { maxLength: 60 }), async (types, infos) => {
        const answer = await postForm(bench.venue, "sendTxBatch", {
          tx_types: JSON.stringify(types),
          tx_infos: JSON.stringify(infos),
        });
        expect(answer.status).toBe(400);
      }),
      { numRuns: 60 },
    );
    expect(await nonce()).toBe(1);
  });

  it("as a truly signed order with any one field changed is refused", async () => {
    const order = bench.trader.order({ tif: 2, price: bench.trader.touch("BUY") - 9_000 });
    const { text } = bench.trader.sign(14, order);
    const whole = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const names = Object.keys(whole).filter((name) => name !== "L2TxAttributes");
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), VALUE, async (name, value) => {
        // Zero, null and absent are one to the venue.
        fc.pre(value !== whole[name] && !(value === null && whole[name] === 0));
        const changed = JSON.stringify({ ...whole, [name]: value });
        expect((await postForm(bench.venue, "sendTx", { tx_type: "14", tx_info: changed })).status).toBe(400);
      }),
      { numRuns: 150 },
    );
    expect(await nonce()).toBe(1);
  });

  it("over the socket does not end the connection", async () => {
    const listener = await connect(bench.venue);
    const data = fc.oneof(
      VALUE,
      fc.record({ id: VALUE, tx_type: fc.oneof(TYPES, VALUE), tx_info: fc.oneof(FIELDS, INFO) }, { requiredKeys: [] }),
      fc.record({ id: VALUE, tx_types: fc.oneof(fc.json(), VALUE), tx_infos: fc.oneof(INFO, VALUE) }),
    );
    const message = fc.record({
      type: fc.constantFrom("jsonapi/sendtx", "jsonapi/sendtxbatch", "subscribe", "unsubscribe"),
      channel: fc.oneof(
        VALUE,
        fc.constantFrom("account_all_orders/65", "account_market/1/65", "account_tx/-1", "user_stats/65"),
      ),
      auth: fc.oneof(VALUE, fc.string(), fc.constantFrom("1:65:5:00", `9999999999:65:5:${"0".repeat(160)}`)),
      data,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 15 }), async (messages) => {
        for (const each of messages) listener.send(each);
        await listener.drained();
        expect(listener.socket.readyState).toBe(listener.socket.OPEN);
        for (const frame of listener.frames) expect(frame.unparsable).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    expect(await nonce()).toBe(1);
    listener.socket.terminate();
  });

  it("as queries is refused as the client's mistake", async () => {
    const path = fc.constantFrom(
      "account",
      "accountsByL1Address",
      "apikeys",
      "nextNonce",
      "accountActiveOrders",
      "accountInactiveOrders",
      "accountLimits",
      "positionFunding",
      "tx",
      "accountTxs",
      "trades",
    );
    const names = ["by", "value", "account_index", "api_key_index", "limit", "cursor", "market_id", "ask_filter"];
    const more = ["between_timestamps", "types", "index", "sort_by", "role", "from", "auth", "side", "l1_address"];
    const value = fc.oneof(fc.string(), fc.constantFrom("65", "1", "0", "-1", "100", "timestamp", "index", "MQ"));
    const token = bench.trader.token();
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.dictionary(fc.constantFrom(...names, ...more), value),
        fc.boolean(),
        async (name, query, signed) => {
          const answer = await bench.trader.read(`${name}?${new URLSearchParams(query)}`, signed ? token : null);
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: 200 },
    );
  });
});
