/**
 * Subscribe and resume frames → keys. Symbols are resolved as in REST; a frame is accepted whole or refused whole, with
 * the same codes as REST.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { BOOK_DEPTH_BOUNDS } from "../../schemas/book.js";
import {
  subscribeAnySchema,
  subscribeBookSchema,
  subscribeStatusSchema,
  subscribeTickerSchema,
} from "../../schemas/stream.js";
import {
  ACCOUNT_TOPIC_WORDS,
  DEFAULT_INTERVAL_MS,
  PUBLIC_TOPIC_WORDS,
  type TOPIC_WORDS,
  TRANSFER_TOPIC_WORDS,
} from "../../schemas/stream-data.js";
import { compileValidator } from "../../schemas/validate.js";
import type { Clock } from "../../engine/domain/clock.js";
import { AccountTopics, type ResumedSub, type StreamAccounts } from "./account-topics.js";
import { BookFeed } from "./book-feed.js";
import { checked } from "./checked.js";
import type { KeySpec } from "./feed.js";
import { type FeedBoard, StatusFeed } from "./feed-board.js";
import { keyText, parseKeyText, type PublicKey } from "./key-text.js";
import { TickerFeed } from "./ticker-feed.js";
import { type StreamTransfers, TransferTopic } from "./transfer-topic.js";
import type { MemberSources } from "./venue-member.js";

export interface TopicSources extends MemberSources {
  readonly board: FeedBoard;
  /** Their tickers are withheld because their keys are not configured (interface spec 5.5). */
  readonly refusedTickers: ReadonlySet<RoutableVenue>;
  readonly clock: Clock;
  /** Absent: the account topics are not served. */
  readonly accounts?: StreamAccounts;
  /** Absent: `transfers` is not served. */
  readonly transfers?: StreamTransfers;
}

export class Topics {
  readonly #sources: TopicSources;
  readonly #any = compileValidator(subscribeAnySchema);
  readonly #ticker = compileValidator(subscribeTickerSchema);
  readonly #book = compileValidator(subscribeBookSchema);
  readonly #status = compileValidator(subscribeStatusSchema);
  readonly #accounts: AccountTopics | null;
  readonly #transfers: TransferTopic | null;

  constructor(sources: TopicSources) {
    this.#sources = sources;
    this.#accounts = sources.accounts === undefined ? null : new AccountTopics(sources, sources.accounts);
    this.#transfers = sources.transfers === undefined ? null : new TransferTopic(sources.clock, sources.transfers);
  }

  /** Throws ServiceError for a frame that names none. */
  topicOf(frame: unknown): (typeof TOPIC_WORDS)[number] {
    return checked(this.#any, frame).topic;
  }

  /** Reports whether a key text is of an account, or of transfers. */
  isPrivate(text: string): boolean {
    return this.#accounts?.isKeyText(text) === true || this.#transfers?.isKeyText(text) === true;
  }

  /** Returns the keys that a subscribe frame requests, each once; throws ServiceError. `ownerId`: who asks; `payer`: its key. */
  subscribed(frame: unknown, ownerId: string | null, payer: string | null): KeySpec[] {
    const topic = this.topicOf(frame);
    if (this.#accounts !== null && (topic === "positions" || topic === "orders"))
      return [this.#accounts.subscribed(topic, frame, ownerId, payer)];
    if (this.#transfers !== null && topic === "transfers") return [this.#transfers.subscribed(frame, ownerId)];
    const specs = new Map<string, KeySpec>();
    const take = (key: PublicKey) => {
      const spec = this.#spec(key);
      specs.set(spec.text, spec);
    };
    if (topic === "ticker") {
      const { symbols, exchanges, intervalMs = DEFAULT_INTERVAL_MS } = checked(this.#ticker, frame);
      for (const text of symbols) take({ topic, ...this.#listed(topic, text, exchanges), intervalMs });
    } else if (topic === "book") {
      const wish = checked(this.#book, frame);
      const { depth = BOOK_DEPTH_BOUNDS.default, intervalMs = DEFAULT_INTERVAL_MS } = wish;
      for (const text of wish.symbols) take({ topic, ...this.#listed(topic, text, wish.exchanges), depth, intervalMs });
    } else if (topic === "status") {
      checked(this.#status, frame);
      take({ topic });
    } else {
      const what = `the topic ${topic} is not served here`;
      const servedTopics = [
        ...PUBLIC_TOPIC_WORDS,
        ...(this.#accounts === null ? [] : ACCOUNT_TOPIC_WORDS),
        ...(this.#transfers === null ? [] : TRANSFER_TOPIC_WORDS),
      ];
      throw new ServiceError("NOT_SUPPORTED", { what, topic, servedTopics });
    }
    return [...specs.values()];
  }

  /** Returns the key of a text that a client kept; throws UNKNOWN_SUBSCRIPTION. */
  resumed(wish: ResumedSub, ownerId: string | null, payer: string | null): KeySpec {
    const { sub: text } = wish;
    if (this.#accounts?.isKeyText(text) === true) return this.#accounts.resumed(wish, ownerId, payer);
    if (this.#transfers?.isKeyText(text) === true) return this.#transfers.resumed(text, ownerId);
    const key = parseKeyText(text);
    if (key === null || !this.#isListed(key)) throw new ServiceError("UNKNOWN_SUBSCRIPTION", { sub: text });
    return this.#spec(key);
  }

  #spec(key: PublicKey): KeySpec {
    const sources = this.#sources;
    const text = keyText(key);
    if (key.topic === "status") return { text, intervalMs: 0, open: () => new StatusFeed(sources.board) };
    const { symbol, intervalMs } = key;
    const venues = [...new Set(key.exchanges)].sort();
    if (key.topic === "ticker")
      return { text, intervalMs, open: (mark) => new TickerFeed(sources, symbol, venues, mark) };
    const levels = 2 * venues.length * key.depth;
    return { text, intervalMs, levels, open: (mark) => new BookFeed(sources, symbol, venues, key.depth, mark) };
  }

  /** Returns the canonical symbol and the exchanges that show it. */
  #listed(
    topic: "ticker" | "book",
    text: string,
    exchanges: readonly RoutableVenue[] | undefined,
  ): { symbol: string; exchanges: RoutableVenue[] } {
    const { view } = this.#sources;
    if (exchanges === undefined) {
      const symbol = view.resolve(text);
      const listing = ROUTABLE_VENUES.filter((venue) => view.market(venue, symbol) !== null);
      const shown = listing.filter((venue) => !this.#isWithheld(topic, venue));
      // Listed only where the ticker is withheld.
      if (shown.length === 0) throw new ServiceError("MISSING_CREDENTIALS", { exchange: listing[0] ?? null });
      return { symbol, exchanges: shown };
    }
    let symbol = "";
    for (const exchange of exchanges) {
      if (this.#isWithheld(topic, exchange)) throw new ServiceError("MISSING_CREDENTIALS", { exchange });
      view.requireRoom(exchange);
      const here = view.resolveOn(exchange, text);
      // A text that means different assets on two venues cannot be one subscription.
      if (symbol !== "" && here !== symbol) throw view.unknownSymbol(text, exchange);
      symbol = here;
    }
    return { symbol, exchanges: [...exchanges] };
  }

  #isListed(key: PublicKey): boolean {
    if (key.topic === "status") return true;
    const { view } = this.#sources;
    return key.exchanges.every(
      (venue) => view.market(venue, key.symbol) !== null && !this.#isWithheld(key.topic, venue),
    );
  }

  #isWithheld(topic: string, venue: RoutableVenue): boolean {
    return topic === "ticker" && this.#sources.refusedTickers.has(venue);
  }
}
