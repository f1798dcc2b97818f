import { describe, expect, it } from "vitest";
import {
  candleRowSchema,
  fillRowSchema,
  qualityRowSchema,
  routingHistoryRowSchema,
  tickRowSchema,
  tradeRowSchema,
} from "../../schemas/history.js";
import { CANDLES, TICKS, TRADES } from "./market-kinds.js";
import { FILLS, ROUTING } from "./operator-kinds.js";
import { boundarySql, exportSql, pageSql, type RecordRange, type Sql } from "./query-builder.js";
import { QUALITY_FIELDS, qualitySql } from "./quality-sql.js";

const HOSTILE = "x' OR 1=1 -- \\";
const RANGE: RecordRange = {
  owners: null,
  fromMs: 1_000_000,
  toMs: 2_000_000,
  order: "asc",
  exchanges: [HOSTILE, "b"],
  filters: {
    symbol: HOSTILE,
    side: HOSTILE,
    direction: HOSTILE,
    routeId: HOSTILE,
    requestId: HOSTILE,
    orderId: HOSTILE,
    kind: HOSTILE,
  },
  stepSeconds: 0,
  interval: "",
};
const KINDS = { TICKS, TRADES, CANDLES, ROUTING, FILLS } as const;
const rangeOf = (kind: (typeof KINDS)[keyof typeof KINDS]): RecordRange =>
  kind === CANDLES ? { ...RANGE, stepSeconds: 60, interval: "1m" } : RANGE;

/** Checks that the parameters named in the text and those given are the same set. */
function checkBinding({ sql, params }: Sql): void {
  const named = new Set([...sql.matchAll(/\{(\w+):[A-Za-z0-9()]+\}/g)].map((match) => match[1]));
  expect([...named].sort()).toEqual(Object.keys(params).sort());
}

describe.each(Object.entries(KINDS))("the query for %s", (_, kind) => {
  const key = kind.sort.map((column) => (column.value.includes("toInt64") ? "1500000" : "1500"));
  const hostileKey = key.map((value, index) => (index === 0 ? value : HOSTILE));
  const queries = (range: RecordRange): Sql[] => [
    pageSql(kind, range, null, 10, 5),
    pageSql(kind, range, hostileKey, 10, 5),
    boundarySql(kind, range, hostileKey, 10),
    exportSql(kind, range, hostileKey, hostileKey, 10, "csv", 5),
    exportSql(kind, range, null, null, 10, "ndjson", 5),
  ];

  it("binds every value, and has no text of a caller in the SQL", () => {
    for (const range of [
      rangeOf(kind),
      { ...rangeOf(kind), exchanges: [HOSTILE] },
      { ...rangeOf(kind), order: "desc" as const },
    ]) {
      for (const query of queries(range)) {
        checkBinding(query);
        expect(query.sql).not.toContain("OR 1=1");
        expect(query.sql).toMatch(/ LIMIT (\{limit:UInt32\}|2 OFFSET)/);
      }
    }
  });

  it("reads the rows of the owners that the caller reaches, of kinds that have owners", () => {
    for (const query of queries({ ...rangeOf(kind), owners: [HOSTILE, "local"] })) {
      checkBinding(query);
      expect(query.sql).not.toContain("OR 1=1");
      expect(query.sql.includes("t.owner IN {owners:Array(String)}")).toBe(kind.ownerSql !== null);
    }
  });

  it("has no condition that was not requested", () => {
    const bare = pageSql(kind, { ...rangeOf(kind), exchanges: [], filters: {} }, null, 10, 5);
    checkBinding(bare);
    const expected = kind === CANDLES ? ["from", "interval", "limit", "now", "step", "to"] : ["from", "limit", "to"];
    expect(Object.keys(bare.params).sort()).toEqual(expected);
  });

  it("narrows the range to the cursor's time in either direction", () => {
    const first = kind.sort[0]?.text.includes("Micro") ? "1500000123" : kind === CANDLES ? "1500" : "1500000";
    const at = [first, ...key.slice(1)];
    const end = kind === CANDLES ? 1_560_000 : 1_500_001;
    expect(pageSql(kind, rangeOf(kind), at, 10, 5).params).toMatchObject({ from: 1_500_000, to: 2_000_000 });
    expect(pageSql(kind, { ...rangeOf(kind), order: "desc" }, at, 10, 5).params).toMatchObject({
      from: 1_000_000,
      to: end,
    });
    expect(exportSql(kind, rangeOf(kind), null, at, 10, "csv", 5).params).toMatchObject({
      from: 1_000_000,
      to: end,
    });
  });
});

describe("the rows of a history query", () => {
  it.each([
    [TICKS.fields, tickRowSchema],
    [TRADES.fields, tradeRowSchema],
    [CANDLES.fields, candleRowSchema],
    [ROUTING.fields, routingHistoryRowSchema],
    [FILLS.fields, fillRowSchema],
    [QUALITY_FIELDS, qualityRowSchema],
  ])("have the fields of their schema, in its order", (fields, schema) => {
    expect(fields.map((field) => field.name)).toEqual(Object.keys(schema.properties));
  });
});

describe("the query of the quality report", () => {
  it("binds every value", () => {
    for (const form of ["json", "csv", "ndjson"] as const) {
      const range = {
        fromMs: 1,
        toMs: 2,
        exchanges: [HOSTILE],
        symbol: HOSTILE,
        direction: HOSTILE,
        owners: [HOSTILE],
      };
      const query = qualitySql(range, form);
      checkBinding(query);
      expect(query.sql).not.toContain("OR 1=1");
      expect(query.sql.split("t.owner IN {owners:Array(String)}")).toHaveLength(3);
      const all = { fromMs: 1, toMs: 2, exchanges: [], symbol: null, direction: null, owners: null };
      checkBinding(qualitySql(all, form));
      expect(qualitySql(all, form).sql).not.toContain("owner");
    }
  });
});
