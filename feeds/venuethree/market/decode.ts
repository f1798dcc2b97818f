// hot path
/**
 * Bytes → registers, for the frames that arrive thousands of times a second: `order_book` and `ticker`. One pass over
 * the bytes turns digits into integers (ticks and lots) in preallocated arrays; nothing is allocated, no text is built.
 *
 * Invariant: a frame is either decoded whole, or nothing of it counts. Prices and sizes are exact: zeros beyond the
 * market's decimals are accepted, any other digit there is `FRAME_DRIFT`, never rounding; so is a nonce above 2^53.
 *
 * The fast path takes compact JSON with the fields in any order, as long as `channel` comes before the figures, which
 * is how the venue prints it. Everything else goes to the careful path (decode-careful.ts: `JSON.parse`, allocates),
 * which decides between a frame of another kind, an unusual shape, and rubbish. Neither path throws.
 *
 * Reads past the end of a frame are harmless: the last byte is checked to be `}` first, loops over digits stop there,
 * and a frame counts only when the scan ends exactly at its end. The casts `as number` on indexed reads rest on that.
 */
import { matches } from "../../shared/book/json-bytes.js";
import { skipField, skipScalar, UNEXPECTED } from "../../shared/book/json-skip.js";
import { SCAN_DRIFT, SCAN_MALFORMED, scanDecimal } from "../../shared/book/scan-decimal.js";
import { decodeCarefully } from "./decode-careful.js";
import {
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
  FRAME_UPDATE,
  type FrameKind,
  type FrameSide,
  VenuethreeFrame,
} from "./frame.js";
import { MarketTable } from "./market-table.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Result of the inner scanners besides a position and UNEXPECTED. */
const DRIFT = -2;
/** The channel names another kind: nothing more is looked at. */
const OTHER = -3;

/** An int32 accumulator is exact up to this many digits. */
const INT32_DIGITS = 9;

const BOOK_CHANNEL = Buffer.from('"order_book:');
const TICKER_CHANNEL = Buffer.from('"ticker:');
const KEY_CHANNEL = Buffer.from('"channel":');
const KEY_ORDER_BOOK = Buffer.from('"order_book":');
const KEY_TICKER = Buffer.from('"ticker":');
const KEY_TIMESTAMP = Buffer.from('"timestamp":');
const KEY_TYPE = Buffer.from('"type":');
const KEY_NONCE = Buffer.from('"nonce":');
const KEY_BEGIN_NONCE = Buffer.from('"begin_nonce":');
const KEY_ASKS = Buffer.from('"asks":');
const KEY_BIDS = Buffer.from('"bids":');
const KEY_ASK = Buffer.from('"a":');
const KEY_BID = Buffer.from('"b":');
const SUBSCRIBED_BOOK = Buffer.from('"subscribed/order_book"');
const UPDATE_BOOK = Buffer.from('"update/order_book"');
const SUBSCRIBED_TICKER = Buffer.from('"subscribed/ticker"');
const UPDATE_TICKER = Buffer.from('"update/ticker"');

export class VenuethreeDecoder {
  /** What the last frame held; overwritten by the next. */
  readonly frame = new VenuethreeFrame();
  readonly markets = new MarketTable();
  /** Counters since construction. */
  frameCount = 0;
  carefulCount = 0;
  malformedCount = 0;
  driftCount = 0;
  foreignCount = 0;
  /** Result registers of the inner scanners. */
  #value = 0;
  #priceDecimals = 0;
  #qtyDecimals = 0;

  /** Makes a market known; its figures are scaled by these decimals. Returns its slot. */
  register(marketId: number, priceDecimals: number, qtyDecimals: number): number {
    return this.markets.register(marketId, priceDecimals, qtyDecimals);
  }

  /** Decodes one frame in `bytes[start, end)`. */
  decodeFrame(bytes: Uint8Array, start: number, end: number): FrameKind {
    this.frameCount++;
    this.frame.reset();
    let kind = this.#decodeFast(bytes, start, end);
    if (kind === UNEXPECTED) {
      this.carefulCount++;
      this.frame.reset();
      kind = decodeCarefully(this.frame, this.markets, bytes, start, end);
    }
    if (kind === FRAME_MALFORMED) this.malformedCount++;
    else if (kind === FRAME_DRIFT) this.driftCount++;
    else if (kind === FRAME_FOREIGN) this.foreignCount++;
    return kind as FrameKind;
  }

  #decodeFast(bytes: Uint8Array, start: number, end: number): number {
    if (end - start < KEY_CHANNEL.length || bytes[start] !== OPEN_BRACE || bytes[end - 1] !== CLOSE_BRACE)
      return UNEXPECTED;
    const frame = this.frame;
    const fieldsEnd = end - 1;
    let at = start + 1;
    let kind: number = UNEXPECTED;
    let hasBody = false;
    for (;;) {
      if (bytes[at] !== QUOTE) return UNEXPECTED;
      switch (bytes[at + 1]) {
        case 0x63 /* c */:
          // A second channel would change the market under figures already read.
          if (!matches(bytes, at, KEY_CHANNEL) || frame.slot >= 0) return UNEXPECTED;
          at = this.#channel(bytes, at + KEY_CHANNEL.length);
          if (at === OTHER) return FRAME_OTHER;
          break;
        case 0x6f /* o */:
          if (!matches(bytes, at, KEY_ORDER_BOOK)) {
            at = skipField(bytes, at, fieldsEnd);
            break;
          }
          if (frame.slot < 0 || frame.isTicker || hasBody) return UNEXPECTED;
          at = this.#book(bytes, at + KEY_ORDER_BOOK.length, fieldsEnd);
          hasBody = true;
          break;
        case 0x74 /* t */:
          if (matches(bytes, at, KEY_TICKER)) {
            if (frame.slot < 0 || !frame.isTicker || hasBody) return UNEXPECTED;
            at = this.#ticker(bytes, at + KEY_TICKER.length, fieldsEnd);
            hasBody = true;
          } else if (matches(bytes, at, KEY_TIMESTAMP)) {
            at = this.#integer(bytes, at + KEY_TIMESTAMP.length);
            frame.tsVenueMs = this.#value;
          } else if (matches(bytes, at, KEY_TYPE)) {
            at += KEY_TYPE.length;
            kind = frame.slot < 0 ? UNEXPECTED : this.#kind(bytes, at);
            if (kind === UNEXPECTED) return UNEXPECTED;
            at = skipScalar(bytes, at, fieldsEnd);
          } else {
            at = skipField(bytes, at, fieldsEnd);
          }
          break;
        case 0x6e /* n */:
          // The nonce of a book is inside it.
          if (!matches(bytes, at, KEY_NONCE)) {
            at = skipField(bytes, at, fieldsEnd);
            break;
          }
          if (frame.slot < 0 || !frame.isTicker) return UNEXPECTED;
          at = this.#integer(bytes, at + KEY_NONCE.length);
          frame.nonce = this.#value;
          break;
        default:
          at = skipField(bytes, at, fieldsEnd);
      }
      // A drift ends the scan: the rest of the frame is worth nothing without its figures.
      if (at < 0) return at === DRIFT ? FRAME_DRIFT : UNEXPECTED;
      if (at === fieldsEnd) break;
      if (bytes[at] !== COMMA || at > fieldsEnd) return UNEXPECTED;
      at++;
    }
    return kind !== UNEXPECTED && hasBody && frame.nonce >= 0 ? kind : UNEXPECTED;
  }

  /** `"order_book:36"`: sets slot, kind of payload and decimals. */
  #channel(bytes: Uint8Array, start: number): number {
    const isBook = matches(bytes, start, BOOK_CHANNEL);
    if (!isBook && !matches(bytes, start, TICKER_CHANNEL)) return OTHER;
    this.frame.isTicker = !isBook;
    const at = this.#integer(bytes, start + (isBook ? BOOK_CHANNEL.length : TICKER_CHANNEL.length));
    if (at < 0 || bytes[at] !== QUOTE) return UNEXPECTED;
    const slot = this.markets.slotOf(this.#value);
    // The careful path distinguishes a foreign market from rubbish.
    if (slot < 0) return UNEXPECTED;
    this.frame.slot = slot;
    this.#priceDecimals = this.markets.priceDecimals[slot] as number;
    this.#qtyDecimals = this.markets.qtyDecimals[slot] as number;
    return at + 1;
  }

  #kind(bytes: Uint8Array, at: number): number {
    if (!this.frame.isTicker) {
      if (matches(bytes, at, UPDATE_BOOK)) return FRAME_UPDATE;
      return matches(bytes, at, SUBSCRIBED_BOOK) ? FRAME_SNAPSHOT : UNEXPECTED;
    }
    return matches(bytes, at, UPDATE_TICKER) || matches(bytes, at, SUBSCRIBED_TICKER) ? FRAME_TICKER : UNEXPECTED;
  }

  /** The object under `order_book`. */
  #book(bytes: Uint8Array, start: number, end: number): number {
    const frame = this.frame;
    if (bytes[start] !== OPEN_BRACE) return UNEXPECTED;
    let at = start + 1;
    let hasBids = false;
    let hasAsks = false;
    for (;;) {
      if (bytes[at] !== QUOTE) return UNEXPECTED;
      if (matches(bytes, at, KEY_ASKS)) {
        if (hasAsks) return UNEXPECTED;
        at = this.#levels(bytes, at + KEY_ASKS.length, end, frame.asks);
        hasAsks = true;
      } else if (matches(bytes, at, KEY_BIDS)) {
        if (hasBids) return UNEXPECTED;
        at = this.#levels(bytes, at + KEY_BIDS.length, end, frame.bids);
        hasBids = true;
      } else if (matches(bytes, at, KEY_NONCE)) {
        at = this.#integer(bytes, at + KEY_NONCE.length);
        frame.nonce = this.#value;
      } else if (matches(bytes, at, KEY_BEGIN_NONCE)) {
        at = this.#integer(bytes, at + KEY_BEGIN_NONCE.length);
        frame.beginNonce = this.#value;
      } else {
        at = this.#skipInner(bytes, at, end);
      }
      if (at < 0) return at;
      if (bytes[at] === CLOSE_BRACE) return hasBids && hasAsks && frame.nonce >= 0 ? at + 1 : UNEXPECTED;
      if (bytes[at] !== COMMA || at >= end) return UNEXPECTED;
      at++;
    }
  }

  /** The object under `ticker`. */
  #ticker(bytes: Uint8Array, start: number, end: number): number {
    const frame = this.frame;
    if (bytes[start] !== OPEN_BRACE) return UNEXPECTED;
    let at = start + 1;
    let sides = 0;
    for (;;) {
      if (bytes[at] !== QUOTE) return UNEXPECTED;
      if (matches(bytes, at, KEY_ASK)) {
        at = this.#level(bytes, at + KEY_ASK.length, end, frame.asks, 0);
        frame.touchAskTicks = frame.asks.ticks[0] as number;
        frame.touchAskLots = frame.asks.lots[0] as number;
        sides |= 1;
      } else if (matches(bytes, at, KEY_BID)) {
        at = this.#level(bytes, at + KEY_BID.length, end, frame.bids, 0);
        frame.touchBidTicks = frame.bids.ticks[0] as number;
        frame.touchBidLots = frame.bids.lots[0] as number;
        sides |= 2;
      } else {
        at = this.#skipInner(bytes, at, end);
      }
      if (at < 0) return at;
      if (bytes[at] === CLOSE_BRACE) return sides === 3 ? at + 1 : UNEXPECTED;
      if (bytes[at] !== COMMA || at >= end) return UNEXPECTED;
      at++;
    }
  }

  /** Past an unread field of an inner object: text or an unsigned integer, whose end its closing brace may be. */
  #skipInner(bytes: Uint8Array, start: number, end: number): number {
    let at = start + 1;
    while (at < end && bytes[at] !== QUOTE) at++;
    if (bytes[at + 1] !== COLON) return UNEXPECTED;
    at += 2;
    return bytes[at] === QUOTE ? skipScalar(bytes, at, end) : this.#integer(bytes, at);
  }

  /** `[{"price":"0.20416","size":"25374.8"},…]` into one side. */
  #levels(bytes: Uint8Array, start: number, end: number, side: FrameSide): number {
    if (bytes[start] !== OPEN_BRACKET) return UNEXPECTED;
    let at = start + 1;
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    let count = 0;
    for (;;) {
      if (at > end) return UNEXPECTED;
      if (count === side.ticks.length && !side.grow()) return DRIFT;
      at = this.#level(bytes, at, end, side, count);
      if (at < 0) return at;
      count++;
      if (bytes[at] === COMMA) {
        at++;
      } else if (bytes[at] === CLOSE_BRACKET) {
        side.count = count;
        return at + 1;
      } else {
        return UNEXPECTED;
      }
    }
  }

  /** `{"price":"…","size":"…"}` into place `index`. The letters of the keys are not compared, the shape around them is. */
  #level(bytes: Uint8Array, start: number, end: number, side: FrameSide, index: number): number {
    const priceTail = this.#priceDecimals === 0 ? 0 : this.#priceDecimals + 1;
    const qtyTail = this.#qtyDecimals === 0 ? 0 : this.#qtyDecimals + 1;
    if (
      bytes[start] !== OPEN_BRACE ||
      bytes[start + 1] !== QUOTE ||
      bytes[start + 2] !== 0x70 /* p */ ||
      bytes[start + 7] !== QUOTE ||
      bytes[start + 8] !== COLON ||
      bytes[start + 9] !== QUOTE
    )
      return UNEXPECTED;
    // Price. The digits are written out twice: a call per figure costs a third of the pass.
    const priceStart = start + 10;
    let at = priceStart;
    let byte = bytes[at] as number;
    let value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
      byte = bytes[++at] as number;
    }
    let pointAt = at;
    if (byte === DOT) {
      byte = bytes[++at] as number;
      while (byte >= ZERO && byte <= NINE) {
        value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
        byte = bytes[++at] as number;
      }
    }
    // The tail is the point and its digits: exactly as many as the market has, the usual print.
    if (byte === QUOTE && at - pointAt === priceTail && pointAt > priceStart && at - priceStart <= INT32_DIGITS) {
      side.ticks[index] = value;
      at++;
    } else {
      at = this.#decimal(bytes, priceStart, end, this.#priceDecimals);
      if (at < 0) return at;
      side.ticks[index] = this.#value;
    }
    if (
      bytes[at] !== COMMA ||
      bytes[at + 1] !== QUOTE ||
      bytes[at + 2] !== 0x73 /* s */ ||
      bytes[at + 6] !== QUOTE ||
      bytes[at + 7] !== COLON ||
      bytes[at + 8] !== QUOTE
    )
      return UNEXPECTED;
    // Size, the same way.
    const qtyStart = at + 9;
    at = qtyStart;
    byte = bytes[at] as number;
    value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
      byte = bytes[++at] as number;
    }
    pointAt = at;
    if (byte === DOT) {
      byte = bytes[++at] as number;
      while (byte >= ZERO && byte <= NINE) {
        value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
        byte = bytes[++at] as number;
      }
    }
    if (byte === QUOTE && at - pointAt === qtyTail && pointAt > qtyStart && at - qtyStart <= INT32_DIGITS) {
      side.lots[index] = value;
      at++;
    } else {
      at = this.#decimal(bytes, qtyStart, end, this.#qtyDecimals);
      if (at < 0) return at;
      side.lots[index] = this.#value;
    }
    return bytes[at] === CLOSE_BRACE ? at + 1 : UNEXPECTED;
  }

  /** Figures of another width than usual; `start` is the first byte inside the quotes. */
  #decimal(bytes: Uint8Array, start: number, end: number, decimals: number): number {
    let at = start;
    while (at < end && bytes[at] !== QUOTE) at++;
    const value = scanDecimal(bytes, start, at, decimals);
    if (value === SCAN_MALFORMED) return UNEXPECTED;
    if (value === SCAN_DRIFT) return DRIFT;
    this.#value = value;
    return at + 1;
  }

  /** An unsigned integer; the position after it. */
  #integer(bytes: Uint8Array, start: number): number {
    let at = start;
    let byte = bytes[at] as number;
    let value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      byte = bytes[++at] as number;
    }
    // JSON knows no leading zeros.
    if (at === start || (at - start > 1 && bytes[start] === ZERO)) return UNEXPECTED;
    if (value > Number.MAX_SAFE_INTEGER) return DRIFT;
    this.#value = value;
    return at;
  }
}
