import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryPage, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { cursorAfter, type HistoryRow, type HistoryWalk, walkHistory } from "./history-walk.js";

type Row = HistoryRow<string>;

const row = (tsMs: number, id: string): Row => ({ tsMs, id, value: `${tsMs}/${id}` });

/** A venue that answers at most `cap` rows of a span, oldest first, and counts what it is asked. */
function venueOf(rows: readonly Row[], cap: number) {
  const asked: [number, number][] = [];
  return {
    asked,
    readSpan: async (fromMs: number, untilMs: number) => {
      asked.push([fromMs, untilMs]);
      const inside = rows.filter(({ tsMs }) => tsMs >= fromMs && tsMs <= untilMs).slice(0, cap);
      return { ok: true, value: { rows: inside, isWhole: inside.length < cap }, asOfMs: 7, source: "venue" } as const;
    },
  };
}

function walkOf(readSpan: HistoryWalk<string>["readSpan"], changes: Partial<HistoryWalk<string>> = {}) {
  const walk: HistoryWalk<string> = {
    kind: "fills",
    query: { sinceMs: null, untilMs: null, limit: 10, cursor: null },
    nowVenueMs: 10_000,
    oldestMs: 0,
    firstSpanMs: 100,
    maxSpanMs: 100_000,
    maxReads: 12,
    readSpan,
    ...changes,
  };
  return walk;
}

async function pageOf(walk: HistoryWalk<string>): Promise<HistoryPage<Row>> {
  const read: Read<HistoryPage<Row>> = await walkHistory(walk);
  if (!read.ok) throw new Error(read.message);
  return read.value;
}

async function everyRow(walk: HistoryWalk<string>): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let { cursor } = walk.query;
  for (let pages = 1; pages < 10_000; pages++) {
    const page = await pageOf({ ...walk, query: { ...walk.query, cursor } });
    ids.push(...page.rows.map(({ value }) => value));
    cursor = page.nextCursor;
    if (cursor === null) return { ids, pages };
  }
  throw new Error("the pages do not end");
}

describe("walkHistory", () => {
  it("gives every row once, newest first, whatever the page size, the venue's cap and the crowding of instants", async () => {
    const scenario = fc.record({
      stamps: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 60 }),
      scaleMs: fc.constantFrom(1, 17, 250),
      limit: fc.integer({ min: 1, max: 12 }),
      spare: fc.integer({ min: 1, max: 5 }),
      firstSpanMs: fc.integer({ min: 1, max: 20_000 }),
      maxReads: fc.integer({ min: 1, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ stamps, scaleMs, limit, spare, firstSpanMs, maxReads }) => {
        const rows = stamps.map((stamp, index) => row(stamp * scaleMs, String(index))).sort((a, b) => a.tsMs - b.tsMs);
        const counts = new Map<number, number>();
        for (const { tsMs } of rows) counts.set(tsMs, (counts.get(tsMs) ?? 0) + 1);
        // A venue that can show every instant whole, but hardly more.
        const venue = venueOf(rows, Math.max(1, ...counts.values()) + spare);
        const query = { sinceMs: null, untilMs: null, limit, cursor: null };
        const { ids } = await everyRow(walkOf(venue.readSpan, { query, firstSpanMs, maxReads }));
        const expected = rows
          .toSorted((a, b) => b.tsMs - a.tsMs || Number(b.id) - Number(a.id))
          .map(({ value }) => value);
        expect(ids).toEqual(expected);
      }),
      { numRuns: 300, seed: 20_261_121 },
    );
  });

  it("never gives a row that came after the first page, and skips none that was there", async () => {
    const rows = [row(10, "1"), row(20, "2"), row(20, "3"), row(30, "4")];
    const live = [...rows];
    const venue = venueOf(live, 100);
    const query = { sinceMs: null, untilMs: null, limit: 2, cursor: null };
    const first = await pageOf(walkOf(venue.readSpan, { query }));
    expect(first.rows.map(({ id }) => id)).toEqual(["4", "3"]);
    live.push(row(40, "5"));
    const second = await pageOf(walkOf(venue.readSpan, { query: { ...query, cursor: first.nextCursor } }));
    expect(second.rows.map(({ id }) => id)).toEqual(["2", "1"]);
  });

  it("keeps to inclusive bounds, also with a cursor of a wider query", async () => {
    const venue = venueOf(
      [10, 20, 30, 40].map((ms) => row(ms, String(ms))),
      100,
    );
    const bounded = { sinceMs: 20, untilMs: 30, limit: 10, cursor: null };
    expect((await pageOf(walkOf(venue.readSpan, { query: bounded }))).rows.map(({ id }) => id)).toEqual(["30", "20"]);
    const wide = cursorAfter("fills", row(41, "x"), 100);
    const read = await pageOf(walkOf(venue.readSpan, { query: { ...bounded, cursor: wide } }));
    expect(read.rows.map(({ id }) => id)).toEqual(["30", "20"]);
    expect(await pageOf(walkOf(venue.readSpan, { query: { ...bounded, sinceMs: 31 } }))).toEqual({
      rows: [],
      nextCursor: null,
    });
  });

  it("counts ids as numbers of any length", async () => {
    const venue = venueOf([row(5, "9"), row(5, "10"), row(5, "9007199254740993")], 100);
    const { ids } = await everyRow(
      walkOf(venue.readSpan, { query: { sinceMs: null, untilMs: null, limit: 1, cursor: null } }),
    );
    expect(ids).toEqual(["5/9007199254740993", "5/10", "5/9"]);
  });

  it("goes on after a row of a contract whose name is in any script", async () => {
    const ids = ["老子USDT:9:BUY", "币安人生USDT:8:SELL", "BTCUSDT:7:BUY"];
    const venue = venueOf(
      ids.map((id, index) => row(9 - index, id)),
      100,
    );
    const walked = await everyRow(
      walkOf(venue.readSpan, { query: { sinceMs: null, untilMs: null, limit: 1, cursor: null } }),
    );
    expect(walked.ids).toEqual(ids.map((id, index) => `${9 - index}/${id}`));
  });

  it("asks a short span first and grows it: an account without history costs a handful of reads", async () => {
    const venue = venueOf([], 100);
    const page = await pageOf(walkOf(venue.readSpan, { nowVenueMs: 1_000_000, maxSpanMs: 10_000_000 }));
    expect(page).toEqual({ rows: [], nextCursor: null });
    expect(venue.asked.length).toBeLessThan(9);
    // Spans touch and never overlap.
    for (const [index, [fromMs]] of venue.asked.entries()) {
      const next = venue.asked[index + 1];
      if (next !== undefined) expect(next[1]).toBe(fromMs - 1);
    }
  });

  it("ends a page that ran out of reads with a cursor that goes on where it stopped", async () => {
    const venue = venueOf([row(3, "old")], 100);
    const walk = walkOf(venue.readSpan, { maxSpanMs: 1_000, maxReads: 2 });
    const first = await pageOf(walk);
    expect(first.rows).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    expect((await everyRow(walk)).ids).toEqual(["3/old"]);
  });

  it("fails rather than skip when one instant holds more than the venue shows", async () => {
    const venue = venueOf(
      Array.from({ length: 9 }, (_, index) => row(50, String(index))),
      5,
    );
    const query = { sinceMs: null, untilMs: 60, limit: 10, cursor: null };
    expect(await walkHistory(walkOf(venue.readSpan, { query }))).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });

  it("gives what it found when a later read fails, and the failure when it found nothing", async () => {
    const venue = venueOf([row(9_990, "new"), row(10, "old")], 100);
    let reads = 0;
    const failing: HistoryWalk<string>["readSpan"] = async (fromMs, untilMs) =>
      ++reads > 2 ? failedRead("TIMEOUT", "late") : venue.readSpan(fromMs, untilMs);
    const query = { sinceMs: null, untilMs: 10_000, limit: 10, cursor: null };
    const page = await pageOf(walkOf(failing, { query }));
    expect(page.rows.map(({ id }) => id)).toEqual(["new"]);
    const rest = await pageOf(
      walkOf(venue.readSpan, { query: { sinceMs: null, untilMs: null, limit: 10, cursor: page.nextCursor } }),
    );
    expect(rest.rows.map(({ id }) => id)).toEqual(["old"]);
    expect(await walkHistory(walkOf(async () => failedRead("AUTH", "no")))).toMatchObject({ code: "AUTH" });
  });

  it.each([
    [""],
    ["fills"],
    ["orders~1~1"],
    ["fills~-1~1"],
    ["fills~1~0"],
    ["fills~1~1~a b"],
    ["fills~99999999999999999~1"],
    [`fills~1~1~${"a".repeat(300)}`],
  ])("refuses the cursor %j that no page of the list gave", async (cursor) => {
    const venue = venueOf([], 100);
    const query = { sinceMs: null, untilMs: null, limit: 1, cursor };
    expect(await walkHistory(walkOf(venue.readSpan, { query }))).toMatchObject({ ok: false, code: "BAD_CURSOR" });
    expect(venue.asked).toEqual([]);
  });
});
