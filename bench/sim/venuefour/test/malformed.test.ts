/** Malformed input: the venue answers in its own words or not at all, and goes on serving. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuefourSim } from "../sim.js";
import { keyPairOf } from "../records/keys.js";
import { type Signer, signedBody } from "./signer.js";
import { OPERATION_OF_PATH, type OperationName } from "../wire/operations.js";
import { connect, get, post, startTestVenue } from "./support.js";

const LITERALS = fc.constantFrom<unknown>(null, true, 0, -1, 1e21, "", "all", [], {}, ["x"], { a: 1 });
const MESSAGE = fc.record(
  {
    method: fc.oneof(LITERALS, fc.constantFrom("subscribe", "unsubscribe", "ping")),
    params: fc.oneof(
      LITERALS,
      fc.record({
        source: fc.oneof(LITERALS, fc.constantFrom("book", "bbo", "prices", "candle", "account_positions")),
        account: fc.oneof(LITERALS, fc.constantFrom("11111111111111111111111111111111")),
        create_order: fc.oneof(LITERALS, fc.record({ account: LITERALS, symbol: LITERALS }, { requiredKeys: [] })),
        symbol: fc.oneof(LITERALS, fc.constantFrom("BTC", "kPEPE", "constructor")),
        agg_level: fc.oneof(LITERALS, fc.constantFrom(1, 10)),
        interval: fc.oneof(LITERALS, fc.constantFrom("1m")),
      }),
    ),
    id: LITERALS,
  },
  { requiredKeys: [] },
);

describe("malformed input", () => {
  let venue: VenuefourSim;
  beforeAll(async () => {
    venue = (await startTestVenue()).venue;
  });
  afterAll(async () => {
    await venue.stop();
  });

  it("over the socket ends neither the connection nor the venue", async () => {
    const listener = await connect(venue);
    const message = fc.oneof(
      fc.string(),
      fc.json(),
      MESSAGE.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 20 }), async (messages) => {
        for (const text of messages) listener.socket.send(text);
        await listener.drained();
        expect(listener.socket.readyState).toBe(listener.socket.OPEN);
        for (const frame of listener.frames) expect(frame.unparsable).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    listener.socket.terminate();
  });

  it("over REST is refused as the client's mistake, never as a failure of the venue", async () => {
    const path = fc.constantFrom(
      "info",
      "info/prices",
      "book",
      "trades",
      "kline",
      "kline/mark",
      "funding_rate/history",
      "account",
      "account/settings",
      "positions",
      "orders",
      "orders/history",
      "orders/history_by_id",
      "trades/history",
      "funding/history",
      "portfolio",
    );
    const query = fc.dictionary(
      fc.constantFrom(
        "symbol",
        "agg_level",
        "interval",
        "start_time",
        "end_time",
        "limit",
        "cursor",
        "account",
        "order_id",
      ),
      fc.oneof(fc.string(), fc.constantFrom("BTC", "WIF/USDC", "10", "1m", "1790000000000", "11114Lz77", "-1")),
    );
    await fc.assert(
      fc.asyncProperty(path, query, async (name, params) => {
        const answer = await get(venue, `${name}?${new URLSearchParams(params)}`);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
  });

  it("in a signed body is refused as the client's mistake and executes nothing", async () => {
    const wallet = keyPairOf(Buffer.alloc(32, 6));
    venue.addAccount({ walletAddress: wallet.publicKey, deposit: "1000", agents: [] });
    const signer: Signer = { account: wallet.publicKey, secret: wallet.secret, agent: null };
    const value = fc.oneof(
      LITERALS,
      fc.constantFrom<unknown>("BTC", "bid", "GTC", "50000", "0.01", "1e3", "-5", "NaN", "00", ".5", true, 2 ** 60),
      fc.record({ stop_price: fc.constantFrom("1", "x"), amount: fc.constantFrom("0.01", "0") }, { requiredKeys: [] }),
    );
    const names = [
      "symbol",
      "amount",
      "price",
      "side",
      "tif",
      "reduce_only",
      "client_order_id",
      "order_id",
      "slippage_percent",
      "stop_order",
      "take_profit",
      "leverage",
      "is_isolated",
      "all_symbols",
      "exclude_reduce_only",
    ];
    const fields = fc.dictionary(fc.constantFrom(...names), value);
    const damage = fc.constantFrom("none", "signature", "time", "text", "list", "half");
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...OPERATION_OF_PATH),
        fields,
        damage,
        async ([path, operation], payload, how) => {
          const body: Record<string, unknown> = {
            ...signedBody(venue, signer, operation as OperationName, payload as never),
          };
          if (how === "signature") body.signature = "1".repeat(64);
          if (how === "time") body.timestamp = "now";
          const text = how === "text" ? "{" : how === "list" ? "[1]" : JSON.stringify(body);
          const answer = await post(venue, path, how === "half" ? text.slice(0, text.length / 2) : text);
          expect(answer.status).toBeLessThan(500);
          if (how !== "none") expect(answer.status).toBeGreaterThanOrEqual(400);
          // The books of the engine still balance.
          expect(venue.exchange.accounts.netLots("BTC")).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("in a batch is refused whole or action by action", async () => {
    const action = fc.record(
      { type: fc.oneof(LITERALS, fc.constantFrom("Create", "Cancel")), data: LITERALS },
      { requiredKeys: [] },
    );
    const body = fc.oneof(LITERALS, fc.record({ actions: fc.oneof(LITERALS, fc.array(fc.oneof(LITERALS, action))) }));
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const answer = await post(venue, "orders/batch", value);
        expect(answer.status).toBeLessThan(500);
        const { results = [] } = (answer.json.data ?? {}) as { results?: { success: boolean }[] };
        for (const result of results) expect(result.success).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});
