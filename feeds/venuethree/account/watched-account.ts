/**
 * One account being watched: its state as streamed (account/state.ts) and the REST reads that make and keep it true.
 *
 * LIVE only after its channels are acknowledged on the present connection **and** a read begun after that was adopted;
 * the venue does not replay what was missed, and while the connection speaks and tells of our orders (streamed-reads.ts).
 * A failed read is not a flat account: it stays SYNCING and tries again. The venue's state is the truth; differences are
 * counted and adopted.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountEvent, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { StreamedAccount } from "../../shared/orders/own-order.js";
import { LoadRefused, Resync } from "../../shared/book/resync.js";
import {
  type ConnectionLife,
  heldAtLeast,
  sameSizes,
  StreamedReads,
  SURELY_LATER_MS,
  type WantedLots,
} from "../../shared/account/streamed-reads.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import { ACCOUNT_CHANNELS, type AccountChannel, type AccountFrame } from "./frames.js";
import type { VenuethreeAccountRest } from "./rest.js";
import { AccountAccess } from "./access.js";
import { statusOfWord } from "./normalize.js";
import { AccountState, type Applied } from "./state.js";
import type { VenuethreeWireAccount, VenuethreeWireAccountTrade, VenuethreeWireOrder } from "./wire.js";
import type { AuthTokens } from "./auth-tokens.js";
import { MAX_PAGE_ROWS } from "../rules/limits.js";
import { OwnOrders } from "./own-orders.js";

const RECONCILE_LANE: CallOptions = { timeoutMs: 5_000, lane: "reconcile" };
const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const ESCALATE_AFTER = 5;
/** REST truth, whatever the streams say; two reads. */
const TRUTH_EVERY_MS = 120_000;
const MAX_PROBLEM_CHARS = 200;

/** Summed over all accounts of a room. */
export interface AccountCounters {
  resyncCount: number;
  decodeErrorCount: number;
  /** Markets whose size was not what we held when REST was asked. */
  differenceCount: number;
}

export interface WatchedAccountDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rest: VenuethreeAccountRest;
  readonly tokens: AuthTokens;
  readonly instrumentOf: (marketId: number) => Instrument | null;
  readonly clockOffsetMs: () => number;
  readonly counters: AccountCounters;
  readonly words: UnknownWords;
  /** Of the connection that all accounts share. */
  readonly life: ConnectionLife;
}

interface Truth {
  readonly beganMs: number;
  readonly asOfMs: number;
  /** Its place among the pictures of positions. */
  readonly picture: number;
  /** Orders known to be open when the list was asked for: of those that opened since, a list says nothing. */
  readonly openBefore: ReadonlySet<string>;
  readonly account: VenuethreeWireAccount;
  readonly orders: readonly VenuethreeWireOrder[];
  readonly ended: readonly VenuethreeWireOrder[];
  readonly trades: readonly VenuethreeWireAccountTrade[];
}

/** The orders that stood when a cancel of all left, and what the stream has told of them since. */
export interface StoodOrders {
  /** How many of them were canceled, once all have ended; null before. */
  canceledCount(): number | null;
  readonly size: number;
}

export class WatchedAccount implements StreamedAccount {
  readonly accountIndex: number;
  readonly reads: StreamedReads;
  readonly listeners = new Set<(event: AccountEvent) => void>();
  readonly access: AccountAccess;
  readonly #deps: WatchedAccountDeps;
  readonly #data: AccountState;
  readonly #orders = new OwnOrders();
  readonly #resync: Resync<never, Truth>;
  readonly #acknowledged = new Set<AccountChannel>();
  #state: FeedState = "SYNCING";
  /** Something came that could not be read since the reconcile in flight asked its questions. */
  #hasUnread = false;
  /** Given up: answers that come later do nothing. */
  #isGone = false;
  /** Monotonic ms at which the venue was last asked. */
  #askedAtMs = 0;
  /** Pictures of positions are numbered: a frame as it comes, a read as it begins, as its answer may be older than frames. */
  #pictureCount = 0;
  /** The newest one held. */
  #heldPicture = 0;
  #refreshTimer: TimerHandle | null = null;
  #isRefreshing = false;

  constructor(accountIndex: number, deps: WatchedAccountDeps) {
    this.accountIndex = accountIndex;
    this.#deps = deps;
    this.access = new AccountAccess(deps.clock, deps.tokens);
    this.reads = new StreamedReads(deps.clock, deps.life);
    this.#data = new AccountState({
      accountIndex,
      instrumentOf: deps.instrumentOf,
      emit: (event) => this.#emit(event),
      onMoved: (before, after) => this.reads.moved(before, after),
    });
    this.#resync = new Resync<never, Truth>({
      clock: deps.clock,
      random: deps.random,
      backoff: RECONCILE_BACKOFF,
      // Frames are applied as they come, so none is buffered.
      maxBufferedFrames: 1,
      escalateAfter: ESCALATE_AFTER,
      load: () => this.#loadTruth(),
      apply: (truth) => (this.#adopt(truth) ? "synced" : "retry"),
      onEscalate: (attemptCount) => deps.logger.error("venuethree.account.unreconciled", { attemptCount }),
    });
  }

  get state(): FeedState {
    return this.#state;
  }

  get isWhole(): boolean {
    return this.#acknowledged.size === ACCOUNT_CHANNELS.length;
  }

  isAcknowledged(channel: AccountChannel): boolean {
    return this.#acknowledged.has(channel);
  }

  read(): Read<readonly VenuePosition[]> {
    if (this.#state !== "LIVE") return failedRead("VENUE_ERROR", `the account stream is ${this.#state}`);
    return { ok: true, value: this.#data.positions(), asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /** The same where it may stand for a live read (streamed-reads.ts). Else null. */
  readSettled(wanted: WantedLots | null): Read<readonly VenuePosition[]> | null {
    if (this.#state !== "LIVE") return null;
    const value = this.reads.standing(this.#data.positions(), wanted);
    return value === null ? null : { ok: true, value, asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /**
   * Somebody asked the venue. Where it contradicts what is streamed, that stands for nothing until it was made true.
   * Returns what is held at least.
   */
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[] {
    if (this.#state !== "LIVE") return positions;
    const held = this.#data.positions();
    const ofIt =
      instrument === null ? held : held.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol);
    if (sameSizes(ofIt, positions)) return positions;
    this.reads.doubt();
    if (!this.#isRefreshing) {
      this.#clearRefresh();
      this.#refresh();
    }
    return heldAtLeast(this.reads, ofIt, positions);
  }

  /** What the stream has told of an order's end is final, whatever the state of the stream. */
  endedOrder(field: "order_id" | "client_order_id", id: string): VenueOrder | null {
    return this.#data.endedOrder(field, id);
  }

  /** An order as it was reported last, open or ended. */
  order(orderId: string): VenueOrder | null {
    return this.#data.order(orderId);
  }

  /** The orders that stand now, of one market or of all; null while the stream does not tell of all. */
  stoodOrders(marketId: number | null): StoodOrders | null {
    if (this.#state !== "LIVE") return null;
    const ids = this.#data.openOrderIds(marketId);
    return {
      size: ids.length,
      canceledCount: () => {
        const ends = ids.map((id) => (this.#data.isOpen(id) ? null : this.#data.order(id)));
        // One that has not ended yet, or of which nobody can tell how.
        if (ends.some((order) => order === null || !hasEnded(order))) return null;
        return ends.filter((order) => order?.status === "CANCELED").length;
      },
    };
  }

  /** An order under this client order id goes out: an end that was told under it before is another order's. */
  noteSending(clientOrderId: string): void {
    this.#data.forgetEnd(clientOrderId);
  }

  /** As OwnOrders.follow; an end that was reported already is reported at once. */
  followOrder(clientOrderId: string, onEnd: (order: VenueOrder) => void): (() => void) | null {
    if (this.#isGone) return null;
    const ended = this.#data.endedOrder("client_order_id", clientOrderId);
    if (ended === null) return this.#orders.follow(clientOrderId, onEnd);
    onEnd(ended);
    return () => {};
  }

  onFrame(frame: Extract<AccountFrame, { readonly kind: "orders" | "trades" | "positions" }>): void {
    const applied = this.#apply(frame);
    if (!applied.ok) {
      this.onUnreadable(applied.problem);
      return;
    }
    if (!frame.isSnapshot) return;
    this.#acknowledged.add(`account_all_${frame.kind}`);
    // From here on nothing is missed: a read begun now and the streams together are the whole truth.
    if (this.isWhole && this.#state !== "LIVE") this.#reconcile();
  }

  /** Something about this account could not be read: not LIVE until REST has told the whole state. */
  onUnreadable(problem: string): void {
    this.#deps.counters.decodeErrorCount++;
    this.#deps.logger.warn("venuethree.account.unreadable", { problem: problem.slice(0, MAX_PROBLEM_CHARS) });
    this.distrust();
  }

  /** Something was lost that may have been about this account. */
  distrust(): void {
    // The answer to come may lag behind it: another is asked for surely later.
    this.reads.doubt();
    this.#hasUnread = true;
    this.#setState("SYNCING");
    if (this.isWhole) this.#reconcile();
  }

  /** The channels are gone (`STALE`) or asked for again: all must be acknowledged again. */
  invalidate(state: FeedState): void {
    this.#acknowledged.clear();
    this.#resync.cancel();
    this.#setState(state);
  }

  dispose(): void {
    this.#isGone = true;
    this.#resync.cancel();
    this.#clearRefresh();
    this.#setState("DOWN");
  }

  #monoMs(): number {
    return this.#deps.clock.monoNs() / 1e6;
  }

  /** Called regularly. */
  reverify(): void {
    if (this.#state === "LIVE") {
      // Lost or late: also what was told of others' orders may be.
      if (!this.reads.isAlive) this.#setState("STALE");
      else if (this.reads.isUnshown) this.#setState("SYNCING");
      else if (this.#monoMs() - this.#askedAtMs > TRUTH_EVERY_MS) this.#refresh();
    }
    if (this.#state !== "LIVE" && this.isWhole && this.reads.isAlive) this.#reconcile();
  }

  #apply(frame: Extract<AccountFrame, { readonly kind: "orders" | "trades" | "positions" }>): Applied {
    switch (frame.kind) {
      case "orders":
        for (const { status } of frame.orders)
          if (statusOfWord(status) === "UNKNOWN") this.#deps.words.note("status", status);
        // What left the list while nobody looked is found by the reconciliation that follows a snapshot.
        return this.#data.applyOrders(frame.orders);
      case "trades":
        return this.#data.applyTrades(frame.trades, false);
      case "positions": {
        const applied = this.#data.applyPositions(frame.positions, this.#venueNowMs());
        if (!applied.ok) return applied;
        this.#heldPicture = ++this.#pictureCount;
        this.#proven(frame.sentAtMs, frame.isSnapshot);
        return applied;
      }
    }
  }

  /** A whole picture was pushed; a snapshot is asked for, and as late as that. */
  #proven(sentAtMs: number | null, isSnapshot: boolean): void {
    const { clock, clockOffsetMs } = this.#deps;
    const atMs = sentAtMs === null ? clock.wallMs() : sentAtMs - clockOffsetMs();
    this.reads.proven(atMs);
    if (!isSnapshot) this.reads.happened(atMs);
    if (this.reads.isPending) this.refreshSoon();
  }

  #venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  #reconcile(): void {
    if (!this.#isGone && this.#resync.start()) this.#deps.counters.resyncCount++;
  }

  /** Open orders first, ended ones after: one that ends between the two reads is in the second. */
  async #loadTruth(): Promise<Truth | LoadRefused | null> {
    const { rest } = this.#deps;
    const token = this.access.readToken();
    if (token === null) return null;
    const { accountIndex } = this;
    const picture = ++this.#pictureCount;
    this.#hasUnread = false;
    const beganMs = this.reads.begin();
    const openBefore = new Set(this.#data.openOrderIds(null));
    const page = { accountIndex, marketId: null, limit: MAX_PAGE_ROWS, cursor: null };
    const [account, orders, trades] = await Promise.all([
      rest.accountByIndex(accountIndex, RECONCILE_LANE),
      rest.activeOrders(accountIndex, null, token, RECONCILE_LANE),
      rest.trades(page, token, RECONCILE_LANE),
    ]);
    const ended = orders.ok ? await rest.inactiveOrders(page, token, RECONCILE_LANE) : orders;
    for (const read of [account, orders, trades, ended]) {
      if (read.ok) continue;
      if (read.code === "AUTH") this.access.refused();
      const isShut = read.code === "RATE_LIMITED" || read.code === "BREAKER_OPEN";
      return isShut && read.retryAfterMs !== null ? new LoadRefused(read.retryAfterMs) : null;
    }
    if (!account.ok || !orders.ok || !trades.ok || !ended.ok) return null;
    return {
      picture,
      beganMs,
      asOfMs: account.asOfMs,
      openBefore,
      account: account.value,
      orders: orders.value.rows,
      ended: ended.value.rows,
      trades: trades.value.rows,
    };
  }

  #adopt(truth: Truth): boolean {
    const { picture, openBefore, asOfMs, beganMs } = truth;
    const isNewest = picture > this.#heldPicture;
    if (isNewest) {
      const state = this.#data.applyPositions(truth.account.positions, this.#venueNowMs());
      if (!state.ok) return this.#cannotAdopt();
      this.#heldPicture = picture;
      this.#noteDifferences(state.differences);
    }
    const listed = this.#data.applyOpenOrders(truth.orders);
    if (!listed.ok) return this.#cannotAdopt();
    const left = listed.gone.filter((wire) => openBefore.has(wire.order_id));
    // Only how orders ended that we knew: the rest of the list is history.
    const gone = new Set(left.map((wire) => wire.order_id));
    const ends = this.#data.applyOrders(truth.ended.filter((wire) => gone.has(wire.order_id)));
    const fills = this.#data.applyTrades(truth.trades, true);
    if (!ends.ok || !fills.ok) return this.#cannotAdopt();
    for (const wire of left) if (this.#data.isOpen(wire.order_id)) this.#data.endUnknown(wire);
    this.#askedAtMs = this.#monoMs();
    // Where something newer is held, the answer only counts if it says the same.
    if (isNewest || this.#data.holds(truth.account.positions)) {
      this.reads.agreed(beganMs);
      this.reads.proven(asOfMs);
    }
    // Only an answer asked for after it tells what it was.
    if (this.#hasUnread) return false;
    // The account is known as of then, and keepTrue looks again when the connection speaks.
    if (!this.reads.isAlive) return true;
    if (this.reads.isUnshown) return false;
    if (this.isWhole) this.#setState("LIVE");
    return true;
  }

  #cannotAdopt(): boolean {
    this.#deps.counters.decodeErrorCount++;
    return false;
  }

  #noteDifferences(count: number): void {
    if (count === 0) return;
    this.#deps.counters.differenceCount += count;
    this.#deps.logger.warn("venuethree.account.difference", { count, state: this.#state });
  }

  refreshSoon(): void {
    if (this.#refreshTimer !== null || this.#state !== "LIVE") return;
    this.#refreshTimer = this.#deps.clock.setTimer(() => {
      this.#refreshTimer = null;
      if (this.reads.isOverdue) this.#refresh();
      // Those under way may be told of in time, and cost no read.
      else if (this.reads.isPending) this.refreshSoon();
    }, SURELY_LATER_MS);
  }

  #clearRefresh(): void {
    if (this.#refreshTimer !== null) this.#deps.clock.clearTimer(this.#refreshTimer);
    this.#refreshTimer = null;
  }

  /** Reads positions alone (public, one call); a failure leaves things as they are, age tells. */
  #refresh(): void {
    const beganMs = this.reads.begin();
    this.#askedAtMs = this.#monoMs();
    const picture = ++this.#pictureCount;
    this.#isRefreshing = true;
    void this.#deps.rest.accountByIndex(this.accountIndex, RECONCILE_LANE).then((account) => {
      this.#isRefreshing = false;
      if (this.#isGone) return;
      if (account.ok) this.#refreshed(account.value, beganMs, account.asOfMs, picture);
      // An order may have come since: its state is still to be seen.
      if (this.reads.isPending) this.refreshSoon();
    });
  }

  #refreshed(account: VenuethreeWireAccount, beganMs: number, asOfMs: number, picture: number): void {
    if (picture < this.#heldPicture) {
      // Something newer is held: the answer only counts where it says the same.
      if (this.#data.holds(account.positions)) this.reads.agreed(beganMs);
      return;
    }
    const applied = this.#data.applyPositions(account.positions, this.#venueNowMs());
    if (!applied.ok) {
      this.onUnreadable(applied.problem);
      return;
    }
    this.#heldPicture = picture;
    this.reads.agreed(beganMs);
    this.reads.proven(asOfMs);
    this.#noteDifferences(applied.differences);
  }

  #setState(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    if (state === "LIVE" && this.reads.isPending) this.refreshSoon();
    this.#emit({ kind: "state", state });
  }

  #emit(event: AccountEvent): void {
    if (event.kind === "order") {
      this.reads.told(event.order);
      if (hasEnded(event.order)) this.#orders.noteEnd(event.order);
    }
    for (const listener of this.listeners) listener(event);
  }
}

/** Not UNKNOWN, which says that nobody could tell. */
function hasEnded({ status }: VenueOrder): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
}
