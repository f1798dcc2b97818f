/** POST /api/trade/position/open over the real server: what is refused precisely with nothing sent, and what a fill replies. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one-canary" } };
const VALID = { symbol: "BTC", direction: "LONG", size: "0.25", credentials: CREDENTIALS };

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => harness.refreshBooks());
afterAll(() => harness.stop());

/** What the tests look at by name; the client judges the whole reply against its schema. */
interface OpenedData {
  readonly routing: { readonly routeId: string; readonly limits: { readonly worstPrice: string } };
  readonly quote: { readonly quoteId: string; readonly worstPrice: string };
}

async function open(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const reply = await harness.client.send("/api/trade/position/open", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const { code, error, details, data } = reply.body as {
    code?: string;
    error?: string;
    details?: { fields?: { path: string; problem: string }[]; [key: string]: unknown };

    data?: OpenedData;
  };
  return { reply, status: reply.status, code, error, details, data, first: details?.fields?.[0] };
}

const sent = () => harness.one.placed.length + harness.two.placed.length;
const without = (name: keyof typeof VALID) => Object.fromEntries(Object.entries(VALID).filter(([key]) => key !== name));

describe("refused with nothing sent", () => {
  let before = 0;
  beforeAll(() => {
    before = sent();
  });
  afterAll(() => expect([sent(), harness.one.sessionsOpen()]).toEqual([before, 0]));

  it.each(["symbol", "direction", "credentials"] as const)("%s missing", async (name) => {
    const { status, code, first } = await open(without(name));
    expect([status, code, first?.path]).toEqual([400, "MISSING_PARAMETERS", name]);
  });

  it.each<[object, string, string, string]>([
    [{ size: null }, "MISSING_PARAMETERS", "size", "size or notionalUsd is required"],
    [{ notionalUsd: "100" }, "INVALID_PARAMETERS", "notionalUsd", "must not be given together with size"],
    [{ size: "ALL" }, "INVALID_PARAMETERS", "size", 'must be decimal text such as "0.25"'],
    [{ size: "0" }, "INVALID_PARAMETERS", "size", "must be greater than 0"],
    [{ size: "-1" }, "INVALID_PARAMETERS", "size", "must be greater than 0"],
    [{ size: "NaN" }, "INVALID_PARAMETERS", "size", 'must be decimal text such as "0.25"'],
    [{ size: 0.25 }, "INVALID_PARAMETERS", "size", 'must be a string (decimal text such as "0.25")'],
    [{ size: "1234567890.1234567890" }, "INVALID_PARAMETERS", "size", "must have at most 15 significant digits"],
    [{ size: null, notionalUsd: "0" }, "INVALID_PARAMETERS", "notionalUsd", "must be greater than 0"],
    [{ direction: "UP" }, "INVALID_PARAMETERS", "direction", "must be one of LONG, SHORT"],
    [{ orderType: "STOP_MARKET" }, "INVALID_PARAMETERS", "orderType", "must be one of MARKET, LIMIT"],
    [{ orderType: "LIMIT" }, "MISSING_PARAMETERS", "limitPrice", "is required for a LIMIT order"],
    [
      { orderType: "MARKET", limitPrice: "97000" },
      "INVALID_PARAMETERS",
      "limitPrice",
      "must not be given for a MARKET order",
    ],
    [{ leverage: 0 }, "INVALID_PARAMETERS", "leverage", "must be >= 1"],
    [{ leverage: 2.5 }, "INVALID_PARAMETERS", "leverage", "must be an integer"],
    [{ leverage: "5" }, "INVALID_PARAMETERS", "leverage", "must be an integer"],
    [{ marginMode: "both" }, "INVALID_PARAMETERS", "marginMode", "must be one of cross, isolated"],
    [{ takeProfit: "x" }, "INVALID_PARAMETERS", "takeProfit", 'must be decimal text such as "0.25"'],
    [
      { takeProfit: "90000", stopLoss: "95000" },
      "INVALID_PARAMETERS",
      "takeProfit",
      "must be above stopLoss for a LONG",
    ],
    [
      { direction: "SHORT", takeProfit: "96000", stopLoss: "95000" },
      "INVALID_PARAMETERS",
      "takeProfit",
      "must be below stopLoss for a SHORT",
    ],
    [
      { limitPrice: "97000", takeProfit: "97000" },
      "INVALID_PARAMETERS",
      "takeProfit",
      "must be above limitPrice for a LONG",
    ],
    [
      { limitPrice: "97000", stopLoss: "97001" },
      "INVALID_PARAMETERS",
      "stopLoss",
      "must be below limitPrice for a LONG",
    ],
    [{ stopLoss: "99000" }, "INVALID_PARAMETERS", "stopLoss", "would fire at once"],
    [{ expectedHoldHours: -1 }, "INVALID_PARAMETERS", "expectedHoldHours", "must be >= 0"],
    [{ allowNetting: "yes" }, "INVALID_PARAMETERS", "allowNetting", "must be a boolean"],
    [
      { limitPrice: "97000", routingOptions: { allowSplit: true } },
      "INVALID_PARAMETERS",
      "routingOptions.allowSplit",
      "is for MARKET orders only",
    ],
    [{ routingOptions: { maxLegs: 4 } }, "INVALID_PARAMETERS", "routingOptions.maxLegs", "must be <= 3"],
    [{ dryRun: true, quoteTtlMs: 999 }, "INVALID_PARAMETERS", "quoteTtlMs", "must be >= 1000"],
    [{ quoteTtlMs: 1_000 }, "INVALID_PARAMETERS", "quoteTtlMs", "is for dry runs only"],
  ])("%j", async (more, code, path, problem) => {
    const { status, code: got, first } = await open({ ...VALID, ...more });
    expect([status, got, first]).toEqual([400, code, { path, problem }]);
  });

  it.each<[object, number, string]>([
    [{ preferredExchange: "venuefive" }, 400, "NOT_SUPPORTED"],
    [{ preferredExchange: "venuetwo" }, 401, "MISSING_CREDENTIALS"],
    [{ symbol: "NOPE" }, 404, "UNKNOWN_SYMBOL"],
    [{ size: "0.0001" }, 400, "SIZE_BELOW_LOT"],
    [{ direction: "SHORT" }, 400, "OPPOSITE_POSITION"],
    [{ leverage: 5 }, 400, "LEVERAGE_NOT_SUPPORTED"],
    [{ marginMode: "cross" }, 400, "LEVERAGE_NOT_SUPPORTED"],
    [{ quoteId: "qt_1" }, 409, "QUOTE_UNKNOWN"],
  ])("%j", async (more, status, code) => {
    const refused = await open({ ...VALID, ...more });
    expect([refused.status, refused.code]).toEqual([status, code]);
  });

  it("says that it was an open that found no venue", async () => {
    const { status, error, details } = await open({ ...VALID, size: "99" });
    expect([status, error]).toEqual([400, "No eligible venue for this open"]);
    expect(details?.["candidates"]).toMatchObject([
      { exchange: "venueone", reasonCode: "DEPTH_INSUFFICIENT" },
      {},
      {},
      {},
    ]);
  });
});

describe("opened", () => {
  it("buys at the best entry and replies like a close", async () => {
    const before = harness.one.placed.length;
    const { status, data, reply } = await open({ ...VALID, clientOrderId: "o-1" });
    expect(status).toBe(200);
    expect(harness.one.placed.slice(before)).toEqual([{ qtyLots: 250, side: "BUY", reduceOnly: false }]);
    expect(data).toMatchObject({
      executedOn: "venueone",
      order: { side: "BUY", status: "FILLED", reduceOnly: false, clientOrderId: "o-1" },
      routing: { mode: "BEST_ENTRY", recommended: "venueone" },
      execution: { state: "COMPLETED", protection: null, protectionOrders: [] },
      position: { direction: "LONG", size: "0.65" },
    });
    expect(reply.text).not.toContain("canary");
    const asked = await harness.client.get(`/api/trade/executions/${data?.routing.routeId ?? ""}`);
    expect(asked.body).toMatchObject({ success: true, data: { routing: { mode: "BEST_ENTRY" } } });
  });

  it("replays under its Idempotency-Key and refuses another body", async () => {
    const before = sent();
    const headers = { "idempotency-key": "open-1" };
    const first = await open(VALID, headers);
    const again = await open(VALID, headers);
    expect(again.reply.headers["idempotent-replayed"]).toBe("true");
    expect(again.data).toEqual(first.data);
    expect(sent()).toBe(before + 1);
    expect((await open({ ...VALID, size: "0.1" }, headers)).status).toBe(422);
  });

  it("in a dry run quotes and sends nothing; the quote binds the call that names it", async () => {
    const before = sent();
    const { data } = await open({ ...VALID, dryRun: true, quoteTtlMs: 30_000 });
    expect(sent()).toBe(before);
    expect(data).toMatchObject({ order: null, executedOn: null, execution: { state: "SIMULATED", mode: "DRY_RUN" } });
    expect((await harness.client.close({ ...VALID, quoteId: data?.quote.quoteId })).body).toMatchObject({
      code: "INVALID_PARAMETERS",
    });
    const live = await open({ ...VALID, quoteId: data?.quote.quoteId });
    expect(live.data?.routing.limits.worstPrice).toBe(data?.quote.worstPrice);
    const again = await open({ ...VALID, quoteId: data?.quote.quoteId });
    expect([again.status, again.code, again.details]).toEqual([409, "QUOTE_EXPIRED", { reason: "USED" }]);
    expect(sent()).toBe(before + 1);
  });
});
