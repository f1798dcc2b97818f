// hot path
/**
 * One pass over the bytes of an `l2Book` or `bbo` frame into integers: no strings, no per-level objects.
 *
 * Measured against JSON.parse on the recorded BTC frames (see README.md, "Decoding"); the scanner is the
 * faster one and so is the one in use. It takes only what the venue is known to send, keys in any order,
 * white space anywhere; for everything else (escapes, exponents, unknown keys, deep books) it answers
 * SCAN_OTHER and decode.ts decides. What it takes, JSON.parse would take with the same result: a
 * property test holds that.
 *
 * A number is kept as digits and decimal places until the coin is known (feeds/shared/book/json-bytes.ts), so key order does
 * not matter.
 */
import {
  afterColon,
  endOfPlainText,
  FAILED,
  FigureScanner,
  isEnd,
  isKey,
  matches,
  ScannedSide,
  skipSpace,
} from "../../shared/book/json-bytes.js";

export const SCAN_OTHER = 0;
export const SCAN_BOOK = 1;
export const SCAN_BBO = 2;
export type ScanKind = typeof SCAN_OTHER | typeof SCAN_BOOK | typeof SCAN_BBO;

/** Levels per side; the venue sends 20. A frame with more goes the slow way. */
export const MAX_SCANNED_LEVELS = 64;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_B = 0x62;
const LOWER_C = 0x63;
const LOWER_F = 0x66;
const LOWER_L = 0x6c;
const LOWER_N = 0x6e;
const LOWER_P = 0x70;
const LOWER_S = 0x73;
const LOWER_T = 0x74;
const LOWER_X = 0x78;
const LOWER_Z = 0x7a;

const CHANNEL = Buffer.from("channel");
const DATA = Buffer.from("data");
const COIN = Buffer.from("coin");
const TIME = Buffer.from("time");
const LEVELS = Buffer.from("levels");
const FAST = Buffer.from("fast");
const BBO = Buffer.from("bbo");
const L2_BOOK = Buffer.from("l2Book");
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

export class DepthScanner {
  /** Valid after a scan that did not answer SCAN_OTHER, until the next. */
  readonly bids = new ScannedSide(MAX_SCANNED_LEVELS);
  readonly asks = new ScannedSide(MAX_SCANNED_LEVELS);
  timeMs = 0;
  /** Range of the coin's bytes in the frame. */
  coinStart = 0;
  coinEnd = 0;
  readonly #figure = new FigureScanner();
  #hasCoin = false;
  #hasTime = false;
  /** Which payload the data held: SCAN_BOOK for `levels`, SCAN_BBO for `bbo`. */
  #payload: ScanKind = SCAN_OTHER;

  scan(bytes: Uint8Array): ScanKind {
    this.#hasCoin = false;
    this.#hasTime = false;
    this.#payload = SCAN_OTHER;
    let channel: ScanKind = SCAN_OTHER;
    let hasData = false;
    let at = skipSpace(bytes, 0);
    if (bytes[at] !== OPEN_BRACE) return SCAN_OTHER;
    do {
      at = skipSpace(bytes, at + 1);
      if (isKey(bytes, at, CHANNEL)) {
        at = afterColon(bytes, at + CHANNEL.length + 2);
        if (isKey(bytes, at, L2_BOOK)) {
          channel = SCAN_BOOK;
          at += L2_BOOK.length + 2;
        } else if (isKey(bytes, at, BBO)) {
          channel = SCAN_BBO;
          at += BBO.length + 2;
        } else return SCAN_OTHER;
      } else if (isKey(bytes, at, DATA) && !hasData) {
        hasData = true;
        at = this.#scanData(bytes, afterColon(bytes, at + DATA.length + 2));
        if (at === FAILED) return SCAN_OTHER;
      } else return SCAN_OTHER;
      at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    if (bytes[at] !== CLOSE_BRACE || !isEnd(bytes, at + 1)) return SCAN_OTHER;
    if (!hasData || !this.#hasCoin || !this.#hasTime || this.#payload !== channel) return SCAN_OTHER;
    return channel;
  }

  #scanData(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== OPEN_BRACE) return FAILED;
    let at = start;
    do {
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== QUOTE) return FAILED;
      switch (bytes[at + 1]) {
        case LOWER_C:
          if (!isKey(bytes, at, COIN)) return FAILED;
          at = this.#scanCoin(bytes, afterColon(bytes, at + COIN.length + 2));
          break;
        case LOWER_T:
          if (!isKey(bytes, at, TIME)) return FAILED;
          at = this.#figure.integer(bytes, afterColon(bytes, at + TIME.length + 2));
          this.timeMs = this.#figure.digits;
          this.#hasTime = true;
          break;
        case LOWER_L:
          if (!isKey(bytes, at, LEVELS) || this.#payload !== SCAN_OTHER) return FAILED;
          this.#payload = SCAN_BOOK;
          at = this.#scanSides(bytes, afterColon(bytes, at + LEVELS.length + 2));
          break;
        case LOWER_B:
          if (!isKey(bytes, at, BBO) || this.#payload !== SCAN_OTHER) return FAILED;
          this.#payload = SCAN_BBO;
          at = this.#scanTouch(bytes, afterColon(bytes, at + BBO.length + 2));
          break;
        case LOWER_F:
          if (!isKey(bytes, at, FAST)) return FAILED;
          at = scanBoolean(bytes, afterColon(bytes, at + FAST.length + 2));
          break;
        default:
          return FAILED;
      }
      if (at === FAILED) return FAILED;
      at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    return bytes[at] === CLOSE_BRACE ? at + 1 : FAILED;
  }

  /** A plain ASCII string; anything else is for the slow way. */
  #scanCoin(bytes: Uint8Array, start: number): number {
    const end = endOfPlainText(bytes, start);
    if (end === FAILED) return FAILED;
    this.coinStart = start + 1;
    this.coinEnd = end;
    this.#hasCoin = true;
    return end + 1;
  }

  /** `[[…bids],[…asks]]` */
  #scanSides(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== OPEN_BRACKET) return FAILED;
    let at = this.#scanSide(bytes, skipSpace(bytes, start + 1), this.bids);
    if (at === FAILED) return FAILED;
    at = skipSpace(bytes, at);
    if (bytes[at] !== COMMA) return FAILED;
    at = this.#scanSide(bytes, skipSpace(bytes, at + 1), this.asks);
    if (at === FAILED) return FAILED;
    at = skipSpace(bytes, at);
    return bytes[at] === CLOSE_BRACKET ? at + 1 : FAILED;
  }

  #scanSide(bytes: Uint8Array, start: number, side: ScannedSide): number {
    side.count = 0;
    if (bytes[start] !== OPEN_BRACKET) return FAILED;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    for (;;) {
      at = this.#scanLevel(bytes, at, side);
      if (at === FAILED) return FAILED;
      if (bytes[at] !== COMMA) {
        at = skipSpace(bytes, at);
        if (bytes[at] === CLOSE_BRACKET) return at + 1;
        if (bytes[at] !== COMMA) return FAILED;
      }
      at++;
      if (bytes[at] !== OPEN_BRACE) at = skipSpace(bytes, at);
    }
  }

  /** `[bid|null, ask|null]` */
  #scanTouch(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== OPEN_BRACKET) return FAILED;
    let at = this.#scanTouchSide(bytes, skipSpace(bytes, start + 1), this.bids);
    if (at === FAILED) return FAILED;
    at = skipSpace(bytes, at);
    if (bytes[at] !== COMMA) return FAILED;
    at = this.#scanTouchSide(bytes, skipSpace(bytes, at + 1), this.asks);
    if (at === FAILED) return FAILED;
    at = skipSpace(bytes, at);
    return bytes[at] === CLOSE_BRACKET ? at + 1 : FAILED;
  }

  #scanTouchSide(bytes: Uint8Array, at: number, side: ScannedSide): number {
    side.count = 0;
    if (matches(bytes, at, NULL)) return at + NULL.length;
    return this.#scanLevel(bytes, at, side);
  }

  /** `{"px":"…","sz":"…","n":1}`, keys in any order. */
  #scanLevel(bytes: Uint8Array, start: number, side: ScannedSide): number {
    const index = side.count;
    if (bytes[start] !== OPEN_BRACE || index >= MAX_SCANNED_LEVELS) return FAILED;
    const figure = this.#figure;
    let hasPrice = false;
    let hasQty = false;
    let at = start;
    do {
      at++;
      if (bytes[at] !== QUOTE) {
        at = skipSpace(bytes, at);
        if (bytes[at] !== QUOTE) return FAILED;
      }
      const first = bytes[at + 1];
      if (first === LOWER_N) {
        if (bytes[at + 2] !== QUOTE) return FAILED;
        at = bytes[at + 3] === COLON && (bytes[at + 4] as number) > SPACE ? at + 4 : afterColon(bytes, at + 3);
        at = figure.integer(bytes, at);
      } else {
        const second = bytes[at + 2];
        if (bytes[at + 3] !== QUOTE) return FAILED;
        at = bytes[at + 4] === COLON && bytes[at + 5] === QUOTE ? at + 5 : afterColon(bytes, at + 4);
        at = figure.decimal(bytes, at);
        if (first === LOWER_P && second === LOWER_X) {
          side.priceDigits[index] = figure.digits;
          side.pricePlaces[index] = figure.places;
          hasPrice = true;
        } else if (first === LOWER_S && second === LOWER_Z) {
          side.qtyDigits[index] = figure.digits;
          side.qtyPlaces[index] = figure.places;
          hasQty = true;
        } else return FAILED;
      }
      if (at === FAILED) return FAILED;
      if (bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    if (bytes[at] !== CLOSE_BRACE || !hasPrice || !hasQty) return FAILED;
    side.count = index + 1;
    return at + 1;
  }
}

function scanBoolean(bytes: Uint8Array, at: number): number {
  if (at === FAILED) return FAILED;
  if (matches(bytes, at, TRUE)) return at + TRUE.length;
  return matches(bytes, at, FALSE) ? at + FALSE.length : FAILED;
}
