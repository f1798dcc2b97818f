/**
 * The careful half of decode.ts: a JSON parser that keeps long integers, any field order, any spacing, escapes. It
 * fills the same registers with the same rules, so a frame means the same whichever half reads it (a property test
 * holds them together), and it is the one that says what a frame is that the fast half refused. Never throws.
 */
import { SCAN_DRIFT, SCAN_MALFORMED, scanDecimal } from "../../shared/book/scan-decimal.js";
import { type Fields, isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { readChannel } from "./channel.js";
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
  type VenuethreeFrame,
} from "./frame.js";
import type { MarketTable } from "./market-table.js";

/** The channel comes first; a frame may be megabytes of rubbish. */
const LOOKED_AT_BYTES = 512;
const CHANNEL = /"channel"\s*:\s*"(order_book|ticker):(\d{1,9})"/;

/** As VenuethreeDecoder.decodeFrame, for frames the fast half refused. */
export function decodeCarefully(
  frame: VenuethreeFrame,
  markets: MarketTable,
  bytes: Uint8Array,
  start: number,
  end: number,
): FrameKind {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  const data = parseJsonExact(buffer.toString("utf8"));
  if (!isFields(data)) {
    // Whose it was: what the frame would have changed there is not known.
    const [, name, marketId] = CHANNEL.exec(buffer.toString("latin1", 0, LOOKED_AT_BYTES)) ?? [];
    frame.isTicker = name === "ticker";
    frame.slot = marketId === undefined ? -1 : markets.slotOf(Number(marketId));
    return FRAME_MALFORMED;
  }
  const { channel: channelText, type } = data;
  const channel = typeof channelText === "string" ? readChannel(channelText) : null;
  if (channel === null || (channel.name !== "order_book" && channel.name !== "ticker")) return FRAME_OTHER;
  // The acknowledgement of an unsubscribe names the channel too.
  if (type === "unsubscribed") return FRAME_OTHER;
  frame.isTicker = channel.name === "ticker";
  if (channel.marketId < 0) return FRAME_MALFORMED;
  frame.slot = markets.slotOf(channel.marketId);
  if (frame.slot < 0) return FRAME_FOREIGN;
  const scale: Scale = {
    priceDecimals: markets.priceDecimals[frame.slot] ?? 0,
    qtyDecimals: markets.qtyDecimals[frame.slot] ?? 0,
  };
  return frame.isTicker ? readTicker(frame, data, scale) : readBook(frame, data, scale);
}

/** Decimals of the frame's market. */
interface Scale {
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
}

function readTicker(frame: VenuethreeFrame, data: Fields, scale: Scale): FrameKind {
  const { nonce, ticker, timestamp, type } = data;
  const verdict = new Verdict();
  frame.tsVenueMs = verdict.optionalInteger(timestamp, 0);
  if ((type !== "update/ticker" && type !== "subscribed/ticker") || !isFields(ticker)) return FRAME_MALFORMED;
  frame.nonce = verdict.integer(nonce);
  readBest(frame.asks, ticker["a"], scale, verdict);
  readBest(frame.bids, ticker["b"], scale, verdict);
  frame.touchAskTicks = frame.asks.ticks[0] ?? 0;
  frame.touchAskLots = frame.asks.lots[0] ?? 0;
  frame.touchBidTicks = frame.bids.ticks[0] ?? 0;
  frame.touchBidLots = frame.bids.lots[0] ?? 0;
  return verdict.of(FRAME_TICKER);
}

function readBook(frame: VenuethreeFrame, data: Fields, scale: Scale): FrameKind {
  const { order_book: book, timestamp, type } = data;
  const verdict = new Verdict();
  frame.tsVenueMs = verdict.optionalInteger(timestamp, 0);
  if ((type !== "update/order_book" && type !== "subscribed/order_book") || !isFields(book)) return FRAME_MALFORMED;
  frame.nonce = verdict.integer(book["nonce"]);
  frame.beginNonce = verdict.optionalInteger(book["begin_nonce"], -1);
  readSide(frame.bids, book["bids"], scale, verdict);
  readSide(frame.asks, book["asks"], scale, verdict);
  return verdict.of(type === "update/order_book" ? FRAME_UPDATE : FRAME_SNAPSHOT);
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
    // Kept as text by the parser: an integer beyond 2^53.
    if (typeof value === "string" && /^\d{16,}$/.test(value)) {
      this.#isDrift = true;
      return -1;
    }
    if (typeof value !== "number" || value < 0 || !Number.isSafeInteger(value)) {
      this.#isMalformed = true;
      return -1;
    }
    return value;
  }

  optionalInteger(value: unknown, absent: number): number {
    return value === undefined || value === null ? absent : this.integer(value);
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

/** `null` is the venue's empty list in some answers. */
function readSide(side: FrameSide, levels: unknown, { priceDecimals, qtyDecimals }: Scale, verdict: Verdict): void {
  if (levels === null) return;
  if (!Array.isArray(levels)) {
    verdict.malformed();
    return;
  }
  for (const level of levels as unknown[]) {
    if (side.count === side.ticks.length && !side.grow()) {
      verdict.drift();
      return;
    }
    const fields = isFields(level) ? level : {};
    side.ticks[side.count] = verdict.decimal(fields["price"], priceDecimals);
    side.lots[side.count] = verdict.decimal(fields["size"], qtyDecimals);
    side.count++;
  }
}

/** Best level of a ticker; empty texts are an empty side. */
function readBest(side: FrameSide, level: unknown, { priceDecimals, qtyDecimals }: Scale, verdict: Verdict): void {
  const fields = isFields(level) ? level : {};
  const isEmpty = fields["price"] === "" && fields["size"] === "";
  side.ticks[0] = isEmpty ? 0 : verdict.decimal(fields["price"], priceDecimals);
  side.lots[0] = isEmpty ? 0 : verdict.decimal(fields["size"], qtyDecimals);
}
