/**
 * The routes about accounts and single-venue orders over HTTP, every reply judged by the OpenAPI document. The order
 * desk is scripted here: what is tested is what the routes ask of it, what they refuse without asking, and how they
 * print what it says. The whole path, with venues, is in bench/test.
 */
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Operation } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { ACCOUNT_HEADERS } from "../accounts/account-access.js";
import { OWN_KEY_HEADERS } from "../accounts/own-key.js";
import type { Reply, RequestOptions } from "./client.js";
import { closeLeg, createFakeDesk, FRESH_SCRIPT, orderFacts } from "./fake-desk.js";
import { tradingWith } from "./fake-trading.js";
import { createFakeMoneyDesk } from "./fake-money-desk.js";
import { type Harness, startHarness } from "./harness.js";
import { TestWallets } from "./test-wallets.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const STRANGER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const NO_WALLET = "11111111-1111-4111-8111-111111111111";
const BARE_WALLET = "22222222-2222-4222-8222-222222222222";
const KEY_ONE = { privateKey: "0xkey-of-one" };
const KEY_TWO = { apiKey: "key", apiSecret: "secret", walletAddress: ADDRESS };

const desk = createFakeDesk();
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({
    wallets: { provider: new TestWallets(), appendAct: async () => {} },
    registrars: new Map(),
    money: createFakeMoneyDesk(),
    // Let in, and no operator for all that.
    server: { allowedHosts: ["unwind.example"], allowedOrigins: ["https://elsewhere.example"] },
    trading: tradingWith(desk, [
      {
        ownerId: null,
        walletId: WALLET,
        userId: "alice",
        address: ADDRESS,
        credentials: { venueone: KEY_ONE, venuetwo: KEY_TWO },
      },
      { ownerId: null, walletId: BARE_WALLET, userId: "bob", address: STRANGER, credentials: {} },
    ]),
  });
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  harness.refreshBooks();
  desk.calls.length = 0;
  Object.assign(desk.script, FRESH_SCRIPT);
  harness.one.held.set("BTC", 400);
  harness.two.held.set("BTC", -300);
});

function send(
  method: NonNullable<RequestOptions["method"]>,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return harness.client.send(path, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

const post = (path: string, body: unknown, headers?: Readonly<Record<string, string>>) =>
  send("POST", path, body, headers);
const withWallet = (walletId: string) => ({ "x-wallet-id": walletId });

function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}

function told(reply: Reply): unknown {
  return [reply.status, at(reply, "error")];
}

const ORDER_ONE = { userId: "alice", symbol: "BTC", side: "BUY", type: "LIMIT", quantity: "0.01", price: "96000" };
const ORDER_TWO = { symbol: "BTCUSDT", side: "BUY", type: "LIMIT", quantity: "0.01", price: "96000" };
const CLOSE_ONE = { ...ORDER_ONE, side: "SELL", symbol: "BTC-PERP", reduceOnly: true };
const PERP = `/api/venuetwo/perp/${WALLET}`;
const ONE = `/api/venueone/${WALLET}`;

/** Routes that place or close, with a body that they accept. */
const PLACING: readonly { path: string; body: Record<string, unknown>; header: boolean }[] = [
  { path: `${PERP}/order`, body: ORDER_TWO, header: false },
  { path: "/api/trading/venuetwo/orders", body: { userId: "alice", ...ORDER_TWO }, header: true },
  { path: "/api/trading/venueone/orders", body: ORDER_ONE, header: true },
  { path: `${ONE}/positions/close/BTC`, body: CLOSE_ONE, header: true },
];

describe("as for whose wallet it is,", () => {
  it.each([
    ["POST", "/api/trading/venuetwo/orders", ORDER_TWO],
    ["POST", "/api/trading/venueone/orders", ORDER_ONE],
    ["POST", `${ONE}/positions/close/BTC`, CLOSE_ONE],
    ["POST", `${ONE}/positions/close-all`, { userId: "alice" }],
    ["GET", `${ONE}/orders/historical`, undefined],
  ] as const)("%s %s without x-wallet-id is 401 before anything else is looked at", async (method, path, body) => {
    expect(told(await send(method, path, body))).toEqual([401, "Missing x-wallet-id header"]);
    expect(told(await send(method, path, body === undefined ? undefined : {}))).toEqual([
      401,
      "Missing x-wallet-id header",
    ]);
    expect(desk.calls).toEqual([]);
  });

  it.each([
    ["POST", "/api/trading/venuetwo/orders", ORDER_TWO],
    ["POST", "/api/trading/venueone/orders", ORDER_ONE],
  ] as const)("%s %s knows no other wallet: 404, whatever the id looks like", async (method, path, body) => {
    for (const id of [NO_WALLET, "alice", ADDRESS, "x", "__proto__"])
      expect(told(await send(method, path, body, withWallet(id)))).toEqual([404, "Wallet not found"]);
    expect(desk.calls).toEqual([]);
  });

  it("a wallet of the path that does not exist is 404, on leverage 401", async () => {
    expect(told(await post(`/api/venuetwo/perp/${NO_WALLET}/order`, ORDER_TWO))).toEqual([404, "Wallet not found"]);
    expect(told(await post("/api/venuetwo/perp/nope/close-position", { symbol: "BTC" }))).toEqual([
      404,
      "Wallet not found",
    ]);
    expect(told(await send("GET", `/api/venuetwo/perp/${NO_WALLET}/positions`))).toEqual([404, "Wallet not found"]);
    expect(told(await post(`/api/venuetwo/perp/${NO_WALLET}/leverage`, { symbol: "BTCUSDT", leverage: 10 }))).toEqual([
      401,
      "Invalid wallet ID",
    ]);
  });

  it("the names in path, header and body must be of one wallet", async () => {
    for (const userId of ["bob", STRANGER, BARE_WALLET, "nobody"])
      expect(told(await post("/api/trading/venueone/orders", { ...ORDER_ONE, userId }, withWallet(WALLET)))).toEqual([
        401,
        "Invalid wallet ID",
      ]);
    expect(told(await post(`${PERP}/order`, ORDER_TWO, withWallet(BARE_WALLET)))).toEqual([401, "Invalid wallet ID"]);
    expect(told(await post(`${ONE}/positions/close/BTC`, CLOSE_ONE, withWallet(BARE_WALLET)))).toEqual([
      401,
      "Invalid wallet ID",
    ]);
    expect(desk.calls).toEqual([]);
    for (const userId of ["alice", ADDRESS, ADDRESS.toUpperCase().replace("0X", "0x"), WALLET])
      expect((await post("/api/trading/venueone/orders", { ...ORDER_ONE, userId }, withWallet(WALLET))).status).toBe(
        200,
      );
  });

  it("a wallet without the venue's credentials is 401 naming the venue", async () => {
    const body = { ...ORDER_ONE, userId: "bob" };
    expect(told(await post("/api/trading/venueone/orders", body, withWallet(BARE_WALLET)))).toEqual([
      401,
      "Missing or invalid credentials for venueone",
    ]);
    expect(desk.calls).toEqual([]);
  });
});

describe("in placing and closing,", () => {
  it.each(PLACING)("$path names every missing field, and does not call the desk", async ({ path, body, header }) => {
    const headers = header ? withWallet(WALLET) : {};
    for (const name of ["symbol", "side", "type", "quantity"]) {
      const { [name]: _left, ...rest } = body;
      const reply = await post(path, rest, headers);
      expect(told(reply), name).toEqual([400, "Missing required parameters"]);
      expect(at(reply, "details.fields.0.path")).toBe(name);
    }
    expect(desk.calls).toEqual([]);
  });

  it.each(PLACING)(
    "$path refuses every bad value with its field, and does not call the desk",
    async ({ path, body, header }) => {
      const headers = header ? withWallet(WALLET) : {};
      const bad: [field: string, value: unknown][] = [
        ["quantity", "0"],
        ["quantity", "0.000"],
        ["quantity", "-1"],
        ["quantity", "NaN"],
        ["quantity", "Infinity"],
        ["quantity", "1e3"],
        ["quantity", " 1"],
        ["quantity", "1,5"],
        ["quantity", "0x1"],
        ["quantity", `0.${"1".repeat(19)}`],
        ["quantity", "9".repeat(41)],
        ["quantity", 0.01],
        ["price", "0"],
        ["price", "-96000"],
        ["price", "nan"],
        ["price", 96_000],
        ["side", "buy"],
        ["side", "HOLD"],
        ["side", 1],
        ["symbol", ""],
        ["symbol", 7],
        ["symbol", "BTC;DROP"],
      ];
      for (const [field, value] of bad) {
        const reply = await post(path, { ...body, [field]: value }, headers);
        expect(told(reply), `${field}=${JSON.stringify(value)}`).toEqual([400, "Invalid request parameters"]);
        expect(at(reply, "details.fields")).toContainEqual(expect.objectContaining({ path: field }));
      }
      for (const text of ["", "{", "[]", "null", '"x"', "{}x"])
        expect((await post(path, text, headers)).status, text).toBe(400);
      expect(desk.calls).toEqual([]);
    },
  );

  it("an unknown symbol is 404 with a preview, nothing sent", async () => {
    const reply = await post("/api/trading/venueone/orders", { ...ORDER_ONE, symbol: "PEPE" }, withWallet(WALLET));
    expect(told(reply)).toEqual([404, "Unknown symbol PEPE on venueone. Available: BTC, ETH"]);
    expect(desk.calls).toEqual([]);
  });

  it.each([
    "/api/trading/venueone/orders",
    "/api/trading/venuethree/orders?apiKeyPrivateKey=k&apiKeyIndex=1&accountIndex=2",
  ])("a type that is neither MARKET nor LIMIT has its own text at %s", async (path) => {
    for (const type of ["STOP_MARKET", "market", "", "ICEBERG", 5]) {
      const reply = await post(path, { ...ORDER_ONE, type }, withWallet(WALLET));
      expect(told(reply), String(type)).toEqual([400, "Invalid order type. Must be MARKET or LIMIT"]);
      expect(at(reply, "code")).toBe("INVALID_ORDER_TYPE");
    }
    const { symbol: _symbol, ...rest } = ORDER_ONE;
    expect(told(await post(path, { ...rest, type: "STOP" }, withWallet(WALLET)))).toEqual([
      400,
      "Missing required parameters",
    ]);
  });

  it("venuetwo takes stops with stopPrice or price, and refuses them with neither", async () => {
    const stop = { symbol: "BTC", side: "SELL", type: "STOP_MARKET", quantity: "0.01" };
    expect(told(await post(`${PERP}/order`, stop))).toEqual([400, "Missing required parameters"]);
    await post(`${PERP}/order`, { ...stop, price: "90000" });
    await post(`${PERP}/order`, {
      ...stop,
      type: "TAKE_PROFIT_MARKET",
      price: "1",
      stopPrice: "99000",
      workingType: "MARK_PRICE",
    });
    expect(
      desk.calls.map(({ request }) => [request.type, request.price, request.stopPrice, request.triggerSource]),
    ).toEqual([
      ["STOP_MARKET", null, "90000", "LAST"],
      ["TAKE_PROFIT_MARKET", null, "99000", "MARK"],
    ]);
    expect(told(await post(`${PERP}/order`, { ...ORDER_TWO, stopPrice: "1" }))).toEqual([
      400,
      "Invalid request parameters",
    ]);
  });

  it("a LIMIT order needs its price, also where the schema leaves it out", async () => {
    const { price: _price, ...rest } = ORDER_TWO;
    expect(told(await post(`${PERP}/order`, rest))).toEqual([400, "Missing required parameters"]);
    expect((await post(`${PERP}/order`, { ...rest, type: "MARKET" })).status).toBe(200);
    expect(desk.calls).toHaveLength(1);
  });

  it("a route passes on what was asked, in canonical terms, with the credentials of the wallet", async () => {
    await post(
      "/api/trading/venueone/orders",
      {
        ...ORDER_ONE,
        symbol: "btc-perp",
        type: "MARKET",
        reduceOnly: true,
        clientOrderId: "mine-1",
        maxSlippageBps: 50,
      },
      { ...withWallet(WALLET), "idempotency-key": "k-1" },
    );
    expect(desk.calls[0]?.request).toMatchObject({
      venue: "venueone",
      symbol: "BTC",
      side: "BUY",
      type: "MARKET",
      price: "96000",
      quantity: "0.01",
      reduceOnly: true,
      positionSide: "BOTH",
      clientOrderId: "mine-1",
      maxSlippageBps: 50,
    });
    expect(desk.calls[0]?.request.credentials).toBe(KEY_ONE);
  });

  it.each(["BTC", "btc", "BTC-PERP", "BTC-USD", "BTCUSDT", "BTC/USDT", "btc-usdt"])(
    "every route takes the symbol spelled %s",
    async (symbol) => {
      const segment = encodeURIComponent(symbol);
      const credentials = { venueone: KEY_ONE };
      await post("/api/trading/venueone/orders", { ...ORDER_ONE, symbol }, withWallet(WALLET));
      await post(`${PERP}/order`, { ...ORDER_TWO, symbol });
      await post(`${PERP}/leverage`, { symbol, leverage: 5 });
      await post(`${PERP}/close-position`, { symbol });
      await post(`${ONE}/positions/close/${segment}`, { ...CLOSE_ONE, symbol }, withWallet(WALLET));
      await send("DELETE", `/api/trading/venueone/orders?symbol=${segment}`, { credentials });
      await send("GET", `/api/trading/venueone/orders/77/status?symbol=${segment}`, { credentials });
      await post("/api/trade/close-all", { symbol, credentials });
      const asked = desk.calls.map(({ request }) => request.symbol ?? request.symbols);
      expect(asked).toEqual([...Array.from({ length: 7 }, () => "BTC"), ["BTC"]]);
    },
  );

  it("the price of a MARKET order is a worst price on venueone only", async () => {
    await post(`${PERP}/order`, { ...ORDER_TWO, type: "MARKET" });
    expect(desk.calls[0]?.request).toMatchObject({ type: "MARKET", price: null });
  });

  it("a route refuses body fields that it does not know, by name", async () => {
    const reply = await post("/api/trading/venueone/orders", { ...ORDER_ONE, leverage: 5 }, withWallet(WALLET));
    expect([reply.status, at(reply, "details.fields.0.path")]).toEqual([400, "leverage"]);
    expect(desk.calls).toEqual([]);
  });
});

describe("in order replies (spec 2.7),", () => {
  it("venuetwo: the venue's form, a number with all its digits, and the same digits as text", async () => {
    const reply = await post(`${PERP}/order`, { ...ORDER_TWO, timeInForce: "POST_ONLY", clientOrderId: "mine" });
    expect(reply.text).toContain('"orderId":9007199254740993,');
    expect(at(reply, "data")).toMatchObject({
      orderIdStr: "9007199254740993",
      symbol: "BTCUSDT",
      status: "NEW",
      clientOrderId: "mine",
      price: "96000",
      avgPrice: "0",
      origQty: "0.01",
      executedQty: "0",
      cumQty: "0",
      cumQuote: "0",
      timeInForce: "GTX",
      type: "LIMIT",
      reduceOnly: false,
      closePosition: false,
      side: "BUY",
      positionSide: "BOTH",
      stopPrice: "0",
      workingType: "CONTRACT_PRICE",
      priceProtect: false,
      origType: "LIMIT",
    });
  });

  it("venuetwo: a contract of a thousand units is printed in the venue's own quoting", async () => {
    desk.script.order = {
      nativeSymbol: "1000PEPEUSDT",
      price: "0.0000071",
      quantity: "12000",
      filledQuantity: "5000",
      averagePrice: "0.00000705",
      filledNotional: "0.03525",
      native: { priceDecimals: 7, qtyDecimals: 0, multiplierExp10: 3 },
    };
    const body = { symbol: "PEPE", side: "BUY", type: "LIMIT", quantity: "12000", price: "0.0000071" };
    expect(at(await post(`${PERP}/order`, body), "data")).toMatchObject({
      symbol: "1000PEPEUSDT",
      price: "0.0071",
      origQty: "12",
      executedQty: "5",
      avgPrice: "0.00705",
      cumQuote: "0.03525",
    });
  });

  it("venueone: the normalized order with its timestamp beside it", async () => {
    const reply = await post("/api/trading/venueone/orders", ORDER_ONE, withWallet(WALLET));
    expect(at(reply, "data")).toMatchObject({
      orderId: "9007199254740993",
      status: "OPEN",
      symbol: "BTC",
      price: "96000",
      quantity: "0.01",
      filledQuantity: "0",
      exchange: "venueone",
    });
    expect(at(reply, "timestamp")).toBeTypeOf("number");
  });

  it("an unknown outcome is a 200 that says UNKNOWN, with the client id to ask by", async () => {
    desk.script.outcome = "UNKNOWN";
    const one = await post("/api/trading/venueone/orders", ORDER_ONE, withWallet(WALLET));
    const clientId = "8c1f0a52d9e34b7790aa41c2d5e6f701";
    expect([one.status, at(one, "success"), at(one, "data.status"), at(one, "data.orderId")]).toEqual([
      200,
      true,
      "UNKNOWN",
      clientId,
    ]);
    const two = await post(`${PERP}/order`, ORDER_TWO);
    expect([at(two, "data.status"), at(two, "data.orderId"), at(two, "data.venueClientOrderId")]).toEqual([
      "UNKNOWN",
      0,
      clientId,
    ]);
  });

  it("a refusal of the venue is 500 with its own words in the details; a key it does not take is 401", async () => {
    desk.script.refusal = {
      code: "VENUE_REJECTED",
      details: { exchange: "venueone", reason: "INSUFFICIENT_MARGIN", venueText: "Insufficient margin" },
    };
    const reply = await post("/api/trading/venueone/orders", ORDER_ONE, withWallet(WALLET));
    expect([...(told(reply) as unknown[]), at(reply, "code"), at(reply, "details.venueText")]).toEqual([
      500,
      "Failed to place order",
      "VENUE_REJECTED",
      "Insufficient margin",
    ]);
    desk.script.refusal = { code: "VENUE_REJECTED", details: { exchange: "venueone", reason: "AUTH" } };
    expect(told(await post("/api/trading/venueone/orders", ORDER_ONE, withWallet(WALLET)))).toEqual([
      401,
      "Missing or invalid credentials for venueone",
    ]);
  });
});

describe("closes on one venue", () => {
  it("venueone: derives nothing from the caller but the direction, and must be reduce-only", async () => {
    const reply = await post(`${ONE}/positions/close/btc`, CLOSE_ONE, withWallet(WALLET));
    expect(at(reply, "data")).toMatchObject({ closeId: "77", status: "submitted" });
    expect(desk.calls[0]?.request).toMatchObject({ symbol: "BTC", direction: "LONG", quantity: "0.01", type: "LIMIT" });
    for (const changes of [{ reduceOnly: false }, { symbol: "ETH" }])
      expect(told(await post(`${ONE}/positions/close/BTC`, { ...CLOSE_ONE, ...changes }, withWallet(WALLET)))).toEqual([
        400,
        "Invalid request parameters",
      ]);
    expect(desk.calls).toHaveLength(1);
  });

  it("venueone: a leg that failed is an error, one of unknown outcome is not", async () => {
    desk.script.legs = [
      closeLeg("venueone", {
        status: "FAILED",
        order: null,
        error: { code: "VENUE_REJECTED", details: { reason: "NO_LIQUIDITY" } },
      }),
    ];
    expect(told(await post(`${ONE}/positions/close/BTC`, CLOSE_ONE, withWallet(WALLET)))).toEqual([
      500,
      "Failed to place order",
    ]);
    desk.script.legs = [
      closeLeg("venueone", { status: "UNKNOWN", order: orderFacts("venueone", { outcome: "UNKNOWN", orderId: null }) }),
    ];
    const reply = await post(`${ONE}/positions/close/BTC`, CLOSE_ONE, withWallet(WALLET));
    expect([reply.status, at(reply, "data.status")]).toEqual([200, "UNKNOWN"]);
  });

  it("venueone close-all: counts what is closed, ignores the order fields, refuses reduceOnly false", async () => {
    desk.script.legs = [
      closeLeg("venueone"),
      closeLeg("venueone", {
        symbol: "ETH",
        status: "FAILED",
        order: null,
        error: { code: "VENUE_REJECTED", details: {} },
      }),
    ];
    const body = {
      userId: "alice",
      symbol: "??",
      side: "x",
      quantity: "-1",
      price: "?",
      type: "MARKET",
      reduceOnly: true,
    };
    const reply = await post(`${ONE}/positions/close-all`, body, withWallet(WALLET));
    expect(at(reply, "data")).toMatchObject({
      success: false,
      closedCount: 1,
      totalPositions: 2,
      results: [
        { symbol: "BTC", status: "CLOSED", orderId: "77" },
        { symbol: "ETH", status: "FAILED", orderId: "" },
      ],
    });
    expect(told(await post(`${ONE}/positions/close-all`, { ...body, reduceOnly: false }, withWallet(WALLET)))).toEqual([
      400,
      "Invalid request parameters",
    ]);
  });

  it("venuetwo close-position: the larger hedge side as data, both in orders", async () => {
    desk.script.legs = [
      closeLeg("venuetwo", {
        positionSide: "LONG",
        order: orderFacts("venuetwo", { orderId: "1", positionSide: "LONG" }),
      }),
      closeLeg("venuetwo", {
        positionSide: "SHORT",
        order: orderFacts("venuetwo", { orderId: "2", positionSide: "SHORT" }),
      }),
    ];
    const reply = await post(`${PERP}/close-position`, { symbol: "BTCUSDT" });
    expect([at(reply, "data.orderId"), at(reply, "data.orders.1.orderIdStr")]).toEqual([1, "2"]);
    expect(desk.calls[0]?.request).toMatchObject({ symbol: "BTC", direction: null, quantity: null, type: "MARKET" });
    expect(told(await post(`${PERP}/close-position`, { symbol: "BTC", positionSide: "BOTH" }))).toEqual([
      400,
      "Invalid request parameters",
    ]);
  });

  it("close-all over venues: cancels first, each venue for itself, and names a venue it cannot act on", async () => {
    const credentials = { venueone: KEY_ONE, venuetwo: KEY_TWO };
    const reply = await post("/api/trade/close-all", { credentials });
    expect(at(reply, "data")).toMatchObject({
      success: true,
      closedCount: 2,
      venues: [
        { exchange: "venueone", state: "CLOSED", canceledOrders: 2 },
        { exchange: "venuetwo", state: "CLOSED", canceledOrders: 2 },
      ],
    });
    expect(desk.calls[0]?.request).toMatchObject({ cancelFirst: true, symbols: null, dryRun: false });
    expect(told(await post("/api/trade/close-all", {}))).toEqual([401, "Missing or invalid credentials for any venue"]);
    expect(
      told(
        await post("/api/trade/close-all", { credentials: { venueone: KEY_ONE }, exchanges: ["venueone", "venuetwo"] }),
      ),
    ).toEqual([401, "Missing or invalid credentials for venuetwo"]);
    expect(desk.calls).toHaveLength(1);
  });
});

describe("leverage and margin mode", () => {
  it.each([0, 126, -1, 1.5, 1e9])("leverage %s is refused with the spec's text", async (leverage) => {
    expect(told(await post(`${PERP}/leverage`, { symbol: "BTCUSDT", leverage }))).toEqual([
      400,
      "Leverage must be between 1 and 125",
    ]);
    expect(desk.calls).toEqual([]);
  });

  it("says Invalid trading symbol, missing parameters, and what was set", async () => {
    expect(told(await post(`${PERP}/leverage`, { symbol: "NOPE", leverage: 5 }))).toEqual([
      400,
      "Invalid trading symbol",
    ]);
    expect(told(await post(`${PERP}/leverage`, { symbol: "BTC" }))).toEqual([400, "Missing required parameters"]);
    expect(told(await post(`${PERP}/leverage`, { symbol: "BTC", leverage: "5" }))).toEqual([
      400,
      "Invalid request parameters",
    ]);
    expect(desk.calls).toEqual([]);
    const reply = await post(`${PERP}/leverage`, { symbol: "BTCUSDT", leverage: 125 });
    expect(at(reply, "data")).toEqual({
      symbol: "BTCUSDT",
      leverage: 125,
      maxNotionalValue: "40000000",
      warning: "At 125x a position can be liquidated by an adverse movement of less than 0.8 percent",
    });
  });

  it("work on any venue with the caller's credentials", async () => {
    const reply = await post("/api/trading/venueone/leverage", {
      symbol: "BTC",
      leverage: 7,
      credentials: { venueone: KEY_ONE },
    });
    expect(at(reply, "data")).toMatchObject({ exchange: "venueone", symbol: "BTC", leverage: 7 });
    const mode = await post(
      "/api/trading/venuetwo/margin-mode",
      { symbol: "BTC", marginMode: "isolated" },
      withWallet(WALLET),
    );
    expect(at(mode, "data.marginMode")).toBe("isolated");
    expect(told(await post("/api/trading/venueone/leverage", { symbol: "BTC", leverage: 7 }))).toEqual([
      401,
      "Missing or invalid credentials for venueone",
    ]);
  });
});

describe("in cancel, amend, open orders and status,", () => {
  const header = { "x-venue-credentials": Buffer.from(JSON.stringify({ venueone: KEY_ONE })).toString("base64url") };

  it("the routes take the credentials as header, body or query, and only one of them", async () => {
    const path = "/api/trading/venueone/orders/77";
    const query = `credentials=${header["x-venue-credentials"]}`;
    expect((await send("DELETE", path, undefined, header)).status).toBe(200);
    expect((await send("DELETE", `${path}?${query}`)).status).toBe(200);
    expect((await send("DELETE", path, { credentials: { venueone: KEY_ONE } })).status).toBe(200);
    expect((await send("DELETE", path, { venueone: KEY_ONE })).status).toBe(200);
    expect((await send("DELETE", path, undefined, withWallet(WALLET))).status).toBe(200);
    expect(desk.calls).toHaveLength(5);
    expect((await send("DELETE", path, { venueone: KEY_ONE }, header)).status).toBe(400);
    expect((await send("DELETE", `${path}?${query}`, undefined, header)).status).toBe(400);
    expect(told(await send("DELETE", path))).toEqual([401, "Missing or invalid credentials for venueone"]);
    expect(desk.calls).toHaveLength(5);
  });

  it("cancel all keeps to a symbol, on the literal paths of the placing routes too", async () => {
    const reply = await send("DELETE", "/api/trading/venueone/orders?symbol=BTC-PERP", undefined, header);
    expect(at(reply, "data")).toEqual({
      exchange: "venueone",
      symbol: "BTC",
      outcome: "ACCEPTED",
      canceledCount: 3,
      failedCount: 0,
    });
  });

  it("an amend needs a change and keeps both figures exact", async () => {
    const path = "/api/trading/venueone/orders/77";
    expect(told(await send("PATCH", path, {}, header))).toEqual([400, "Missing required parameters"]);
    const reply = await send("PATCH", path, { price: "95900.5", symbol: "BTC" }, header);
    expect([at(reply, "data.order.price"), at(reply, "data.previousOrderId")]).toEqual(["95900.5", "77"]);
    expect(desk.calls[0]?.request).toMatchObject({ price: "95900.5", quantity: null, symbol: "BTC" });
  });

  it("the routes ask for an order by its exact digits", async () => {
    const orderId = "18446744073709551615";
    const reply = await send("GET", `/api/trading/venueone/orders/${orderId}/status?symbol=BTC`, undefined, header);
    expect([reply.status, at(reply, "data.orderId"), desk.calls[0]?.request.orderId]).toEqual([200, orderId, orderId]);
    expect(at(reply, "data")).toMatchObject({
      venueStatus: "NEW",
      venueTimestamp: 1_790_000_000_400,
      remainingQuantity: "0.5",
    });
    desk.script.refusal = { code: "ORDER_NOT_FOUND", details: { exchange: "venueone" } };
    expect(told(await send("GET", `/api/trading/venueone/orders/${orderId}/status`, undefined, header))).toEqual([
      404,
      `Order ${orderId} not found in any market`,
    ]);
    desk.script.refusal = { code: "FAILED_TO_FETCH_ORDER_STATUS", details: { reason: "TIMEOUT" } };
    expect(told(await send("GET", `/api/trading/venueone/orders/${orderId}/status`, undefined, header))).toEqual([
      500,
      "Failed to fetch order status: TIMEOUT",
    ]);
    expect((await send("GET", "/api/trading/venueone/orders/a%20b/status", undefined, header)).status).toBe(400);
  });

  it("open orders are records", async () => {
    const reply = await send("GET", "/api/trading/venueone/orders/open", undefined, header);
    expect([at(reply, "data.total"), at(reply, "data.orders.0.status")]).toEqual([1, "OPEN"]);
  });

  it("a venue that is no venue is 400, venuefive and one that does not run are 503", async () => {
    expect((await send("GET", "/api/trading/nope/orders/7/status", undefined, header)).status).toBe(400);
    for (const [venue, id] of [
      ["venuefive", `0x${"ab".repeat(32)}`],
      ["venuethree", "7"],
    ]) {
      const reply = await send("GET", `/api/trading/${venue}/orders/${id}/status`, undefined, header);
      expect([reply.status, at(reply, "details.reason")]).toEqual([503, "NOT_CONFIGURED"]);
    }
  });
});

describe("positions", () => {
  const credentials = { venueone: KEY_ONE, venuetwo: KEY_TWO };

  it("of all venues: flat, nested, and what is known of each", async () => {
    const reply = await send("GET", `/api/trading/positions/all/${STRANGER}`, { credentials });
    expect(reply.status).toBe(200);
    expect(at(reply, "totalPositions")).toBe(2);
    expect(at(reply, "positions.0")).toMatchObject({
      exchange: "venueone",
      symbol: "BTC",
      size: "0.4",
      direction: "LONG",
      entryPrice: "95000",
      leverage: 5,
      markPrice: "97421.5",
      markSource: "live",
      unrealizedPnl: "968.6",
      collateral: "7600",
      walletAddress: STRANGER,
      source: "venue",
    });
    expect(at(reply, "positions.1")).toMatchObject({
      exchange: "venuetwo",
      direction: "SHORT",
      walletAddress: ADDRESS,
    });
    expect(at(reply, "data.positions.venuefive")).toEqual({ positions: [], count: 0 });
    expect(at(reply, "coverage")).toMatchObject({
      venueone: { state: "SNAPSHOT", mode: "request", source: "venue" },
      venuetwo: { state: "SNAPSHOT" },
      venuethree: { state: "ERROR", error: { code: "NOT_CONFIGURED" } },
      venuefive: { state: "ERROR", error: { code: "NOT_CONFIGURED" } },
    });
  });

  it("of all venues: one without credentials, or with bad ones, hides no other", async () => {
    const bad = { venueone: { privateKey: "bad" }, venuetwo: KEY_TWO };
    const reply = await send("GET", `/api/trading/positions/all/${STRANGER}`, { credentials: bad });
    expect([reply.status, at(reply, "totalPositions"), at(reply, "coverage.venueone.state")]).toEqual([
      200,
      1,
      "AUTH_REQUIRED",
    ]);
    const none = await send("GET", `/api/trading/positions/all/${STRANGER}`);
    expect([none.status, at(none, "coverage.venuetwo.error.message")]).toEqual([
      200,
      "Missing or invalid credentials for venuetwo",
    ]);
  });

  it("of one venue: 401 without credentials, its rows with them", async () => {
    const path = `/api/trading/venuetwo/positions/${STRANGER}`;
    expect(told(await send("GET", path))).toEqual([401, "Missing or invalid credentials for venuetwo"]);
    expect(told(await send("GET", path, { venuetwo: KEY_TWO }))).toEqual([
      401,
      "Missing or invalid credentials for venuetwo",
    ]);
    const reply = await send("GET", path, { venuetwo: { ...KEY_TWO, walletAddress: STRANGER } });
    expect([at(reply, "exchange"), at(reply, "totalPositions"), at(reply, "positions.0.size")]).toEqual([
      "venuetwo",
      1,
      "0.3",
    ]);
  });

  it("of a registered wallet: its stored credentials, for the operator or for who names the wallet", async () => {
    const path = `/api/trading/positions/all/${ADDRESS}`;
    expect(at(await send("GET", path), "totalPositions")).toBe(2);
    const site = { origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" };
    expect(at(await send("GET", path, undefined, site), "totalPositions")).toBe(0);
    expect(at(await send("GET", path, undefined, { ...site, ...withWallet(WALLET) }), "totalPositions")).toBe(2);
    expect(told(await send("GET", path, undefined, withWallet(BARE_WALLET)))).toEqual([401, "Invalid wallet ID"]);
  });

  it.each(["0x123", "alice", `${ADDRESS}0`, "0xZZ9fd6e51aad88f6f4ce6ab8827279cfffb92266", "%F0%9F"])(
    "of the address %s are refused",
    async (text) => {
      expect((await send("GET", `/api/trading/positions/all/${text}`)).status).toBe(400);
      const one = await send("GET", `/api/trading/venueone/positions/${text}`);
      expect(one.status).toBe(400);
      if (!text.startsWith("%")) expect(at(one, "error")).toBe("Invalid wallet address format");
    },
  );

  it("leave out what is flat", async () => {
    harness.one.held.set("BTC", 0);
    expect(at(await send("GET", `/api/trading/venueone/positions/${ADDRESS}`), "positions")).toEqual([]);
  });

  it("in venuetwo's own form (2.5), of all symbols or one", async () => {
    const reply = await send("GET", `${PERP}/positions?symbol=BTC`);
    expect(at(reply, "data.total")).toBe(1);
    expect(at(reply, "data.positions.0")).toMatchObject({
      symbol: "BTCUSDT",
      positionAmt: "-0.3",
      entryPrice: "95000",
      leverage: "5",
      marginType: "cross",
      positionSide: "BOTH",
    });
    expect((await send("GET", `${PERP}/positions?symbol=NOPE`)).status).toBe(404);
  });
});

describe("venuethree orders", () => {
  const path = "/api/trading/venuethree/orders";

  it("want all three query parameters, as numbers where they are numbers", async () => {
    for (const query of [
      "",
      "?apiKeyPrivateKey=k",
      "?apiKeyPrivateKey=k&apiKeyIndex=1",
      "?apiKeyIndex=1&accountIndex=2",
    ])
      expect(told(await post(path + query, ORDER_ONE)), query).toEqual([400, "Missing required parameters"]);
    for (const query of [
      "?apiKeyPrivateKey=k&apiKeyIndex=x&accountIndex=2",
      "?apiKeyPrivateKey=k&apiKeyIndex=1&accountIndex=-2",
    ])
      expect(told(await post(path + query, ORDER_ONE)), query).toEqual([400, "Invalid request parameters"]);
    expect(desk.calls).toEqual([]);
  });

  it("are not repeated in a log line or a reply, whatever their outcome", async () => {
    const canary = "c0ffee".repeat(8);
    const reply = await post(`${path}?apiKeyPrivateKey=${canary}&apiKeyIndex=1&accountIndex=2`, ORDER_ONE);
    // The harness runs no venuethree.
    expect([reply.status, at(reply, "details.reason")]).toEqual([503, "NOT_CONFIGURED"]);
    expect(reply.text).not.toContain(canary);
    expect(harness.logLines.join("\n")).not.toContain(canary);
  });
});

describe("of the switches,", () => {
  it("the kill switch is the operator's: thrown, shown and lifted on loopback, refused to another site", async () => {
    const path = "/api/trade/kill-switch";
    const site = { origin: "https://elsewhere.example" };
    expect((await post(path, { active: true }, site)).status).toBe(403);
    expect((await post(path, { active: true }, { host: "unwind.example" })).status).toBe(403);
    expect(at(await harness.client.get(path), "data.active")).toBe(false);
    const on = await post(path, { active: true, exchange: "venueone", reason: "maintenance" });
    expect(at(on, "data.halts")).toMatchObject([{ exchange: "venueone", reason: "maintenance" }]);
    expect(at(await harness.client.get(path), "data.active")).toBe(true);
    expect(at(await post(path, { active: false, exchange: "venueone" }), "data.active")).toBe(false);
    expect((await post(path, {})).status).toBe(400);
  });

  it("a key in the reason of the kill switch comes back from nowhere", async () => {
    const path = "/api/trade/kill-switch";
    const canary = "c0ffee".repeat(11);
    const replies = [
      await post(path, { active: true, reason: `leaked ${"c".repeat(20)}${canary}` }),
      await harness.client.get(path),
      await post(path, { active: true, exchange: canary, reason: canary }),
      await post(path, { active: true, reason: `${canary} `.repeat(4) }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 400, 400]);
    expect(at(replies[1] as (typeof replies)[0], "data.halts")).toMatchObject([{ reason: "leaked [redacted]" }]);
    for (const { text } of replies) expect(text).not.toContain(canary.slice(0, 32));
    expect(harness.logLines.join("\n")).not.toContain(canary.slice(0, 32));
    expect(at(await post(path, { active: false }), "data.active")).toBe(false);
  });

  it("the seed of a venuefour key in the reason is masked too, an address of a chain is not", async () => {
    const path = "/api/trade/kill-switch";
    // 32 bytes in base58: what venuefour takes as apiSecret.
    const seed = "6x7Uo4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphQtt";
    const address = `0x${"a1b2c".repeat(8)}`;
    const halted = [
      await post(path, { active: true, reason: `of ${address}: key=${seed}, leaked` }),
      await harness.client.get(path),
    ];
    expect(at(halted[1] as (typeof halted)[0], "data.halts")).toMatchObject([
      { reason: `of ${address}: key=[redacted], leaked` },
    ]);
    for (const { text } of halted) expect(text).not.toContain(seed);
    expect(harness.logLines.join("\n")).not.toContain(seed);
    expect(at(await post(path, { active: false }), "data.active")).toBe(false);
  });

  it("a dead-man's switch is armed with credentials, prolonged and ended by its id", async () => {
    const armed = await post("/api/trading/venueone/dead-man", {
      timeoutMs: 60_000,
      credentials: { venueone: KEY_ONE },
    });
    expect(at(armed, "data")).toMatchObject({ switchId: "dm_1", exchange: "venueone", venueArmed: true });
    expect((await send("POST", "/api/trading/dead-man/dm_1/heartbeat")).status).toBe(200);
    expect((await send("DELETE", "/api/trading/dead-man/dm_1")).status).toBe(200);
    expect(desk.calls.map(({ name }) => name)).toEqual(["armSwitch", "heartbeat", "disarmSwitch"]);
    for (const timeoutMs of [0, 4_999, 86_400_001, "60000", null])
      expect(
        (await post("/api/trading/venueone/dead-man", { timeoutMs, credentials: { venueone: KEY_ONE } })).status,
      ).toBe(400);
    desk.script.refusal = { code: "SWITCH_NOT_FOUND", details: {} };
    expect(told(await send("POST", "/api/trading/dead-man/dm_2/heartbeat"))).toEqual([
      404,
      "No such dead-man's switch",
    ]);
  });
});

describe("anything at all", () => {
  const scalar = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom("BTC", "BUY", "SELL", "MARKET", "LIMIT", "0.01", "-1", "NaN", "alice", "ALL", "1e9", 0, 125, 126),
  );
  const names = ["userId", "symbol", "side", "type", "quantity", "price", "reduceOnly", "leverage", "marginMode"];
  const fields = fc.dictionary(fc.constantFrom(...names, "credentials", "__proto__", "timeoutMs", "active"), scalar);
  const body = fc.oneof(
    fields,
    fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown),
  );
  const routes = [
    [`${PERP}/order`, "POST"],
    [`${PERP}/leverage`, "POST"],
    [`${PERP}/close-position`, "POST"],
    ["/api/trading/venueone/orders", "POST"],
    ["/api/trading/venuethree/orders?apiKeyPrivateKey=k&apiKeyIndex=1&accountIndex=2", "POST"],
    [`${ONE}/positions/close/BTC`, "POST"],
    [`${ONE}/positions/close-all`, "POST"],
    ["/api/trading/venueone/orders/77", "PATCH"],
    ["/api/trading/venueone/orders/77", "DELETE"],
    ["/api/trading/venueone/margin-mode", "POST"],
    ["/api/trading/venueone/dead-man", "POST"],
    ["/api/trade/close-all", "POST"],
    [`/api/trading/positions/all/${ADDRESS}`, "GET"],
  ] as const;
  const route = fc.constantFrom(...routes);

  it("in a body is answered by the document, is no fault of ours, and asks the desk only for what is well formed", async () => {
    await fc.assert(
      fc.asyncProperty(route, body, async ([path, method], content) => {
        desk.calls.length = 0;
        const reply = await send(method, path, JSON.stringify(content), withWallet(WALLET));
        expect(at(reply, "code"), reply.text).not.toBe("INTERNAL");
        for (const { request } of desk.calls) {
          if (typeof request.quantity === "string") expect(request.quantity).toMatch(/^(?=.*[1-9])[0-9.]+$/);
          if ("side" in request) expect(["BUY", "SELL"]).toContain(request.side);
          if ("symbol" in request) expect(["BTC", "ETH", "PEPE", null]).toContain(request.symbol);
          if ("leverage" in request) expect(request.leverage).toBeLessThanOrEqual(125);
        }
      }),
      { numRuns: 400, seed: 20_261_121 },
    );
  });
});

describe("secrets of a request", () => {
  const canary = "canary".repeat(6);
  const blocks = {
    venueone: { privateKey: canary },
    venuetwo: { apiKey: canary, apiSecret: canary, walletAddress: canary },
    venuethree: { apiKeyPrivateKey: canary, accountIndex: 1 },
    venuefour: { apiKey: canary, apiSecret: canary },
  };
  const text = Buffer.from(JSON.stringify(blocks)).toString("base64url");

  it("reach no reply and no log line, in whatever place they come and whatever the outcome of the request", async () => {
    const paths = [
      ["GET", `/api/trading/positions/all/${ADDRESS}`],
      ["GET", `/api/trading/venuetwo/balances/${ADDRESS}`],
      ["GET", "/api/trading/venuetwo/orders/77/status"],
      ["GET", "/api/trading/venuetwo/orders/open"],
      ["GET", `/api/trading/venuetwo/fills/${ADDRESS}`],
      ["DELETE", "/api/trading/venueone/orders/77"],
      ["DELETE", "/api/trading/venueone/orders"],
      ["PATCH", "/api/trading/venueone/orders/77"],
      ["POST", "/api/trading/venueone/leverage"],
      ["POST", "/api/trade/close-all"],
      ["POST", "/api/trading/venuefour/orders"],
    ] as const;
    for (const refusal of [null, { code: "VENUE_REJECTED", details: { reason: "AUTH" } } as const]) {
      desk.script.refusal = refusal;
      for (const [method, path] of paths) {
        const isPost = method === "POST" || method === "PATCH";
        const ways = [
          await send(method, path, isPost ? {} : undefined, { "x-venue-credentials": text }),
          await send(method, path, { symbol: "BTC", credentials: blocks }),
          await send(method, path, { symbol: "BTC", credentials: { ...blocks, venueone: canary } }),
          await send(method, `${path}?credentials=${text}`, isPost ? {} : undefined),
          await send(
            method,
            `${path}?credentials=${encodeURIComponent(JSON.stringify(blocks))}x`,
            isPost ? {} : undefined,
          ),
        ];
        for (const reply of ways) expect(reply.text).not.toContain(canary.slice(0, 18));
      }
    }
    expect(harness.logLines.join("\n")).not.toContain(canary.slice(0, 18));
  });
});

describe("among the methods,", () => {
  const allowOf = async (path: string, method: "PUT" | "OPTIONS") => {
    const reply = await harness.client.send(path, { method, outside: true });
    return [reply.status, reply.headers.allow];
  };

  it("a path allows what all its routes allow, literal or for any venue", async () => {
    for (const [path, allow] of [
      ["/api/trading/venueone/orders", "POST, DELETE, OPTIONS"],
      ["/api/trading/venueone/orders/77", "PATCH, DELETE, OPTIONS"],
      ["/api/trading/venueone/orders/open", "GET, HEAD, PATCH, DELETE, OPTIONS"],
      ["/api/trading/venuefive/orders", "GET, HEAD, POST, DELETE, OPTIONS"],
      [`/api/trading/venueone/positions/${ADDRESS}`, "GET, HEAD, OPTIONS"],
      ["/api/trade/kill-switch", "GET, HEAD, POST, OPTIONS"],
    ] as const) {
      expect(await allowOf(path, "PUT"), path).toEqual([405, allow]);
      expect(await allowOf(path, "OPTIONS"), path).toEqual([204, allow]);
    }
  });

  it("every operation of the document is served", async () => {
    for (const { method, path } of Object.values<Operation>(OPERATIONS)) {
      const [status, allow] = await allowOf(path.replaceAll(/\{\w+\}/g, "x"), "OPTIONS");
      expect([status, String(allow).split(", ")], path).toEqual([204, expect.arrayContaining([method])]);
    }
  });

  it("a preflight allows the headers that these routes read", async () => {
    const reply = await harness.client.send("/api/trading/venueone/orders", {
      method: "OPTIONS",
      headers: { origin: "https://elsewhere.example" },
    });
    expect(reply.headers["access-control-allow-methods"]).toBe("POST, DELETE, OPTIONS");
    const allowed = String(reply.headers["access-control-allow-headers"]).toLowerCase().split(", ");
    // The spec's own four for keys among them: a browser sends nothing of a request whose preflight lacks one.
    const keys = ["x-api-key", "x-api-secret", "x-api-timestamp", "x-api-signature"];
    const read = ["content-type", "idempotency-key", ...ACCOUNT_HEADERS, ...OWN_KEY_HEADERS];
    expect(allowed).toEqual(expect.arrayContaining([...read, ...keys]));
  });
});
