import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { decodeFrame } from "./decode.js";
import { DepthScanner, MAX_SCANNED_LEVELS, SCAN_BBO, SCAN_BOOK, SCAN_OTHER, type ScanKind } from "./scan.js";
import { frameFixture, frameFixtures } from "../fixtures/load.js";
import type { VenuefourWireLevel } from "./wire.js";

interface Scan {
  readonly kind: ScanKind;
  readonly symbol: string;
  readonly timeMs: number;
  readonly bids: readonly string[];
  readonly asks: readonly string[];
}

function scan(text: string | Buffer, scanner = new DepthScanner()): Scan {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const kind = scanner.scan(bytes);
  if (kind === SCAN_OTHER) return { kind, symbol: "", timeMs: 0, bids: [], asks: [] };
  const symbol = bytes.subarray(scanner.symbolStart, scanner.symbolEnd).toString();
  return { kind, symbol, timeMs: scanner.timeMs, bids: sideText(scanner.bids), asks: sideText(scanner.asks) };
}

/** `digits/places@digits/places` per level. */
function sideText(side: ScannedSide): string[] {
  return Array.from({ length: side.count }, (_, index) => {
    const price = `${side.priceDigits[index]}/${side.pricePlaces[index]}`;
    return `${price}@${side.qtyDigits[index]}/${side.qtyPlaces[index]}`;
  });
}

/** The same text from the reference decoder's decimal strings. */
function referenceText(level: VenuefourWireLevel): string {
  return `${digitsOf(level.p)}@${digitsOf(level.a)}`;
}

function digitsOf(decimal: string): string {
  const [integer = "", fraction = ""] = decimal.split(".");
  const kept = fraction.replace(/0+$/, "");
  return `${Number(integer + kept)}/${kept.length}`;
}

function reference(bytes: Buffer): Scan | null {
  const frame = decodeFrame(bytes);
  if (frame.kind === "book") {
    const { s: symbol, t: timeMs, l } = frame.book;
    return { kind: SCAN_BOOK, symbol, timeMs, bids: l[0].map(referenceText), asks: l[1].map(referenceText) };
  }
  if (frame.kind === "bbo") {
    const { s: symbol, t: timeMs, bid, ask } = frame.bbo;
    return {
      kind: SCAN_BBO,
      symbol,
      timeMs,
      bids: bid === null ? [] : [referenceText(bid)],
      asks: ask === null ? [] : [referenceText(ask)],
    };
  }
  return null;
}

const decimal = fc
  // 15 digits at most: beyond that the scanner hands a frame to the decoder.
  .tuple(fc.integer({ min: 0, max: 9_999_999 }), fc.option(fc.stringMatching(/^\d{1,8}$/)))
  .map(([integer, fraction]) => (fraction === null ? String(integer) : `${integer}.${fraction}`));
const space = fc.constantFrom("", "", "", " ", "\n  ", "\t");

/** An object's text with its keys in any order and white space between. */
function objectText(entries: readonly (readonly [string, string])[], gap: string, order: readonly number[]): string {
  const sorted = entries
    .map((entry, index) => ({ entry, rank: order[index] ?? index }))
    .sort((left, right) => left.rank - right.rank);
  return `{${gap}${sorted.map(({ entry }) => `"${entry[0]}"${gap}:${gap}${entry[1]}`).join(`${gap},${gap}`)}${gap}}`;
}

const order = fc.array(fc.nat(9), { minLength: 8, maxLength: 8 });
const level = fc
  .record({ p: decimal, a: decimal, n: fc.option(fc.integer({ min: 0, max: 9_999 })), gap: space, order })
  .map(({ p, a, n, gap, order: keys }) => {
    const entries: [string, string][] = [
      ["a", JSON.stringify(a)],
      ["p", JSON.stringify(p)],
    ];
    if (n !== null) entries.push(["n", String(n)]);
    return objectText(entries, gap, keys);
  });
const side = fc.array(level, { maxLength: 12 }).map((levels) => `[${levels.join(",")}]`);
const head = fc.record({
  symbol: fc.constantFrom("BTC", "ETH", "kPEPE", "2Z", "SP500", "A"),
  time: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  seq: fc.option(fc.integer({ min: 0, max: 900_000_000_000 })),
  gap: space,
  order,
  isDataFirst: fc.boolean(),
});

function frameText(
  channel: string,
  fields: readonly (readonly [string, string])[],
  h: { symbol: string; time: number; seq: number | null; gap: string; order: number[]; isDataFirst: boolean },
): string {
  const entries: (readonly [string, string])[] = [...fields, ["s", JSON.stringify(h.symbol)], ["t", String(h.time)]];
  if (h.seq !== null) entries.push(["li", String(h.seq)]);
  const frame: [string, string][] = [
    ["channel", JSON.stringify(channel)],
    ["data", objectText(entries, h.gap, h.order)],
  ];
  return objectText(frame, h.gap, h.isDataFirst ? [1, 0] : [0, 1]);
}

const bookText = fc
  .record({ head, bids: side, asks: side })
  .map(({ head: h, bids, asks }) => frameText("book", [["l", `[${bids},${asks}]`]], h));
const bboText = fc
  .record({ head, b: decimal, B: decimal, a: decimal, A: decimal, i: fc.nat() })
  .map(({ head: h, b, B, a, A, i }) => {
    const fields: [string, string][] = [
      ["A", JSON.stringify(A)],
      ["B", JSON.stringify(B)],
      ["a", JSON.stringify(a)],
      ["b", JSON.stringify(b)],
      ["i", String(i)],
    ];
    return frameText("bbo", fields, h);
  });

describe("DepthScanner", () => {
  it("takes every recorded book and touch, and nothing else", () => {
    for (const { name, text } of frameFixtures()) {
      const { kind } = scan(text);
      expect([name, kind]).toEqual([
        name,
        /^(doc-)?book/.test(name) ? SCAN_BOOK : /^(doc-)?bbo/.test(name) ? SCAN_BBO : SCAN_OTHER,
      ]);
      if (kind !== SCAN_OTHER) expect(scan(text)).toEqual(reference(Buffer.from(text)));
    }
  });

  it("reads figures, time, symbol and sequence", () => {
    const text = frameFixture("bbo-0");
    const scanner = new DepthScanner();
    expect(scan(text, scanner)).toEqual({
      kind: SCAN_BBO,
      symbol: "BTC",
      timeMs: 1_780_919_440_980,
      bids: ["63509/0@7873/5"],
      asks: ["63529/0@13874/5"],
    });
    expect(scanner.seq).toBe(336_537_380);
  });

  it("reads what the reference reads, keys in any order, white space anywhere, with one scanner for all", () => {
    const scanner = new DepthScanner();
    fc.assert(
      fc.property(fc.oneof(bookText, bboText), (text) => {
        const scanned = scan(text, scanner);
        expect(scanned.kind).not.toBe(SCAN_OTHER);
        expect(scanned).toEqual(reference(Buffer.from(text)));
      }),
      { numRuns: 400 },
    );
  });

  it("takes no frame that the reference reads otherwise, whatever byte is changed, removed or cut", () => {
    const edit = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), kind: fc.nat(2) });
    fc.assert(
      fc.property(fc.oneof(bookText, bboText), fc.array(edit, { minLength: 1, maxLength: 3 }), (text, edits) => {
        let bytes = Buffer.from(text);
        for (const { at, byte, kind } of edits) {
          const index = at % bytes.length;
          if (kind === 0) bytes[index] = byte;
          else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, index), bytes.subarray(index + 1)]);
          else bytes = Buffer.from(bytes.subarray(0, Math.max(1, index)));
        }
        const scanned = scan(bytes);
        if (scanned.kind !== SCAN_OTHER) expect(scanned).toEqual(reference(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["an escape in the symbol", frameFixture("bbo-0").replace('"BTC"', '"\\u0042TC"')],
    ["an exponent", frameFixture("bbo-0").replace('"63509"', '"6.3509e4"')],
    ["a null side", frameFixture("bbo-0").replace('"63509"', "null")],
    ["a number for text", frameFixture("bbo-0").replace('"63509"', "63509")],
    ["an unknown key", frameFixture("bbo-0").replace('"i":', '"zz":')],
    ["a missing side", frameFixture("bbo-0").replace('"b":"63509",', "")],
    ["a missing time", frameFixture("book-0").replace(/,"t":\d+/, "")],
    ["levels twice", frameFixture("book-0").replace('"data":{', '"data":{"l":[[],[]],')],
    ["a touch under the name of a book", frameFixture("bbo-0").replace('"bbo"', '"book"')],
    ["a negative price", frameFixture("book-0").replace('"p":"63515"', '"p":"-63515"')],
    ["something after its end", `${frameFixture("book-0")}x`],
  ])("hands a frame with %s to the careful way", (_what, text) => {
    expect(scan(text).kind).toBe(SCAN_OTHER);
  });

  it("takes up to its bound of levels and hands more to the careful way", () => {
    const book = (count: number): string => {
      const levels = Array.from({ length: count }, (_, index) => ({ p: String(1_000 - index), a: "1", n: 1 }));
      return JSON.stringify({ channel: "book", data: { l: [levels, []], s: "BTC", t: 1 } });
    };
    expect(scan(book(MAX_SCANNED_LEVELS)).bids).toHaveLength(MAX_SCANNED_LEVELS);
    expect(scan(book(MAX_SCANNED_LEVELS + 1)).kind).toBe(SCAN_OTHER);
    expect(reference(Buffer.from(book(MAX_SCANNED_LEVELS + 1)))?.bids).toHaveLength(MAX_SCANNED_LEVELS + 1);
  });
});
