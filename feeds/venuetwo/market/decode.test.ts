import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VenuetwoDecoder } from "./decode.js";
import {
  FRAME_BOOK_TICKER,
  FRAME_DEPTH,
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_TRADE,
  type FrameKind,
  type VenuetwoFrame,
} from "./frame.js";

const DEPTH = {
  e: "depthUpdate",
  E: 1754556878284,
  T: 1754556878031,
  s: "BTCUSDT",
  U: 156391349814,
  u: 156391349815,
  pu: 156391348236,
  b: [
    ["114988.3", "0.147"],
    ["114980.0", "0.000"],
  ],
  a: [["114988.4", "1.060"]],
};
const BOOK_TICKER = {
  e: "bookTicker",
  u: 157240846459,
  s: "BTCUSDT",
  b: "122046.7",
  B: "1.084",
  a: "122046.8",
  A: "0.001",
  T: 1754896692922,
  E: 1754896692926,
};
const AGG_TRADE = {
  e: "aggTrade",
  E: 1754551358681,
  a: 20505890,
  s: "BTCUSDT",
  p: "114783.7",
  q: "0.020",
  f: 26024678,
  l: 26024682,
  T: 1754551358528,
  m: false,
};
const TRADE = {
  e: "trade",
  E: 1723161256322,
  T: 1723161256322,
  s: "BTCUSDT",
  t: 5266583935,
  p: "61800.3",
  q: "0.006",
  X: "MARKET",
  m: true,
};

function decoder(): VenuetwoDecoder {
  const made = new VenuetwoDecoder();
  made.register("BTCUSDT", 1, 3);
  return made;
}

function decodeText(made: VenuetwoDecoder, text: string): FrameKind {
  const bytes = Buffer.from(text);
  return made.decodeFrame(bytes, 0, bytes.length);
}

function decode(frame: unknown): { kind: FrameKind; made: VenuetwoDecoder } {
  const made = decoder();
  return { kind: decodeText(made, JSON.stringify(frame)), made };
}

/** Everything a frame of that kind holds. */
function content(frame: VenuetwoFrame): unknown {
  const { bidTicks, bidLots, askTicks, askLots, ...scalars } = frame;
  return {
    ...scalars,
    bids: [...bidTicks.subarray(0, frame.bidCount)].map((ticks, index) => [ticks, bidLots[index]]),
    asks: [...askTicks.subarray(0, frame.askCount)].map((ticks, index) => [ticks, askLots[index]]),
  };
}

describe("decodeFrame", () => {
  it("reads a diff into ticks and lots on the fast path", () => {
    const { kind, made } = decode(DEPTH);
    expect(kind).toBe(FRAME_DEPTH);
    expect(content(made.frame)).toMatchObject({
      slot: 0,
      tsEventMs: 1754556878284,
      tsTransactionMs: 1754556878031,
      firstId: 156391349814,
      lastId: 156391349815,
      prevId: 156391348236,
      bids: [
        [1_149_883, 147],
        [1_149_800, 0],
      ],
      asks: [[1_149_884, 1_060]],
    });
    expect(made.carefulCount).toBe(0);
  });

  it("reads combined and raw envelopes alike", () => {
    const made = decoder();
    decodeText(made, JSON.stringify(DEPTH));
    const raw = content(made.frame);
    expect(decodeText(made, JSON.stringify({ stream: "btcusdt@depth@100ms", data: DEPTH }))).toBe(FRAME_DEPTH);
    expect(content(made.frame)).toEqual(raw);
    expect(made.carefulCount).toBe(0);
  });

  it("reads bookTicker, aggTrade and trade on the fast path", () => {
    const made = decoder();
    expect(decodeText(made, JSON.stringify(BOOK_TICKER))).toBe(FRAME_BOOK_TICKER);
    expect(content(made.frame)).toMatchObject({
      lastId: 157240846459,
      touchBidTicks: 1_220_467,
      touchBidLots: 1_084,
      touchAskTicks: 1_220_468,
      touchAskLots: 1,
    });
    expect(decodeText(made, JSON.stringify(AGG_TRADE))).toBe(FRAME_TRADE);
    expect(content(made.frame)).toMatchObject({
      tradeId: 20505890,
      tradeTicks: 1_147_837,
      tradeLots: 20,
      isBuyerMaker: false,
    });
    expect(decodeText(made, JSON.stringify(TRADE))).toBe(FRAME_TRADE);
    expect(content(made.frame)).toMatchObject({ tradeId: 5266583935, isBuyerMaker: true });
    expect(made.carefulCount).toBe(0);
  });

  it("reads the sister dialects' extra fields and orders", () => {
    const coinM = {
      u: 1007198632021,
      e: "bookTicker",
      s: "BTCUSDT",
      ps: "BTCUSD",
      b: "61804.7",
      B: "0.035",
      a: "61804.8",
      A: "1.645",
      T: 1,
      E: 2,
      st: 1,
    };
    expect(decode(coinM).kind).toBe(FRAME_BOOK_TICKER);
    const newer = {
      e: "depthUpdate",
      E: 1,
      T: 1,
      s: "BTCUSDT",
      ps: "BTCUSDT",
      st: 1,
      U: 157,
      u: 160,
      pu: 149,
      b: [["1.5", "10"]],
      a: [],
    };
    expect(decode(newer).kind).toBe(FRAME_DEPTH);
    expect(decode({ ...AGG_TRADE, nq: "0.020" }).kind).toBe(FRAME_TRADE);
  });

  it("reads a one-sided touch as an empty side", () => {
    const { kind, made } = decode({ ...BOOK_TICKER, a: "0.000000", A: "0.0" });
    expect(kind).toBe(FRAME_BOOK_TICKER);
    expect(made.frame.touchAskLots).toBe(0);
  });

  it("accepts zeros beyond the decimals and pads missing ones", () => {
    const { kind, made } = decode({
      ...DEPTH,
      b: [
        ["114988.3000000", "0.147000"],
        ["7", "2"],
        ["0005.5", "1.5"],
      ],
    });
    expect(kind).toBe(FRAME_DEPTH);
    expect([...made.frame.bidTicks.subarray(0, 3)]).toEqual([1_149_883, 70, 55]);
    expect([...made.frame.bidLots.subarray(0, 3)]).toEqual([147, 2_000, 1_500]);
  });

  it("reads figures longer than an int32 exactly", () => {
    const { kind, made } = decode({ ...DEPTH, b: [["900719925474099.1", "9007199254740.991"]] });
    expect(kind).toBe(FRAME_DEPTH);
    expect(made.frame.bidTicks[0]).toBe(9_007_199_254_740_991);
    expect(made.frame.bidLots[0]).toBe(9_007_199_254_740_991);
  });

  it.each([
    ["a digit finer than the tick", { ...DEPTH, b: [["114988.31", "0.147"]] }],
    ["a digit finer than the lot", { ...DEPTH, a: [["114988.4", "0.0001"]] }],
    ["a price beyond 2^53", { ...DEPTH, b: [["900719925474099.2", "1.000"]] }],
    ["a touch finer than the tick", { ...BOOK_TICKER, b: "122046.75" }],
    ["a trade finer than the lot", { ...AGG_TRADE, q: "0.0205" }],
    [
      "more levels than a book may have",
      { ...DEPTH, b: Array.from({ length: 65_537 }, (_, index) => [`${index + 1}.0`, "1.000"]) },
    ],
  ])("calls %s protocol drift and names the symbol", (_name, frame) => {
    const { kind, made } = decode(frame);
    expect(kind).toBe(FRAME_DRIFT);
    expect(made.frame.slot).toBe(0);
    expect(made.driftCount).toBe(1);
  });

  it.each(["U", "u", "pu"])("calls an id %s beyond 2^53 protocol drift instead of corrupting it", (field) => {
    const text = JSON.stringify(DEPTH).replace(new RegExp(`"${field}":\\d+`), `"${field}":9007199254740993`);
    const made = decoder();
    expect(decodeText(made, text)).toBe(FRAME_DRIFT);
    expect(decodeText(made, text.replaceAll(":", ": "))).toBe(FRAME_DRIFT);
  });

  it("takes an id of exactly 2^53 - 1", () => {
    const { kind, made } = decode({ ...DEPTH, u: Number.MAX_SAFE_INTEGER });
    expect([kind, made.frame.lastId]).toEqual([FRAME_DEPTH, Number.MAX_SAFE_INTEGER]);
  });

  it.each([
    ["nothing", ""],
    ["half a frame", JSON.stringify(DEPTH).slice(0, 150)],
    ["a frame without its last brace", JSON.stringify(DEPTH).slice(0, -1)],
    ["two frames in one", JSON.stringify(BOOK_TICKER).repeat(2)],
    ["text", "hello"],
    ["a number", "5"],
    ["null", "null"],
    ["levels without quantity", JSON.stringify({ ...DEPTH, b: [["7403.8"]] })],
    ["levels of numbers", JSON.stringify({ ...DEPTH, b: [[7403.8, 1]] })],
    ["a level object", JSON.stringify({ ...DEPTH, b: [{ p: "1" }] })],
    ["a negative price", JSON.stringify({ ...DEPTH, b: [["-1.0", "1.000"]] })],
    ["an exponent", JSON.stringify({ ...DEPTH, b: [["1e5", "1.000"]] })],
    ["an empty figure", JSON.stringify({ ...DEPTH, b: [["", "1.000"]] })],
    ["a lone point", JSON.stringify({ ...DEPTH, b: [[".", "1.000"]] })],
    ["no digit before the point", JSON.stringify({ ...DEPTH, b: [[".5", "1.000"]] })],
    ["no digit after the point", JSON.stringify({ ...DEPTH, b: [["5.", "1.000"]] })],
    ["two points", JSON.stringify({ ...DEPTH, b: [["1.2.3", "1.000"]] })],
    ["no pu", JSON.stringify({ ...DEPTH, pu: undefined })],
    ["a fractional id", JSON.stringify({ ...DEPTH, u: 1.5 })],
    ["a negative id", JSON.stringify({ ...DEPTH, u: -1 })],
    ["a text id", JSON.stringify({ ...DEPTH, u: "1" })],
    ["no bids", JSON.stringify({ ...DEPTH, b: undefined })],
    ["no symbol", JSON.stringify({ ...DEPTH, s: undefined })],
    ["a trade without its side", JSON.stringify({ ...TRADE, m: undefined })],
    ["a trade whose side is text", JSON.stringify({ ...TRADE, m: "true" })],
    ["a touch without a price", JSON.stringify({ ...BOOK_TICKER, b: undefined })],
  ])("counts %s as malformed and does not throw", (_name, text) => {
    const made = decoder();
    expect(decodeText(made, text)).toBe(FRAME_MALFORMED);
    expect(made.malformedCount).toBe(1);
  });

  it.each([
    [
      "markPriceUpdate",
      { e: "markPriceUpdate", E: 1, s: "BTCUSDT", p: "116809.60000000", i: "1", P: "1", r: "0.0001", T: 2 },
    ],
    ["24hrTicker", { e: "24hrTicker", E: 1, s: "BTCUSDT", p: "-0.088", P: "-3.361", c: "2.53" }],
    ["kline", { e: "kline", E: 1, s: "BTCUSDT", k: { t: 1 } }],
    ["an acknowledgement", { result: null, id: 1 }],
    ["an error", { code: 2, msg: "Invalid request" }],
    ["an array stream", [{ e: "24hrTicker" }]],
    ["an array inside an envelope", { stream: "!ticker@arr", data: [{ e: "24hrTicker" }] }],
    ["a kind named like a hot one", { e: "depthUpdateX", s: "BTCUSDT" }],
  ])("leaves %s to the JSON path", (_name, frame) => {
    expect(decode(frame).kind).toBe(FRAME_OTHER);
  });

  it("counts symbols nobody registered", () => {
    const { kind, made } = decode({ ...DEPTH, s: "ETHUSDT" });
    expect([kind, made.foreignCount]).toEqual([FRAME_FOREIGN, 1]);
    expect(decode({ ...BOOK_TICKER, s: "BTCUSD" }).kind).toBe(FRAME_FOREIGN);
  });

  it("tells symbols apart that share a prefix or are not ASCII", () => {
    const made = new VenuetwoDecoder();
    const slots = ["BTCUSDT", "BTCUSD", "币安USDT", "1000PEPEUSDT"].map((name, index) => made.register(name, index, 0));
    for (const [index, name] of ["BTCUSDT", "BTCUSD", "币安USDT", "1000PEPEUSDT"].entries()) {
      decodeText(made, JSON.stringify({ ...DEPTH, s: name, b: [["1", "1"]], a: [] }));
      expect(made.frame.slot).toBe(slots[index]);
      expect(made.frame.bidTicks[0]).toBe(10 ** index);
    }
  });

  it("decodes a frame inside a larger buffer and nothing around it", () => {
    const made = decoder();
    const text = JSON.stringify(DEPTH);
    const bytes = Buffer.from(`{"x":1}\n${text}\n${text}`);
    expect(made.decodeFrame(bytes, 8, 8 + text.length)).toBe(FRAME_DEPTH);
    expect(made.decodeFrame(bytes, 8, 8 + text.length - 1)).toBe(FRAME_MALFORMED);
    expect(made.decodeFrame(bytes, 8, 8 + text.length + 1)).toBe(FRAME_DEPTH);
  });
});

const priceText = fc.tuple(fc.nat(200_000), fc.nat(9)).map(([whole, tenth]) => `${whole}.${tenth}`);
const qtyText = fc
  .tuple(fc.nat(5_000), fc.nat(999), fc.constantFrom("", "0", "000"))
  .map(([whole, rest, zeros]) => `${whole}.${String(rest).padStart(3, "0")}${zeros}`);
const levels = fc.array(fc.tuple(priceText, qtyText), { maxLength: 30 });
const id = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const depthFrame = fc.record({
  e: fc.constant("depthUpdate"),
  E: id,
  T: id,
  s: fc.constant("BTCUSDT"),
  U: id,
  u: id,
  pu: id,
  b: levels,
  a: levels,
});
const touchFrame = fc.record({
  e: fc.constant("bookTicker"),
  u: id,
  s: fc.constant("BTCUSDT"),
  b: priceText,
  B: qtyText,
  a: priceText,
  A: qtyText,
  T: id,
  E: id,
});
const tradeFrame = fc.record({
  e: fc.constant("aggTrade"),
  E: id,
  a: id,
  s: fc.constant("BTCUSDT"),
  p: priceText,
  q: qtyText,
  f: id,
  l: id,
  T: id,
  m: fc.boolean(),
});
const anyFrame = fc.oneof(depthFrame, touchFrame, tradeFrame);

describe("decoder properties", () => {
  it("means the same in any field order, spacing and envelope, fast or careful", () => {
    fc.assert(
      fc.property(anyFrame, fc.infiniteStream(fc.nat(1000)), fc.boolean(), (frame, order, isWrapped) => {
        const made = decoder();
        const kind = decodeText(made, JSON.stringify(frame));
        const expected = content(made.frame);
        expect(made.carefulCount).toBe(0);

        const ranks = new Map(Object.keys(frame).map((key) => [key, order.next().value ?? 0]));
        const shuffled = Object.fromEntries(
          Object.entries(frame).sort((left, right) => (ranks.get(left[0]) ?? 0) - (ranks.get(right[0]) ?? 0)),
        );
        const wrapped = isWrapped ? { stream: "x", data: shuffled } : shuffled;
        expect(decodeText(made, JSON.stringify(wrapped))).toBe(kind);
        expect(content(made.frame)).toEqual(expected);

        // Spaces send it the careful way.
        expect(decodeText(made, JSON.stringify(wrapped, null, 1))).toBe(kind);
        expect(content(made.frame)).toEqual(expected);
        expect(made.carefulCount).toBeGreaterThan(0);
      }),
      { numRuns: 300, seed: 31 },
    );
  });

  it("judges damaged frames as JSON.parse does: never accepted where that fails, never throws", () => {
    fc.assert(
      fc.property(anyFrame, fc.nat(2000), fc.nat(255), fc.boolean(), (frame, position, byte, isCut) => {
        const bytes = Buffer.from(JSON.stringify(frame));
        const at = position % bytes.length;
        const damaged = isCut ? bytes.subarray(0, at) : bytes;
        if (!isCut) bytes[at] = byte;
        const kind = decoder().decodeFrame(damaged, 0, damaged.length);
        let isJson = true;
        try {
          JSON.parse(damaged.toString("utf8"));
        } catch {
          isJson = false;
        }
        // A skipped field's spelling is not judged (decode.ts): only there may the fast path be milder.
        if (!isJson && kind !== FRAME_MALFORMED)
          expect(["f", "l", "E", "T", "m"].some((key) => key in frame)).toBe(true);
        if (isCut) expect(kind).toBe(FRAME_MALFORMED);
      }),
      { numRuns: 2_000, seed: 32 },
    );
  });

  it("survives 100 000 mutated frames and stays usable", () => {
    const random = createSeededRandom(33);
    const made = decoder();
    const sources = [DEPTH, BOOK_TICKER, AGG_TRADE, TRADE].map((frame) =>
      Buffer.from(JSON.stringify({ stream: "btcusdt@x", data: frame })),
    );
    const counts = new Array<number>(7).fill(0);
    for (let run = 0; run < 100_000; run++) {
      const bytes = Buffer.from(sources[run % sources.length] ?? "");
      for (let change = 0; change <= random.next() * 4; change++)
        bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
      const end = random.next() < 0.2 ? Math.floor(random.next() * bytes.length) : bytes.length;
      const kind = made.decodeFrame(bytes, 0, end);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    expect(made.frameCount).toBe(100_000);
    expect(counts[FRAME_MALFORMED]).toBe(made.malformedCount);
    expect(counts[FRAME_DRIFT]).toBe(made.driftCount);
    expect(decodeText(made, JSON.stringify(DEPTH))).toBe(FRAME_DEPTH);
    expect(content(made.frame)).toMatchObject({
      bids: [
        [1_149_883, 147],
        [1_149_800, 0],
      ],
    });
  });
});

describe("decodeSnapshot", () => {
  const SNAPSHOT = {
    lastUpdateId: 600859619434,
    E: 5,
    T: 4,
    bids: [
      ["100.5", "1.500"],
      ["100.4", "2"],
    ],
    asks: [["100.6", "0.001"]],
  };
  const decodeSnapshot = (value: unknown, spaces = 0) => {
    const made = decoder();
    const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value, null, spaces));
    return { kind: made.decodeSnapshot(bytes, 0, bytes.length, 0), made };
  };

  it("reads levels, id and times, fast and careful alike", () => {
    for (const spaces of [0, 2]) {
      const { kind, made } = decodeSnapshot(SNAPSHOT, spaces);
      expect(kind).toBe(FRAME_DEPTH);
      expect(content(made.frame)).toMatchObject({
        slot: 0,
        lastId: 600859619434,
        tsEventMs: 5,
        bids: [
          [1_005, 1_500],
          [1_004, 2_000],
        ],
        asks: [[1_006, 1]],
      });
      expect(made.carefulCount).toBe(spaces === 0 ? 0 : 1);
    }
  });

  it("reads other orders and extra fields", () => {
    const { lastUpdateId, ...rest } = SNAPSHOT;
    expect(decodeSnapshot({ symbol: "BTCUSDT", pair: "BTC", ...rest, lastUpdateId }).kind).toBe(FRAME_DEPTH);
  });

  it.each([
    ["an error body", { code: -1121, msg: "Invalid symbol." }],
    ["a page of HTML", "<html></html>"],
    ["half of it", JSON.stringify(SNAPSHOT).slice(0, 60)],
    ["no asks", { ...SNAPSHOT, asks: undefined }],
  ])("calls %s malformed", (_name, value) => {
    expect(decodeSnapshot(value).kind).toBe(FRAME_MALFORMED);
  });

  it("calls figures beyond the decimals drift", () => {
    expect(decodeSnapshot({ ...SNAPSHOT, bids: [["100.55", "1.000"]] }).kind).toBe(FRAME_DRIFT);
  });

  it("grows for a deep book", () => {
    const bids = Array.from({ length: 5_000 }, (_, index) => [`${5_001 - index}.0`, "1.000"]);
    const { kind, made } = decodeSnapshot({ ...SNAPSHOT, bids });
    expect([kind, made.frame.bidCount, made.frame.bidTicks[4_999]]).toEqual([FRAME_DEPTH, 5_000, 20]);
  });
});
