// hot path
/**
 * The parts of a frame around its figures: envelope, event name, fields nobody reads. Each function
 * takes a position and gives the one after, or UNEXPECTED for a shape it does not know.
 */
import { UNEXPECTED } from "../../shared/book/json-skip.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH, FRAME_OTHER, FRAME_TRADE, type FrameKind } from "./frame.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;

/** `{"stream":"` */
export const ENVELOPE_BYTES = 11;

/** Past `{"stream":"…","data":{`; UNEXPECTED if it is not exactly that. */
export function skipEnvelope(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start + 9] !== COLON || bytes[start + 10] !== QUOTE) return UNEXPECTED;
  let at = start + ENVELOPE_BYTES;
  while (at < end && bytes[at] !== QUOTE) at++;
  // `","data":{`: the letters are not compared, the shape around them is.
  if (bytes[at + 1] !== COMMA || bytes[at + 2] !== QUOTE || bytes[at + 3] !== 0x64 /* d */) return UNEXPECTED;
  if (bytes[at + 7] !== QUOTE || bytes[at + 8] !== COLON || bytes[at + 9] !== OPEN_BRACE) return UNEXPECTED;
  return at + 10;
}

const DEPTH_UPDATE = Buffer.from('"depthUpdate"');
const BOOK_TICKER = Buffer.from('"bookTicker"');
const AGG_TRADE = Buffer.from('"aggTrade"');
const TRADE = Buffer.from('"trade"');

/** The kind whose quoted name begins at `at`; FRAME_OTHER for any other. */
export function eventKind(bytes: Uint8Array, at: number): FrameKind {
  switch (bytes[at + 1]) {
    case 0x64 /* d */:
      return startsWith(bytes, at, DEPTH_UPDATE) ? FRAME_DEPTH : FRAME_OTHER;
    case 0x62 /* b */:
      return startsWith(bytes, at, BOOK_TICKER) ? FRAME_BOOK_TICKER : FRAME_OTHER;
    case 0x61 /* a */:
      return startsWith(bytes, at, AGG_TRADE) ? FRAME_TRADE : FRAME_OTHER;
    case 0x74 /* t */:
      return startsWith(bytes, at, TRADE) ? FRAME_TRADE : FRAME_OTHER;
    default:
      return FRAME_OTHER;
  }
}

function startsWith(bytes: Uint8Array, at: number, text: Uint8Array): boolean {
  for (let index = 1; index < text.length; index++) {
    if (bytes[at + index] !== text[index]) return false;
  }
  return true;
}
