import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import {
  candlesQuerySchema,
  executionQualityQuerySchema,
  fillsQuerySchema,
  HISTORY_BOUNDS,
  routingHistoryQuerySchema,
  ticksQuerySchema,
  tradesQuerySchema,
} from "../../schemas/history.js";
import { compileValidator } from "../../schemas/validate.js";
import type { ReplyForm } from "./accept.js";
import { encodeCursor } from "./cursor.js";
import { readHistoryRequest, type RequestRules, rulesOf } from "./history-request.js";

const HASH = createKeyedHash(Buffer.alloc(32, 3));
const NOW = 1_795_233_600_123;
const DAY = 86_400_000;
const SCHEMAS = {
  ticks: ticksQuerySchema,
  trades: tradesQuerySchema,
  candles: candlesQuerySchema,
  routing: routingHistoryQuerySchema,
  fills: fillsQuerySchema,
  executionQuality: executionQualityQuerySchema,
} as const;
type Kind = keyof typeof SCHEMAS;

function resolveSymbol(text: string): string {
  const symbol = text.toUpperCase().split(/[-/]/)[0] as string;
  if (symbol === "BTC" || symbol === "ETH") return symbol;
  throw new ServiceError("UNKNOWN_SYMBOL", { symbol: text });
}

const RULES = Object.fromEntries(
  Object.entries(SCHEMAS).map(([kind, schema]) => [
    kind,
    rulesOf(kind as Kind, schema, compileValidator(schema) as RequestRules["validate"], HASH, resolveSymbol),
  ]),
) as Record<Kind, RequestRules>;

const SHOWN = { ownerId: null, owners: null } as const;
const read = (kind: Kind, query: string, form: ReplyForm = "json") =>
  readHistoryRequest(RULES[kind], query, form, NOW, SHOWN);

/** `CODE path: problem`. */
function refusal(kind: Kind, query: string, form: ReplyForm = "json"): string {
  try {
    return JSON.stringify(read(kind, query, form));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const fields = (error.context.fields ?? []) as { path: string; problem: string }[];
    return [error.code, ...fields.map(({ path, problem }) => `${path}: ${problem}`)].join(" ");
  }
}

const NO_TIME = "must be Unix ms or an ISO 8601 time with its zone, such as 2026-11-23T10:00:00Z";

describe("the times of a history request", () => {
  it.each([
    ["1794816000000", 1_794_816_000_000],
    ["2026-11-16", 1_794_787_200_000],
    ["2026-11-16T08:00Z", 1_794_816_000_000],
    ["2026-11-16T08:00:00Z", 1_794_816_000_000],
    ["2026-11-16T08:00:00.250Z", 1_794_816_000_250],
    ["2026-11-16T08:00:00.250999Z", 1_794_816_000_250],
    ["2026-11-16T09:30:00%2B01:30", 1_794_816_000_000],
    // A browser's address bar leaves it like this.
    ["2026-11-16T09:30:00+01:30", 1_794_816_000_000],
    ["2026-11-16T03:00:00-0500", 1_794_816_000_000],
  ])("may be ms or ISO 8601, like %s", (text, ms) => {
    expect(read("ticks", `symbol=BTC&from=${text}&to=${ms + 1000}`).range).toMatchObject({
      fromMs: ms,
      toMs: ms + 1000,
    });
    expect(read("fills", `from=${ms - 1000}&to=${text}`).range).toMatchObject({ fromMs: ms - 1000, toMs: ms });
  });
});

describe("a refusal names the parameter and what is wrong with it", () => {
  it.each<[Kind, string, string]>([
    ["ticks", "", "MISSING_PARAMETERS symbol: is required"],
    ["trades", "exchange=venueone", "MISSING_PARAMETERS symbol: is required"],
    ["candles", "interval=1h", "MISSING_PARAMETERS symbol: is required"],
    ["ticks", "symbol=", "INVALID_PARAMETERS symbol: must not be empty"],
    ["ticks", "symbol=B%20T", "INVALID_PARAMETERS symbol: must be a symbol such as BTC, BTC-PERP or BTC/USDT"],
    ["ticks", "symbol=NOPE", "UNKNOWN_SYMBOL"],
    ["ticks", "symbol=%E0%A4%A", "INVALID_PARAMETERS symbol: has malformed percent-encoding"],
    ["ticks", "symbol=BTC&symbol=ETH", "INVALID_PARAMETERS symbol: is given more than once"],
    [
      "ticks",
      "symbol=BTC&form=1",
      "INVALID_PARAMETERS query: takes only symbol, exchange, exchanges, from, to, limit, order, cursor",
    ],
    [
      "ticks",
      "symbol=BTC&side=BUY",
      "INVALID_PARAMETERS query: takes only symbol, exchange, exchanges, from, to, limit, order, cursor",
    ],
    [
      "ticks",
      "symbol=BTC&exchange=venuefive",
      "INVALID_PARAMETERS exchange: must be one of venueone, venuetwo, venuethree, venuefour",
    ],
    [
      "ticks",
      "symbol=BTC&exchanges=venueone,nope",
      "INVALID_PARAMETERS exchanges: must be a comma-separated list of venueone, venuetwo, venuethree, venuefour",
    ],
    ["ticks", "symbol=BTC&exchanges=", "INVALID_PARAMETERS exchanges: must not be empty"],
    [
      "ticks",
      "symbol=BTC&exchange=venueone&exchanges=venuetwo",
      "INVALID_PARAMETERS exchanges: must not be given together with exchange",
    ],
    ["ticks", "symbol=BTC&from=yesterday", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=-1", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=1.5", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=1e3", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", `symbol=BTC&to=${NOW}000`, `INVALID_PARAMETERS to: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=2026-02-30T00:00:00Z", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=2026-02-03T25:00:00Z", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&from=2026-02-03T10:00:00", `INVALID_PARAMETERS from: ${NO_TIME}`],
    ["ticks", "symbol=BTC&to=2026-13-01", `INVALID_PARAMETERS to: ${NO_TIME}`],
    ["ticks", "symbol=BTC&to=2101-01-01T00:00:00Z", "INVALID_PARAMETERS to: must be <= 4102444800000"],
    ["ticks", "symbol=BTC&to=4102444800001", "INVALID_PARAMETERS to: must be <= 4102444800000"],
    ["ticks", "symbol=BTC&to=0", "INVALID_PARAMETERS to: must be >= 1"],
    ["ticks", "symbol=BTC&from=2000&to=2000", "INVALID_PARAMETERS from: must be before to (2000)"],
    ["ticks", `symbol=BTC&from=${NOW}`, `INVALID_PARAMETERS from: must be before to (${NOW})`],
    [
      "ticks",
      `symbol=BTC&from=${NOW - DAY - 1}`,
      `INVALID_PARAMETERS from: must be at most ${DAY} ms before to (${NOW})`,
    ],
    [
      "trades",
      "symbol=BTC&from=0&to=604800001",
      "INVALID_PARAMETERS from: must be at most 604800000 ms before to (604800001)",
    ],
    [
      "fills",
      `from=0&to=${367 * DAY}`,
      `INVALID_PARAMETERS from: must be at most ${366 * DAY} ms before to (${367 * DAY})`,
    ],
    ["ticks", "symbol=BTC&limit=0", "INVALID_PARAMETERS limit: must be >= 1"],
    ["ticks", "symbol=BTC&limit=1001", "INVALID_PARAMETERS limit: must be <= 1000 for this Accept"],
    ["ticks", "symbol=BTC&limit=50001", "INVALID_PARAMETERS limit: must be <= 50000"],
    ["ticks", "symbol=BTC&limit=ten", "INVALID_PARAMETERS limit: must be an integer"],
    ["ticks", "symbol=BTC&order=up", "INVALID_PARAMETERS order: must be one of asc, desc"],
    ["candles", "symbol=BTC&interval=2m", "INVALID_PARAMETERS interval: must be one of 1m, 5m, 15m, 1h, 4h, 1d"],
    ["trades", "symbol=BTC&side=LONG", "INVALID_PARAMETERS side: must be one of BUY, SELL"],
    ["fills", "direction=SELL", "INVALID_PARAMETERS direction: must be one of LONG, SHORT"],
    ["fills", "routeId=a%20b", "INVALID_PARAMETERS routeId: must be visible ASCII characters without spaces"],
    ["fills", `orderId=${"1".repeat(129)}`, "INVALID_PARAMETERS orderId: must have at most 128 characters"],
    ["routing", "kind=none", "INVALID_PARAMETERS kind: must be one of replied, refused, replayed, resolved"],
    ["routing", "cursor=", "INVALID_PARAMETERS cursor: must not be empty"],
    ["routing", "cursor=abc", "INVALID_PARAMETERS cursor: must be the nextCursor of an earlier reply of this route"],
    [
      "executionQuality",
      "limit=5",
      "INVALID_PARAMETERS query: takes only symbol, exchange, exchanges, from, to, direction",
    ],
    [
      "ticks",
      "__proto__=1",
      "INVALID_PARAMETERS query: takes only symbol, exchange, exchanges, from, to, limit, order, cursor",
    ],
    [
      "ticks",
      "symbol=B%20&limit=x",
      "INVALID_PARAMETERS symbol: must be a symbol such as BTC, BTC-PERP or BTC/USDT limit: must be an integer",
    ],
  ])("in %s?%s", (kind, query, expected) => {
    expect(refusal(kind, query)).toBe(expected);
  });

  it("for more than 32 parameters", () => {
    expect(refusal("ticks", "symbol=BTC&".repeat(40))).toMatch(/more than once|more than 32/);
  });
});

describe("the defaults of a history request", () => {
  it("are the last hour, newest first, 100 rows, all venues", () => {
    expect(read("ticks", "symbol=btc-usdt")).toEqual({
      range: {
        fromMs: NOW - 3_600_000,
        toMs: NOW,
        order: "desc",
        exchanges: [],
        filters: { symbol: "BTC" },
        owners: null,
        stepSeconds: 0,
        interval: "",
      },
      limit: 100,
      isWhole: false,
      after: null,
      cursorQuery: { from: NOW - 3_600_000, to: NOW, order: "desc", exchanges: "", symbol: "BTC" },
    });
  });

  it("of an export are as many rows as one may have", () => {
    for (const kind of ["ticks", "routing"] as const) {
      expect(read(kind, "symbol=BTC", "csv").limit).toBe(HISTORY_BOUNDS[kind].exportRowsMax);
      expect(read(kind, "symbol=BTC&limit=1001", "ndjson").limit).toBe(1001);
    }
  });

  it("never begin before 1970", () => {
    expect(read("fills", "to=5").range).toMatchObject({ fromMs: 0, toMs: 5 });
  });

  it("include venues sorted and once", () => {
    expect(read("fills", "exchanges=venuetwo,venueone,venuetwo").range.exchanges).toEqual(["venueone", "venuetwo"]);
    expect(read("fills", "exchange=venuetwo").range.exchanges).toEqual(["venuetwo"]);
  });
});

describe("a request for candles", () => {
  it.each([
    ["1m", 60],
    ["5m", 300],
    ["1d", 86_400],
  ])("of %s begins and ends at multiples of their length, inside the requested range", (interval, step) => {
    const { range } = read("candles", `symbol=BTC&interval=${interval}&from=${NOW - 20 * 86_400_000}&to=${NOW}`);
    expect(range.stepSeconds).toBe(step);
    expect([range.fromMs % (step * 1000), range.toMs % (step * 1000)]).toEqual([0, 0]);
    expect(range.fromMs - (NOW - 20 * 86_400_000)).toBeLessThan(step * 1000);
    expect(range.fromMs).toBeGreaterThanOrEqual(NOW - 20 * 86_400_000);
  });

  it("may cover a range in proportion to their length", () => {
    expect(refusal("candles", `symbol=BTC&interval=1m&from=${NOW - 32 * DAY}`)).toContain(`at most ${31 * DAY} ms`);
    expect(read("candles", `symbol=BTC&interval=5m&from=${NOW - 32 * DAY}`).range.interval).toBe("5m");
    expect(refusal("candles", "symbol=BTC&interval=1d&from=0")).toContain(`at most ${3660 * DAY} ms`);
  });
});

describe("a cursor in a history request", () => {
  const first = read("fills", `symbol=BTC&exchanges=venuetwo,venueone&from=${NOW - 9000}&to=${NOW}&order=asc&side=BUY`);
  const key = ["1795233600000", "venueone", "BTC", "7"];
  const cursor = encodeCursor(HASH, "fills", null, { query: first.cursorQuery, key });

  it("brings the whole query with it, except limit and form", () => {
    expect(read("fills", `cursor=${cursor}`)).toEqual({ ...first, after: key });
    expect(read("fills", `cursor=${cursor}&limit=7`).limit).toBe(7);
    expect(read("fills", `cursor=${cursor}`, "csv")).toMatchObject({ range: first.range, limit: 50_000 });
  });

  it("may be sent beside the same parameters, however they are spelled", () => {
    const query = `symbol=btc-usdt&exchanges=venueone,venuetwo&from=${NOW - 9000}&to=${NOW}&order=asc&side=BUY`;
    expect(read("fills", `${query}&cursor=${cursor}`)).toEqual({ ...first, after: key });
  });

  it.each([
    ["symbol=ETH", "symbol"],
    ["exchange=venueone", "exchange"],
    ["exchanges=venueone", "exchanges"],
    [`from=${NOW - 9001}`, "from"],
    [`to=${NOW - 1}`, "to"],
    ["order=desc", "order"],
    ["side=SELL", "side"],
    ["direction=LONG", "direction"],
    ["orderId=7", "orderId"],
  ])("is refused beside %s, which it does not continue", (parameter, path) => {
    expect(refusal("fills", `${parameter}&cursor=${cursor}`)).toBe(
      `INVALID_PARAMETERS ${path}: differs from the query that the cursor continues`,
    );
  });

  it("of candles does not contradict the range as the caller wrote it", () => {
    const query = `symbol=BTC&interval=5m&from=${NOW - 3_600_001}&to=${NOW}`;
    const page = read("candles", query);
    const next = encodeCursor(HASH, "candles", null, { query: page.cursorQuery, key: ["1795233300", "venueone"] });
    expect(read("candles", `${query}&cursor=${next}`).range).toEqual(page.range);
    expect(refusal("candles", `${query.replace("5m", "1m")}&cursor=${next}`)).toContain("interval: differs");
  });
});
