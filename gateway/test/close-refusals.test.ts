/** Every field of the close request wrong in every way: a precise 4xx, and nothing reaches a venue. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.js";

const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const VALID = { symbol: "BTC", direction: "LONG", size: "0.25", credentials: CREDENTIALS };

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => {
  // The rule of this file: whatever was asked, nothing was sent and no session stayed open.
  expect([harness.one.placed, harness.two.placed, harness.one.sessionsOpen()]).toEqual([[], [], 0]);
  await harness.stop();
});

async function refusal(body: unknown, headers?: Readonly<Record<string, string>>) {
  const reply = await harness.client.close(body, headers);
  const { code, error, details } = reply.body as {
    code: string;
    error: string;
    details: { fields?: { path: string; problem: string }[]; [key: string]: unknown };
  };
  return {
    status: reply.status,
    code,
    error,
    details,
    first: details?.fields?.[0],
    paths: details?.fields?.map((field) => field.path),
  };
}

const without = (name: keyof typeof VALID) => Object.fromEntries(Object.entries(VALID).filter(([key]) => key !== name));

describe("a close that lacks", () => {
  it.each(["symbol", "direction", "credentials"] as const)(
    "%s absent or null: Missing required parameters",
    async (name) => {
      for (const body of [without(name), { ...VALID, [name]: null }]) {
        const { status, code, error, paths } = await refusal(body);
        expect([status, code, error, paths]).toEqual([
          400,
          "MISSING_PARAMETERS",
          "Missing required parameters",
          [name],
        ]);
      }
    },
  );

  it("size: size or sizePercent is required", async () => {
    const { code, first } = await refusal(without("size"));
    expect([code, first]).toEqual(["MISSING_PARAMETERS", { path: "size", problem: "size or sizePercent is required" }]);
  });

  it("everything: all are listed, with the wrong ones after them", async () => {
    const { code, paths } = await refusal({ dryRun: "yes" });
    expect(code).toBe("MISSING_PARAMETERS");
    expect(paths).toEqual(["size", "symbol", "direction", "credentials", "dryRun"]);
  });

  it.each([
    [{ venueone: {} }, "credentials.venueone.privateKey"],
    [{ venueone: { privateKey: null } }, "credentials.venueone.privateKey"],
    [{ venuetwo: { apiKey: "k" } }, "credentials.venuetwo.apiSecret"],
    [{ venuethree: { apiKeyPrivateKey: "k" } }, "credentials.venuethree.accountIndex"],
    [{ venuefour: { apiSecret: "k" } }, "credentials.venuefour.apiKey"],
  ])("credentials, as in %j, is refused", async (credentials, path) => {
    const { status, code, paths } = await refusal({ ...VALID, credentials });
    expect([status, code, paths]).toEqual([400, "MISSING_PARAMETERS", [path]]);
  });
});

/** field, value, problem */
const WRONG: readonly (readonly [string, unknown, string])[] = [
  ["symbol", 5, "must be a string"],
  ["symbol", "", "must not be empty"],
  ["symbol", "B".repeat(41), "must have at most 40 characters"],
  ["symbol", "B T C", "must be a symbol such as BTC, BTC-PERP or BTC/USDT"],
  ["symbol", ["BTC"], "must be a string"],
  ["direction", "UP", "must be one of LONG, SHORT"],
  ["direction", "long", "must be one of LONG, SHORT"],
  ["direction", 1, "must be a string"],
  ["direction", true, "must be a string"],
  ["size", 0.25, 'must be a string (decimal text such as "0.25")'],
  ["size", "", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "0", 'must be greater than 0, or "ALL"'],
  ["size", "0.000", 'must be greater than 0, or "ALL"'],
  ["size", "-1", 'must be greater than 0, or "ALL"'],
  ["size", "+1", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "1e5", 'must be plain decimal text without an exponent, or "ALL"'],
  ["size", "NaN", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "Infinity", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "0x10", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "1,5", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", " 1", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "1 ", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "1\n", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "01", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", ".5", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "5.", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "٥", 'must be decimal text such as "0.25", or "ALL"'],
  ["size", "all", 'must be spelled "ALL"'],
  ["size", "0.1234567890123456789", 'must have at most 18 decimals, or "ALL"'],
  ["size", "1".repeat(41), "must have at most 40 characters"],
  ["size", "1234567890.1234567890", "must have at most 15 significant digits"],
  ["size", {}, 'must be a string (decimal text such as "0.25")'],
  ["limitPrice", 5, 'must be a string (decimal text such as "0.25")'],
  ["limitPrice", "ALL", 'must be decimal text such as "0.25"'],
  ["limitPrice", "-5", "must be greater than 0"],
  ["limitPrice", "1e5", "must be plain decimal text without an exponent"],
  ["limitPrice", "99999999999999999", "must have at most 15 significant digits"],
  ["triggerPrice", "x", 'must be decimal text such as "0.25"'],
  ["triggerPrice", "5", "is for stop orders only"],
  ["orderType", "TWAP", "must be one of LIMIT, MARKET, STOP_MARKET, STOP_LIMIT"],
  ["orderType", 7, "must be a string"],
  ["preferredExchange", "venuesix", "must be one of venueone, venuetwo, venuethree, venuefour, venuefive"],
  ["preferredExchange", 1, "must be a string"],
  ["clientOrderId", "", "must not be empty"],
  ["clientOrderId", "a b", "must be visible ASCII characters without spaces"],
  ["clientOrderId", "é", "must be visible ASCII characters without spaces"],
  ["clientOrderId", "x".repeat(65), "must have at most 64 characters"],
  ["clientOrderId", 5, "must be a string"],
  ["dryRun", "true", "must be a boolean"],
  ["dryRun", 1, "must be a boolean"],
  ["quoteId", 5, "must be a string"],
  ["credentials", "x", "must be an object"],
  ["credentials", [], "must be an object"],
  ["routingOptions", [], "must be an object"],
  ["routingOptions", "x", "must be an object"],
];

describe("a close with the wrong", () => {
  it.each(WRONG)("%s = %j: %s", async (name, value, problem) => {
    const { status, code, error, details } = await refusal({ ...VALID, [name]: value });
    expect([status, code, error]).toEqual([400, "INVALID_PARAMETERS", "Invalid request parameters"]);
    expect(details.fields).toEqual([{ path: name, problem }]);
  });

  it.each([
    [{ venueone: { privateKey: 5 } }, "credentials.venueone.privateKey", "must be a string"],
    [{ venueone: { privateKey: "" } }, "credentials.venueone.privateKey", "must not be empty"],
    [
      { venueone: { privateKey: "k".repeat(513) } },
      "credentials.venueone.privateKey",
      "must have at most 512 characters",
    ],
    [{ venueone: "0xkey" }, "credentials.venueone", "must be an object"],
    [{ venuetwo: [] }, "credentials.venuetwo", "must be an object"],
    [
      { venuethree: { apiKeyPrivateKey: "k", accountIndex: "1" } },
      "credentials.venuethree.accountIndex",
      "must be an integer",
    ],
    [
      { venuethree: { apiKeyPrivateKey: "k", accountIndex: 1.5 } },
      "credentials.venuethree.accountIndex",
      "must be an integer",
    ],
    [
      { venuethree: { apiKeyPrivateKey: "k", accountIndex: -1 } },
      "credentials.venuethree.accountIndex",
      "must be >= 0",
    ],
  ])("credentials, as in %j, is refused", async (credentials, path, problem) => {
    const { status, code, details } = await refusal({ ...VALID, credentials });
    expect([status, code, details.fields]).toEqual([400, "INVALID_PARAMETERS", [{ path, problem }]]);
  });

  it.each([
    ["maxSlippageBps", 0, "must be >= 1"],
    ["maxSlippageBps", 1001, "must be <= 1000"],
    ["maxSlippageBps", 10.5, "must be an integer"],
    ["maxSlippageBps", "100", "must be an integer"],
    ["maxQuoteAgeMs", 49, "must be >= 50"],
    ["maxQuoteAgeMs", 60_001, "must be <= 60000"],
    ["deadlineMs", 249, "must be >= 250"],
    ["deadlineMs", 30_001, "must be <= 30000"],
    ["allowSplit", "no", "must be a boolean"],
    ["maxLegs", 0, "must be >= 1"],
    ["maxLegs", 4, "must be <= 3"],
    ["excludeExchanges", "venueone", "must be an array"],
    ["excludeExchanges", Array(6).fill("venueone"), "must have at most 5 items"],
    ["waitFor", "LUCK", "must be one of ACK, FILL"],
  ])("routingOptions.%s = %j: %s", async (name, value, problem) => {
    const { status, code, details } = await refusal({ ...VALID, routingOptions: { [name]: value } });
    expect([status, code, details.fields]).toEqual([
      400,
      "INVALID_PARAMETERS",
      [{ path: `routingOptions.${name}`, problem }],
    ]);
  });

  it.each([
    ["0", "must be greater than 0"],
    ["100.1", "must be at most 100"],
    ["101", "must be at most 100"],
    ["1000", "must be at most 100"],
    ["-5", "must be greater than 0"],
    ["50%", 'must be decimal text such as "0.25"'],
    ["1.23456", "must have at most 4 decimals"],
    ["ALL", 'must be decimal text such as "0.25"'],
  ])("sizePercent = %s: %s", async (sizePercent, problem) => {
    const { status, details } = await refusal({ ...without("size"), sizePercent });
    expect([status, details.fields]).toEqual([400, [{ path: "sizePercent", problem }]]);
  });

  it.each([null, 5, "text", [], [VALID], true])("body, as in %j, is refused", async (body) => {
    const { status, code, first } = await refusal(JSON.stringify(body));
    expect([status, code, first]).toEqual([400, "INVALID_PARAMETERS", { path: "body", problem: "must be an object" }]);
  });
});

describe("a close whose fields contradict each other:", () => {
  it.each([
    [{ sizePercent: "50" }, "INVALID_PARAMETERS", "sizePercent", "must not be given together with size"],
    [
      { orderType: "MARKET", limitPrice: "97000" },
      "INVALID_PARAMETERS",
      "limitPrice",
      "must not be given for a MARKET order",
    ],
    [{ orderType: "LIMIT" }, "MISSING_PARAMETERS", "limitPrice", "is required for a LIMIT order"],
    [{ orderType: "LIMIT", limitPrice: null }, "MISSING_PARAMETERS", "limitPrice", "is required for a LIMIT order"],
    [{ orderType: "STOP_MARKET" }, "TRIGGER_REQUIRED", "triggerPrice", "is required for stop orders"],
    [
      { orderType: "STOP_LIMIT", triggerPrice: "90000" },
      "TRIGGER_REQUIRED",
      "preferredExchange",
      "is required for stop orders: a resting stop is not routed",
    ],
    [
      { orderType: "STOP_LIMIT", triggerPrice: "90000", preferredExchange: "venueone" },
      "MISSING_PARAMETERS",
      "limitPrice",
      "is required for a STOP_LIMIT order",
    ],
    [
      { orderType: "STOP_MARKET", triggerPrice: "90000", limitPrice: "89000", preferredExchange: "venueone" },
      "INVALID_PARAMETERS",
      "limitPrice",
      "must not be given for a STOP_MARKET order",
    ],
    [
      { orderType: "STOP_MARKET", triggerPrice: "9".repeat(17), preferredExchange: "venueone" },
      "INVALID_PARAMETERS",
      "triggerPrice",
      "must have at most 15 significant digits",
    ],
    [
      { limitPrice: "97000", routingOptions: { allowSplit: true } },
      "INVALID_PARAMETERS",
      "routingOptions.allowSplit",
      "is for MARKET orders only",
    ],
    [
      { preferredExchange: "venueone", routingOptions: { excludeExchanges: ["venueone"] } },
      "INVALID_PARAMETERS",
      "routingOptions.excludeExchanges",
      "must not contain preferredExchange",
    ],
  ])("%j", async (more, code, path, problem) => {
    const { status, code: got, first } = await refusal({ ...VALID, ...more });
    expect([status, got, first]).toEqual([400, code, { path, problem }]);
  });

  it("a stop that the market is beyond already would fire at once", async () => {
    const stop = { orderType: "STOP_MARKET", triggerPrice: "99000", preferredExchange: "venueone" };
    const { status, code, first } = await refusal({ ...VALID, ...stop });
    expect([status, code, first]).toEqual([
      400,
      "INVALID_PARAMETERS",
      { path: "triggerPrice", problem: "would fire at once" },
    ]);
  });

  it("a quote that was never given is unknown", async () => {
    const { status, code, error } = await refusal({ ...VALID, quoteId: "qt_1" });
    expect([status, code, error]).toEqual([409, "QUOTE_UNKNOWN", "No such quote was given"]);
  });

  it.each([
    [{ dryRun: true, quoteTtlMs: 999 }, "must be >= 1000"],
    [{ dryRun: true, quoteTtlMs: 30_001 }, "must be <= 30000"],
    [{ dryRun: true, quoteTtlMs: "2000" }, "must be an integer"],
    [{ quoteTtlMs: 2_000 }, "is for dry runs only"],
  ])("a quote's time: %j", async (more, problem) => {
    const { status, code, first } = await refusal({ ...VALID, ...more });
    expect([status, code, first]).toEqual([400, "INVALID_PARAMETERS", { path: "quoteTtlMs", problem }]);
  });

  it("venuefive is the client's to sign", async () => {
    const { status, code, details } = await refusal({ ...VALID, preferredExchange: "venuefive" });
    expect([status, code, details.reasonCode]).toEqual([400, "NOT_SUPPORTED", "CLIENT_SIDE_ONLY"]);
  });

  it("an unknown symbol is 404 with a preview, after everything else was right", async () => {
    const { status, code, details } = await refusal({ ...VALID, symbol: "NOPE" });
    expect([status, code, details.availableSymbols]).toEqual([404, "UNKNOWN_SYMBOL", ["BTC", "ETH", "PEPE"]]);
  });

  it("a size below one lot or above the position is the close service's to say", async () => {
    expect((await refusal({ ...VALID, size: "0.0001" })).code).toBe("SIZE_BELOW_LOT");
    expect((await refusal({ ...VALID, size: "7" })).code).toBe("SIZE_EXCEEDS_POSITION");
    expect((await refusal({ ...VALID, direction: "SHORT" })).status).toBe(400);
  });
});

describe("Idempotency-Key", () => {
  it.each(["a b", "x".repeat(256), "é", ""])("%j is refused", async (key) => {
    const { status, first } = await refusal(VALID, { "idempotency-key": Buffer.from(key, "utf8").toString("latin1") });
    expect([status, first?.path]).toEqual([400, "Idempotency-Key"]);
  });
});

describe("bytes", () => {
  it.each([
    ["", { problem: "the body is empty" }],
    ["{", {}],
    ['{"symbol":}', {}],
    ["{'symbol':'BTC'}", {}],
    [`{"symbol":"BTC","clientOrderId":"tab\there"}`, { position: 36 }],
    ['{"size":"1","size":"100"}', { problem: "an object has the same key twice" }],
    [
      '{"credentials":{"venueone":{"privateKey":"a","privateKey":"b"}}}',
      { problem: "an object has the same key twice" },
    ],
    ['{"a":1,"\\u0061":2}', { problem: "an object has the same key twice" }],
    [`${"[".repeat(20_000)}${"]".repeat(20_000)}`, { problem: "nested deeper than 16 levels" }],
    [`${'{"a":'.repeat(17)}1${"}".repeat(17)}`, { problem: "nested deeper than 16 levels" }],
    ["NaN", {}],
    ['{"size":1e999', {}],
  ])("%j is no JSON we accept", async (body, details) => {
    const refused = await refusal(body);
    expect([refused.status, refused.code]).toEqual([400, "INVALID_JSON"]);
    expect(refused.details).toMatchObject(details);
  });

  it("refuses invalid UTF-8 without echoing it", async () => {
    const { code, details } = await refusal(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
    expect([code, details]).toEqual(["INVALID_JSON", { problem: "the body is not valid UTF-8" }]);
  });

  it("keeps __proto__ and constructor as plain unknown keys", async () => {
    const reply = await harness.client.close(
      '{"__proto__":{"symbol":"BTC","dryRun":true},"constructor":{"prototype":{"direction":"LONG"}}}',
    );
    expect(reply.status).toBe(400);
    expect(
      (reply.body as { details: { fields: { path: string }[] } }).details.fields.map((field) => field.path),
    ).toEqual(["size", "symbol", "direction", "credentials", "__proto__", "constructor"]);
    expect(({} as Record<string, unknown>).symbol).toBeUndefined();
  });

  it("takes strings with colons, braces and escapes for what they are", async () => {
    const { code } = await refusal({ ...VALID, symbol: "NOPE", clientOrderId: '":{[\\"}]:' });
    expect(code).toBe("UNKNOWN_SYMBOL");
  });
});
