import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VenuethreeDecoder } from "./decode.js";
import {
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
  FRAME_UPDATE,
  type FrameSide,
} from "./frame.js";

const MARKET_ID = 36;

function decoderFor(priceDecimals = 5, qtyDecimals = 1): VenuethreeDecoder {
  const decoder = new VenuethreeDecoder();
  decoder.register(MARKET_ID, priceDecimals, qtyDecimals);
  return decoder;
}

function decode(decoder: VenuethreeDecoder, frame: unknown): number {
  const bytes = Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame));
  return decoder.decodeFrame(bytes, 0, bytes.length);
}

function levels(side: FrameSide): readonly (readonly [number, number])[] {
  return Array.from({ length: side.count }, (_, index) => [side.ticks[index] ?? -1, side.lots[index] ?? -1]);
}

function registers(decoder: VenuethreeDecoder): unknown {
  const { bids, asks, ...rest } = decoder.frame;
  return { ...rest, bids: levels(bids), asks: levels(asks) };
}

function update(change: Record<string, unknown> = {}, book: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    channel: `order_book:${MARKET_ID}`,
    last_updated_at: 1785358812048570,
    offset: 415806,
    order_book: {
      code: 0,
      asks: [
        { price: "0.20416", size: "25374.8" },
        { price: "0.20421", size: "0.0" },
      ],
      bids: [{ price: "0.20351", size: "0.0" }],
      offset: 415806,
      nonce: 18032384006,
      last_updated_at: 1785358812048570,
      begin_nonce: 18032383898,
      ...book,
    },
    timestamp: 1785358812058,
    type: "update/order_book",
    ...change,
  };
}

const ticker = (a: unknown, b: unknown, change: Record<string, unknown> = {}): Record<string, unknown> => ({
  channel: `ticker:${MARKET_ID}`,
  last_updated_at: 1785252530834835,
  nonce: 17926043680,
  ticker: { s: "CRV", a, b, last_updated_at: 1785252530834835 },
  timestamp: 1785252530836,
  type: "update/ticker",
  ...change,
});

describe("order book frames", () => {
  it("turns figures into ticks and lots, and takes nonces and time", () => {
    const decoder = decoderFor();
    expect(decode(decoder, update())).toBe(FRAME_UPDATE);
    expect(registers(decoder)).toMatchObject({
      slot: 0,
      nonce: 18032384006,
      beginNonce: 18032383898,
      tsVenueMs: 1785358812058,
      asks: [
        [20416, 253748],
        [20421, 0],
      ],
      bids: [[20351, 0]],
    });
    expect(decoder.carefulCount).toBe(0);
    expect(decode(decoder, update({ type: "subscribed/order_book" }))).toBe(FRAME_SNAPSHOT);
  });

  it("takes zeros in any print as removals, and figures of unusual width", () => {
    const decoder = decoderFor();
    const sizes = ["0", "0.0", "0.00", "7", "7.5", "7.50", "007.5"];
    const asks = sizes.map((size, index) => ({ price: `1.0000${index}`, size }));
    expect(decode(decoder, update({}, { asks }))).toBe(FRAME_UPDATE);
    expect(levels(decoder.frame.asks).map(([, lots]) => lots)).toEqual([0, 0, 0, 70, 75, 75, 75]);
  });

  it.each([
    ["a price finer than the market's", { asks: [{ price: "0.204161", size: "1.0" }] }],
    ["a size finer than the market's", { bids: [{ price: "0.20416", size: "0.05" }] }],
    ["a size beyond 2^53", { bids: [{ price: "0.20416", size: "90071992547409920.0" }] }],
  ])("calls %s drift and names the market", (_name, book) => {
    const decoder = decoderFor();
    expect(decode(decoder, update({}, book))).toBe(FRAME_DRIFT);
    expect([decoder.frame.slot, decoder.driftCount]).toEqual([0, 1]);
  });

  it("calls a nonce beyond 2^53 drift, in compact and in spaced print", () => {
    const text = JSON.stringify(update()).replace("18032384006", "9007199254740993");
    expect(decode(decoderFor(), text)).toBe(FRAME_DRIFT);
    expect(decode(decoderFor(), text.replaceAll(",", ", "))).toBe(FRAME_DRIFT);
  });

  it("distinguishes an absent begin_nonce", () => {
    const decoder = decoderFor();
    const frame = update();
    delete (frame["order_book"] as Record<string, unknown>)["begin_nonce"];
    expect(decode(decoder, frame)).toBe(FRAME_UPDATE);
    expect([decoder.frame.beginNonce, decoder.carefulCount]).toEqual([-1, 0]);
  });

  it("reads null sides as empty", () => {
    const decoder = decoderFor();
    expect(decode(decoder, update({ type: "subscribed/order_book" }, { asks: null, bids: null, nonce: 0 }))).toBe(
      FRAME_SNAPSHOT,
    );
    expect(registers(decoder)).toMatchObject({ nonce: 0, asks: [], bids: [] });
  });

  it.each([
    ["numbers for text", update({}, { asks: [{ price: 0.2, size: "1.0" }] })],
    ["a level without a size", update({}, { asks: [{ price: "0.2" }] })],
    ["an exponent", update({}, { asks: [{ price: "0.2", size: "1e2" }] })],
    ["a negative size", update({}, { asks: [{ price: "0.2", size: "-1.0" }] })],
    ["no nonce", update({}, { nonce: undefined })],
    ["no book", update({ order_book: undefined })],
    ["an unknown type", update({ type: "patch/order_book" })],
  ])("refuses %s as malformed", (_name, frame) => {
    expect(decode(decoderFor(), frame)).toBe(FRAME_MALFORMED);
  });

  it("counts books of markets that are not listed", () => {
    const decoder = decoderFor();
    expect(decode(decoder, update({ channel: "order_book:37" }))).toBe(FRAME_FOREIGN);
    expect(decode(decoder, update({ channel: "order_book:99999" }))).toBe(FRAME_FOREIGN);
    expect(decoder.foreignCount).toBe(2);
  });

  it("scales by the decimals registered last", () => {
    const decoder = decoderFor();
    expect(decoder.register(MARKET_ID, 6, 2)).toBe(0);
    decode(decoder, update());
    expect(levels(decoder.frame.asks)[0]).toEqual([204160, 2537480]);
  });
});

describe("ticker frames", () => {
  it("reads both sides, and empty texts as empty sides", () => {
    const decoder = decoderFor();
    expect(decode(decoder, ticker({ price: "0.20420", size: "3.5" }, { price: "0.20418", size: "0.2" }))).toBe(
      FRAME_TICKER,
    );
    expect(decoder.frame).toMatchObject({
      touchAskTicks: 20420,
      touchAskLots: 35,
      touchBidTicks: 20418,
      touchBidLots: 2,
      nonce: 17926043680,
      isTicker: true,
    });
    expect(decoder.carefulCount).toBe(0);
    const empty = { price: "", size: "" };
    expect(decode(decoder, ticker(empty, { price: "0.20418", size: "0.2" }))).toBe(FRAME_TICKER);
    expect(decoder.frame).toMatchObject({ touchAskTicks: 0, touchAskLots: 0, touchBidLots: 2 });
  });

  it("says that a drift is the ticker's, not the book's", () => {
    const decoder = decoderFor();
    expect(decode(decoder, ticker({ price: "0.204201", size: "3.5" }, { price: "0.20418", size: "0.2" }))).toBe(
      FRAME_DRIFT,
    );
    expect(decoder.frame.isTicker).toBe(true);
  });
});

describe("other frames", () => {
  it.each([
    ["greeting", '{"session_id":"b2","type":"connected"}'],
    ["pong", '{"type":"pong"}'],
    ["acknowledgement", '{"type": "unsubscribed", "channel": "order_book:36"}'],
    ["compact acknowledgement", '{"channel":"order_book:36","type":"unsubscribed"}'],
    ["trades", '{"channel":"trade:36","trades":[],"type":"update/trade"}'],
    ["statistics", '{"channel":"market_stats:all","market_stats":{},"type":"update/market_stats"}'],
    ["error", '{"error":{"code":30003,"message":"Already Subscribed to : order_book:36"}}'],
  ])("hands a %s to the slow decoder", (_name, text) => {
    expect(decode(decoderFor(), text)).toBe(FRAME_OTHER);
  });

  it.each(["", "{", "}", "[]", "null", "12", "not json", '{"channel":"order_book:36"'])("refuses %j", (text) => {
    expect(decode(decoderFor(), text)).toBe(FRAME_MALFORMED);
  });
});

const decimalText = (places: number): fc.Arbitrary<string> =>
  fc.tuple(fc.nat(3_000_000), fc.integer({ min: 0, max: places }), fc.nat(2)).map(([value, shown, zeros]) => {
    const digits = String(value).padStart(shown + 1, "0");
    const whole = digits.slice(0, digits.length - shown);
    const fraction = digits.slice(digits.length - shown) + "0".repeat(zeros);
    return fraction === "" ? whole : `${whole}.${fraction}`;
  });

const side = fc.array(fc.record({ price: decimalText(7), size: decimalText(3) }), { maxLength: 6 });
const bookFrame = fc
  .record({ asks: side, bids: side, nonce: fc.nat(), begin: fc.option(fc.nat(), { nil: undefined }), time: fc.nat() })
  .map(({ asks, bids, nonce, begin, time }) =>
    update({ timestamp: time }, { asks, bids, nonce, ...(begin === undefined ? {} : { begin_nonce: begin }) }),
  );

/** The same value printed with its keys in another order, and with spaces, so that only the careful half reads it. */
function reprinted(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(reprinted).join(" , ")} ]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).reverse();
  return `{ ${fields.map(([key, field]) => `${JSON.stringify(key)} : ${reprinted(field)}`).join(" , ")} }`;
}

describe("decoder properties", () => {
  it("means the same by the fast and by the careful half", () => {
    fc.assert(
      fc.property(bookFrame, fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 3 }), (frame, price, qty) => {
        const [fast, careful] = [decoderFor(price, qty), decoderFor(price, qty)];
        const kind = decode(fast, frame);
        expect(decode(careful, reprinted(frame))).toBe(kind);
        expect([fast.carefulCount, careful.carefulCount]).toEqual([0, 1]);
        if (kind === FRAME_UPDATE) expect(registers(careful)).toEqual(registers(fast));
        else expect(kind).toBe(FRAME_DRIFT);
      }),
      { numRuns: 400, seed: 31 },
    );
  });

  it("takes nothing of a frame that is cut, wherever", () => {
    const bytes = Buffer.from(JSON.stringify(update()));
    for (let length = 0; length < bytes.length; length++) {
      expect(decoderFor().decodeFrame(bytes, 0, length)).toBe(FRAME_MALFORMED);
    }
  });

  it("reads a frame where it lies in a larger buffer", () => {
    const text = JSON.stringify(update());
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), (before, after) => {
        const start = Buffer.byteLength(before);
        const decoder = decoderFor();
        const bytes = Buffer.from(before + text + after);
        expect(decoder.decodeFrame(bytes, start, start + Buffer.byteLength(text))).toBe(FRAME_UPDATE);
        expect(levels(decoder.frame.asks)).toHaveLength(2);
      }),
      { numRuns: 100, seed: 32 },
    );
  });

  it("survives any single byte changed, and never takes a figure that is not printed", () => {
    const bytes = Buffer.from(JSON.stringify(update()));
    const kinds = new Set([FRAME_MALFORMED, FRAME_UPDATE, FRAME_SNAPSHOT, FRAME_OTHER, FRAME_FOREIGN, FRAME_DRIFT]);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 }), (at, value) => {
        const changed = Buffer.from(bytes);
        changed[at] = value;
        const decoder = decoderFor();
        const kind = decoder.decodeFrame(changed, 0, changed.length);
        expect(kinds.has(kind as typeof FRAME_OTHER)).toBe(true);
        if (kind !== FRAME_UPDATE) return;
        for (const [ticks, lots] of [...levels(decoder.frame.asks), ...levels(decoder.frame.bids)]) {
          expect(Number.isSafeInteger(ticks) && ticks >= 0 && Number.isSafeInteger(lots) && lots >= 0).toBe(true);
        }
      }),
      { numRuns: 2_000, seed: 33 },
    );
  });
});
