// hot path
/**
 * One pass over the bytes of a `book` or `bbo` frame into integers: no strings, no per-level objects.
 *
 * The venue writes keys in alphabetical order, so the levels come before the symbol that says how to scale them:
 * figures are kept as digits and decimal places and scaled once the symbol is known (feeds/shared/book/json-bytes.ts). That
 * makes any order of keys readable. The scanner takes only what the venue is known to send, white space anywhere; for
 * everything else (escapes, exponents, nulls, unknown keys, deep books) it answers SCAN_OTHER and decode.ts decides.
 * What it takes, JSON.parse would take with the same result: a property test holds that.
 */
import {
  afterColon,
  endOfPlainText,
  FAILED,
  FigureScanner,
  isEnd,
  isKey,
  ScannedSide,
  skipSpace,
} from "../../shared/book/json-bytes.js";

export const SCAN_OTHER = 0;
export const SCAN_BOOK = 1;
export const SCAN_BBO = 2;
export type ScanKind = typeof SCAN_OTHER | typeof SCAN_BOOK | typeof SCAN_BBO;

/** Levels per side; the venue sends 10. A frame with more goes the slow way. */
export const MAX_SCANNED_LEVELS = 32;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const UPPER_A = 0x41;
const UPPER_B = 0x42;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LOWER_A = 0x61;
const LOWER_B = 0x62;
const LOWER_I = 0x69;
const LOWER_L = 0x6c;
const LOWER_N = 0x6e;
const LOWER_P = 0x70;
const LOWER_S = 0x73;
const LOWER_T = 0x74;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const CHANNEL = Buffer.from("channel");
const DATA = Buffer.from("data");
const BOOK = Buffer.from("book");
const BBO = Buffer.from("bbo");

/** Which keys of the data have been seen. */
const HAS_SYMBOL = 1;
const HAS_TIME = 2;
const HAS_LEVELS = 4;
const HAS_BID_PRICE = 8;
const HAS_BID_QTY = 16;
const HAS_ASK_PRICE = 32;
const HAS_ASK_QTY = 64;
const WHOLE_BOOK = HAS_SYMBOL | HAS_TIME | HAS_LEVELS;
const WHOLE_BBO = HAS_SYMBOL | HAS_TIME | HAS_BID_PRICE | HAS_BID_QTY | HAS_ASK_PRICE | HAS_ASK_QTY;

export class DepthScanner {
  /** Valid after a scan that did not answer SCAN_OTHER, until the next. */
  readonly bids = new ScannedSide(MAX_SCANNED_LEVELS);
  readonly asks = new ScannedSide(MAX_SCANNED_LEVELS);
  timeMs = 0;
  /** `li`; 0 where absent. */
  seq = 0;
  /** Range of the symbol's bytes in the frame. */
  symbolStart = 0;
  symbolEnd = 0;
  readonly #figure = new FigureScanner();
  #seen = 0;

  scan(bytes: Uint8Array): ScanKind {
    this.#seen = 0;
    this.seq = 0;
    let channel: ScanKind = SCAN_OTHER;
    let hasData = false;
    let at = skipSpace(bytes, 0);
    if (bytes[at] !== OPEN_BRACE) return SCAN_OTHER;
    do {
      at = skipSpace(bytes, at + 1);
      if (isKey(bytes, at, CHANNEL)) {
        at = afterColon(bytes, at + CHANNEL.length + 2);
        if (isKey(bytes, at, BOOK)) {
          channel = SCAN_BOOK;
          at += BOOK.length + 2;
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
    if (channel === SCAN_BOOK) return this.#seen === WHOLE_BOOK ? SCAN_BOOK : SCAN_OTHER;
    return channel === SCAN_BBO && this.#seen === WHOLE_BBO ? SCAN_BBO : SCAN_OTHER;
  }

  #scanData(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== OPEN_BRACE) return FAILED;
    let at = start;
    do {
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== QUOTE) return FAILED;
      at = bytes[at + 2] === QUOTE ? this.#scanLetter(bytes, at) : this.#scanSeq(bytes, at);
      if (at === FAILED) return FAILED;
      at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    return bytes[at] === CLOSE_BRACE ? at + 1 : FAILED;
  }

  /** A key of one letter, at its opening quote, and its value. */
  #scanLetter(bytes: Uint8Array, start: number): number {
    const letter = bytes[start + 1];
    const at = afterColon(bytes, start + 3);
    const { bids, asks } = this;
    switch (letter) {
      case LOWER_L:
        // A second one would append to the first.
        if ((this.#seen & HAS_LEVELS) !== 0) return FAILED;
        this.#seen |= HAS_LEVELS;
        return this.#scanSides(bytes, at);
      case LOWER_S: {
        const end = endOfPlainText(bytes, at);
        if (end === FAILED) return FAILED;
        this.symbolStart = at + 1;
        this.symbolEnd = end;
        this.#seen |= HAS_SYMBOL;
        return end + 1;
      }
      case LOWER_T: {
        const end = this.#figure.integer(bytes, at);
        this.timeMs = this.#figure.digits;
        this.#seen |= HAS_TIME;
        return end;
      }
      case LOWER_I:
        // The order behind the change: not used.
        return this.#figure.integer(bytes, at);
      case LOWER_B:
        this.#seen |= HAS_BID_PRICE;
        return this.#scanTouchPrice(bytes, at, bids);
      case UPPER_B:
        this.#seen |= HAS_BID_QTY;
        return this.#scanTouchQty(bytes, at, bids);
      case LOWER_A:
        this.#seen |= HAS_ASK_PRICE;
        return this.#scanTouchPrice(bytes, at, asks);
      case UPPER_A:
        this.#seen |= HAS_ASK_QTY;
        return this.#scanTouchQty(bytes, at, asks);
      default:
        return FAILED;
    }
  }

  /** `"li":…`, the only key of two letters. */
  #scanSeq(bytes: Uint8Array, start: number): number {
    if (bytes[start + 1] !== LOWER_L || bytes[start + 2] !== LOWER_I || bytes[start + 3] !== QUOTE) return FAILED;
    const at = this.#figure.integer(bytes, afterColon(bytes, start + 4));
    this.seq = this.#figure.digits;
    return at;
  }

  #scanTouchPrice(bytes: Uint8Array, start: number, side: ScannedSide): number {
    const at = this.#figure.decimal(bytes, start);
    side.count = 1;
    side.priceDigits[0] = this.#figure.digits;
    side.pricePlaces[0] = this.#figure.places;
    return at;
  }

  #scanTouchQty(bytes: Uint8Array, start: number, side: ScannedSide): number {
    const at = this.#figure.decimal(bytes, start);
    side.count = 1;
    side.qtyDigits[0] = this.#figure.digits;
    side.qtyPlaces[0] = this.#figure.places;
    return at;
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
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE_BRACKET) return at + 1;
      if (bytes[at] !== COMMA) return FAILED;
      at = skipSpace(bytes, at + 1);
    }
  }

  /** `{"a":"…","n":1,"p":"…"}`, keys in any order. */
  #scanLevel(bytes: Uint8Array, start: number, side: ScannedSide): number {
    const index = side.count;
    if (bytes[start] !== OPEN_BRACE || index >= MAX_SCANNED_LEVELS) return FAILED;
    const figure = this.#figure;
    let hasPrice = false;
    let hasQty = false;
    let at = start;
    do {
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== QUOTE || bytes[at + 2] !== QUOTE) return FAILED;
      const letter = bytes[at + 1];
      at = bytes[at + 3] === COLON ? skipSpace(bytes, at + 4) : afterColon(bytes, at + 3);
      if (letter === LOWER_P) {
        at = figure.decimal(bytes, at);
        side.priceDigits[index] = figure.digits;
        side.pricePlaces[index] = figure.places;
        hasPrice = true;
      } else if (letter === LOWER_A) {
        at = figure.decimal(bytes, at);
        side.qtyDigits[index] = figure.digits;
        side.qtyPlaces[index] = figure.places;
        hasQty = true;
      } else if (letter === LOWER_N) {
        // The number of orders: not used.
        at = figure.integer(bytes, at);
      } else return FAILED;
      if (at === FAILED) return FAILED;
      at = skipSpace(bytes, at);
    } while (bytes[at] === COMMA);
    if (bytes[at] !== CLOSE_BRACE || !hasPrice || !hasQty) return FAILED;
    side.count = index + 1;
    return at + 1;
  }
}
