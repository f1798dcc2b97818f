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
 * A number is kept as digits and decimal places, trailing zeros dropped: `"84143.0"` is (84143, 0).
 * Scaling to an instrument happens after the coin is known, so key order does not matter.
 */

export const SCAN_OTHER = 0;
export const SCAN_BOOK = 1;
export const SCAN_BBO = 2;
export type ScanKind = typeof SCAN_OTHER | typeof SCAN_BOOK | typeof SCAN_BBO;

/** Levels per side; the venue sends 20. A frame with more goes the slow way. */
export const MAX_SCANNED_LEVELS = 64;
/** Up to 15 digits are exact in a double whatever they are. */
const MAX_DIGITS = 15;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
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

/** Position meaning "not what this scanner reads". */
const FAILED = -1;

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

/** Levels of one side, as the frame gave them. */
export class ScannedSide {
  count = 0;
  readonly priceDigits = new Float64Array(MAX_SCANNED_LEVELS);
  readonly pricePlaces = new Uint8Array(MAX_SCANNED_LEVELS);
  readonly qtyDigits = new Float64Array(MAX_SCANNED_LEVELS);
  readonly qtyPlaces = new Uint8Array(MAX_SCANNED_LEVELS);
}

export class DepthScanner {
  /** Valid after a scan that did not answer SCAN_OTHER, until the next. */
  readonly bids = new ScannedSide();
  readonly asks = new ScannedSide();
  timeMs = 0;
  /** Range of the coin's bytes in the frame. */
  coinStart = 0;
  coinEnd = 0;
  #digits = 0;
  #places = 0;
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
          at = this.#scanInteger(bytes, afterColon(bytes, at + TIME.length + 2));
          this.timeMs = this.#digits;
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
    if (start === FAILED || bytes[start] !== QUOTE) return FAILED;
    for (let at = start + 1; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        this.coinStart = start + 1;
        this.coinEnd = at;
        this.#hasCoin = true;
        return at + 1;
      }
      if (byte < 0x20 || byte >= 0x7f || byte === BACKSLASH) return FAILED;
    }
    return FAILED;
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
        at = this.#scanInteger(bytes, at);
      } else {
        const second = bytes[at + 2];
        if (bytes[at + 3] !== QUOTE) return FAILED;
        at = bytes[at + 4] === COLON && bytes[at + 5] === QUOTE ? at + 5 : afterColon(bytes, at + 4);
        at = this.#scanDecimal(bytes, at);
        if (first === LOWER_P && second === LOWER_X) {
          side.priceDigits[index] = this.#digits;
          side.pricePlaces[index] = this.#places;
          hasPrice = true;
        } else if (first === LOWER_S && second === LOWER_Z) {
          side.qtyDigits[index] = this.#digits;
          side.qtyPlaces[index] = this.#places;
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

  /** A quoted decimal without sign or exponent; digits and places without trailing zeros of the fraction. */
  #scanDecimal(bytes: Uint8Array, start: number): number {
    if (start === FAILED || bytes[start] !== QUOTE) return FAILED;
    let at = start + 1;
    let digits = 0;
    let digit = (bytes[at] as number) - ZERO;
    while (digit >= 0 && digit <= 9) {
      digits = digits * 10 + digit;
      digit = (bytes[++at] as number) - ZERO;
    }
    const integerDigits = at - start - 1;
    if (integerDigits === 0 || integerDigits > MAX_DIGITS) return FAILED;
    let places = 0;
    if (digit === DOT - ZERO) {
      const fractionStart = at + 1;
      let end = fractionStart;
      // Digits up to the last one that is not zero.
      for (digit = (bytes[++at] as number) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++at] as number) - ZERO) {
        if (digit !== 0) end = at + 1;
      }
      if (at === fractionStart) return FAILED;
      places = end - fractionStart;
      if (integerDigits + places > MAX_DIGITS) return FAILED;
      for (let index = fractionStart; index < end; index++) digits = digits * 10 + ((bytes[index] as number) - ZERO);
    }
    if (digit !== QUOTE - ZERO) return FAILED;
    this.#digits = digits;
    this.#places = places;
    return at + 1;
  }

  /** A JSON integer ≥ 0. */
  #scanInteger(bytes: Uint8Array, start: number): number {
    if (start === FAILED) return FAILED;
    let at = start;
    let digits = 0;
    let byte = bytes[at] as number;
    while (byte >= ZERO && byte <= ZERO + 9) {
      digits = digits * 10 + (byte - ZERO);
      byte = bytes[++at] as number;
    }
    const count = at - start;
    // JSON knows no leading zeros.
    if (count === 0 || count > MAX_DIGITS || (count > 1 && bytes[start] === ZERO)) return FAILED;
    this.#digits = digits;
    return at;
  }
}

function scanBoolean(bytes: Uint8Array, at: number): number {
  if (at === FAILED) return FAILED;
  if (matches(bytes, at, TRUE)) return at + TRUE.length;
  return matches(bytes, at, FALSE) ? at + FALSE.length : FAILED;
}

/** Position of the value after the colon that must stand at or after `at`. */
function afterColon(bytes: Uint8Array, at: number): number {
  const colonAt = skipSpace(bytes, at);
  return bytes[colonAt] === COLON ? skipSpace(bytes, colonAt + 1) : FAILED;
}

/** JSON white space only. */
function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** Nothing but white space from `start`; reads no byte beyond the end, which would slow the loads of skipSpace. */
function isEnd(bytes: Uint8Array, start: number): boolean {
  return start === bytes.length || skipSpace(bytes, start) === bytes.length;
}

/** Does the quoted string `text` stand at `at`? */
function isKey(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  return bytes[at] === QUOTE && matches(bytes, at + 1, text) && bytes[at + 1 + text.length] === QUOTE;
}

function matches(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text[index]) return false;
  }
  return true;
}
