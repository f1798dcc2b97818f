/**
 * The careful half of decode.ts: `JSON.parse`, any field order, any spacing, escapes. It fills the
 * same registers with the same rules, so a frame means the same whichever half reads it (a property
 * test holds them together), and it is the one that says what a frame is that the fast half refused.
 * Never throws.
 */
import { SCAN_DRIFT, SCAN_MALFORMED, scanDecimal } from "../../shared/book/scan-decimal.js";
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
import type { SymbolTable } from "./symbol-table.js";

type Fields = Readonly<Record<string, unknown>>;

/** As VenuetwoDecoder.decodeFrame, for frames the fast half refused. */
export function decodeCarefully(
  frame: VenuetwoFrame,
  symbols: SymbolTable,
  bytes: Uint8Array,
  start: number,
  end: number,
): FrameKind {
  const parsed = parse(bytes, start, end);
  if (Array.isArray(parsed)) return FRAME_OTHER;
  if (!isFields(parsed)) return FRAME_MALFORMED;
  const data = "stream" in parsed && "data" in parsed ? parsed["data"] : parsed;
  if (Array.isArray(data)) return FRAME_OTHER;
  if (!isFields(data)) return FRAME_MALFORMED;
  const event = data["e"];
  if (event !== "depthUpdate" && event !== "bookTicker" && event !== "aggTrade" && event !== "trade")
    return FRAME_OTHER;
  const symbol = data["s"];
  if (typeof symbol !== "string") return FRAME_MALFORMED;
  frame.slot = symbols.slotOf(symbol);
  if (frame.slot < 0) return FRAME_FOREIGN;
  const priceDecimals = symbols.priceDecimals[frame.slot] ?? 0;
  const qtyDecimals = symbols.qtyDecimals[frame.slot] ?? 0;
  const verdict = new Verdict();
  frame.tsEventMs = verdict.optionalInteger(data["E"], 0);
  frame.tsTransactionMs = verdict.optionalInteger(data["T"], 0);
  let kind: FrameKind;
  if (event === "depthUpdate") {
    kind = FRAME_DEPTH;
    frame.firstId = verdict.integer(data["U"]);
    frame.lastId = verdict.integer(data["u"]);
    frame.prevId = verdict.integer(data["pu"]);
    readSides(frame, data["b"], data["a"], priceDecimals, qtyDecimals, verdict);
  } else if (event === "bookTicker") {
    kind = FRAME_BOOK_TICKER;
    frame.lastId = verdict.integer(data["u"]);
    frame.touchBidTicks = verdict.decimal(data["b"], priceDecimals);
    frame.touchBidLots = verdict.decimal(data["B"], qtyDecimals);
    frame.touchAskTicks = verdict.decimal(data["a"], priceDecimals);
    frame.touchAskLots = verdict.decimal(data["A"], qtyDecimals);
  } else {
    kind = FRAME_TRADE;
    frame.tradeId = verdict.integer(data[event === "trade" ? "t" : "a"]);
    frame.tradeTicks = verdict.decimal(data["p"], priceDecimals);
    frame.tradeLots = verdict.decimal(data["q"], qtyDecimals);
    const isBuyerMaker = data["m"];
    if (typeof isBuyerMaker !== "boolean") return FRAME_MALFORMED;
    frame.isBuyerMaker = isBuyerMaker;
  }
  return verdict.of(kind);
}

/** As VenuetwoDecoder.decodeSnapshot. */
export function decodeSnapshotCarefully(
  frame: VenuetwoFrame,
  symbols: SymbolTable,
  bytes: Uint8Array,
  start: number,
  end: number,
  slot: number,
): FrameKind {
  const data = parse(bytes, start, end);
  if (!isFields(data)) return FRAME_MALFORMED;
  frame.slot = slot;
  const verdict = new Verdict();
  frame.lastId = verdict.integer(data["lastUpdateId"]);
  frame.tsEventMs = verdict.optionalInteger(data["E"], 0);
  frame.tsTransactionMs = verdict.optionalInteger(data["T"], 0);
  const priceDecimals = symbols.priceDecimals[slot] ?? 0;
  const qtyDecimals = symbols.qtyDecimals[slot] ?? 0;
  readSides(frame, data["bids"], data["asks"], priceDecimals, qtyDecimals, verdict);
  return verdict.of(FRAME_DEPTH);
}

/** Collects what is wrong with a frame; malformed outweighs drift, as a garbled figure proves nothing about the protocol. */
class Verdict {
  #isMalformed = false;
  #isDrift = false;

  of(kind: FrameKind): FrameKind {
    if (this.#isMalformed) return FRAME_MALFORMED;
    return this.#isDrift ? FRAME_DRIFT : kind;
  }

  integer(value: unknown): number {
    if (typeof value !== "number" || value < 0 || !Number.isInteger(value)) {
      this.#isMalformed = true;
      return -1;
    }
    if (value > Number.MAX_SAFE_INTEGER) this.#isDrift = true;
    return value;
  }

  optionalInteger(value: unknown, absent: number): number {
    return value === undefined ? absent : this.integer(value);
  }

  decimal(value: unknown, decimals: number): number {
    if (typeof value !== "string") {
      this.#isMalformed = true;
      return -1;
    }
    const bytes = Buffer.from(value, "utf8");
    const scaled = scanDecimal(bytes, 0, bytes.length, decimals);
    if (scaled === SCAN_MALFORMED) this.#isMalformed = true;
    else if (scaled === SCAN_DRIFT) this.#isDrift = true;
    return scaled;
  }

  drift(): void {
    this.#isDrift = true;
  }

  malformed(): void {
    this.#isMalformed = true;
  }
}

function readSides(
  frame: VenuetwoFrame,
  bids: unknown,
  asks: unknown,
  priceDecimals: number,
  qtyDecimals: number,
  verdict: Verdict,
): void {
  if (!Array.isArray(bids) || !Array.isArray(asks)) {
    verdict.malformed();
    return;
  }
  for (const level of bids as unknown[]) {
    if (frame.bidCount === frame.bidTicks.length && !frame.growBids()) {
      verdict.drift();
      return;
    }
    const [price, qty] = pair(level);
    frame.bidTicks[frame.bidCount] = verdict.decimal(price, priceDecimals);
    frame.bidLots[frame.bidCount] = verdict.decimal(qty, qtyDecimals);
    frame.bidCount++;
  }
  for (const level of asks as unknown[]) {
    if (frame.askCount === frame.askTicks.length && !frame.growAsks()) {
      verdict.drift();
      return;
    }
    const [price, qty] = pair(level);
    frame.askTicks[frame.askCount] = verdict.decimal(price, priceDecimals);
    frame.askLots[frame.askCount] = verdict.decimal(qty, qtyDecimals);
    frame.askCount++;
  }
}

/** Further elements (the spot dialect once had a third) are ignored; missing ones come back undefined and fail as figures. */
function pair(level: unknown): readonly [unknown, unknown] {
  return Array.isArray(level) ? [level[0] as unknown, level[1] as unknown] : [undefined, undefined];
}

function parse(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8"));
  } catch {
    // Not JSON: undefined is not a frame, the caller counts it.
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
