// hot path
/**
 * Bytes → wire registers, for the frames that arrive thousands of times a second: `depthUpdate`,
 * `bookTicker`, `aggTrade`, `trade`, and the REST depth snapshot. One pass over the bytes turns digits
 * into integers (ticks and lots) in preallocated arrays; nothing is allocated, no text is built.
 *
 * Invariant: a frame is either decoded whole, or nothing of it counts. Prices and sizes are exact:
 * zeros beyond the instrument's decimals are accepted, any other digit there is `FRAME_DRIFT`, never
 * rounding; an id above 2^53 is `FRAME_DRIFT` too.
 *
 * The fast path takes compact JSON with the fields in any order, as long as `e` and `s` come before
 * the figures. Everything else goes to the careful path (decode-careful.ts: `JSON.parse`, allocates),
 * which decides between a frame of another kind, an unusual shape, and rubbish. Neither path throws.
 *
 * Reads past the end of a frame are harmless: the last byte is checked to be `}` first, loops over
 * digits stop there, and a frame counts only when the scan ends exactly at its end. The casts
 * `as number` on indexed reads rest on that.
 *
 * Longer than most files: one scanner, its loops beside what they call for every level and digit.
 */
import { skipField, skipScalar, UNEXPECTED } from "../../shared/book/json-skip.js";
import { SCAN_DRIFT, SCAN_MALFORMED, scanDecimal } from "../../shared/book/scan-decimal.js";
import { decodeCarefully, decodeSnapshotCarefully } from "./decode-careful.js";
import {
  FRAME_BOOK_TICKER,
  FRAME_DEPTH,
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_TRADE,
  type FrameKind,
  VenuetwoFrame,
} from "./frame.js";
import { ENVELOPE_BYTES, eventKind, skipEnvelope } from "./scan.js";
import { SymbolTable } from "./symbol-table.js";

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

/** An int32 accumulator is exact up to this many digits. */
const INT32_DIGITS = 9;

export class VenuetwoDecoder {
  /** What the last frame held; overwritten by the next. */
  readonly frame = new VenuetwoFrame();
  /** Counters since construction. */
  frameCount = 0;
  carefulCount = 0;
  malformedCount = 0;
  driftCount = 0;
  foreignCount = 0;

  readonly symbols = new SymbolTable();
  /** Result registers of the inner scanners. */
  #value = 0;
  #count = 0;

  /** Makes a symbol known; its figures are scaled by these decimals. Returns its slot, the same for the same name. */
  register(nativeSymbol: string, priceDecimals: number, qtyDecimals: number): number {
    return this.symbols.register(nativeSymbol, priceDecimals, qtyDecimals);
  }

  /** Decodes one websocket frame in `bytes[start, end)`. */
  decodeFrame(bytes: Uint8Array, start: number, end: number): FrameKind {
    this.frameCount++;
    let kind = this.#decodeFast(bytes, start, end);
    if (kind === UNEXPECTED) {
      this.carefulCount++;
      this.frame.reset();
      kind = decodeCarefully(this.frame, this.symbols, bytes, start, end);
    }
    if (kind === FRAME_MALFORMED) this.malformedCount++;
    else if (kind === FRAME_DRIFT) this.driftCount++;
    else if (kind === FRAME_FOREIGN) this.foreignCount++;
    return kind as FrameKind;
  }

  /** Decodes a REST depth answer for the registered `slot`: FRAME_DEPTH with `lastId` = lastUpdateId, or MALFORMED or DRIFT. */
  decodeSnapshot(bytes: Uint8Array, start: number, end: number, slot: number): FrameKind {
    let kind = this.#snapshotFast(bytes, start, end, slot);
    if (kind === UNEXPECTED) {
      this.carefulCount++;
      this.frame.reset();
      kind = decodeSnapshotCarefully(this.frame, this.symbols, bytes, start, end, slot);
    }
    if (kind === FRAME_MALFORMED) this.malformedCount++;
    else if (kind === FRAME_DRIFT) this.driftCount++;
    return kind as FrameKind;
  }

  #decodeFast(bytes: Uint8Array, start: number, end: number): number {
    if (end - start < ENVELOPE_BYTES || bytes[end - 1] !== CLOSE_BRACE || bytes[start] !== OPEN_BRACE)
      return UNEXPECTED;
    let at = start + 1;
    let closingBraces = 1;
    if (bytes[start + 2] === 0x73 /* s */ && bytes[start + 3] === 0x74 /* t */) {
      at = skipEnvelope(bytes, start, end);
      if (at < 0) return UNEXPECTED;
      closingBraces = 2;
    }
    this.frame.reset();
    const fieldsEnd = end - closingBraces;
    if (closingBraces === 2 && bytes[fieldsEnd] !== CLOSE_BRACE) return UNEXPECTED;
    return this.#decodeFields(bytes, at, fieldsEnd);
  }

  /** `at` is the first byte inside the payload's braces, `fieldsEnd` its closing brace. */
  #decodeFields(bytes: Uint8Array, start: number, fieldsEnd: number): number {
    const frame = this.frame;
    let at = start;
    let kind: FrameKind = FRAME_MALFORMED;
    let priceDecimals = -1;
    let qtyDecimals = -1;
    let hasBids = false;
    let hasAsks = false;
    let hasMaker = false;
    for (;;) {
      if (bytes[at] !== QUOTE) return UNEXPECTED;
      const key = bytes[at + 1] as number;
      if (bytes[at + 2] === QUOTE && bytes[at + 3] === COLON) {
        at += 4;
        switch (key) {
          case 0x65 /* e */:
            {
              kind = eventKind(bytes, at);
              if (kind === FRAME_DEPTH) at += 13;
              else if (kind === FRAME_BOOK_TICKER) at += 12;
              else if (kind === FRAME_TRADE) at += bytes[at + 1] === 0x61 /* a */ ? 10 : 7;
              else return UNEXPECTED;
              break;
            }
          case 0x73 /* s */:
            {
              at = this.symbols.find(bytes, at, fieldsEnd);
              if (at < 0) return UNEXPECTED;
              frame.slot = this.symbols.foundSlot;
              if (frame.slot < 0) return UNEXPECTED;
              priceDecimals = this.symbols.priceDecimals[frame.slot] as number;
              qtyDecimals = this.symbols.qtyDecimals[frame.slot] as number;
              break;
            }
          case 0x45 /* E */:
            at = this.#integer(bytes, at);
            frame.tsEventMs = this.#value;
            break;
          case 0x54 /* T */:
            at = this.#integer(bytes, at);
            frame.tsTransactionMs = this.#value;
            break;
          case 0x55 /* U */:
            at = this.#integer(bytes, at);
            frame.firstId = this.#value;
            break;
          case 0x75 /* u */:
            at = this.#integer(bytes, at);
            frame.lastId = this.#value;
            break;
          case 0x74 /* t */:
            at = this.#integer(bytes, at);
            frame.tradeId = this.#value;
            break;
          case 0x62 /* b */:
            if (priceDecimals < 0) return UNEXPECTED;
            if (kind === FRAME_DEPTH) {
              at = this.#levels(bytes, at, fieldsEnd, priceDecimals, qtyDecimals, true);
              frame.bidCount = this.#count;
              hasBids = true;
            } else {
              at = this.#decimal(bytes, at, fieldsEnd, priceDecimals);
              frame.touchBidTicks = this.#value;
            }
            break;
          case 0x61 /* a */:
            if (priceDecimals < 0 && kind !== FRAME_TRADE) return UNEXPECTED;
            if (kind === FRAME_DEPTH) {
              at = this.#levels(bytes, at, fieldsEnd, priceDecimals, qtyDecimals, false);
              frame.askCount = this.#count;
              hasAsks = true;
            } else if (kind === FRAME_BOOK_TICKER) {
              at = this.#decimal(bytes, at, fieldsEnd, priceDecimals);
              frame.touchAskTicks = this.#value;
            } else {
              at = this.#integer(bytes, at);
              frame.tradeId = this.#value;
            }
            break;
          case 0x42 /* B */:
            if (qtyDecimals < 0) return UNEXPECTED;
            at = this.#decimal(bytes, at, fieldsEnd, qtyDecimals);
            frame.touchBidLots = this.#value;
            break;
          case 0x41 /* A */:
            if (qtyDecimals < 0) return UNEXPECTED;
            at = this.#decimal(bytes, at, fieldsEnd, qtyDecimals);
            frame.touchAskLots = this.#value;
            break;
          case 0x70 /* p */:
            if (priceDecimals < 0 || kind !== FRAME_TRADE) return UNEXPECTED;
            at = this.#decimal(bytes, at, fieldsEnd, priceDecimals);
            frame.tradeTicks = this.#value;
            break;
          case 0x71 /* q */:
            if (qtyDecimals < 0 || kind !== FRAME_TRADE) return UNEXPECTED;
            at = this.#decimal(bytes, at, fieldsEnd, qtyDecimals);
            frame.tradeLots = this.#value;
            break;
          case 0x6d /* m */:
            {
              const isTrue = bytes[at] === 0x74;
              if (!isTrue && bytes[at] !== 0x66) return UNEXPECTED;
              frame.isBuyerMaker = isTrue;
              hasMaker = true;
              at = skipScalar(bytes, at, fieldsEnd);
              break;
            }
          default:
            at = skipScalar(bytes, at, fieldsEnd);
        }
      } else if (
        key === 0x70 /* p */ &&
        bytes[at + 2] === 0x75 /* u */ &&
        bytes[at + 3] === QUOTE &&
        bytes[at + 4] === COLON
      ) {
        at = this.#integer(bytes, at + 5);
        frame.prevId = this.#value;
      } else {
        at = skipField(bytes, at, fieldsEnd);
      }
      // A drift ends the scan: the rest of the frame is worth nothing without its figures.
      if (at < 0) return at === DRIFT ? FRAME_DRIFT : UNEXPECTED;
      if (at === fieldsEnd) break;
      if (bytes[at] !== COMMA || at > fieldsEnd) return UNEXPECTED;
      at++;
    }
    if (frame.slot < 0) return UNEXPECTED;
    if (kind === FRAME_DEPTH) {
      return hasBids && hasAsks && frame.firstId >= 0 && frame.lastId >= 0 && frame.prevId >= 0 ? kind : UNEXPECTED;
    }
    if (kind === FRAME_BOOK_TICKER) {
      const whole =
        frame.touchBidTicks >= 0 && frame.touchBidLots >= 0 && frame.touchAskTicks >= 0 && frame.touchAskLots >= 0;
      return whole && frame.lastId >= 0 ? kind : UNEXPECTED;
    }
    if (kind === FRAME_TRADE) {
      return hasMaker && frame.tradeTicks >= 0 && frame.tradeLots >= 0 && frame.tradeId >= 0 ? kind : UNEXPECTED;
    }
    return UNEXPECTED;
  }

  #snapshotFast(bytes: Uint8Array, start: number, end: number, slot: number): number {
    const frame = this.frame;
    frame.reset();
    if (end - start < 4 || bytes[end - 1] !== CLOSE_BRACE || bytes[start] !== OPEN_BRACE) return UNEXPECTED;
    frame.slot = slot;
    const priceDecimals = this.symbols.priceDecimals[slot] as number;
    const qtyDecimals = this.symbols.qtyDecimals[slot] as number;
    const fieldsEnd = end - 1;
    let at = start + 1;
    let hasBids = false;
    let hasAsks = false;
    for (;;) {
      if (bytes[at] !== QUOTE) return UNEXPECTED;
      // Told apart by letter and length: lastUpdateId, bids, asks, E, T; anything else is skipped.
      const key = bytes[at + 1] as number;
      if (key === 0x62 /* b */ && bytes[at + 5] === QUOTE && bytes[at + 7] === OPEN_BRACKET) {
        at = this.#levels(bytes, at + 7, fieldsEnd, priceDecimals, qtyDecimals, true);
        frame.bidCount = this.#count;
        hasBids = true;
      } else if (key === 0x61 /* a */ && bytes[at + 5] === QUOTE && bytes[at + 7] === OPEN_BRACKET) {
        at = this.#levels(bytes, at + 7, fieldsEnd, priceDecimals, qtyDecimals, false);
        frame.askCount = this.#count;
        hasAsks = true;
      } else if (key === 0x6c /* l */ && bytes[at + 13] === QUOTE && bytes[at + 14] === COLON) {
        at = this.#integer(bytes, at + 15);
        frame.lastId = this.#value;
      } else if (key === 0x45 /* E */ && bytes[at + 2] === QUOTE) {
        at = this.#integer(bytes, at + 4);
        frame.tsEventMs = this.#value;
      } else if (key === 0x54 /* T */ && bytes[at + 2] === QUOTE) {
        at = this.#integer(bytes, at + 4);
        frame.tsTransactionMs = this.#value;
      } else {
        at = skipField(bytes, at, fieldsEnd);
      }
      if (at < 0) return at === DRIFT ? FRAME_DRIFT : UNEXPECTED;
      if (at === fieldsEnd) break;
      if (bytes[at] !== COMMA || at > fieldsEnd) return UNEXPECTED;
      at++;
    }
    return hasBids && hasAsks && frame.lastId >= 0 ? FRAME_DEPTH : UNEXPECTED;
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
    if (at === start) return UNEXPECTED;
    if (at - start > 15 && value > Number.MAX_SAFE_INTEGER) return DRIFT;
    this.#value = value;
    return at;
  }

  /** A quoted decimal; the position after its closing quote. */
  #decimal(bytes: Uint8Array, start: number, end: number, decimals: number): number {
    let at = start + 1;
    if (bytes[start] !== QUOTE) return UNEXPECTED;
    let byte = bytes[at] as number;
    let value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
      byte = bytes[++at] as number;
    }
    const pointAt = at;
    if (byte === DOT) {
      byte = bytes[++at] as number;
      while (byte >= ZERO && byte <= NINE) {
        value = (Math.imul(value, 10) + (byte - ZERO)) | 0;
        byte = bytes[++at] as number;
      }
    }
    const tail = decimals === 0 ? 0 : decimals + 1;
    if (byte === QUOTE && at - pointAt === tail && pointAt > start + 1 && at - start <= INT32_DIGITS + 1) {
      this.#value = value;
      return at + 1;
    }
    return this.#decimalSlow(bytes, start, end, decimals);
  }

  #decimalSlow(bytes: Uint8Array, start: number, end: number, decimals: number): number {
    let at = start + 1;
    while (at < end && bytes[at] !== QUOTE) at++;
    const value = scanDecimal(bytes, start + 1, at, decimals);
    if (value === SCAN_MALFORMED) return UNEXPECTED;
    if (value === SCAN_DRIFT) return DRIFT;
    this.#value = value;
    return at + 1;
  }

  /** `[["price","qty"],…]` into one side's arrays; the count goes to #count. */
  #levels(
    bytes: Uint8Array,
    start: number,
    end: number,
    priceDecimals: number,
    qtyDecimals: number,
    isBid: boolean,
  ): number {
    const frame = this.frame;
    const priceTail = priceDecimals === 0 ? 0 : priceDecimals + 1;
    const qtyTail = qtyDecimals === 0 ? 0 : qtyDecimals + 1;
    this.#count = 0;
    if (bytes[start] !== OPEN_BRACKET) return UNEXPECTED;
    let at = start + 1;
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    let ticks = isBid ? frame.bidTicks : frame.askTicks;
    let lots = isBid ? frame.bidLots : frame.askLots;
    let count = 0;
    for (;;) {
      if (at > end || bytes[at] !== OPEN_BRACKET || bytes[at + 1] !== QUOTE) return UNEXPECTED;
      if (count === ticks.length) {
        if (!(isBid ? frame.growBids() : frame.growAsks())) return DRIFT;
        ticks = isBid ? frame.bidTicks : frame.askTicks;
        lots = isBid ? frame.bidLots : frame.askLots;
      }
      // Price. The digits of #decimal, written out: a call per figure costs a third of the pass.
      const priceStart = at + 2;
      at = priceStart;
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
      // The tail is the point and its digits: exactly as many as the instrument has, the usual print.
      if (byte === QUOTE && at - pointAt === priceTail && pointAt > priceStart && at - priceStart <= INT32_DIGITS) {
        ticks[count] = value;
        at++;
      } else {
        at = this.#decimalSlow(bytes, priceStart - 1, end, priceDecimals);
        if (at < 0) return at;
        ticks[count] = this.#value;
      }
      if (bytes[at] !== COMMA || bytes[at + 1] !== QUOTE) return UNEXPECTED;
      // Quantity, the same way.
      const qtyStart = at + 2;
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
        lots[count] = value;
        at++;
      } else {
        at = this.#decimalSlow(bytes, qtyStart - 1, end, qtyDecimals);
        if (at < 0) return at;
        lots[count] = this.#value;
      }
      count++;
      if (bytes[at] !== CLOSE_BRACKET) return UNEXPECTED;
      const next = bytes[at + 1];
      if (next === COMMA) {
        at += 2;
      } else if (next === CLOSE_BRACKET) {
        this.#count = count;
        return at + 2;
      } else {
        return UNEXPECTED;
      }
    }
  }
}
