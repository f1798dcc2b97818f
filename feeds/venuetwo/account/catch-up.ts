/**
 * What REST says of a streamed account: positions, open orders, the end of orders that vanished, and after a loss the
 * fills that no event brought (missed-fills.ts).
 *
 * Invariants: no position is taken of a read that was not answered whole, and no order or fill that was learnt on the way
 * is forgotten; an order that left the open ones is looked up, its end is not guessed.
 */
import { orderKey, type VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, AccountReader, CallOptions } from "../../../engine/ports.js";
import { failureOf, type LoadFailure, type Question } from "../../shared/account/account-feed.js";
import { PendingNews } from "../../shared/account/pending-news.js";
import { sameSizes, sideChanges } from "../../shared/account/held-positions.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { LOAD_TIMEOUT_MS } from "../rules/limits.js";
import { MissedFills, type MissedFillsDeps } from "./missed-fills.js";
import type { VenuetwoSession } from "./session.js";
import type { AccountState } from "./state.js";

export interface CatchUpDeps extends MissedFillsDeps {
  readonly reader: AccountReader;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
}

/** Answered whole; its orders and fills are in the account's state already (`takeNews`), its positions are not. */
interface CaughtUp {
  readonly positions: readonly VenuePosition[];
  readonly asOfMs: number;
  /** Events from then on may be newer than the answer. */
  readonly sinceVenueMs: number;
  /** Monotonic ms at which it was asked for. */
  readonly beganMs: number;
}

const OPTIONS: CallOptions = { timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" };
/** Room for the error of the clock offset when a REST answer is weighed against events. */
const CLOCK_MARGIN_MS = 1_000;
/** Orders looked up one by one in one load, because they vanished from the open ones. The next load goes on. */
const MAX_LOOKED_UP = 50;

export class AccountCatchUp {
  readonly #deps: CatchUpDeps;
  readonly #state: AccountState;
  readonly #news: PendingNews;
  readonly #missed: MissedFills;
  /** Looked up in loads that had more to look up than one does; the venue may have forgotten some. */
  readonly #lookedUp = new Set<string>();
  /** How far the last answer was from what events had made, by `sideChanges`; nothing once it is adopted. */
  #unshown: ReadonlyMap<string, number> = new Map();

  /** `onFillsGivenUp`: fills are missing for good. */
  constructor(deps: CatchUpDeps, state: AccountState, onFillsGivenUp: () => void) {
    this.#deps = deps;
    this.#state = state;
    this.#news = new PendingNews((count) => {
      deps.logger.error("venuetwo.account.news-dropped", { count });
      onFillsGivenUp();
    });
    this.#missed = new MissedFills(deps, state.orders, this.#news, onFillsGivenUp);
  }

  /** Events may be missing from here on. */
  lost(): void {
    this.#missed.lost(symbolsOf(this.#state.positions(), this.#state.orders.openOrders()));
  }

  /** Nothing that happened since then, monotonic, is surely streamed, although the connection looked alive. */
  silentSince(thenMs: number): void {
    const { clock, clockOffsetMs } = this.#deps;
    const venueMs = Math.floor(clock.wallMs() + clockOffsetMs() - (monoMs(clock) - thenMs));
    this.#missed.silentSince({ venueMs, monoMs: thenMs });
  }

  /** The answer has been adopted. */
  taken({ beganMs, sinceVenueMs }: CaughtUp): void {
    this.#unshown = new Map();
    this.#missed.taken(sinceVenueMs, beganMs);
  }

  /** What has been learnt, for after the positions are taken; a fill has the newest state of its order. */
  takeNews(): readonly AccountEvent[] {
    return this.#news
      .take((order) => this.#state.orders.isNewest(order))
      .map((event) => (event.kind === "fill" ? { ...event, order: this.#state.orders.newestOf(event.order) } : event));
  }

  /** `positions`: all open orders weigh eight times as much. Returns a failure also where the answer is no longer wanted. */
  async read(session: VenuetwoSession, question: Question): Promise<CaughtUp | LoadFailure> {
    const { clock, clockOffsetMs, reader } = this.#deps;
    const { beganMs, isWanted, scope } = question;
    // Whole: it goes into a query, and the clock estimate has fractions.
    const nowVenueMs = Math.floor(clock.wallMs() + clockOffsetMs());
    const [positions, orders] = await Promise.all([
      reader.readPositions(session, null, OPTIONS),
      scope === "all" ? reader.readOpenOrders(session, null, OPTIONS) : null,
    ]);
    if (!isWanted()) return "unanswered";
    if (!positions.ok || orders?.ok === false) return failureOf(positions, ...(orders === null ? [] : [orders]));
    this.#compare(positions.value);
    const openNow = orders?.value ?? [];
    const failure =
      (orders === null ? null : await this.#learnOrders(session, openNow, isWanted)) ??
      (await this.#missed.read(session, question, symbolsOf(positions.value, openNow), nowVenueMs));
    if (failure !== null) return failure;
    const sinceVenueMs = nowVenueMs - CLOCK_MARGIN_MS;
    return { positions: positions.value, asOfMs: positions.asOfMs, sinceVenueMs, beganMs };
  }

  /**
   * Sizes that no event brought: the stream that seemed whole was not. An event moves what is held and what the venue
   * answers alike, so while fills are missing each change of the distance between the two is another loss.
   */
  #compare(answer: readonly VenuePosition[]): void {
    const held = this.#state.positions();
    const before = this.#unshown;
    const now = sideChanges(held, answer);
    this.#unshown = now;
    if (!this.#missed.isMissing) {
      if (!sameSizes(held, answer)) this.lost();
      return;
    }
    const sides = [...new Set([...before.keys(), ...now.keys()])].filter((side) => before.get(side) !== now.get(side));
    if (sides.length > 0) this.#missed.lostMore(sides.map((side) => side.slice(0, side.lastIndexOf(" "))));
  }

  /** Looks up each order that ended during the gap, so that none stays open here which the venue still knows. */
  async #learnOrders(
    session: VenuetwoSession,
    openNow: readonly VenueOrder[],
    isWanted: () => boolean,
  ): Promise<LoadFailure | null> {
    const { instrumentOf, reader } = this.#deps;
    const open = new Set(openNow.map(orderKey));
    // One whose contract is not listed any more cannot be asked for, and keeps nobody waiting.
    const vanished = this.#state.orders.openOrders().flatMap((order) => {
      const instrument = instrumentOf(order.nativeSymbol);
      const isSettled = open.has(orderKey(order)) || this.#lookedUp.has(orderKey(order));
      return instrument === null || isSettled ? [] : [{ order, instrument }];
    });
    for (const order of openNow) this.#learn(order);
    for (const { order, instrument } of vanished.slice(0, MAX_LOOKED_UP)) {
      const { venueOrderId } = order;
      const read = await reader.readOrder(session, instrument, { venueOrderId }, OPTIONS);
      if (!isWanted()) return "unanswered";
      if (!read.ok) return failureOf(read);
      if (read.value !== null) this.#learn(read.value);
      this.#lookedUp.add(orderKey(order));
    }
    if (vanished.length > MAX_LOOKED_UP) return "unanswered";
    this.#lookedUp.clear();
    return null;
  }

  #learn(order: VenueOrder): void {
    if (this.#state.orders.adoptOrder(order)) this.#news.add([{ kind: "order", order }]);
  }
}

function symbolsOf(...held: readonly (readonly { readonly nativeSymbol: string }[])[]): ReadonlySet<string> {
  return new Set(held.flat().map(({ nativeSymbol }) => nativeSymbol));
}
