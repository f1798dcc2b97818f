/** Every route against a listening server, every reply judged by the OpenAPI document. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BOOK_LIVE } from "../../engine/market/book.js";
import type { Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";

const CREDENTIALS = {
  venueone: { privateKey: "0xkey-of-one" },
  venuetwo: { apiKey: "key", apiSecret: "secret", walletAddress: "0xw" },
};
const CLOSE = { symbol: "BTC", direction: "LONG", size: "0.25", credentials: CREDENTIALS };

let harness: Harness;
const get = (path: string) => harness.client.get(path);

/** One field of a reply by dotted path; undefined when absent. */
function paths(reply: Reply): string[] {
  return (at(reply, "details.fields") as { readonly path: string }[]).map(({ path }) => path);
}

function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => {
  await harness.stop();
});
beforeEach(() => {
  harness.refreshBooks();
  harness.one.placeMode = "fill";
  harness.two.placeMode = "fill";
  harness.one.held.set("BTC", 400);
  harness.two.held.set("BTC", 300);
});

describe("tickers", () => {
  it("give each venue's payload of spec 2.8 in canonical quoting", async () => {
    const one = await get("/api/trading/venueone/ticker/BTC");
    expect(one.status).toBe(200);
    expect(at(one, "data")).toMatchObject({
      symbol: "BTC",
      markPrice: "97421.5",
      prevDayPrice: "96000",
      change24h: "1.4792",
      change24hAbs: "1420",
      openInterest: "24310.5",
      state: "LIVE",
      fundingIntervalHours: 1,
    });
    const two = await get("/api/trading/venuetwo/ticker/PEPE");
    expect(at(two, "data")).toMatchObject({
      asterSymbol: "1000PEPEUSDT",
      markPrice: "0.0000071237",
      volumeBase: "700000000000",
      indexPrice: null,
    });
  });

  it("aggregate the venues with the best touch, and say what is missing", async () => {
    const reply = await get("/api/trading/ticker/BTC");
    expect(at(reply, "data.best")).toEqual({
      bid: "97417",
      ask: "97417.5",
      venueBid: "venueone",
      venueAsk: "venuetwo",
    });
    expect(at(reply, "data.venuethree")).toMatchObject({ code: "NOT_CONFIGURED" });
    const pepe = await get("/api/trading/ticker/PEPE");
    expect(at(pepe, "data.venueone")).toMatchObject({ code: "UNKNOWN_SYMBOL", availableSymbols: ["BTC", "ETH"] });
    const eth = await get("/api/trading/ticker/ETH");
    expect(at(eth, "data.venueone")).toMatchObject({ code: "VENUE_UNAVAILABLE" });
  });

  it.each(["BTC", "btc", "BTC-PERP", "BTC-USD", "BTCUSDT", "BTC%2FUSDT", "btc-usdt"])(
    "accept the symbol spelled %s",
    async (text) => {
      expect((await get(`/api/trading/ticker/${text}`)).status).toBe(200);
      expect((await get(`/api/trading/venueone/ticker/${text}`)).status).toBe(200);
    },
  );

  it("answer 404 with a preview for an unknown symbol, naming the venue on its own route", async () => {
    const all = await get("/api/trading/ticker/NOPE");
    expect([all.status, at(all, "error"), at(all, "code")]).toEqual([
      404,
      "Unknown symbol NOPE. Available: BTC, ETH, PEPE",
      "UNKNOWN_SYMBOL",
    ]);
    const one = await get("/api/trading/venueone/ticker/PEPE");
    expect(at(one, "error")).toBe("Unknown symbol PEPE on venueone. Available: BTC, ETH");
    expect(at(one, "details")).toEqual({ symbol: "PEPE", exchange: "venueone", availableSymbols: ["BTC", "ETH"] });
  });

  it("answer 503 for a venue without data or not configured", async () => {
    const eth = await get("/api/trading/venueone/ticker/ETH");
    expect([eth.status, at(eth, "details.reason")]).toEqual([503, "NO_DATA_YET"]);
    const three = await get("/api/trading/venuethree/ticker/BTC");
    expect([three.status, at(three, "error"), at(three, "details.reason")]).toEqual([
      503,
      "venuethree is unavailable",
      "NOT_CONFIGURED",
    ]);
  });

  it("stop calling a ticker LIVE as soon as its book is broken, in the very next reply", async () => {
    const { book } = harness.markets.btcOne;
    book.invalidate("SEQUENCE_GAP");
    expect(at(await get("/api/trading/venueone/ticker/BTC"), "data.state")).toBe("SYNCING");
    book.invalidate("DISCONNECTED");
    expect(at(await get("/api/trading/venueone/ticker/BTC"), "data.state")).toBe("DOWN");
    expect(at(await get("/api/trading/ticker/BTC"), "data.best")).toMatchObject({ bid: "97410", venueBid: "venuetwo" });
  });

  it("show the new price in the first reply after a ticker frame", async () => {
    const { ticker } = harness.markets.btcOne;
    for (let step = 0; step < 20; step++) {
      ticker.markPrice = String(90_000 + step);
      ticker.stamp(1_790_000_001_000 + step, harness.clock.monoNs());
      expect(at(await get("/api/trading/venueone/ticker/BTC"), "data.markPrice")).toBe(String(90_000 + step));
    }
  });
});

describe("books", () => {
  it("show one venue's depth in base units", async () => {
    const reply = await get("/api/trading/venuetwo/book/BTC?depth=1");
    expect(at(reply, "data")).toMatchObject({
      nativeSymbol: "BTCUSDT",
      state: "LIVE",
      bids: [["97410", "5"]],
      asks: [["97417.5", "4"]],
      bidLevels: 2,
      tier: "main",
      venueSeq: "990817263",
      quoteAsset: "USDT",
    });
    expect(at(await get("/api/trading/venuetwo/book/PEPE"), "data.bids")).toEqual([["0.0000071234", "900000000"]]);
  });

  it("show no levels of a book that is not LIVE", async () => {
    harness.markets.btcOne.book.invalidate("SEQUENCE_GAP");
    expect(harness.markets.btcOne.book.state).not.toBe(BOOK_LIVE);
    expect(at(await get("/api/trading/venueone/book/BTC"), "data")).toMatchObject({
      state: "INVALID",
      bids: [],
      asks: [],
      bidLevels: 0,
    });
  });

  it("put a newer touch in front of the book", async () => {
    const { touch, book } = harness.markets.btcTwo;
    touch.set(974_150, 700, 974_160, 300, book.seq + 1, book.tsVenueMs + 1, book.tsProvenNs);
    expect(at(await get("/api/trading/venuetwo/book/BTC?depth=2"), "data.bids")).toEqual([
      ["97415", "0.7"],
      ["97410", "5"],
    ]);
    // The touch's ask lies below every level of the book: those worse than it stay.
    expect(at(await get("/api/trading/venuetwo/book/BTC?depth=2"), "data.asks")).toEqual([
      ["97416", "0.3"],
      ["97417.5", "4"],
    ]);
    touch.clear();
  });

  it("consolidate venues by exact price", async () => {
    const reply = await get("/api/book/BTC?depth=2");
    expect(at(reply, "data.bids")).toEqual([
      { price: "97417", size: "5", venues: [{ exchange: "venueone", size: "5" }] },
      { price: "97416", size: "9", venues: [{ exchange: "venueone", size: "9" }] },
    ]);
    expect(at(reply, "data.asks.0")).toEqual({
      price: "97417.5",
      size: "4",
      venues: [{ exchange: "venuetwo", size: "4" }],
    });
    expect(at(reply, "data.venues")).toHaveLength(4);
  });

  it.each(["0", "501", "1.5", "abc", "-1", "1e2", ""])("are refused at depth=%s", async (depth) => {
    const reply = await get(`/api/book/BTC?depth=${depth}`);
    expect([reply.status, at(reply, "details.fields.0.path")]).toEqual([400, "depth"]);
  });

  it("refuse an unknown exchange, a repeated parameter and an unconfigured venue", async () => {
    expect((await get("/api/trading/venuefive/book/BTC")).status).toBe(400);
    expect((await get("/api/trading/%E0%A4%A/book/BTC")).status).toBe(400);
    expect((await get("/api/book/BTC?depth=1&depth=2")).status).toBe(400);
    expect((await get("/api/trading/venuefour/book/BTC")).status).toBe(503);
  });
});

describe("instruments and service endpoints", () => {
  it("list instruments with multiplier, tick and lot in canonical terms", async () => {
    const reply = await get("/api/instruments?symbol=1000PEPE&exchange=venuetwo");
    expect(at(reply, "data.instruments")).toEqual([
      expect.objectContaining({
        symbol: "PEPE",
        nativeSymbol: "1000PEPEUSDT",
        multiplier: "1000",
        tickSize: "0.0000000001",
        lotSize: "1000",
        maxSize: null,
        takerFeeBps: "5",
      }),
    ]);
    expect(at(await get("/api/instruments"), "data.total")).toBe(4);
    expect((await get("/api/instruments?exchange=venuefive")).status).toBe(400);
    expect((await get("/api/instruments?symbol=NOPE")).status).toBe(404);
  });

  it("answer status, time, limits, health, readiness, metrics and the document", async () => {
    expect(at(await get("/api/status"), "data.venues")).toHaveLength(2);
    expect(at(await get("/api/time"), "data.serverTime")).toBeTypeOf("number");
    expect(at(await get("/api/limits"), "data.buckets")).toHaveLength(6);
    expect(at(await get("/health"), "status")).toBe("ok");
    expect(at(await get("/ready"), "ready")).toBe(true);
    expect((await get("/metrics")).text).toContain('unwind_http_requests_total{route="/health",status="200"}');
    expect(at(await get("/openapi.json"), "info.version")).toBe("1.0.0");
  });

  it("answer 503 NOT_READY with its parts while a venue has no live book", async () => {
    harness.markets.btcOne.book.invalidate("SEQUENCE_GAP");
    harness.markets.ethOne.book.invalidate("SEQUENCE_GAP");
    const reply = await get("/ready");
    expect([reply.status, at(reply, "code"), at(reply, "error")]).toEqual([503, "NOT_READY", "Not ready: venueone"]);
  });
});

describe("a venue whose breaker is open", () => {
  it("is shown so with its time by the status, the readiness and the metrics, until it closes", async () => {
    const shown = async () => {
      const [status, ready, metrics] = [await get("/api/status"), await get("/ready"), await get("/metrics")];
      const { venues } = (status.body as unknown as { data: { venues: Record<string, unknown>[] } }).data;
      const venue = venues.find(({ exchange }) => exchange === "venuetwo");
      return {
        ...{ state: venue?.["state"], breaker: venue?.["breaker"], until: venue?.["breakerOpenUntil"] },
        ready: ready.status,
        detail: /breaker (?:open|halfOpen)/.exec(ready.text)?.[0] ?? null,
        gauge: /unwind_venue_breaker_open\{venue="venuetwo"\} (\d)/.exec(metrics.text)?.[1],
      };
    };
    const closed = { state: "LIVE", breaker: "closed", until: null, ready: 200, detail: null, gauge: "0" };
    expect(await shown()).toEqual(closed);
    const untilMs = harness.clock.wallMs() + 36_000;
    harness.two.statusOverrides = { breaker: "open", breakerOpenUntilMs: untilMs };
    expect(await shown()).toEqual({
      ...{ state: "LIVE", breaker: "open", until: untilMs, ready: 503, detail: "breaker open", gauge: "1" },
    });
    harness.two.statusOverrides = { breaker: "halfOpen", breakerOpenUntilMs: 0 };
    expect(await shown()).toEqual({ ...closed, breaker: "halfOpen", detail: "breaker halfOpen" });
    harness.two.statusOverrides = {};
    expect(await shown()).toEqual(closed);
  });
});

describe("dry run", () => {
  it("routes over live books without credentials", async () => {
    const reply = await get("/api/trade/routing/BTC?side=SELL&size=0.25");
    expect(reply.status).toBe(200);
    expect(at(reply, "data.routing")).toMatchObject({ recommended: "venueone", price: "97417" });
    expect(at(reply, "data.quote")).toMatchObject({ side: "SELL", size: "0.25", binding: "WORST_PRICE" });
  });

  it("gives a quote for as long as is asked, two seconds where nothing is", async () => {
    const livesMs = async (query: string) => {
      const reply = await get(`/api/trade/routing/BTC?side=SELL&size=0.25${query}`);
      return Number(at(reply, "data.quote.expiresAt")) - Number(at(reply, "data.routing.decidedAt"));
    };
    // Decided and given in one turn of a real clock.
    expect(await livesMs("&quoteTtlMs=30000")).toBeGreaterThanOrEqual(30_000);
    const unasked = await livesMs("");
    expect(unasked).toBeGreaterThanOrEqual(2_000);
    expect(unasked).toBeLessThan(30_000);
  });

  it.each([
    ["", "MISSING_PARAMETERS", "side"],
    ["side=SELL", "MISSING_PARAMETERS", "size"],
    ["side=SIDEWAYS&size=1", "INVALID_PARAMETERS", "side"],
    ["side=SELL&size=1e5", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=-1", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=0", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=NaN", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=ALL", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=0.1234567890123456789", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=1234567890.1234567890", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=%zz", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=1&size=2", "INVALID_PARAMETERS", "size"],
    ["side=SELL&size=1&maxSlippageBps=0", "INVALID_PARAMETERS", "maxSlippageBps"],
    ["side=SELL&size=1&maxSlippageBps=1.5", "INVALID_PARAMETERS", "maxSlippageBps"],
    ["side=SELL&size=1&maxQuoteAgeMs=49", "INVALID_PARAMETERS", "maxQuoteAgeMs"],
    ["side=SELL&size=1&quoteTtlMs=999", "INVALID_PARAMETERS", "quoteTtlMs"],
    ["side=SELL&size=1&quoteTtlMs=30001", "INVALID_PARAMETERS", "quoteTtlMs"],
    ["side=SELL&size=1&preferredExchange=venuefive", "INVALID_PARAMETERS", "preferredExchange"],
  ])("refuses %j", async (query, code, path) => {
    const reply = await get(`/api/trade/routing/BTC?${query}`);
    expect([reply.status, at(reply, "code"), at(reply, "details.fields.0.path")]).toEqual([400, code, path]);
  });

  it("refuses a size deeper than every book, and an unknown symbol", async () => {
    const deep = await get("/api/trade/routing/BTC?side=SELL&size=5000");
    expect([deep.status, at(deep, "code")]).toEqual([400, "NO_ELIGIBLE_VENUE"]);
    expect((await get("/api/trade/routing/NOPE?side=SELL&size=1")).status).toBe(404);
    // A page gets the refusal without a status that its browser would log.
    const told = await get("/api/trade/routing/BTC?side=SELL&size=5000&refusals=body");
    expect([told.status, at(told, "success"), at(told, "code")]).toEqual([200, false, "NO_ELIGIBLE_VENUE"]);
    expect(at(told, "details")).toEqual(at(deep, "details"));
    expect((await get("/api/trade/routing/BTC?side=SELL&size=x&refusals=body")).status).toBe(400);
  });
});

describe("close", () => {
  it("closes at the best exit, reduce-only, and shows the execution afterwards", async () => {
    const before = harness.one.placed.length;
    const reply = await harness.client.close({ ...CLOSE, clientOrderId: "mine-1" });
    expect(reply.status).toBe(200);
    expect(at(reply, "data.executedOn")).toBe("venueone");
    expect(at(reply, "data.order")).toMatchObject({
      side: "SELL",
      status: "FILLED",
      orderId: "9007199254740993",
      clientOrderId: "mine-1",
      reduceOnly: true,
      filledQuantity: "0.25",
    });
    expect(harness.one.placed.slice(before)).toEqual([{ qtyLots: 250, side: "SELL", reduceOnly: true }]);
    const routeId = String(at(reply, "data.routing.routeId"));
    const execution = await get(`/api/trade/executions/${routeId}`);
    expect(at(execution, "data.execution.state")).toBe("COMPLETED");
    expect([harness.one.sessionsOpen(), harness.two.sessionsOpen()]).toEqual([0, 0]);
  });

  it("replays the stored reply for the same Idempotency-Key and body, and refuses another body", async () => {
    const before = harness.one.placed.length;
    const first = await harness.client.close(CLOSE, { "idempotency-key": "k-1" });
    const second = await harness.client.close(CLOSE, { "idempotency-key": "k-1" });
    expect(second.headers["idempotent-replayed"]).toBe("true");
    expect(at(second, "data.order")).toEqual(at(first, "data.order"));
    const other = await harness.client.close({ ...CLOSE, size: "0.2" }, { "idempotency-key": "k-1" });
    expect([other.status, at(other, "code")]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
    expect(harness.one.placed.length - before).toBe(1);
  });

  it("answers 409 while a close with the same key runs", async () => {
    harness.one.placeMode = "hang";
    const running = harness.client.close(CLOSE, { "idempotency-key": "k-2" });
    await until(async () => at(await get("/api/status"), "data.closesInFlight") === 1);
    const second = await harness.client.close(CLOSE, { "idempotency-key": "k-2" });
    expect([second.status, at(second, "code")]).toEqual([409, "IDEMPOTENCY_IN_PROGRESS"]);
    harness.one.release();
    expect((await running).status).toBe(200);
  });

  it("reports a reject of every attempt as success false, without what the venue echoed of a key", async () => {
    harness.one.placeMode = "reject";
    harness.two.placeMode = "reject";
    const reply = await harness.client.close(CLOSE);
    expect([reply.status, at(reply, "success"), at(reply, "data.execution.state")]).toEqual([200, false, "REJECTED"]);
    expect([at(reply, "error"), at(reply, "code")]).toEqual(["Failed to place order", "VENUE_REJECTED"]);
    expect(at(reply, "requestId")).toBe(reply.headers["x-request-id"]);
    expect(reply.text).not.toContain("cdcdcdcd");
  });

  it("reports an unknown outcome as 200, success, not final, and lists it in the status", async () => {
    harness.one.placeMode = "unknown";
    // Long enough for the order to leave on a slow machine.
    const reply = await harness.client.close({ ...CLOSE, routingOptions: { deadlineMs: 1_500 } });
    expect([
      reply.status,
      at(reply, "success"),
      at(reply, "data.order.status"),
      at(reply, "data.execution.final"),
    ]).toEqual([200, true, "UNKNOWN", false]);
    const status = await get("/api/status");
    expect(at(status, "data.unknownOrders.count")).toBe(1);
    expect(at(status, "data.openOrders")).toEqual({ count: 0, orders: [] });
  });

  it("counts an order that rests as followed, and as attended while its account's credentials are here", async () => {
    const before = await get("/api/status");
    expect([at(before, "data.followedCount"), at(before, "data.unattendedCount")]).toEqual([0, 0]);
    harness.one.placeMode = "acknowledge";
    const reply = await harness.client.close({ ...CLOSE, orderType: "LIMIT", limitPrice: "101000" });
    expect([reply.status, at(reply, "data.execution.state")]).toEqual([200, "RESTING"]);
    const status = await get("/api/status");
    expect([at(status, "data.followedCount"), at(status, "data.unattendedCount")]).toEqual([1, 0]);
  });

  it("lists an acknowledged order whose end was not seen as open in the status", async () => {
    harness.one.placeMode = "acknowledge";
    const reply = await harness.client.close({ ...CLOSE, routingOptions: { deadlineMs: 1_500, waitFor: "ACK" } });
    expect([reply.status, at(reply, "data.execution.state")]).toEqual([200, "SUBMITTED"]);
    const status = await get("/api/status");
    expect(at(status, "data.openOrders")).toMatchObject({
      count: 1,
      orders: [{ routeId: at(reply, "data.routing.routeId"), exchange: "venueone", symbol: "BTC" }],
    });
  });

  it("says what exceeds the position, with both maxima", async () => {
    const reply = await harness.client.close({ ...CLOSE, size: "0.5" });
    expect([reply.status, at(reply, "code")]).toEqual([400, "SIZE_EXCEEDS_POSITION"]);
    expect(at(reply, "details")).toMatchObject({ maxSingleVenueSize: "0.4", maxTotalSize: "0.7" });
  });

  it("simulates a dry run: no order, a quote", async () => {
    const before = harness.one.placed.length + harness.two.placed.length;
    const reply = await harness.client.close({ ...CLOSE, dryRun: true });
    expect(at(reply, "data")).toMatchObject({
      executedOn: null,
      order: null,
      execution: { state: "SIMULATED" },
      quote: { binding: "WORST_PRICE" },
    });
    expect(harness.one.placed.length + harness.two.placed.length).toBe(before);
  });

  it("refuses unknown fields by name, in nested objects too, beside what is missing", async () => {
    const reply = await harness.client.close({
      ...CLOSE,
      dryRun: true,
      foo: 1,
      routingOptions: { "b\r\nar": 2 },
      credentials: { ...CREDENTIALS, venuenine: {} },
    });
    expect([reply.status, at(reply, "code")]).toEqual([400, "INVALID_PARAMETERS"]);
    expect(new Set(paths(reply))).toEqual(new Set(["foo", "routingOptions.b??ar", "credentials.venuenine"]));
    const refused = await harness.client.close({ foo: 1 });
    expect([refused.status, at(refused, "code")]).toEqual([400, "MISSING_PARAMETERS"]);
    expect(paths(refused)).toEqual(["size", "symbol", "direction", "credentials", "foo"]);
  });

  it("takes null for every optional field as absent", async () => {
    const reply = await harness.client.close({
      ...CLOSE,
      sizePercent: null,
      orderType: null,
      limitPrice: null,
      triggerPrice: null,
      preferredExchange: null,
      clientOrderId: null,
      dryRun: null,
      quoteId: null,
      routingOptions: {
        maxSlippageBps: null,
        maxQuoteAgeMs: null,
        deadlineMs: null,
        allowSplit: null,
        maxLegs: null,
        excludeExchanges: null,
        waitFor: null,
      },
      credentials: { ...CREDENTIALS, venuethree: null, venuefour: null },
    });
    expect(reply.status).toBe(200);
  });

  it("answers 401 for a preferred venue without usable credentials, and 400 with none at all", async () => {
    const none = await harness.client.close({
      ...CLOSE,
      preferredExchange: "venuetwo",
      credentials: { venueone: CREDENTIALS.venueone },
    });
    expect([none.status, at(none, "error")]).toEqual([401, "Missing or invalid credentials for venuetwo"]);
    const bad = await harness.client.close({
      ...CLOSE,
      preferredExchange: "venueone",
      credentials: { venueone: { privateKey: "bad" } },
    });
    expect([bad.status, at(bad, "error")]).toEqual([401, "Missing or invalid credentials for venueone"]);
    const empty = await harness.client.close({ ...CLOSE, credentials: {} });
    expect([empty.status, at(empty, "code")]).toEqual([400, "NO_ELIGIBLE_VENUE"]);
    const absent = await harness.client.close({ ...CLOSE, preferredExchange: "venuethree" });
    expect([absent.status, at(absent, "error")]).toEqual([401, "Missing or invalid credentials for venuethree"]);
  });

  it("answers 503 for a preferred venue that is not configured", async () => {
    const reply = await harness.client.close({
      ...CLOSE,
      preferredExchange: "venuethree",
      credentials: { venuethree: { apiKeyPrivateKey: "k", accountIndex: 3 } },
    });
    expect([reply.status, at(reply, "details.reason")]).toEqual([503, "NOT_CONFIGURED"]);
  });

  it("turns a bug in a room into an outcome or INTERNAL, never into its message", async () => {
    harness.one.placeMode = "throw";
    const reply = await harness.client.close({
      ...CLOSE,
      preferredExchange: "venueone",
      routingOptions: { deadlineMs: 300 },
    });
    expect([200, 500]).toContain(reply.status);
    expect(reply.text).not.toContain("abababab");
    expect(harness.logLines.join("")).not.toContain("abababab");
  });

  it("answers 404 for an unknown execution and 400 for a malformed id", async () => {
    expect((await get("/api/trade/executions/rt_none")).status).toBe(404);
    expect((await get("/api/trade/executions/rt%20x")).status).toBe(400);
    expect((await get(`/api/trade/executions/${"x".repeat(65)}`)).status).toBe(400);
  });
});

describe("everything else", () => {
  it.each([
    ["GET", "/nope"],
    ["POST", "/nothing"],
    ["GET", "/api/trading/ticker/BTC/extra"],
    ["DELETE", "/api/unknown"],
  ] as const)("%s %s is 404 in the envelope", async (method, path) => {
    const reply = await harness.client.send(path, { method, outside: true });
    expect([reply.status, at(reply, "code")]).toEqual([404, "NOT_FOUND"]);
  });

  it.each([
    ["GET", "/api/trade/position/close", "POST, OPTIONS"],
    ["POST", "/api/trading/ticker/BTC", "GET, HEAD, OPTIONS"],
    ["DELETE", "/health", "GET, HEAD, OPTIONS"],
    ["PUT", "/api/trading/venueone/book/BTC", "GET, HEAD, OPTIONS"],
  ] as const)("%s %s is 405 with Allow", async (method, path, allow) => {
    const reply = await harness.client.send(path, { method, outside: true });
    expect([reply.status, reply.headers.allow, at(reply, "code")]).toEqual([405, allow, "METHOD_NOT_ALLOWED"]);
  });

  it("answers HEAD with the length of the GET and no body, and keeps the connection usable", async () => {
    for (let round = 0; round < 5; round++) {
      const head = await harness.client.send("/api/instruments", { method: "HEAD" });
      expect(head.status).toBe(200);
      expect(Number(head.headers["content-length"])).toBeGreaterThan(100);
    }
    expect((await harness.client.send("/nope", { method: "HEAD", outside: true })).status).toBe(404);
  });

  it("answers preflights with what the path allows", async () => {
    const preflight = await harness.client.send("/api/trade/position/close", { method: "OPTIONS" });
    expect([preflight.status, preflight.headers.allow]).toEqual([204, "POST, OPTIONS"]);
  });

  it("answers 414 for a target beyond the limit and 400 for an overlong symbol", async () => {
    expect((await harness.client.send(`/x${"a".repeat(5000)}`, { outside: true })).status).toBe(414);
    expect((await get(`/api/trading/ticker/${"A".repeat(5000)}`)).status).toBe(414);
    expect((await get(`/api/trade/routing/BTC?side=SELL&size=${"1".repeat(5000)}`)).status).toBe(414);
    expect((await get(`/api/trading/ticker/${"A".repeat(41)}`)).status).toBe(400);
  });

  it.each(["%", "%E0%A4%A", "a%00b", "B%20TC", "%2F", "<script>"])("answers 400 for the symbol %s", async (text) => {
    for (const path of [
      `/api/trading/ticker/${text}`,
      `/api/trading/venueone/ticker/${text}`,
      `/api/book/${text}`,
      `/api/trade/routing/${text}?side=SELL&size=1`,
    ]) {
      expect((await get(path)).status, path).toBe(400);
    }
  });

  it("gives every request another id", async () => {
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await get("/api/time")).headers["x-request-id"]),
    );
    expect(new Set(ids).size).toBe(50);
  });
});

/** Asks until the condition holds; bounded by the test's own timeout. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
