/** The routes on the real engine: inserted rows come back complete, once, in order and in every form. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHDB_MISSING, NEEDS_CHDB } from "../../children/test/sidecar.js";
import { CANDLE_INTERVALS, HISTORY_BOUNDS } from "../../../schemas/history.js";
import { type CsvRecord, readCsv, unguarded } from "./csv-reader.js";
import { BASE_MS, HistoryBench, type HistoryFixture } from "./history-bench.js";
import type { TestRow } from "./row-binary.js";

type Row = Readonly<Record<string, unknown>>;
const RANGE = `from=${BASE_MS}&to=${BASE_MS + 3_600_000}`;
const FAR_AHEAD_MS = BASE_MS + 86_400_000 * 365 * 50;
const VENUES = ["venueone", "venuetwo", "venuethree"] as const;

/**
 * Each case queries a database: a failure is reported as found, because shrinking it would exceed the time of a test.
 */
const NO_SHRINKING = { endOnFailure: true } as const;

describe.skipIf(CHDB_MISSING)(`the history routes on the real engine ${NEEDS_CHDB}`, () => {
  const bench = new HistoryBench();
  let shared: HistoryFixture;
  beforeAll(async () => {
    shared = await bench.fresh();
  });
  afterAll(() => bench.dispose());

  /**
   * Runs of a property share the tables and use a day each, alternately in the past and far in the future: none ends
   * now.
   */
  let days = 0;
  const nextDayMs = () => (++days % 2 === 0 ? BASE_MS : FAR_AHEAD_MS) - 86_400_000 * 3 * days;

  async function page(fixture: HistoryFixture, path: string): Promise<{ rows: Row[]; nextCursor: string | null }> {
    const reply = await fixture.server.client.get(path);
    expect(reply.status, reply.text).toBe(200);
    const { data } = reply.body as unknown as { data: Record<string, unknown> };
    const rows = Object.values(data).find(Array.isArray) as Row[];
    return { rows, nextCursor: data.nextCursor as string | null };
  }

  async function exported(
    fixture: HistoryFixture,
    path: string,
    accept: string,
  ): Promise<{ text: string; nextCursor: string | null }> {
    const reply = await fixture.server.client.send(path, { headers: { accept } });
    expect(reply.status, reply.text).toBe(200);
    return { text: reply.text, nextCursor: reply.headers["x-next-cursor"] ?? null };
  }

  const jsonLines = (text: string): Row[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Row);

  /** Times of few microseconds, so that many ticks share one; every value that a page's edge could fall between. */
  const tickArbitrary = fc.record({
    step: fc.integer({ min: 0, max: 12 }),
    ex: fc.constantFrom(0, BASE_MS),
    venue: fc.constantFrom(...VENUES),
    symbol: fc.constantFrom("BTC", "BTC", "BTC", "ETH"),
    bid_px: fc.constantFrom("97421.5", "0.0000000001", "12345678.0123456789"),
    bid_sz: fc.constantFrom("0", "1.25", "123456789012345678.12345678"),
    ask_px: fc.constant("97422.5"),
    ask_sz: fc.constantFrom("0", "2"),
    mark_px: fc.constantFrom(null, "97422"),
    last_px: fc.constantFrom(null, "97422"),
    seq: fc.constantFrom(0n, 1n, 18_446_744_073_709_551_615n),
    src: fc.constantFrom("book", "touch"),
  });
  const identity = (row: Row) => JSON.stringify(row);

  it("return every tick once over any pages, in either order and any form, while others arrive", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(tickArbitrary, {
          minLength: 1,
          maxLength: 40,
          selector: (row) =>
            JSON.stringify(row, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
        }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom("asc", "desc"),
        fc.constantFrom("", "&exchange=venueone", "&exchanges=venueone,venuetwo"),
        fc.array(fc.constantFrom("json", "application/x-ndjson"), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 0, max: 40 }),
        async (steps, limit, order, venues, forms, firstCount) => {
          const fixture = shared;
          const dayMs = nextDayMs();
          const ticks = steps.map(({ step, ...tick }) => ({ ...tick, rx: BigInt(dayMs) * 1000n + BigInt(step * 300) }));
          await fixture.insert("ticks", ticks.slice(0, firstCount));
          const later = ticks.slice(firstCount);
          const base = `/api/history/ticks?symbol=BTC&from=${dayMs}&to=${dayMs + 60_000}&order=${order}${venues}`;
          const before = (await page(fixture, `${base}&limit=1000`)).rows.map(identity);
          const seen: Row[] = [];
          let cursor: string | null = "";
          for (let turn = 0; cursor !== null; turn++) {
            const path =
              cursor === "" ? `${base}&limit=${limit}` : `/api/history/ticks?limit=${limit}&cursor=${cursor}`;
            const form = forms[turn % forms.length] as string;
            if (form === "json") {
              const got = await page(fixture, path);
              seen.push(...got.rows);
              cursor = got.nextCursor;
            } else {
              const got = await exported(fixture, path, form);
              seen.push(...jsonLines(got.text));
              cursor = got.nextCursor;
            }
            // Rows before, at and after the edge of the page arrive while it is being read.
            await fixture.insert("ticks", later.splice(0, 3));
            expect(turn).toBeLessThan(100);
          }
          const times = seen.map((row) => Number(row.receivedAtUs));
          expect(times).toEqual([...times].sort((a, b) => (order === "asc" ? a - b : b - a)));
          const identities = seen.map(identity);
          expect(new Set(identities).size).toBe(identities.length);
          expect(identities).toEqual(expect.arrayContaining(before));
          const all = (await page(fixture, `${base}&limit=1000`)).rows.map(identity);
          expect(all).toEqual(expect.arrayContaining(identities));
          if (firstCount >= ticks.length) expect(identities).toEqual(all);
        },
      ),
      { numRuns: 12, ...NO_SHRINKING },
    );
  }, 300_000);

  it("keep ticks that are equal in everything together, and lose none", async () => {
    const fixture = await bench.fresh();
    const tick = (step: number): TestRow => ({
      rx: BigInt(BASE_MS) * 1000n + BigInt(step),
      venue: "venueone",
      symbol: "BTC",
      bid_sz: "1",
      bid_px: "1",
      src: "book",
    });
    await fixture.insert("ticks", [tick(0), tick(1), tick(1), tick(1), tick(1), tick(2)]);
    for (const limit of [1, 2, 3, 4, 5]) {
      const counts: number[] = [];
      let path = `/api/history/ticks?symbol=BTC&${RANGE}&order=asc&limit=${limit}`;
      for (let cursor: string | null = "", turn = 0; cursor !== null; turn++) {
        const got: { rows: Row[]; nextCursor: string | null } = await page(fixture, path);
        counts.push(got.rows.length);
        cursor = got.nextCursor;
        expect(turn).toBeLessThan(10);
        path = `/api/history/ticks?limit=${limit}&cursor=${cursor}`;
      }
      expect(counts.reduce((sum, count) => sum + count)).toBe(6);
    }
  });

  it("print prices and sizes exactly and trimmed, ids and microseconds with all digits, absent values as null", async () => {
    const fixture = await bench.fresh();
    await fixture.insert("ticks", [
      {
        rx: BigInt(BASE_MS) * 1000n + 123n,
        ex: 0,
        venue: "venueone",
        symbol: "BTC",
        bid_px: "12345678.01234567",
        bid_sz: "123456789012345678901234567890.1",
        ask_px: "0",
        ask_sz: "0",
        mark_px: null,
        last_px: "100",
        seq: 18_446_744_073_709_551_615n,
        src: "book",
      },
    ]);
    const { rows } = await page(fixture, `/api/history/ticks?symbol=BTC&${RANGE}`);
    expect(rows).toEqual([
      {
        symbol: "BTC",
        exchange: "venueone",
        timestamp: BASE_MS,
        receivedAtUs: `${BASE_MS}123`,
        venueTimestamp: null,
        bid: "12345678.01234567",
        bidSize: "123456789012345678901234567890.1",
        ask: null,
        askSize: "0",
        markPrice: null,
        lastPrice: "100",
        venueSeq: "18446744073709551615",
        source: "book",
      },
    ]);
    const lines = jsonLines(
      (await exported(fixture, `/api/history/ticks?symbol=BTC&${RANGE}`, "application/x-ndjson")).text,
    );
    expect(lines).toEqual(rows);
  });

  const hostileText = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc
      .tuple(
        fc.constantFrom("=", "+", "-", "@", "\t", "\r", "\n", "'", "''", "＝", "＋", "－", "＠", '"', ",", " "),
        fc.string({ unit: "binary-ascii", maxLength: 12 }),
      )
      .map((parts) => parts.join("")),
    fc.constantFrom("=cmd|' /C calc'!A0", "\\N", "\\", "Code: 1. DB::Exception: no (X)", "null", "\u2028", "-1"),
  );

  it("export any text so that it can be parsed back, and never as a formula", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          hostileText.filter((text) => text !== ""),
          { minLength: 1, maxLength: 30 },
        ),
        async (ids) => {
          const dayMs = nextDayMs();
          const fixture = shared;
          await fixture.insert(
            "trades",
            ids.map((id, index) => ({
              rx: BigInt(dayMs) * 1000n,
              ex: dayMs + index,
              venue: "venueone",
              symbol: "BTC",
              trade_id: id,
              price: "-1.5",
              qty: "2",
              taker_side: index % 2 === 0 ? "BUY" : "SELL",
            })),
          );
          const path = `/api/history/trades?symbol=BTC&from=${dayMs}&to=${dayMs + 60_000}&order=asc`;
          const { rows } = await page(fixture, path);
          expect(rows.map((row) => row.tradeId)).toEqual(ids);
          const lines = await exported(fixture, path, "application/x-ndjson");
          expect(jsonLines(lines.text)).toEqual(rows);
          const csv = await exported(fixture, path, "text/csv");
          const [header, ...records] = readCsv(csv.text) as [CsvRecord, ...CsvRecord[]];
          expect(header).toEqual(Object.keys(rows[0] as Row));
          const column = header.indexOf("tradeId");
          for (const record of records) expect(record[column]).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/);
          expect(records.map((record) => unguarded(record[column] ?? ""))).toEqual(ids);
          // Numbers are unchanged, whatever they begin with.
          expect(records.map((record) => record[header.indexOf("price")])).toEqual(ids.map(() => "-1.5"));
        },
      ),
      { numRuns: 8, ...NO_SHRINKING },
    );
  });

  it("return a trade delivered twice once", async () => {
    const fixture = await bench.fresh();
    const trade = { ex: BASE_MS, venue: "venueone", symbol: "BTC", trade_id: "7", price: "1", qty: "1" };
    await fixture.insert("trades", [{ ...trade, rx: 1n }]);
    await fixture.insert("trades", [{ ...trade, rx: 2n }]);
    const { rows } = await page(fixture, `/api/history/trades?symbol=BTC&${RANGE}`);
    expect(rows.map((row) => row.receivedAtUs)).toEqual(["2"]);
  });

  it("merge candles of any interval like a walk over the trades, page by page", async () => {
    const tradeArbitrary = fc.record({
      at: fc.integer({ min: 0, max: 3 * 3600 - 1 }),
      venue: fc.constantFrom("venueone", "venuetwo"),
      px: fc.integer({ min: 1, max: 1000 }),
      qty: fc.integer({ min: 1, max: 100 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(tradeArbitrary, { minLength: 1, maxLength: 60 }),
        fc.constantFrom("1m", "5m", "15m", "1h", "4h", "1d"),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom("asc", "desc"),
        async (trades, interval, limit, order) => {
          const fixture = shared;
          const dayMs = nextDayMs();
          const rows = trades.map((trade, index) => ({
            rx: BigInt(dayMs) * 1000n,
            ex: dayMs + trade.at * 1000,
            venue: trade.venue,
            symbol: "BTC",
            trade_id: String(index),
            price: String(trade.px / 10),
            qty: String(trade.qty / 100),
            taker_side: "BUY",
            seq: BigInt(index),
          }));
          // Two inserts: the states of one minute come in parts.
          await fixture.insert("trades", rows.slice(0, 20));
          await fixture.insert("trades", rows.slice(20));
          const expected = naiveCandles(dayMs, trades, interval);
          const seen: Row[] = [];
          let path = `/api/history/candles?symbol=BTC&interval=${interval}&order=${order}&limit=${limit}&from=${dayMs - 86_400_000}&to=${dayMs + 14_400_000}`;
          for (let cursor: string | null = "", turn = 0; cursor !== null; turn++) {
            const got: { rows: Row[]; nextCursor: string | null } = await page(fixture, path);
            seen.push(...got.rows);
            cursor = got.nextCursor;
            expect(turn).toBeLessThan(100);
            path = `/api/history/candles?limit=${limit}&cursor=${cursor}`;
          }
          expect(order === "asc" ? seen : seen.reverse()).toEqual(expected);
        },
      ),
      { numRuns: 10, ...NO_SHRINKING },
    );
  });

  function naiveCandles(
    dayMs: number,
    trades: readonly { at: number; venue: string; px: number; qty: number }[],
    interval: keyof typeof CANDLE_INTERVALS,
  ): Row[] {
    const stepMs = CANDLE_INTERVALS[interval] * 1000;
    const groups = new Map<string, { at: number; px: number; qty: number }[]>();
    for (const trade of trades) {
      const start = Math.floor((dayMs + trade.at * 1000) / stepMs) * stepMs;
      const key = `${start} ${trade.venue}`;
      groups.set(key, [...(groups.get(key) ?? []), trade]);
    }
    return [...groups]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, group]) => {
        const [start, exchange] = key.split(" ");
        // A stable sort: trades of one time keep their order of arrival.
        const ordered = [...group].sort((a, b) => a.at - b.at);
        const prices = ordered.map((trade) => trade.px);
        const text = (value: number | undefined) => String((value as number) / 10);
        return {
          symbol: "BTC",
          exchange,
          interval,
          timestamp: Number(start),
          open: text(prices[0]),
          high: text(Math.max(...prices)),
          low: text(Math.min(...prices)),
          close: text(prices.at(-1)),
          volume: String(ordered.reduce((sum, trade) => sum + trade.qty, 0) / 100),
          trades: ordered.length,
          closed: Number(start) + stepMs <= Date.now(),
        };
      });
  }

  it("show the last version of a fill, with its account as a hash, and filter by every parameter", async () => {
    const fill = {
      rx: BigInt(BASE_MS) * 1000n,
      ex: BASE_MS,
      at: BASE_MS,
      venue: "venueone",
      symbol: "BTC",
      fill_id: "91",
      order_key: "ab12",
      route_id: "rt_1",
      wallet_id: "f".repeat(64),
      direction: "LONG",
      side: "SELL",
      order_type: "MARKET",
      price: "97421.500000000000000001",
      qty: "0.25",
      ordered_qty: "0.25",
      fee_source: "",
      quoted_px: "97421",
    };
    await shared.insert("fills", [{ ...fill, ver: 1n }]);
    await shared.insert("fills", [{ ...fill, ver: 2n, fee: "-0.01", fee_asset: "USDC", fee_source: "venue" }]);
    const { rows } = await page(shared, `/api/history/fills?${RANGE}`);
    expect(rows).toMatchObject([
      {
        orderId: "91",
        fee: "-0.01",
        feeSource: "venue",
        account: "f".repeat(64),
        price: "97421.500000000000000001",
        maker: false,
      },
    ]);
    for (const parameter of [
      "symbol=btc",
      "exchange=venueone",
      "side=SELL",
      "direction=LONG",
      "routeId=rt_1",
      "orderId=91",
    ])
      expect((await page(shared, `/api/history/fills?${RANGE}&${parameter}`)).rows).toHaveLength(1);
    for (const parameter of [
      "symbol=ETH",
      "exchange=venuetwo",
      "side=BUY",
      "direction=SHORT",
      "routeId=rt_2",
      "orderId=9",
    ])
      expect((await page(shared, `/api/history/fills?${RANGE}&${parameter}`)).rows).toHaveLength(0);
  });

  it("show a caller without a key the rows made without one, as if no other owner had any", async () => {
    const at = nextDayMs();
    const row = { rx: BigInt(at) * 1000n, ex: at, at, ver: 1n, symbol: "BTC", venue: "venueone", route_id: "rt_own" };
    const fill = {
      ...row,
      order_key: "ab",
      side: "SELL",
      direction: "LONG",
      price: "1",
      qty: "1",
      ordered_qty: "1",
      intent: "CLOSE",
    };
    await shared.insert("fills", [
      { ...fill, fill_id: "1" },
      { ...fill, fill_id: "2", owner: "ow_other", qty: "7" },
      { ...fill, fill_id: "3", owner: "LOCAL" },
      { ...fill, fill_id: "4", owner: "" },
    ]);
    await shared.insert("routing_decisions", [
      { at, symbol: "BTC", kind: "close", decision_id: "d1" },
      { at, symbol: "BTC", kind: "close", decision_id: "d2", owner: "ow_other" },
    ]);
    const range = `from=${at}&to=${at + 1}`;
    const fills = `/api/history/fills?${range}`;
    expect((await page(shared, fills)).rows.map(({ orderId }) => orderId)).toEqual(["1"]);
    expect((await page(shared, `${fills}&orderId=2`)).rows).toEqual([]);
    const csv = await exported(shared, fills, "application/x-ndjson");
    expect(jsonLines(csv.text).map(({ orderId }) => orderId)).toEqual(["1"]);
    const { rows } = await page(shared, `/api/history/routing?${range}`);
    expect(rows.map(({ decisionId }) => decisionId)).toEqual(["d1"]);
    const quality = await shared.server.client.get(`/api/history/execution-quality?${range}`);
    expect(quality.body).toMatchObject({ data: { total: { fills: 1 } } });
  });

  it("show a decision with its candidates, and no text long enough to be a key", async () => {
    await shared.insert("routing_decisions", [
      {
        at: BASE_MS + 5,
        symbol: "BTC",
        decision_id: "d1",
        request_id: "rq",
        route_id: "rt_1",
        kind: "replied",
        direction: "LONG",
        dry_run: 0,
        requested_sz: "0.25",
        recommended: "venueone",
        c_venue: ["venueone", "venuefive"],
        c_status: ["selected", "ineligible"],
        c_reason: ["", "CLIENT_SIDE_ONLY"],
        c_all_in_px: ["97400.25", null],
        c_vwap: [null, null],
        c_fee_bps: ["4.5", null],
        c_slippage_bps: [null, null],
        c_cost_bps: [null, null],
        c_depth: ["12.5", null],
        c_book_age_us: [1500n, null],
        c_book_seq: [18_446_744_073_709_551_615n, null],
        executed_on: "venueone",
        state: "COMPLETED",
        total_us: 1500,
        detail: `{"venueText":"${"ab".repeat(40)}"}`,
      },
    ]);
    const path = `/api/history/routing?${RANGE}&kind=replied&routeId=rt_1&requestId=rq&direction=LONG&exchange=venueone`;
    const { rows } = await page(shared, path);
    expect(rows).toMatchObject([
      {
        decisionId: "d1",
        dryRun: false,
        error: null,
        totalUs: 1500,
        signUs: null,
        detail: '{"venueText":"[redacted]"}',
        candidates: [
          {
            exchange: "venueone",
            status: "selected",
            reason: null,
            allInPrice: "97400.25",
            bookAgeUs: "1500",
            venueSeq: "18446744073709551615",
          },
          { exchange: "venuefive", reason: "CLIENT_SIDE_ONLY", allInPrice: null, venueSeq: null },
        ],
      },
    ]);
    expect(jsonLines((await exported(shared, path, "application/x-ndjson")).text)).toEqual(rows);
    const [header, record] = readCsv((await exported(shared, path, "text/csv")).text) as [CsvRecord, CsvRecord];
    expect(JSON.parse(record[header.indexOf("candidates")] as string)).toEqual(rows[0]?.candidates);
    expect(record[header.indexOf("signUs")]).toBeNull();
  });

  it("export the whole range, however many pages it has, and continue from a cursor to its end", async () => {
    const fixture = await bench.fresh();
    const { exportRowsMax } = HISTORY_BOUNDS.ticks;
    const count = exportRowsMax + 5_000;
    await fixture.insert(
      "ticks",
      Array.from({ length: count }, (_, index) => ({
        // Several share a time, also at the edge of a page.
        rx: BigInt(BASE_MS) * 1000n + BigInt(Math.floor(index / 3)),
        venue: "venueone",
        symbol: "BTC",
        bid: "1",
        bid_sz: "1",
        seq: BigInt(index + 1),
        src: "book",
      })),
    );
    const all = Array.from({ length: count }, (_, index) => index + 1);
    const path = `/api/history/ticks?symbol=BTC&${RANGE}&order=asc`;
    const csv = await exported(fixture, path, "text/csv");
    const [header, ...records] = readCsv(csv.text);
    const column = header?.indexOf("venueSeq") ?? -1;
    expect([csv.nextCursor, records.map((record) => Number(record[column]))]).toEqual([null, all]);
    const first = await exported(fixture, `${path}&limit=1000`, "application/x-ndjson");
    const rest = await exported(fixture, `/api/history/ticks?cursor=${first.nextCursor}`, "application/x-ndjson");
    const seqs = [...jsonLines(first.text), ...jsonLines(rest.text)].map(({ venueSeq }) => Number(venueSeq));
    expect([rest.nextCursor, seqs]).toEqual([null, all]);
  });

  it("export more than a page holds, and continue after the limit of one export", async () => {
    const fixture = await bench.fresh();
    const count = 20_000;
    await fixture.insert(
      "ticks",
      Array.from({ length: count }, (_, index) => ({
        rx: BigInt(BASE_MS) * 1000n + BigInt(index),
        venue: "venueone",
        symbol: "BTC",
        bid: "1",
        bid_sz: "1",
        seq: BigInt(index + 1),
        src: "book",
      })),
    );
    const first = await exported(fixture, `/api/history/ticks?symbol=BTC&${RANGE}&order=asc&limit=15000`, "text/csv");
    const second = await exported(fixture, `/api/history/ticks?cursor=${first.nextCursor}`, "text/csv");
    expect(second.nextCursor).toBeNull();
    const [header, ...records] = readCsv(first.text);
    const [, ...rest] = readCsv(second.text);
    const column = header?.indexOf("venueSeq") ?? -1;
    expect([...records, ...rest].map((record) => Number(record[column]))).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
  });

  it("refuse a cursor with any change, and accept it unchanged", async () => {
    const { rows, nextCursor } = await page(shared, `/api/history/ticks?symbol=BTC&${RANGE}`);
    expect([rows, nextCursor]).toEqual([[], null]);
    const fixture = await bench.fresh();
    await fixture.insert(
      "fills",
      [1, 2].map((id) => ({ at: BASE_MS, venue: "venueone", symbol: "BTC", fill_id: String(id), ver: 1n })),
    );
    const { nextCursor: cursor } = await page(fixture, `/api/history/fills?${RANGE}&limit=1`);
    expect((await page(fixture, `/api/history/fills?cursor=${cursor}`)).rows).toHaveLength(1);
    const bad = await fixture.server.client.get(`/api/history/fills?cursor=${cursor?.replace(/^./, "X")}`);
    expect(bad.status).toBe(400);
    expect((await fixture.server.client.get(`/api/history/routing?cursor=${cursor}`)).status).toBe(400);
  });
});
