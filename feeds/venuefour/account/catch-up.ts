/**
 * What REST says of a streamed account: positions, open orders, the end of orders that vanished, and after a loss the
 * fills that no frame reported: the venue's list of them lags, so a gap is closed by a reading that began SURELY_LATER_MS
 * after the first one of this gap.
 *
 * Invariants: no position is taken of a read that was not answered whole, and no order or fill that was learnt on the way
 * is forgotten; each fill is reported once, by its trade id (account/state.ts), an order only as it is now; an order
 * that left the open ones is looked up, its end is not guessed.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, AccountHistory, CallOptions } from "../../../engine/ports.js";
import { failureOf, type LoadFailure, type Question } from "../../shared/account/account-feed.js";
import { PendingNews } from "../../shared/account/pending-news.js";
import { SURELY_LATER_MS } from "../../shared/account/streamed-reads.js";
import { monoMs } from "../../shared/net/weight-window.js";
import type { VenuefourAccount } from "./reader.js";
import { nativePrice } from "./normalize.js";
import type { AccountState } from "./state.js";
import { LOAD_TIMEOUT_MS, MAX_FILL_TRIES } from "../rules/limits.js";
import type { OrderMemory } from "./order-memory.js";
import type { VenuefourSession } from "./session.js";

export interface CatchUpDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly account: VenuefourAccount;
  readonly history: AccountHistory;
  readonly memory: OrderMemory;
  readonly instrumentOf: (nativeSymbol: string) => Instrument | null;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
}

/** Answered whole; its orders and fills are in the account's state already (`takeNews`), its positions do not. */
interface CaughtUp {
  readonly positions: readonly VenuePosition[];
  readonly lastId: number | null;
  readonly asOfMs: number;
  readonly askedAtVenueMs: number;
}

type OrderName = ReturnType<AccountState["awaitedOrderIds"]>[number];

const OPTIONS: CallOptions = { timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" };
/** Orders looked up one by one after a loss, because they vanished from the open ones or have fills. */
const MAX_LOOKED_UP = 30;
/** Fills read after a loss; a longer gap shows in the orders' filled sizes. */
const MAX_MISSED_FILLS = 200;
/** Overlap of what is read with what was received; the trade ids sort it out. */
const FILL_OVERLAP_MS = 10_000;
/**
 * Error of our clock estimate (whole-second stamps). A fill from just before the stream began may so be reported after
 * the first loss: it is true and reported once, where the other way round one would be missed.
 */
const CLOCK_MARGIN_MS = 2_000;

export class AccountCatchUp {
  readonly #deps: CatchUpDeps;
  readonly #accountId: string;
  readonly #state: AccountState;
  /** Venue ms from which on every fill is to be reported; null before the first LIVE. */
  #fillsSinceMs: number | null = null;
  #hasMissedFills = false;
  /** Monotonic ms at which fills were first asked for after the last loss; null where they were not. */
  #firstReadMs: number | null = null;
  #lossCount = 0;
  /** Readings of fills that failed since the last one that was answered. */
  #failedCount = 0;
  readonly #onFillsGivenUp: () => void;
  /** Ids of which the venue knew nothing, of so many orders at most as the state holds. */
  readonly #unknownIds = new Set<string>();
  readonly #news: PendingNews;

  /** `onFillsGivenUp`: fills are missing for good. */
  constructor(deps: CatchUpDeps, accountId: string, state: AccountState, onFillsGivenUp: () => void) {
    this.#deps = deps;
    this.#accountId = accountId;
    this.#state = state;
    this.#onFillsGivenUp = onFillsGivenUp;
    this.#news = new PendingNews((count) => {
      deps.logger.error("venuefour.account.news-dropped", { count });
      onFillsGivenUp();
    });
  }

  /** Frames may have been missed from here on. */
  lost(): void {
    this.#hasMissedFills = this.#fillsSinceMs !== null;
    this.#firstReadMs = null;
    this.#lossCount++;
  }

  /** What was read has been taken: the account is LIVE from when it was asked for. */
  taken({ askedAtVenueMs }: CaughtUp): void {
    this.#fillsSinceMs ??= askedAtVenueMs - CLOCK_MARGIN_MS;
  }

  /** What has been learnt, for after the positions are taken; a fill has the newest state of its order. */
  takeNews(): readonly AccountEvent[] {
    return this.#news
      .take((order) => this.#state.isNewest(order))
      .map((event) => (event.kind === "fill" ? { ...event, order: this.#state.newestOf(event.order) } : event));
  }

  /** A failure also where the answer is no longer wanted. */
  async read(session: VenuefourSession, { beganMs, isWanted }: Question): Promise<CaughtUp | LoadFailure> {
    const { account, clock, clockOffsetMs } = this.#deps;
    // Whole: it goes into a query, and the clock estimate has fractions.
    const askedAtVenueMs = Math.floor(clock.wallMs() + clockOffsetMs());
    const [snapshot, open] = await Promise.all([
      account.readSnapshot(session, OPTIONS),
      account.readOpenOrders(session, null, OPTIONS),
    ]);
    if (!isWanted()) return "unanswered";
    if (!snapshot.ok || !open.ok) return failureOf(snapshot, open);
    const openIds = new Set(open.value.map((order) => order.venueOrderId));
    const gone = this.#state.openOrders().filter((order) => !openIds.has(order.venueOrderId));
    for (const order of open.value) this.#news.add(this.#state.adoptOrder(order));
    // Orders that ended while nothing was streamed, and orders of fills: each is asked for, so that nothing stays
    // unknown.
    for (const { venueOrderId, nativeSymbol } of this.#inTurn([...gone, ...this.#state.awaitedOrderIds()])) {
      const isAnswered = await this.#lookUp(session, venueOrderId, nativeSymbol);
      if (!isWanted() || !isAnswered) return "unanswered";
    }
    const isAnswered = await this.#readMissedFills(session, beganMs);
    if (!isWanted() || !isAnswered) return "unanswered";
    const { positions, lastId } = snapshot.value;
    return { positions, lastId, asOfMs: snapshot.asOfMs, askedAtVenueMs };
  }

  /** Those that can be asked for, as many as one load asks for; one that the venue did not know comes after the others. */
  #inTurn(orders: readonly OrderName[]): readonly OrderName[] {
    const askable = orders.filter(({ nativeSymbol }) => this.#deps.instrumentOf(nativeSymbol) !== null);
    const isLast = ({ venueOrderId }: OrderName): boolean => this.#unknownIds.has(venueOrderId);
    const inTurn = [...askable.filter((one) => !isLast(one)), ...askable.filter(isLast)].slice(0, MAX_LOOKED_UP);
    // They have had their turn, and begin again.
    if (inTurn.every(isLast)) this.#unknownIds.clear();
    return inTurn;
  }

  /** Returns false where the venue did not answer. */
  async #lookUp(session: VenuefourSession, venueOrderId: string, nativeSymbol: string): Promise<boolean> {
    const { account, instrumentOf, memory } = this.#deps;
    const instrument = instrumentOf(nativeSymbol);
    if (instrument === null) return true;
    // The account's own channel named it.
    memory.note(this.#accountId, venueOrderId, null);
    const read = await account.readOrder(session, instrument, { venueOrderId }, OPTIONS);
    if (!read.ok) return false;
    if (read.value !== null) this.#news.add(this.#state.adoptOrder(read.value));
    else this.#unknownIds.add(venueOrderId);
    return true;
  }

  /** True: after so many tries the account is LIVE again without the fills that were missed. */
  #mayGoWithout(): boolean {
    this.#failedCount++;
    if (this.#failedCount < MAX_FILL_TRIES) return false;
    this.#deps.logger.error("venuefour.account.fills-unread", { attemptCount: this.#failedCount });
    this.#onFillsGivenUp();
    this.#hasMissedFills = false;
    return true;
  }

  /**
   * Fills since the stream began that no frame reported, after a loss. Returns false where the venue did not answer.
   */
  async #readMissedFills(session: VenuefourSession, beganMs: number): Promise<boolean> {
    if (!this.#hasMissedFills || this.#fillsSinceMs === null) return true;
    const sinceMs = this.#fillsSinceMs;
    const lossCount = this.#lossCount;
    // The loss may have come after the load began.
    this.#firstReadMs ??= monoMs(this.#deps.clock);
    const isConclusive = beganMs - this.#firstReadMs >= SURELY_LATER_MS;
    const query = { instrument: null, sinceMs, untilMs: null, limit: MAX_MISSED_FILLS, cursor: null };
    const read = await this.#deps.history.readFills(session, query, OPTIONS);
    if (!read.ok) return this.#mayGoWithout();
    this.#failedCount = 0;
    if (isConclusive && lossCount === this.#lossCount) this.#hasMissedFills = false;
    // Oldest first, as they happened.
    for (const fill of [...read.value.rows].reverse()) {
      const { tradeId, venueOrderId, nativeSymbol, qtyLots, fee } = fill;
      const instrument = this.#deps.instrumentOf(nativeSymbol);
      if (instrument === null) continue;
      const price = nativePrice(instrument, fill.price);
      this.#news.add(this.#state.applyFill({ tradeId, venueOrderId, nativeSymbol, qtyLots, price, fee }));
    }
    for (const { venueOrderId, nativeSymbol } of this.#inTurn(this.#state.awaitedOrderIds()))
      await this.#lookUp(session, venueOrderId, nativeSymbol);
    const newestMs = read.value.rows[0]?.tsVenueMs;
    if (newestMs !== undefined) this.#fillsSinceMs = Math.max(sinceMs, newestMs - FILL_OVERLAP_MS);
    return true;
  }
}
