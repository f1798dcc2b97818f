/**
 * The venue whose orders its callers sign, over HTTP, every reply judged by the OpenAPI document. Its room is scripted: what
 * is tested is what the routes ask of it, what they refuse without asking, and how they print what it says.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChainReadFailure } from "../../engine/client-signed-room.js";
import {
  aChainOrder,
  aChainPosition,
  aClosedTrade,
  blockMs,
  FakeClientSignedRoom,
  FIRST_BLOCK,
  PAIR_SYMBOLS,
} from "../../engine/portfolio/test/fake-client-signed-room.js";
import type { Reply, RequestOptions } from "./client.js";
import { createFakeDesk } from "./fake-desk.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";

const ADDRESS = "0xF39fd6E51aad88F6f4ce6aB8827279cffFb92266";
const NOBODY = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const BASE58 = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU";
const TX = `0x${"ab".repeat(32)}`;
const FIVE = "/api/trading/venuefive";
const KEY_ONE = { privateKey: "0xkey-of-one" };

/** Each read with an address, and the spec's text for a failure of it. */
const READS = [
  [`/api/trading/venuefive/positions/${ADDRESS}`, "Failed to fetch open positions"],
  [`/api/trading/venuefive/orders?walletAddress=${ADDRESS}`, "Failed to fetch open orders"],
  [`/api/trading/venuefive/history/trades?walletAddress=${ADDRESS}`, "Failed to fetch account"],
  [`/api/trading/venuefive/history/orders?walletAddress=${ADDRESS}`, "Failed to fetch account"],
  [`/api/trading/venuefive/balances?walletAddress=${ADDRESS}`, "Failed to fetch account"],
  [`/api/trading/venuefive/orders/1:0:90/status?walletAddress=${ADDRESS}`, "Failed to fetch order status"],
] as const;

let room: FakeClientSignedRoom;
let harness: Harness;
let without: Harness;

beforeAll(async () => {
  room = new FakeClientSignedRoom();
  harness = await startHarness({
    trading: tradingWith(createFakeDesk()),
    clientSigned: { room, symbols: PAIR_SYMBOLS },
  });
  without = await startHarness({ trading: tradingWith(createFakeDesk()) });
});
afterAll(async () => {
  await harness.stop();
  await without.stop();
});
beforeEach(() => {
  room.mend();
  room.calls.length = 0;
  room.gate = null;
  room.older = null;
  for (const rows of [room.positions, room.orders, room.trades, room.found]) rows.clear();
});

function ask(path: string, by: Harness = harness, options: RequestOptions = {}): Promise<Reply> {
  return by.client.send(path, options);
}

function send(method: NonNullable<RequestOptions["method"]>, path: string, body?: unknown): Promise<Reply> {
  const headers = { "content-type": "application/json" };
  return ask(path, harness, body === undefined ? { method } : { method, headers, body: JSON.stringify(body) });
}

function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}

function refusal(reply: Reply): unknown {
  return [reply.status, at(reply, "code"), at(reply, "error")];
}

const POSITION = {
  symbol: "BTC",
  exchange: "venuefive",
  direction: "LONG",
  size: "0.0153846153",
  entryPrice: "65000",
  markPrice: "65000",
  liquidationPrice: "59475",
  unrealizedPnl: "-0.25",
  unrealizedPnlPercent: "-0.25",
  leverage: 10,
  collateral: "100",
  margin: "100",
  timestamp: aChainPosition().openedAtMs,
  isZfp: false,
  walletAddress: ADDRESS,
};

describe("positions of all venues, with venuefive among them,", () => {
  const path = `/api/trading/positions/all/${ADDRESS}`;

  it("nest those of venuefive with exactly the fields of the interface, and count them there alone", async () => {
    room.positions.set(ADDRESS.toLowerCase(), [
      aChainPosition(),
      aChainPosition({
        pairIndex: 0,
        index: 3,
        symbol: "ETH",
        direction: "SHORT",
        rolloverFee: "0",
        liquidationPrice: null,
        leverage: "1.9982863943",
        isZeroFee: true,
      }),
    ]);
    const reply = await send("GET", path, { credentials: { venueone: KEY_ONE } });
    expect(reply.status).toBe(200);
    expect(at(reply, "data.positions.venuefive")).toEqual({
      positions: [
        POSITION,
        {
          ...POSITION,
          symbol: "ETH",
          direction: "SHORT",
          liquidationPrice: "-",
          unrealizedPnl: "0",
          unrealizedPnlPercent: "0",
          leverage: 1.9982863943,
          isZfp: true,
        },
      ],
      count: 2,
    });
    expect([at(reply, "totalPositions"), at(reply, "positions.0.exchange")]).toEqual([1, "venueone"]);
    expect(at(reply, "coverage.venuefive")).toEqual({
      state: "SNAPSHOT",
      mode: "request",
      asOf: blockMs(FIRST_BLOCK),
      source: "venue",
    });
  });

  it("an address without any there is flat by its coverage", async () => {
    const reply = await ask(`/api/trading/positions/all/${NOBODY}`);
    expect([at(reply, "data.positions.venuefive.count"), at(reply, "coverage.venuefive.state")]).toEqual([
      0,
      "SNAPSHOT",
    ]);
  });

  it("a failure there hides nobody's rows, and one of all others does not hide its own", async () => {
    room.fail("TIMEOUT", "no answer of two endpoints");
    const failed = await send("GET", path, { credentials: { venueone: KEY_ONE } });
    expect([failed.status, at(failed, "totalPositions"), at(failed, "coverage.venuefive")]).toEqual([
      200,
      1,
      {
        state: "ERROR",
        mode: "request",
        asOf: null,
        source: null,
        error: { code: "TIMEOUT", message: "no answer of two endpoints" },
      },
    ]);
    room.mend();
    room.positions.set(ADDRESS.toLowerCase(), [aChainPosition()]);
    const alone = await send("GET", path, { credentials: { venueone: { privateKey: "bad" } } });
    expect([alone.status, at(alone, "totalPositions"), at(alone, "data.positions.venuefive.count")]).toEqual([
      200, 0, 1,
    ]);
  });

  it("name the pairs that differ, and show nothing under a wrong symbol", async () => {
    room.fail("PAIRS_DIFFER", "pairs differ");
    room.differingPairs = [{ index: 21, here: "PEPE", chain: "XAU" }];
    const reply = await send("GET", path, { credentials: { venueone: KEY_ONE } });
    const error = { code: "PAIRS_DIFFER", message: "pair 21 is XAU on the chain and PEPE here" };
    expect([at(reply, "data.positions.venuefive.count"), at(reply, "coverage.venuefive.error")]).toEqual([0, error]);
    const alone = await ask(path);
    expect([alone.status, at(alone, "code"), at(alone, "details.coverage.venuefive.error")]).toEqual([
      500,
      "FAILED_TO_FETCH_POSITIONS",
      error,
    ]);
  });

  it("an address of another chain's form is not asked for there, and misses nowhere", async () => {
    const reply = await ask(`/api/trading/positions/all/${BASE58}`);
    expect(at(reply, "coverage.venuefive.error.code")).toBe("NOT_APPLICABLE");
    expect(room.calls).toEqual([]);
  });

  it("are as before where it is not configured", async () => {
    const reply = await ask(path, without);
    expect([at(reply, "data.positions.venuefive"), at(reply, "coverage.venuefive.error.code")]).toEqual([
      { positions: [], count: 0 },
      "NOT_CONFIGURED",
    ]);
  });

  it("balances of all venues leave it out of the totals, and say where they are", async () => {
    const reply = await ask(`/api/trading/balances/all/${ADDRESS}`);
    expect([reply.status, at(reply, "coverage.venuefive.error")]).toEqual([
      200,
      {
        code: "NOT_APPLICABLE",
        message: "the money is in the wallet itself, and in no total: GET /api/trading/venuefive/balances",
      },
    ]);
  });
});

describe("reads of venuefive", () => {
  it("its positions, with the block that they are of", async () => {
    room.positions.set(ADDRESS.toLowerCase(), [aChainPosition()]);
    const reply = await ask(`/api/trading/venuefive/positions/${ADDRESS}`);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      exchange: "venuefive",
      walletAddress: ADDRESS,
      positions: [POSITION],
      totalPositions: 1,
      block: FIRST_BLOCK,
      coverage: { state: "SNAPSHOT", mode: "request", asOf: blockMs(FIRST_BLOCK), source: "venue" },
    });
  });

  it("its resting orders, all or those of a symbol, written in any way", async () => {
    room.orders.set(ADDRESS.toLowerCase(), [
      aChainOrder(),
      aChainOrder({ orderId: "62:1:95", symbol: "PAIR_62", orderType: null, liquidationPrice: "12.5" }),
      aChainOrder({ orderId: "0:1:80", status: "FILLED" }),
    ]);
    const all = await ask(`/api/trading/venuefive/orders?walletAddress=${ADDRESS}`);
    expect(all.body).toMatchObject({
      exchange: "venuefive",
      walletAddress: ADDRESS,
      data: {
        orders: [
          {
            orderId: "0:0:90",
            symbol: "ETH",
            exchange: "venuefive",
            direction: "SHORT",
            orderType: "LIMIT",
            price: "3500",
            size: "0.1428571428",
            collateral: "50",
            leverage: 10,
            tp: "3100",
            sl: null,
            slippagePercent: "0.3",
            liquidationPrice: null,
            status: "OPEN",
            timestamp: aChainOrder().timestampMs,
            walletAddress: ADDRESS,
            txHash: TX,
          },
          { orderId: "62:1:95", symbol: "PAIR_62", orderType: null, liquidationPrice: "12.5" },
        ],
        total: 2,
        asOf: blockMs(FIRST_BLOCK),
        block: FIRST_BLOCK,
      },
    });
    const eth = await ask(`/api/trading/venuefive/orders?walletAddress=${ADDRESS}&symbol=eth-usd`);
    expect([at(eth, "data.total"), at(eth, "data.orders.0.symbol")]).toEqual([1, "ETH"]);
    const unmapped = await ask(`/api/trading/venuefive/orders?walletAddress=${ADDRESS}&symbol=pair_62`);
    expect([at(unmapped, "data.total"), at(unmapped, "data.orders.0.orderId")]).toEqual([1, "62:1:95"]);
    // An index is the same pair by its number: an empty list would say that there is no order.
    const padded = await ask(`/api/trading/venuefive/orders?walletAddress=${ADDRESS}&symbol=PAIR_062`);
    expect([at(padded, "data.total"), at(padded, "data.orders.0.orderId")]).toEqual([1, "62:1:95"]);
    const mapped = await ask(`/api/trading/venuefive/orders?walletAddress=${ADDRESS}&symbol=PAIR_0`);
    expect([at(mapped, "data.total"), at(mapped, "data.orders.0.symbol")]).toEqual([1, "ETH"]);
  });

  it("closed trades by pages that neither repeat nor skip, and from where on they are known", async () => {
    room.trades.set(
      ADDRESS.toLowerCase(),
      ["1", "2", "3"].map((exitPrice) => aClosedTrade({ exitPrice, fees: null, openedAtMs: null })),
    );
    room.older = "history-url";
    const path = `/api/trading/venuefive/history/trades?walletAddress=${ADDRESS}&limit=2&symbol=BTC`;
    const first = await ask(path);
    expect(first.body).toMatchObject({
      exchange: "venuefive",
      walletAddress: ADDRESS,
      data: {
        trades: [
          { ...{ exitPrice: "1", fees: null, openedAt: null, closedAt: aClosedTrade().closedAtMs, txHash: TX } },
          { exitPrice: "2", realizedPnl: "15.16796", usdcReceived: "115.16796", isZfp: false, isLiquidation: false },
        ],
        nextCursor: "2",
        since: { block: 7, time: blockMs(7) },
        older: "history-url",
        toBlock: FIRST_BLOCK - 2,
      },
    });
    const second = await ask(`${path}&cursor=2`);
    expect([at(second, "data.trades.0.exitPrice"), at(second, "data.nextCursor")]).toEqual(["3", null]);
    expect(room.calls.map((call) => call.with)).toEqual([
      { limit: 2, cursor: null, symbol: "BTC" },
      { limit: 2, cursor: "2", symbol: "BTC" },
    ]);
  });

  it("limit orders of every status, a hundred where no limit is asked for", async () => {
    const statuses = ["OPEN", "FILLED", "CANCELED", "EXPIRED"] as const;
    room.orders.set(
      ADDRESS.toLowerCase(),
      statuses.map((status) => aChainOrder({ status })),
    );
    const reply = await ask(`/api/trading/venuefive/history/orders?walletAddress=${ADDRESS}`);
    const rows = at(reply, "data.orders") as readonly { readonly status: string }[];
    expect([rows.map(({ status }) => status), at(reply, "data.older"), at(reply, "data.nextCursor")]).toEqual([
      statuses,
      null,
      null,
    ]);
    expect(room.calls[0]?.with).toEqual({ limit: 100, cursor: null, symbol: null });
  });

  it("balances of one block", async () => {
    const reply = await ask(`/api/trading/venuefive/balances?walletAddress=${ADDRESS}`);
    expect(at(reply, "data")).toEqual({
      collateral: { token: "USDC", amount: "1250.5", allowance: "100" },
      native: { symbol: "ETH", amount: "0.0421" },
      asOf: blockMs(FIRST_BLOCK),
      block: FIRST_BLOCK,
    });
  });

  it("an address without anything has empty lists", async () => {
    for (const name of ["orders", "history/trades", "history/orders"]) {
      const reply = await ask(`/api/trading/venuefive/${name}?walletAddress=${NOBODY}`);
      expect([name, reply.status, at(reply, `data.${name.endsWith("trades") ? "trades" : "orders"}`)]).toEqual([
        name,
        200,
        [],
      ]);
    }
    expect(at(await ask(`/api/trading/venuefive/positions/${NOBODY}`), "positions")).toEqual([]);
  });
});

describe("the status of an order on venuefive", () => {
  const statusOf = (orderId: string, address: string | null = ADDRESS) =>
    ask(`/api/trading/venuefive/orders/${orderId}/status${address === null ? "" : `?walletAddress=${address}`}`);

  it.each([
    ["OPEN", "OPEN", "0"],
    ["FILLED", "FILLED", "0.1428571428"],
    ["CANCELED", "CANCELED", "0"],
    ["EXPIRED", "CANCELED", "0"],
  ] as const)("of a limit order that is %s is %s", async (status, normalized, filledQuantity) => {
    const order = aChainOrder({ status, orderType: "STOP_LIMIT" });
    room.found.set("0:0:90", { kind: "limit", order, walletAddress: ADDRESS });
    const reply = await statusOf("0:0:90");
    expect(at(reply, "data")).toEqual({
      orderId: "0:0:90",
      symbol: "ETH",
      side: "SELL",
      type: "STOP_LIMIT",
      status: normalized,
      price: "3500",
      quantity: "0.1428571428",
      filledQuantity,
      averagePrice: null,
      timestamp: order.timestampMs,
      exchange: "venuefive",
      clientOrderId: null,
      reduceOnly: false,
      triggerPrice: "3500",
      venueStatus: status,
      venueTimestamp: order.timestampMs,
      venueOrderId: null,
      direction: "SHORT",
      collateral: "50",
      leverage: 10,
      isZfp: null,
      txHash: TX,
      walletAddress: ADDRESS,
    });
    expect(room.calls).toEqual([{ name: "find", address: ADDRESS, with: "0:0:90" }]);
  });

  it.each([
    [
      "an open that waits for the keeper",
      { status: "PENDING", price: null, size: null },
      ["OPEN", "BUY", null, "0", null, false],
    ],
    [
      "an open that is executed",
      { status: "FILLED", price: "65000", size: "0.0153846153" },
      ["FILLED", "BUY", "0.0153846153", "0.0153846153", "65000", false],
    ],
    [
      "a close that is executed, of the size that it was opened with",
      { status: "FILLED", price: "80000", size: "0.0153846153", isOpen: false },
      ["FILLED", "SELL", "0.0153846153", "0.0153846153", "80000", true],
    ],
    [
      "a close that the keeper gave up",
      { status: "CANCELED", price: null, size: null, isOpen: false },
      ["CANCELED", "SELL", null, "0", null, true],
    ],
  ] as const)("of a market order by its transaction, by anybody: %s", async (_, fields, facts) => {
    room.found.set(TX, {
      kind: "market",
      order: {
        txHash: TX,
        venueOrderId: "77",
        symbol: "BTC",
        direction: "LONG",
        isOpen: true,
        isZeroFee: false,
        collateral: "100",
        leverage: "10",
        timestampMs: 1_790_000_000_000,
        walletAddress: NOBODY,
        ...fields,
      },
    });
    const reply = await statusOf(TX.toUpperCase().replace("0X", "0x"), null);
    const names = ["status", "side", "quantity", "filledQuantity", "averagePrice", "reduceOnly"];
    expect(names.map((name) => at(reply, `data.${name}`))).toEqual(facts);
    expect([at(reply, "data.type"), at(reply, "data.venueOrderId"), at(reply, "data.walletAddress")]).toEqual([
      "MARKET",
      "77",
      NOBODY,
    ]);
    expect(room.calls).toEqual([{ name: "find", address: null, with: TX }]);
  });

  it.each([
    ["PENDING", 200, "UNKNOWN", "NOT_MINED"],
    ["REVERTED", 200, "REJECTED", "REVERTED"],
    ["NO_ORDER", 404, undefined, undefined],
  ] as const)("of a transaction that is %s is %s %s", async (status, http, normalized, venueStatus) => {
    room.found.set(TX, { kind: "transaction", txHash: TX, status });
    const reply = await statusOf(TX, null);
    expect([reply.status, at(reply, "data.status"), at(reply, "data.venueStatus")]).toEqual([
      http,
      normalized,
      venueStatus,
    ]);
    if (http === 200) expect([at(reply, "data.orderId"), at(reply, "data.symbol")]).toEqual([TX, null]);
  });

  it("of a past order is null where no known event has it", async () => {
    const unknown = { direction: null, price: null, size: null, collateral: null, leverage: null } as const;
    const order = aChainOrder({ ...unknown, slippagePercent: null, orderType: null, status: "FILLED" });
    room.found.set("0:0:90", { kind: "limit", order, walletAddress: ADDRESS });
    const reply = await statusOf("0:0:90");
    const names = ["side", "quantity", "filledQuantity", "leverage", "direction"];
    expect(names.map((name) => at(reply, `data.${name}`))).toEqual([null, null, null, null, null]);
    room.orders.set(ADDRESS.toLowerCase(), [order]);
    const history = await ask(`/api/trading/venuefive/history/orders?walletAddress=${ADDRESS}`);
    expect([at(history, "data.orders.0.size"), at(history, "data.orders.0.leverage")]).toEqual([null, null]);
  });

  it("of one that nobody knows is 404 with its id", async () => {
    expect(refusal(await statusOf("0:1:91"))).toEqual([404, "ORDER_NOT_FOUND", "Order 0:1:91 not found in any market"]);
  });

  it("by an id of a limit order without its address, or by no id at all, is refused unasked", async () => {
    const missing = await statusOf("0:0:90", null);
    expect([...(refusal(missing) as unknown[]), at(missing, "details.fields.0")]).toEqual([
      400,
      "MISSING_PARAMETERS",
      "Missing required parameters",
      { path: "walletAddress", problem: "is required" },
    ]);
    for (const orderId of ["12345", "0:0", "a:b:c", "0xabc", "0:0:90:1"]) {
      const reply = await statusOf(orderId);
      expect([orderId, reply.status, at(reply, "details.fields.0.path")]).toEqual([orderId, 400, "orderId"]);
    }
    expect(room.calls).toEqual([]);
  });

  it("of before what is known here is a failure, never 'not found'", async () => {
    room.fail("BEFORE_INDEX", "events are known from block 7 on");
    expect(refusal(await statusOf("0:0:3"))).toEqual([
      500,
      "FAILED_TO_FETCH_ORDER_STATUS",
      "Failed to fetch order status: events are known from block 7 on",
    ]);
  });
});

describe("what is wrong with a request to venuefive", () => {
  it.each(["orders", "history/trades", "history/orders", "balances"])(
    "%s needs a wallet address of the right form",
    async (name) => {
      const missing = await ask(`/api/trading/venuefive/${name}`);
      expect([...(refusal(missing) as unknown[]), at(missing, "details.fields")]).toEqual([
        400,
        "MISSING_PARAMETERS",
        "Missing required parameters",
        [{ path: "walletAddress", problem: "is required" }],
      ]);
      for (const bad of ["0x12", "bob", BASE58, `${ADDRESS}00`]) {
        const reply = await ask(`/api/trading/venuefive/${name}?walletAddress=${bad}`);
        expect(refusal(reply)).toEqual([400, "INVALID_WALLET_ADDRESS", "Invalid wallet address format"]);
      }
      expect(room.calls).toEqual([]);
    },
  );

  it("a bad address of the path is the same", async () => {
    expect(refusal(await ask("/api/trading/venuefive/positions/0x12"))).toEqual([
      400,
      "INVALID_WALLET_ADDRESS",
      "Invalid wallet address format",
    ]);
  });

  it.each(["orders", "history/trades", "history/orders"])("%s refuses a symbol of no pair", async (name) => {
    const reply = await ask(`/api/trading/venuefive/${name}?walletAddress=${ADDRESS}&symbol=NOPE`);
    expect([reply.status, at(reply, "code"), at(reply, "details.availableSymbols")]).toEqual([
      404,
      "UNKNOWN_SYMBOL",
      [...PAIR_SYMBOLS.values()],
    ]);
    expect(room.calls).toEqual([]);
  });

  it.each(["history/trades", "history/orders"])("%s refuses limits and cursors that are none", async (name) => {
    const path = `/api/trading/venuefive/${name}?walletAddress=${ADDRESS}`;
    for (const limit of ["0", "1001", "-1", "2.5", "all"])
      expect([limit, (await ask(`${path}&limit=${limit}`)).status]).toEqual([limit, 400]);
    expect(room.calls).toEqual([]);
    const reply = await ask(`${path}&cursor=mine`);
    expect([reply.status, at(reply, "details.fields.0")]).toEqual([
      400,
      { path: "cursor", problem: "is not the nextCursor of a page" },
    ]);
  });
});

describe("a chain that cannot be read", () => {
  it.each(READS)("%s says so in the spec's words", async (path, words) => {
    for (const code of ["TIMEOUT", "VENUE_ERROR", "BAD_RESPONSE"] as const) {
      room.fail(code, "both endpoints are away");
      const reply = await ask(path);
      expect([reply.status, at(reply, "error")]).toEqual([500, `${words}: ${code}: both endpoints are away`]);
      expect([at(reply, "details.exchange"), at(reply, "details.readCode")]).toEqual(["venuefive", code]);
    }
  });

  it.each(READS)("%s is 503 where it is limited, held back, on another chain or without a good key", async (path) => {
    const outcomes: readonly [ChainReadFailure, string, unknown][] = [
      ["RATE_LIMITED", "VENUE_RATE_LIMITED", undefined],
      ["BREAKER_OPEN", "VENUE_UNAVAILABLE", "BREAKER_OPEN"],
      ["WRONG_CHAIN", "VENUE_UNAVAILABLE", "WRONG_CHAIN"],
      ["AUTH", "VENUE_UNAVAILABLE", "AUTH"],
    ];
    for (const [failure, code, reason] of outcomes) {
      room.fail(failure, "refused", failure === "RATE_LIMITED" ? 2_500 : null);
      const reply = await ask(path);
      expect([failure, reply.status, at(reply, "code"), at(reply, "details.reason")]).toEqual([
        failure,
        503,
        code,
        reason,
      ]);
      if (failure === "RATE_LIMITED") expect(reply.headers["retry-after"]).toBe("3");
    }
  });

  it.each(READS)("%s names the pairs that are others on the chain", async (path) => {
    room.fail("PAIRS_DIFFER", "pairs differ");
    room.differingPairs = [{ index: 21, here: "PEPE", chain: "XAU" }];
    const reply = await ask(path);
    expect([reply.status, at(reply, "code"), at(reply, "details.reason"), at(reply, "details.pairs")]).toEqual([
      503,
      "VENUE_UNAVAILABLE",
      "PAIRS_DIFFER",
      [{ index: 21, here: "PEPE", chain: "XAU" }],
    ]);
  });

  it("a message of an endpoint is shown without what looks like a key", async () => {
    room.fail("VENUE_ERROR", `https://rpc.example/${"k".repeat(64)} says no`);
    expect(JSON.stringify((await ask(`/api/trading/venuefive/positions/${ADDRESS}`)).body)).not.toContain(
      "k".repeat(64),
    );
  });

  it.each(READS)("%s is 503 NOT_CONFIGURED where it is not configured", async (path) => {
    const reply = await ask(path, without);
    expect([reply.status, at(reply, "code"), at(reply, "details.reason")]).toEqual([
      503,
      "VENUE_UNAVAILABLE",
      "NOT_CONFIGURED",
    ]);
  });
});

describe("what the service says of venuefive's chain", () => {
  const INDEX = {
    cursorBlock: FIRST_BLOCK - 2,
    sinceBlock: 7,
    behindBlocks: 1,
    problem: null,
    events: 12,
    retracted: 3,
  };

  it("is in its status: block, pairs, index, endpoints by their hosts", async () => {
    expect(at(await ask("/api/status"), "data.clientSigned")).toEqual({
      exchange: "venuefive",
      state: "LIVE",
      problem: null,
      block: FIRST_BLOCK,
      blockAgeMs: 40,
      differingPairs: [],
      index: INDEX,
      endpoints: [
        { host: "rpc-one.example", state: "up", block: FIRST_BLOCK, calls: 20, failures: 0 },
        { host: "rpc-two.example", state: "lagging", block: FIRST_BLOCK - 9, calls: 4, failures: 2 },
      ],
    });
    expect(at(await ask("/api/status", without), "data.clientSigned")).toBeUndefined();
  });

  it("is a part of /ready, and its failure takes no exit of the others away", async () => {
    room.state = "DOWN";
    room.problem = "pair 21 is XAU on the chain and PEPE here";
    const reply = await ask("/ready");
    room.state = "LIVE";
    room.problem = null;
    const parts = at(reply, "parts") as readonly { readonly name: string }[];
    expect([reply.status, parts.find(({ name }) => name === "venuefive")]).toEqual([
      200,
      {
        name: "venuefive",
        ready: true,
        detail:
          "DOWN: pair 21 is XAU on the chain and PEPE here, block 100, 40 ms old, events to block 98, 1 behind, rpc-one.example up, rpc-two.example lagging",
      },
    ]);
  });

  it("is in the metrics, by place and host of each endpoint", async () => {
    const text = (await ask("/metrics")).text.split("\n");
    const ONE = '{place="1",host="rpc-one.example"}';
    const TWO = '{place="2",host="rpc-two.example"}';
    for (const line of [
      "unwind_venuefive_up 1",
      `unwind_venuefive_block ${FIRST_BLOCK}`,
      "unwind_venuefive_block_age_ms 40",
      "unwind_venuefive_differing_pairs 0",
      `unwind_venuefive_index_block ${FIRST_BLOCK - 2}`,
      "unwind_venuefive_index_behind 1",
      "unwind_venuefive_index_events 12",
      "unwind_venuefive_watched_addresses 0",
      "unwind_venuefive_retracted 3",
      `unwind_venuefive_endpoint_up${ONE} 1`,
      `unwind_venuefive_endpoint_up${TWO} 0`,
      `unwind_venuefive_endpoint_block${TWO} ${FIRST_BLOCK - 9}`,
      `unwind_venuefive_calls${ONE} 20`,
      `unwind_venuefive_failures${TWO} 2`,
    ])
      expect(text).toContain(line);
    const kinds = text.filter((line) => /^# TYPE unwind_venuefive_\w+ counter$/.test(line));
    expect(kinds.map((line) => line.split(" ")[2])).toEqual([
      "unwind_venuefive_retracted",
      "unwind_venuefive_calls",
      "unwind_venuefive_failures",
    ]);
    expect((await ask("/metrics", without)).text).not.toContain("unwind_venuefive");
  });
});

describe("trading on venuefive is the caller's own to sign:", () => {
  it.each([
    ["POST", `${FIVE}/orders`, { symbol: "BTC", side: "BUY", type: "MARKET", quantity: "1" }],
    ["POST", `${FIVE}/orders`, undefined],
    ["DELETE", `${FIVE}/orders`, undefined],
    ["DELETE", `${FIVE}/orders/0:0:90`, undefined],
    ["PATCH", `${FIVE}/orders/0:0:90`, { price: "1" }],
    ["POST", `${FIVE}/leverage`, { symbol: "BTC", leverage: 5 }],
    ["POST", `${FIVE}/margin-mode`, { symbol: "BTC", marginMode: "cross" }],
    ["POST", `${FIVE}/dead-man`, { timeoutMs: 60_000 }],
  ] as const)("%s %s is 400 and names the hook", async (method, path, body) => {
    for (const by of [harness, without]) {
      const headers = { "content-type": "application/json" };
      const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
      // The interface has no endpoint that places orders there.
      const reply = await ask(path, by, { method, outside: method === "POST" && path === `${FIVE}/orders`, ...sent });
      expect([reply.status, at(reply, "code"), at(reply, "details.reasonCode")]).toEqual([
        400,
        "NOT_SUPPORTED",
        "CLIENT_SIDE_ONLY",
      ]);
      expect(at(reply, "error")).toContain("useVenuefiveTrade");
    }
    expect(room.calls).toEqual([]);
  });

  it.each([
    `${FIVE}/orders/open`,
    `${FIVE}/balances/${ADDRESS}`,
    `${FIVE}/fills/${ADDRESS}`,
    `${FIVE}/funding/${ADDRESS}`,
  ])("GET %s is 400 and names the reads that there are", async (path) => {
    const reply = await ask(path);
    expect([reply.status, at(reply, "details.reasonCode")]).toEqual([400, "READ_ELSEWHERE"]);
    expect(at(reply, "error")).toContain("/history/trades");
  });
});
