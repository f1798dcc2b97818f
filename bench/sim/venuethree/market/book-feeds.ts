/** The books of one API server: a feed for each that somebody listens to, and where the offsets of the others go on. */
import type { Random } from "../../../../engine/domain/random.js";
import type { SimSide } from "../../core/model/types.js";
import { BookFeed, emptyBook } from "./book-feed.js";
import type { VenuethreeContext } from "../orders/context.js";
import type { Row } from "../wire/json.js";
import type { VenuethreeMarket } from "../records/listing.js";

export class BookFeeds {
  readonly #context: VenuethreeContext;
  readonly #random: Random;
  readonly #nonceShift: number;
  readonly #feeds = new Map<string, BookFeed>();
  readonly #offsets = new Map<string, number>();

  constructor(context: VenuethreeContext, random: Random, nonceShift: number) {
    this.#context = context;
    this.#random = random;
    this.#nonceShift = nonceShift;
  }

  add(symbol: string, side: SimSide, priceTicks: number, qtyLots: number, seq: number, tsMs: number): void {
    this.#feeds.get(symbol)?.add(side, priceTicks, qtyLots, seq, tsMs);
  }

  /**
   * The first frame of a subscription. A book without listeners starts a new feed. Returns null when the venue sends
   * nothing.
   */
  snapshot(market: VenuethreeMarket, isFirst: boolean): Row | null {
    const { exchange, quirks } = this.#context;
    const { symbol, instrument } = market;
    if (instrument === null) return quirks.emptySnapshots ? emptyBook(market, exchange.nowMs()) : null;
    let feed = isFirst ? undefined : this.#feeds.get(symbol);
    if (feed === undefined) {
      feed = new BookFeed(
        market,
        instrument,
        this.#random,
        this.#nextOffset(symbol),
        this.#nonceShift,
        exchange.market.seq(symbol),
      );
      this.#feeds.set(symbol, feed);
    }
    // What waits for the next batch is not in the snapshot: the batch follows it in the chain.
    const book = exchange.market.trueBook(symbol, feed.sentSeq) ?? exchange.market.book(symbol);
    return feed.snapshot(book, exchange.nowMs(), quirks);
  }

  /** The batch of changes since the last one; null when there are none. */
  take(symbol: string): Row | null {
    const { exchange, quirks } = this.#context;
    return this.#feeds.get(symbol)?.take(exchange.nowMs(), quirks) ?? null;
  }

  /** Nobody listens any more. */
  close(symbol: string): void {
    const feed = this.#feeds.get(symbol);
    if (feed === undefined) return;
    this.#offsets.set(symbol, feed.offset);
    this.#feeds.delete(symbol);
  }

  /** The server's counter moves on while nobody listens. */
  #nextOffset(symbol: string): number {
    const before = this.#offsets.get(symbol) ?? 100_000 + Math.floor(this.#random.next() * 40_000_000);
    return before + 1 + Math.floor(this.#random.next() * 500);
  }
}
