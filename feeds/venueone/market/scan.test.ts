import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { decodeFrame } from "./decode.js";
import { DepthScanner, MAX_SCANNED_LEVELS, SCAN_BBO, SCAN_BOOK, SCAN_OTHER, type ScanKind } from "./scan.js";
import type { VenueoneWireLevel } from "./wire.js";

interface Scan {
  readonly kind: ScanKind;
  readonly coin: string;
  readonly timeMs: number;
  readonly bids: readonly string[];
  readonly asks: readonly string[];
}

function scan(text: string | Buffer): Scan {
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  const scanner = new DepthScanner();
  const kind = scanner.scan(bytes);
  if (kind === SCAN_OTHER) return { kind, coin: "", timeMs: 0, bids: [], asks: [] };
  const coin = bytes.subarray(scanner.coinStart, scanner.coinEnd).toString();
  return { kind, coin, timeMs: scanner.timeMs, bids: sideText(scanner.bids), asks: sideText(scanner.asks) };
}

/** `digits/places@digits/places` per level. */
function sideText(side: ScannedSide): string[] {
  return Array.from({ length: side.count }, (_, index) => {
    const price = `${side.priceDigits[index]}/${side.pricePlaces[index]}`;
    return `${price}@${side.qtyDigits[index]}/${side.qtyPlaces[index]}`;
  });
}

/** The same text from the reference decoder's decimal strings. */
function referenceText(level: VenueoneWireLevel): string {
  return `${digitsOf(level.px)}@${digitsOf(level.sz)}`;
}

function digitsOf(decimal: string): string {
  const [integer = "", fraction = ""] = decimal.split(".");
  const kept = fraction.replace(/0+$/, "");
  return `${Number(integer + kept)}/${kept.length}`;
}

function reference(bytes: Buffer): Scan | null {
  const frame = decodeFrame(bytes);
  if (frame.kind === "book") {
    const [bids, asks] = frame.book.levels;
    return {
      kind: SCAN_BOOK,
      coin: frame.book.coin,
      timeMs: frame.book.time,
      bids: bids.map(referenceText),
      asks: asks.map(referenceText),
    };
  }
  if (frame.kind === "bbo") {
    const [bid, ask] = frame.bbo.bbo;
    return {
      kind: SCAN_BBO,
      coin: frame.bbo.coin,
      timeMs: frame.bbo.time,
      bids: bid === null ? [] : [referenceText(bid)],
      asks: ask === null ? [] : [referenceText(ask)],
    };
  }
  return null;
}

const decimal = fc
  // 15 digits at most: beyond that the scanner leaves a frame to the decoder.
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

const level = fc
  .record({
    px: decimal,
    sz: decimal,
    n: fc.integer({ min: 0, max: 9_999 }),
    gap: space,
    order: fc.array(fc.nat(9), { minLength: 3, maxLength: 3 }),
  })
  .map(({ px, sz, n, gap, order }) =>
    objectText(
      [
        ["px", JSON.stringify(px)],
        ["sz", JSON.stringify(sz)],
        ["n", String(n)],
      ],
      gap,
      order,
    ),
  );
const side = fc.array(level, { maxLength: 20 }).map((levels) => `[${levels.join(",")}]`);
const coin = fc.constantFrom("BTC", "ETH", "kPEPE", "xyz:TSLA", "@107", "A");
const head = fc.record({
  coin,
  time: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  gap: space,
  order: fc.array(fc.nat(9), { minLength: 4, maxLength: 4 }),
  outer: fc.boolean(),
});

const bookText = fc
  .record({ head, bids: side, asks: side, fast: fc.boolean() })
  .map(({ head: h, bids, asks, fast }) => {
    const entries: [string, string][] = [
      ["coin", JSON.stringify(h.coin)],
      ["time", String(h.time)],
      ["levels", `[${bids},${asks}]`],
    ];
    if (fast) entries.push(["fast", "true"]);
    const data = objectText(entries, h.gap, h.order);
    return objectText(
      [
        ["channel", '"l2Book"'],
        ["data", data],
      ],
      h.gap,
      h.outer ? [0, 1] : [1, 0],
    );
  });
const touchSide = fc.oneof(fc.constant("null"), level);
const bboText = fc.record({ head, bid: touchSide, ask: touchSide }).map(({ head: h, bid, ask }) => {
  const data = objectText(
    [
      ["coin", JSON.stringify(h.coin)],
      ["time", String(h.time)],
      ["bbo", `[${bid},${ask}]`],
    ],
    h.gap,
    h.order,
  );
  return objectText(
    [
      ["channel", '"bbo"'],
      ["data", data],
    ],
    h.gap,
    h.outer ? [0, 1] : [1, 0],
  );
});

describe("DepthScanner", () => {
  it("reads a frame as the venue sends it", () => {
    const text =
      '{"channel":"l2Book","data":{"coin":"kPEPE","time":1790232236546,"levels":[[{"px":"0.004411","sz":"2058973.0","n":5}],[{"px":"0.004413","sz":"5803647.0","n":11},{"px":"10.50","sz":"0.10","n":1}]],"fast":true}}';
    expect(scan(text)).toEqual({
      kind: SCAN_BOOK,
      coin: "kPEPE",
      timeMs: 1_790_232_236_546,
      bids: ["4411/6@2058973/0"],
      asks: ["4413/6@5803647/0", "105/1@1/1"],
    });
  });

  it("reads an empty side and a missing touch", () => {
    expect(scan('{"channel":"l2Book","data":{"coin":"MATIC","time":1,"levels":[[],[]]}}')).toMatchObject({
      kind: SCAN_BOOK,
      bids: [],
      asks: [],
    });
    expect(
      scan('{"channel":"bbo","data":{"coin":"BTC","time":1,"bbo":[null,{"px":"2","sz":"1","n":1}]}}'),
    ).toMatchObject({
      kind: SCAN_BBO,
      bids: [],
      asks: ["2/0@1/0"],
    });
  });

  it("equals JSON.parse and the checked decoder on any depth frame, keys in any order, with white space", () => {
    fc.assert(
      fc.property(fc.oneof(bookText, bboText), (text) => {
        const bytes = Buffer.from(text);
        expect(scan(bytes)).toEqual(reference(bytes));
      }),
      { numRuns: 400 },
    );
  });

  it("on damaged bytes never throws, and takes nothing that the reference would refuse or read otherwise", () => {
    const damage = fc.record({
      at: fc.nat(),
      byte: fc.integer({ min: 0, max: 255 }),
      kind: fc.constantFrom("set", "cut", "insert", "delete", "repeat"),
    });
    let taken = 0;
    fc.assert(
      fc.property(fc.oneof(bookText, bboText), fc.array(damage, { minLength: 1, maxLength: 3 }), (text, damages) => {
        let bytes = Buffer.from(text);
        for (const { at, byte, kind } of damages) {
          const index = at % (bytes.length + 1);
          const before = bytes.subarray(0, index);
          const after = bytes.subarray(index);
          if (kind === "cut") bytes = Buffer.from(before);
          else if (kind === "insert") bytes = Buffer.concat([before, Buffer.from([byte]), after]);
          else if (kind === "delete") bytes = Buffer.concat([before, after.subarray(1)]);
          else if (kind === "repeat") bytes = Buffer.concat([before, after, after]);
          else if (index < bytes.length) bytes[index] = byte;
        }
        const scanned = scan(bytes);
        if (scanned.kind === SCAN_OTHER) return;
        taken++;
        expect(scanned).toEqual(reference(bytes));
      }),
      { numRuns: 3_000 },
    );
    // Some damage keeps a frame valid (a changed digit): the comparison above must have seen such.
    expect(taken).toBeGreaterThan(50);
  });

  it("never throws on garbage, and declines every proper prefix of a frame", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => scan(Buffer.from(bytes)).kind === SCAN_OTHER));
    const text = '{"channel":"bbo","data":{"coin":"BTC","time":12,"bbo":[{"px":"2.5","sz":"1","n":1},null]}}';
    for (let length = 0; length < text.length; length++) expect(scan(text.slice(0, length)).kind).toBe(SCAN_OTHER);
    expect(scan(text).kind).toBe(SCAN_BBO);
  });

  it.each([
    ["another channel", '{"channel":"trades","data":[]}'],
    ["a pong", '{"channel":"pong"}'],
    ["an escape in a name", '{"channel":"l2Book","data":{"coin":"B\\u0054C","time":1,"levels":[[],[]]}}'],
    ["an exponent", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"1e5","sz":"1","n":1}],[]]}}'],
    [
      "a negative price",
      '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"-1","sz":"1","n":1}],[]]}}',
    ],
    [
      "more digits than a double holds",
      '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"1234567890.1234567","sz":"1","n":1}],[]]}}',
    ],
    ["a level without a size", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"1","n":1}],[]]}}'],
    [
      "a number where text belongs",
      '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":1,"sz":"1","n":1}],[]]}}',
    ],
    ["a lone point", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"1.","sz":"1","n":1}],[]]}}'],
    ["a leading zero in a time", '{"channel":"l2Book","data":{"coin":"BTC","time":01,"levels":[[],[]]}}'],
    ["no time", '{"channel":"l2Book","data":{"coin":"BTC","levels":[[],[]]}}'],
    ["one side", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[]]}}'],
    ["three sides", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[],[],[]]}}'],
    ["a touch on the book channel", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"bbo":[null,null]}}'],
    ["an unknown key", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[],[]],"spread":"1"}}'],
    ["text after the frame", '{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[],[]]}} x'],
    ["two frames", '{"channel":"bbo","data":{"coin":"B","time":1,"bbo":[null,null]}}{"channel":"bbo"}'],
  ])("leaves %s to the slow way", (_what, text) => {
    expect(scan(text).kind).toBe(SCAN_OTHER);
  });

  it("declines a book deeper than its arrays instead of cutting it", () => {
    const levels = (count: number): string =>
      Array.from({ length: count }, (_, index) => `{"px":"${1000 - index}","sz":"1","n":1}`).join(",");
    const frame = (count: number): string =>
      `{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[${levels(count)}],[]]}}`;
    expect(scan(frame(MAX_SCANNED_LEVELS))).toMatchObject({ kind: SCAN_BOOK });
    expect(scan(frame(MAX_SCANNED_LEVELS + 1)).kind).toBe(SCAN_OTHER);
  });
});
