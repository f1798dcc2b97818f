/** The report from the real engine compared with a plain computation over the same rows. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FEE_ASSETS_AT_PAR } from "../../../schemas/history.js";
import { CHDB_MISSING, NEEDS_CHDB } from "../../children/test/sidecar.js";
import { type CsvRecord, readCsv } from "./csv-reader.js";
import { BASE_MS, HistoryBench, type HistoryFixture } from "./history-bench.js";

type Figures = Readonly<Record<string, string | number | null>>;

interface Fill {
  readonly venue: string;
  readonly symbol: string;
  readonly side: "BUY" | "SELL";
  readonly px: number;
  readonly qty: number;
  readonly quoted: number | null;
  readonly mid: number | null;
  readonly worst: number | null;
  readonly fee: number | null;
  readonly feeAsset: string;
}

interface Close {
  readonly venue: string;
  readonly symbol: string;
  readonly state: string;
  /** The later outcome; null for no later row. */
  readonly resolved: string | null;
  readonly submitted: number;
  readonly filled: number;
  readonly mid: number | null;
  readonly expected: number | null;
  readonly totalUs: number | null;
  readonly dryRun: boolean;
}

const SENT = ["COMPLETED", "PARTIAL", "RESTING", "SUBMITTED", "UNKNOWN", "REJECTED"];
const venue = fc.constantFrom("venueone", "venuetwo", "venuethree");
const symbol = fc.constantFrom("BTC", "ETH");
const price = fc.integer({ min: 9000, max: 11_000 }).map((cents) => cents / 100);
const size = fc.integer({ min: 1, max: 5000 }).map((milli) => milli / 1000);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 4 });

const fillArbitrary: fc.Arbitrary<Fill> = fc.record({
  venue,
  symbol,
  side: fc.constantFrom("BUY", "SELL"),
  px: price,
  qty: size,
  quoted: maybe(price),
  mid: maybe(price),
  worst: maybe(price),
  fee: maybe(fc.integer({ min: -300, max: 900 }).map((value) => value / 10_000)),
  feeAsset: fc.constantFrom("USDC", "USDT", "ASTER", ""),
});

const closeArbitrary: fc.Arbitrary<Close> = fc.record({
  venue,
  symbol,
  state: fc.constantFrom(...SENT, "UNKNOWN", "NOOP", "SIMULATED"),
  resolved: fc.constantFrom(null, null, "COMPLETED", "UNKNOWN", "REJECTED"),
  submitted: size,
  filled: size,
  mid: maybe(price),
  expected: maybe(price),
  totalUs: maybe(fc.integer({ min: 1, max: 5_000_000 })),
  dryRun: fc.boolean(),
});

/** Linear between neighbours, as the schema defines. */
function percentile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * at;
  const low = sorted[Math.floor(place)] as number;
  const high = sorted[Math.ceil(place)] as number;
  return low + (high - low) * (place - Math.floor(place));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function naive(fills: readonly Fill[], closes: readonly Close[]): Record<string, number | null> {
  const against = (name: string, yardstick: (fill: Fill) => number | null) => {
    const priced = fills.flatMap((fill) => {
      const at = yardstick(fill);
      const sign = fill.side === "BUY" ? 1 : -1;
      return at === null ? [] : [{ lost: sign * (fill.px - at), at, qty: fill.qty }];
    });
    const each = priced.map(({ lost, at }) => (lost / at) * 10_000);
    const has = priced.length > 0;
    return {
      [`${name}Fills`]: priced.length,
      [`${name}MeanBps`]: has
        ? (sum(priced.map(({ lost, qty }) => lost * qty)) / sum(priced.map(({ at, qty }) => at * qty))) * 10_000
        : null,
      [`${name}P50Bps`]: has ? percentile(each, 0.5) : null,
      [`${name}P95Bps`]: has ? percentile(each, 0.95) : null,
      [`${name}MaxBps`]: has ? Math.max(...each) : null,
    };
  };
  const feed = fills.filter(
    (fill) => fill.fee !== null && (FEE_ASSETS_AT_PAR as readonly string[]).includes(fill.feeAsset),
  );
  const sent = closes.filter((close) => SENT.includes(close.state) && !close.dryRun);
  const last = (close: Close) => close.resolved ?? close.state;
  // A resting close may have filled; it is counted separately.
  const isResting = (close: Close) => close.state === "RESTING" || last(close) === "RESTING";
  const known = sent.filter((close) => last(close) !== "UNKNOWN" && !isResting(close));
  const resting = sent.filter((close) => last(close) !== "UNKNOWN" && isResting(close));
  const reference = (close: Close) => close.mid ?? close.expected ?? 0;
  const submittedOf = (some: readonly Close[]) => sum(some.map((close) => close.submitted * reference(close)));
  const ratioOf = (some: readonly Close[]) =>
    submittedOf(some) === 0 ? null : sum(some.map((close) => close.filled * reference(close))) / submittedOf(some);
  const times = sent.flatMap((close) => (close.totalUs === null ? [] : [close.totalUs / 1000]));
  const unknown = sent.filter((close) => close.state === "UNKNOWN").length;
  const {
    quotedMaxBps: _q,
    arrivalMaxBps: _a,
    guardP50Bps: _g,
    guardP95Bps: _h,
    ...figures
  } = {
    ...against("quoted", (fill) => fill.quoted),
    ...against("arrival", (fill) => fill.mid),
    ...against("guard", (fill) => fill.worst),
  };
  return {
    fills: fills.length,
    notional: sum(fills.map((fill) => fill.px * fill.qty)),
    ...figures,
    feeFills: feed.length,
    feeBps:
      feed.length === 0
        ? null
        : (sum(feed.map((fill) => fill.fee as number)) / sum(feed.map((fill) => fill.px * fill.qty))) * 10_000,
    closes: sent.length,
    fillRatio: ratioOf(known),
    restingCloses: sent.filter(isResting).length,
    restingFillRatio: ratioOf(resting),
    unknownCloses: unknown,
    unresolvedCloses: sent.filter((close) => last(close) === "UNKNOWN").length,
    unknownRate: sent.length === 0 ? null : unknown / sent.length,
    totalMsP50: times.length === 0 ? null : percentile(times, 0.5),
    totalMsP95: times.length === 0 ? null : percentile(times, 0.95),
    venueMsP50: null,
    venueMsP95: null,
  };
}

/** Compares within the places that are printed. */
function expectFigures(got: Figures, expected: Record<string, number | null>, what: string): void {
  for (const [name, value] of Object.entries(expected)) {
    const text = got[name];
    if (value === null) expect(text, `${what} ${name}`).toBeNull();
    else {
      expect(text, `${what} ${name}`).not.toBeNull();
      const tolerance = name === "unknownRate" ? 1e-6 : name.startsWith("totalMs") ? 0.0011 : 1.1e-4;
      expect(Math.abs(Number(text) - value), `${what} ${name}: ${String(text)} for ${value}`).toBeLessThan(tolerance);
    }
  }
}

/**
 * Each case queries a database: a failure is reported as found, because shrinking it would exceed the time of a test.
 */
const NO_SHRINKING = { endOnFailure: true } as const;

describe.skipIf(CHDB_MISSING)(`execution quality over the real engine ${NEEDS_CHDB}`, () => {
  const bench = new HistoryBench();
  let fixture: HistoryFixture;
  let days = 0;
  beforeAll(async () => {
    fixture = await bench.fresh();
  });
  afterAll(() => bench.dispose());

  async function record(fills: readonly Fill[], closes: readonly Close[]): Promise<number> {
    const dayMs = BASE_MS + 86_400_000 * 3 * ++days;
    const text = (value: number | null) => (value === null ? null : String(value));
    await fixture.insert(
      "fills",
      fills.map((fill, index) => ({
        rx: 1n,
        at: dayMs + index,
        venue: fill.venue,
        symbol: fill.symbol,
        fill_id: `${days}-${index}`,
        ver: 1n,
        direction: fill.side === "SELL" ? "LONG" : "SHORT",
        side: fill.side,
        price: String(fill.px),
        intent: "CLOSE",
        qty: String(fill.qty),
        quoted_px: text(fill.quoted),
        worst_px: text(fill.worst),
        ref_mid: text(fill.mid),
        fee: text(fill.fee),
        fee_asset: fill.feeAsset,
      })),
    );
    const rows = closes.flatMap((close, index) => {
      const row = {
        symbol: close.symbol,
        route_id: `rt-${days}-${index}`,
        direction: "LONG",
        dry_run: close.dryRun ? 1 : 0,
        recommended: close.venue,
        submitted_sz: String(close.submitted),
        filled_sz: String(close.filled),
        ref_mid: text(close.mid),
        expected_px: text(close.expected),
      };
      // A close that the venue rejected has no executing venue.
      const replied = {
        ...row,
        at: dayMs + index,
        kind: "replied",
        decision_id: `a${index}`,
        state: close.state,
        total_us: close.totalUs,
        executed_on: close.state === "REJECTED" ? "" : close.venue,
      };
      const replayed = { ...replied, kind: "replayed", decision_id: `b${index}`, at: dayMs + index + 1 };
      // Its outcome is written much later than the range.
      const resolved = {
        ...row,
        at: dayMs + 50_000_000,
        kind: "resolved",
        decision_id: `c${index}`,
        state: close.resolved,
        executed_on: close.venue,
      };
      return close.resolved === null ? [replied, replayed] : [replied, replayed, resolved];
    });
    await fixture.insert("routing_decisions", rows);
    return dayMs;
  }

  async function report(
    dayMs: number,
    query = "",
  ): Promise<{ total: Figures; byExchange: Figures[]; bySymbol: Figures[] }> {
    const reply = await fixture.server.client.get(
      `/api/history/execution-quality?from=${dayMs}&to=${dayMs + 10_000}${query}`,
    );
    expect(reply.status, reply.text).toBe(200);
    return (reply.body as unknown as { data: { total: Figures; byExchange: Figures[]; bySymbol: Figures[] } }).data;
  }

  it("equals a plain computation, in total, per venue and per symbol, for any fills and closes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fillArbitrary, { maxLength: 25 }),
        fc.array(closeArbitrary, { maxLength: 25 }),
        async (fills, closes) => {
          const dayMs = await record(fills, closes);
          const { total, byExchange, bySymbol } = await report(dayMs);
          expectFigures(total, naive(fills, closes), "total");
          const sent = closes.filter((close) => SENT.includes(close.state) && !close.dryRun);
          for (const [rows, name, key] of [
            [byExchange, "exchange", "venue"],
            [bySymbol, "symbol", "symbol"],
          ] as const) {
            const names = [...new Set([...fills, ...sent].map((row) => row[key]))].sort();
            expect(rows.map((row) => row[name])).toEqual(names);
            for (const row of rows) {
              const of = (one: Fill | Close) => one[key] === row[name];
              expectFigures(row, naive(fills.filter(of), closes.filter(of)), String(row[name]));
            }
          }
          const filtered = await report(dayMs, "&symbol=BTC&exchanges=venueone,venuetwo");
          const kept = (one: Fill | Close) => one.symbol === "BTC" && one.venue !== "venuethree";
          expectFigures(filtered.total, naive(fills.filter(kept), closes.filter(kept)), "filtered");
        },
      ),
      { numRuns: 15, ...NO_SHRINKING },
    );
  });

  it("counts what is worse than the quote as positive, for a sale below it and a purchase above it", async () => {
    const fill = {
      venue: "venueone",
      symbol: "BTC",
      qty: 2,
      quoted: 100,
      mid: 100,
      worst: 99,
      fee: 0.05,
      feeAsset: "USDC",
    };
    const sale = await report(await record([{ ...fill, side: "SELL", px: 99.5 }], []));
    expect(sale.total).toMatchObject({
      fills: 1,
      notional: "199",
      quotedMeanBps: "50",
      quotedP50Bps: "50",
      quotedP95Bps: "50",
      arrivalMeanBps: "50",
      guardMeanBps: "-50.5051",
      guardMaxBps: "-50.5051",
      feeBps: "2.5126",
    });
    const purchase = await report(await record([{ ...fill, side: "BUY", px: 100.5, worst: 101 }], []));
    expect(purchase.total).toMatchObject({ quotedMeanBps: "50", guardMeanBps: "-49.505" });
    const better = await report(await record([{ ...fill, side: "BUY", px: 99 }], []));
    expect(better.total).toMatchObject({ quotedMeanBps: "-100" });
  });

  it("adds money exactly", async () => {
    const dayMs = BASE_MS + 86_400_000 * 3 * ++days;
    const fill = { at: dayMs, venue: "venueone", symbol: "BTC", ver: 1n, side: "BUY", intent: "CLOSE" };
    await fixture.insert("fills", [
      { ...fill, fill_id: "a", price: "97421.500000000000000001", qty: "0.1" },
      { ...fill, fill_id: "b", price: "0.000000000000000001", qty: "0.000000000000000001" },
    ]);
    expect((await report(dayMs)).total.notional).toBe("9742.150000000000000000100000000000000001");
  });

  it("counts closes only, also from versions that did not record what an order was for", async () => {
    const dayMs = BASE_MS + 86_400_000 * 3 * ++days;
    const fill = { at: dayMs, venue: "venueone", symbol: "BTC", ver: 1n, direction: "LONG", qty: "1" };
    await fixture.insert("fills", [
      { ...fill, fill_id: "c", side: "SELL", price: "100", intent: "CLOSE" },
      { ...fill, fill_id: "d", side: "BUY", price: "100", intent: "OPEN" },
      // Unknown: it enters no figure.
      { ...fill, fill_id: "e", side: "SELL", price: null, intent: "CLOSE" },
    ]);
    const decision = { at: dayMs, venue: "venueone", symbol: "BTC", kind: "replied", state: "COMPLETED" };
    await fixture.insert("routing_decisions", [
      { ...decision, decision_id: "q1", route_id: `rt-q-${days}-1`, intent: "CLOSE" },
      { ...decision, decision_id: "q2", route_id: `rt-q-${days}-2`, intent: "OPEN" },
      { ...decision, decision_id: "q3", route_id: `rt-q-${days}-3`, intent: "" },
      { ...decision, decision_id: "q4", route_id: `rt-q-${days}-4`, intent: "" },
    ]);
    const event = { rx: BigInt(dayMs) * 1000n, ver: 1n, status: "INTENT" };
    await fixture.insert("order_events", [
      { ...event, order_key: `q${days}-3`, route_id: `rt-q-${days}-3`, reduce_only: 1 },
      { ...event, order_key: `q${days}-4`, route_id: `rt-q-${days}-4`, reduce_only: 0 },
    ]);
    expect((await report(dayMs)).total).toMatchObject({ fills: 1, notional: "100", closes: 2 });
  });

  it("has an empty total for an empty range", async () => {
    const { total, byExchange, bySymbol } = await report(BASE_MS - 86_400_000);
    expect(total).toMatchObject({
      fills: 0,
      notional: "0",
      quotedMeanBps: null,
      closes: 0,
      unknownRate: null,
      totalMsP50: null,
    });
    expect([byExchange, bySymbol]).toEqual([[], []]);
  });

  it("returns the same figures as CSV and JSON lines, a row per scope", async () => {
    const fill: Fill = {
      venue: "venueone",
      symbol: "BTC",
      side: "SELL",
      px: 99.5,
      qty: 2,
      quoted: 100,
      mid: null,
      worst: null,
      fee: null,
      feeAsset: "",
    };
    const dayMs = await record([fill, { ...fill, venue: "venuetwo" }], []);
    const path = `/api/history/execution-quality?from=${dayMs}&to=${dayMs + 10_000}`;
    const { total } = await report(dayMs);
    const lines = (await fixture.server.client.send(path, { headers: { accept: "application/x-ndjson" } })).text;
    const rows = lines
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Figures);
    expect(rows.map(({ scope, exchange, symbol: name }) => [scope, exchange, name])).toEqual([
      ["total", null, null],
      ["exchange", "venueone", null],
      ["exchange", "venuetwo", null],
      ["symbol", null, "BTC"],
    ]);
    const { scope: _, exchange: __, symbol: ___, ...figures } = rows[0] as Figures;
    expect(figures).toEqual(total);
    const [header, ...records] = readCsv(
      (await fixture.server.client.send(path, { headers: { accept: "text/csv" } })).text,
    ) as [CsvRecord, ...CsvRecord[]];
    expect(header).toEqual(Object.keys(rows[0] as Figures));
    expect(records[0]?.[header.indexOf("quotedMeanBps")]).toBe("50");
    expect(records[0]?.[header.indexOf("arrivalMeanBps")]).toBeNull();
  });
});
