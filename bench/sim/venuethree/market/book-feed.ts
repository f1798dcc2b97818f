/**
 * The book of one market as one API server publishes it: batches of changed levels, chained by `begin_nonce` = `nonce`
 * of the frame before, whether or not anybody received that. Nonces are the engine's change ids, which count over all
 * markets; the offset belongs to the server and has holes.
 */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimBookSnapshot, SimInstrument, SimSide } from "../../core/model/types.js";
import { microseconds } from "../wire/ids.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";
import { printLevels } from "./market-view.js";
import type { VenuethreeQuirks } from "../records/options.js";

/** Share of offsets the server skips; two of six were skipped in a recorded sequence. */
const HOLE_SHARE = 0.25;
const HOLE_MAX = 3;
const BROKEN_BY_MAX = 900;

export class BookFeed {
  readonly #market: VenuethreeMarket;
  readonly #instrument: SimInstrument;
  readonly #random: Random;
  readonly #nonceShift: number;
  readonly #bids = new Map<number, number>();
  readonly #asks = new Map<number, number>();
  #offset: number;
  /** Engine ids: of the newest change sent, and of the newest one waiting. */
  #sentSeq: number;
  #waitingSeq: number;
  #waitingMs = 0;

  constructor(
    market: VenuethreeMarket,
    instrument: SimInstrument,
    random: Random,
    firstOffset: number,
    nonceShift: number,
    seq: number,
  ) {
    this.#market = market;
    this.#instrument = instrument;
    this.#random = random;
    this.#offset = firstOffset;
    this.#nonceShift = nonceShift;
    this.#sentSeq = seq;
    this.#waitingSeq = seq;
  }

  /** Change id of the state that a listener of every frame has. */
  get sentSeq(): number {
    return this.#sentSeq;
  }

  get offset(): number {
    return this.#offset;
  }

  add(side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    (side === "BUY" ? this.#bids : this.#asks).set(priceTicks, qtyLots);
    this.#waitingSeq = seq;
    this.#waitingMs = tsMs;
  }

  /** `subscribed/order_book`; `book` is the state after `sentSeq`. */
  snapshot(book: SimBookSnapshot, nowMs: number, quirks: VenuethreeQuirks): Row {
    const sent = {
      asks: printLevels(this.#instrument, book.asks),
      bids: printLevels(this.#instrument, book.bids),
      seq: this.#sentSeq,
      tsMs: book.tsMs,
    };
    return this.#frame("subscribed/order_book", sent, quirks.beginNonce ? 0 : null, nowMs);
  }

  /** `update/order_book` with the changes since the last one, or null when there are none. */
  take(nowMs: number, quirks: VenuethreeQuirks): Row | null {
    if (this.#waitingSeq === this.#sentSeq) return null;
    let begin: number | null = this.#sentSeq - this.#nonceShift;
    if (!quirks.beginNonce) begin = null;
    else if (quirks.brokenBeginNonceShare > 0 && this.#random.next() < quirks.brokenBeginNonceShare)
      begin -= 1 + Math.floor(this.#random.next() * BROKEN_BY_MAX);
    this.#offset += this.#random.next() < HOLE_SHARE ? 2 + Math.floor(this.#random.next() * HOLE_MAX) : 1;
    const sent = {
      asks: this.#drain(this.#asks, 1),
      bids: this.#drain(this.#bids, -1),
      seq: this.#waitingSeq,
      tsMs: this.#waitingMs,
    };
    this.#sentSeq = this.#waitingSeq;
    return this.#frame("update/order_book", sent, begin, nowMs);
  }

  #frame(
    type: string,
    sent: { readonly asks: Row[]; readonly bids: Row[]; readonly seq: number; readonly tsMs: number },
    beginNonce: number | null,
    nowMs: number,
  ): Row {
    const changedUs = microseconds(sent.tsMs, sent.seq);
    const { asks, bids } = sent;
    const nonce = sent.seq - this.#nonceShift;
    const book = { code: 0, asks, bids, offset: this.#offset, nonce };
    const channel = `order_book:${this.#market.marketId}`;
    // Frames of 2025 had neither the chain nor the time of the change.
    if (beginNonce === null) return { channel, offset: this.#offset, order_book: book, timestamp: nowMs, type };
    return {
      channel,
      last_updated_at: changedUs,
      offset: this.#offset,
      order_book: { ...book, last_updated_at: changedUs, begin_nonce: beginNonce },
      timestamp: nowMs,
      type,
    };
  }

  #drain(changes: Map<number, number>, direction: 1 | -1): Row[] {
    const levels = [...changes]
      .sort((left, right) => direction * (left[0] - right[0]))
      .map(([priceTicks, qtyLots]) => ({ priceTicks, qtyLots }));
    changes.clear();
    return printLevels(this.#instrument, levels);
  }
}

/** Snapshot of a market that has no book. */
export function emptyBook(market: VenuethreeMarket, nowMs: number): Row {
  return {
    channel: `order_book:${market.marketId}`,
    last_updated_at: 0,
    offset: 1,
    order_book: { code: 0, asks: [], bids: [], offset: 1, nonce: 0, last_updated_at: 0, begin_nonce: 0 },
    timestamp: nowMs,
    type: "subscribed/order_book",
  };
}
