/**
 * Fills that no event of a user stream brought, because the stream was lost or an event could not be read: read with
 * `userTrades` (sheet section 6.7) and reported once, by trade id.
 *
 * Trades are asked per symbol, of those that the account held, had orders in, or that moved its balance in the gap. A
 * read that fails fails the load: the stream is not LIVE, and the next load goes on with the symbols that are left, the one
 * that failed last. After MAX_FILL_TRIES in a row its fills are given up, logged and counted: the account is LIVE again by the
 * sizes that are read. Reads of the venue lag: a gap is closed by a reading that began SURELY_LATER_MS after the first one
 * of this gap, and after sizes of REST last showed another loss.
 *
 * Weight of one reading: 30 for the income, 5 a symbol and page, 1 for each order that is not known as of its fill: the
 * end of an order can be lost with the fill that ended it.
 * Bounds: MAX_MISSED_FILLS rows of one reading, in equal parts of the symbols that are left, and of each symbol the
 * newest; what is cut is logged, and the filled sizes of its orders include it.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { orderKey, type VenueFill, type VenueOrder } from "../../../engine/domain/order.js";
import type { AccountHistory, AccountReader, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failureOf, type LoadFailure, type Question } from "../../shared/account/account-feed.js";
import type { PendingNews } from "../../shared/account/pending-news.js";
import { SURELY_LATER_MS } from "../../shared/account/streamed-reads.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { LOAD_TIMEOUT_MS, MAX_FILL_TRIES } from "../rules/limits.js";
import { nativePrice } from "./normalize.js";
import type { OrderState } from "./order-state.js";

export interface FillHistory extends Pick<AccountHistory, "readFills"> {
  /** Symbols that moved the balance within a span of venue time. */
  readMovedSymbols(
    session: AccountSession,
    fromMs: number,
    untilMs: number,
    options: CallOptions,
  ): Promise<Read<readonly string[]>>;
}

export interface MissedFillsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reader: Pick<AccountReader, "readOrder">;
  readonly history: FillHistory;
  readonly instrumentOf: (nativeSymbol: string) => Instrument | null;
}

/** What is read once for each reading: trades of a symbol, or the list of the symbols that moved. */
type Source = string | typeof MOVED_LIST;

/** A time of the venue, and of our monotonic clock. */
interface Instant {
  readonly venueMs: number;
  readonly monoMs: number;
}

/** One pass over the symbols; it outlives a load that fails half-way. */
interface Reading {
  readonly fromMs: number;
  readonly began: Instant;
  /** Not read yet. */
  readonly symbols: Set<string>;
  /** Keys of orders; each is looked up once. */
  readonly lookedUp: Set<string>;
  /** Began so late that the venue shows every fill of the gap, where it can be read. */
  readonly isConclusive: boolean;
  rowsLeft: number;
}

const OPTIONS: CallOptions = { timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" };
/** With an order for each of them fewer than PendingNews holds, and far fewer than the trades that OrderState remembers. */
const MAX_MISSED_FILLS = 2_000;
/** The venue's largest page. */
const PAGE_ROWS = 1_000;
/** A page may be shorter than asked for: so many of one symbol at most. */
const MAX_PAGES = 8;
const MOVED_LIST = null;
/** Events may be this late and out of order; trade ids tell which fills of the overlap were reported. */
const OVERLAP_MS = 10_000;
/** Room for the error of the clock offset. */
const CLOCK_MARGIN_MS = 1_000;

export class MissedFills {
  readonly #deps: MissedFillsDeps;
  readonly #orders: OrderState;
  readonly #news: PendingNews;
  /** The first LIVE, null before it: no older fill is reported. */
  #since: Instant | null = null;
  /** Up to then every fill is reported. */
  #toldUntil: Instant | null = null;
  #isMissing = false;
  /** Symbols that the account was known to deal in when the gap began. */
  readonly #known = new Set<string>();
  /** Monotonic ms at which trades were first asked for after the last loss; null where they were not. */
  #firstReadMs: number | null = null;
  /** Monotonic ms at which sizes showed another loss while fills were missing; null where none did. */
  #lostMoreMs: number | null = null;
  #reading: Reading | null = null;
  #lossCount = 0;
  /** Reads that failed since the last one that was answered. */
  readonly #failedTries = new Map<Source, number>();
  readonly #onGivenUp: () => void;

  /** `onGivenUp`: fills of a contract, or of contracts that nobody knows of, are missing for good. */
  constructor(deps: MissedFillsDeps, orders: OrderState, news: PendingNews, onGivenUp: () => void) {
    this.#deps = deps;
    this.#onGivenUp = onGivenUp;
    this.#orders = orders;
    this.#news = news;
  }

  get isMissing(): boolean {
    return this.#isMissing;
  }

  /** Events may be missing from here on. `symbols`: what the account deals in, as far as it is known. */
  lost(symbols: Iterable<string>): void {
    if (this.#since === null) return;
    this.#isMissing = true;
    for (const symbol of symbols) this.#known.add(symbol);
    this.#firstReadMs = null;
    this.#lostMoreMs = null;
    this.#reading = null;
    this.#lossCount++;
  }

  /** The stream was dead from then on, although sizes that were read agreed with it. A loss is noted after it. */
  silentSince(then: Instant): void {
    if (this.#toldUntil !== null && then.monoMs < this.#toldUntil.monoMs) this.#toldUntil = then;
  }

  /**
   * Sizes show another loss while fills are missing. The reading under way may have passed its contract and goes on: an
   * account whose sizes move with each answer would never end one.
   */
  lostMore(symbols: Iterable<string>): void {
    for (const symbol of symbols) this.#known.add(symbol);
    this.#lostMoreMs = monoMs(this.#deps.clock);
  }

  /** The account was LIVE as of this venue time, by an answer asked for at `beganMs` (monotonic). */
  taken(asOfVenueMs: number, beganMs: number): void {
    const asOf: Instant = { venueMs: asOfVenueMs, monoMs: beganMs - CLOCK_MARGIN_MS };
    this.#since ??= { venueMs: asOf.venueMs - CLOCK_MARGIN_MS, monoMs: asOf.monoMs - CLOCK_MARGIN_MS };
    if (!this.#isMissing) this.#toldUntil = asOf;
  }

  /** `symbols`: what the account deals in now. Returns null when everything was answered, or nothing is missing. */
  async read(
    session: AccountSession,
    { beganMs, isWanted }: Question,
    symbols: Iterable<string>,
    nowVenueMs: number,
  ): Promise<LoadFailure | null> {
    if (!this.#isMissing || this.#since === null) return null;
    const lossCount = this.#lossCount;
    const isCurrent = (): boolean => isWanted() && lossCount === this.#lossCount;
    // The loss may have come after the load began.
    this.#firstReadMs ??= monoMs(this.#deps.clock);
    if (this.#reading === null) {
      const now: Instant = { venueMs: nowVenueMs, monoMs: beganMs };
      const sinceMs = venueMsOf(this.#since, now);
      const fromMs = Math.max(sinceMs, venueMsOf(this.#toldUntil ?? this.#since, now) - OVERLAP_MS);
      const isConclusive = beganMs - this.#firstReadMs >= SURELY_LATER_MS;
      const untilMs = nowVenueMs + CLOCK_MARGIN_MS;
      const moved = await this.#deps.history.readMovedSymbols(session, fromMs, untilMs, OPTIONS);
      if (!isCurrent()) return "unanswered";
      const failure = this.#triedFor(MOVED_LIST, moved.ok ? null : failureOf(moved));
      if (failure !== null) return failure;
      const unread = new Set([...this.#known, ...symbols, ...(moved.ok ? moved.value : [])]);
      this.#reading = {
        fromMs,
        isConclusive,
        symbols: unread,
        lookedUp: new Set(),
        rowsLeft: MAX_MISSED_FILLS,
        began: now,
      };
    }
    return this.#readOn(session, this.#reading, isCurrent);
  }

  async #readOn(session: AccountSession, reading: Reading, isCurrent: () => boolean): Promise<LoadFailure | null> {
    for (const symbol of reading.symbols) {
      const instrument = this.#deps.instrumentOf(symbol);
      const failed = instrument === null ? null : await this.#readSymbol(session, instrument, reading, isCurrent);
      if (!isCurrent()) return "unanswered";
      reading.symbols.delete(symbol);
      const failure = this.#triedFor(symbol, failed);
      if (failure === null) continue;
      reading.symbols.add(symbol);
      return failure;
    }
    this.#reading = null;
    if (reading.isConclusive) this.#close(reading.began);
    return null;
  }

  /** Returns null where it was read, or is given up. Refused credentials are no matter of one contract. */
  #triedFor(source: Source, failure: LoadFailure | null): LoadFailure | null {
    if (failure === "refused") return failure;
    if (failure === null) {
      this.#failedTries.delete(source);
      return null;
    }
    const count = (this.#failedTries.get(source) ?? 0) + 1;
    this.#failedTries.set(source, count);
    if (count < MAX_FILL_TRIES) return failure;
    const symbol = source === MOVED_LIST ? null : (this.#deps.instrumentOf(source)?.symbol ?? null);
    this.#deps.logger.error("venuetwo.account.fills-unread", { symbol, attemptCount: count });
    this.#onGivenUp();
    return null;
  }

  /** Every fill surely before this instant is reported. */
  #close({ monoMs: beganMs, venueMs }: Instant): void {
    const lostMoreMs = this.#lostMoreMs;
    this.#lostMoreMs = null;
    if (lostMoreMs !== null && beganMs - lostMoreMs < SURELY_LATER_MS) {
      this.#firstReadMs = lostMoreMs;
      this.#toldUntil = { venueMs: venueMs - SURELY_LATER_MS, monoMs: beganMs - SURELY_LATER_MS };
      return;
    }
    this.#isMissing = false;
    this.#known.clear();
  }

  async #readSymbol(
    session: AccountSession,
    instrument: Instrument,
    reading: Reading,
    isCurrent: () => boolean,
  ): Promise<LoadFailure | null> {
    const rows: VenueFill[] = [];
    // A contract of many fills leaves the others their part.
    const maxRows = Math.ceil(reading.rowsLeft / reading.symbols.size);
    let cursor: string | null = null;
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const limit = Math.min(PAGE_ROWS, maxRows - rows.length);
      if (limit <= 0 || page >= MAX_PAGES) {
        this.#deps.logger.warn("venuetwo.account.fills-cut", { symbol: instrument.symbol, count: rows.length });
        break;
      }
      const query = { instrument, sinceMs: reading.fromMs, untilMs: null, limit, cursor };
      const read = await this.#deps.history.readFills(session, query, OPTIONS);
      if (!isCurrent()) return "unanswered";
      if (!read.ok) return failureOf(read);
      rows.push(...read.value.rows);
      cursor = read.value.nextCursor;
    }
    // Oldest first, as they happened.
    for (const fill of rows.toReversed()) {
      const failure = await this.#report(session, fill, instrument, reading, isCurrent);
      if (failure !== null) return failure;
    }
    reading.rowsLeft -= rows.length;
    return null;
  }

  async #report(
    session: AccountSession,
    fill: VenueFill,
    instrument: Instrument,
    reading: Reading,
    isCurrent: () => boolean,
  ): Promise<LoadFailure | null> {
    const isReported = this.#orders.hasFill(fill);
    let order = this.#orders.orderOf(fill);
    const isBehind = order === null ? !isReported : order.tsVenueMs < fill.tsVenueMs;
    const { venueOrderId } = fill;
    if (isBehind && !reading.lookedUp.has(orderKey(fill))) {
      const read = await this.#deps.reader.readOrder(session, instrument, { venueOrderId }, OPTIONS);
      if (!isCurrent()) return "unanswered";
      if (!read.ok) return failureOf(read);
      reading.lookedUp.add(orderKey(fill));
      if (read.value !== null) order = this.#learnt(read.value);
    }
    if (isReported) return null;
    if (order === null) {
      // The look-up lags behind the trades: a later reading asks again.
      if (reading.isConclusive)
        this.#deps.logger.error("venuetwo.account.fill-of-no-order", { symbol: instrument.symbol });
      return null;
    }
    const event = this.#orders.adoptFill(fill, order, nativePrice(instrument, fill.price));
    if (event !== null) this.#news.add([event]);
    return null;
  }

  #learnt(order: VenueOrder): VenueOrder {
    if (this.#orders.adoptOrder(order)) this.#news.add([{ kind: "order", order }]);
    return order;
  }
}

/** Our estimate of the venue's time may have fallen since then: the earlier one counts. */
function venueMsOf(then: Instant, now: Instant): number {
  return Math.min(then.venueMs, Math.floor(now.venueMs - (now.monoMs - then.monoMs)));
}
