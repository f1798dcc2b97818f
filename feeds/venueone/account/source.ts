/**
 * One account being watched: its state as streamed (account/state.ts) and the REST reads that make and
 * keep it true.
 *
 * LIVE only after its streams are acknowledged on the present connection **and** a read begun after
 * that was adopted; the venue does not replay what was missed. A failed read is not a flat account: it
 * stays SYNCING and tries again. The venue's state is the truth; differences are logged and adopted.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountEvent, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import type { StreamedAccount } from "../../shared/orders/own-order.js";
import { lotsOf } from "../../shared/room/money-text.js";
import { Deadline } from "../../shared/net/deadline.js";
import { Resync } from "../../shared/book/resync.js";
import {
  ConnectionLife,
  heldAtLeast,
  sameSizes,
  StreamedReads,
  SURELY_LATER_MS,
  type WantedLots,
} from "../../shared/account/streamed-reads.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import type { ProbeResult } from "../../shared/net/subscriptions.js";
import { type FilledSummary, NOTHING_FILLED, statusOfWord } from "./normalize.js";
import { AccountState } from "./state.js";
import type { VenueoneWireAccount } from "./wire.js";
import { OrderFills } from "./order-fills.js";
import type { VenueoneRest } from "./rest.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";

export const ACCOUNT_STREAMS = ["clearinghouseState", "openOrders", "userFills"] as const;

const RECONCILE_LANE: CallOptions = { timeoutMs: 5_000, lane: "reconcile" };
const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const ESCALATE_AFTER = 5;
/** REST truth, whatever the streams say. */
const TRUTH_EVERY_MS = 60_000;
/** Ends of orders looked up at once per account; beyond it an end is reported as UNKNOWN. */
const MAX_LOOKUPS = 32;
/** An order that has just left the list may not be indexed yet. */
const LOOKUP_TRIES = 3;
const LOOKUP_BACKOFF_MS = 500;
const MAX_PROBLEM_CHARS = 200;
const NOT_YET = "a time that is not yet";

/** Summed over all accounts of a room. */
export interface AccountCounters {
  resyncCount: number;
  decodeErrorCount: number;
  /** Coins whose size was not what we held when REST was asked. */
  differenceCount: number;
  unresolvedEndCount: number;
}

export interface WatchedAccountDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
  readonly rest: VenueoneRest;
  readonly instrumentOf: (coin: string) => Instrument | null;
  readonly counters: AccountCounters;
  readonly words: UnknownWords;
}

/** Positions that stand for a live read, and since when. */
export interface LivePositions {
  readonly positions: readonly VenuePosition[];
  readonly asOfMs: number;
}

interface Truth {
  readonly beganMs: number;
  readonly account: VenueoneWireAccount;
  /** Null: the stream told the whole list while this one was read, and a list names no time: the stream's stands. */
  readonly orders: readonly VenueoneWireOrder[] | null;
}

export class WatchedAccount implements StreamedAccount {
  readonly address: string;
  readonly reads: StreamedReads;
  readonly listeners = new Set<(event: AccountEvent) => void>();
  /** Monotonic ms. */
  lastUseMs: number;
  isSubscribed = false;
  readonly #deps: WatchedAccountDeps;
  readonly #data: AccountState;
  readonly #fills: OrderFills;
  /** Heard are whole states: they are pushed all the time, and nothing else tells what is held. */
  readonly #life: ConnectionLife;
  readonly #resync: Resync<never, Truth>;
  readonly #acknowledged = new Set<string>();
  #state: FeedState = "SYNCING";
  /** Something came that could not be read since the reconcile in flight asked its questions. */
  #hasUnread = false;
  /** Given up: answers that come later do nothing. */
  #isGone = false;
  #lookupCount = 0;
  /** Whole lists of open orders that the stream told. */
  #listCount = 0;
  /** Monotonic ms at which the venue was last asked. */
  #askedAtMs = 0;
  #isRefreshing = false;
  #refreshTimer: TimerHandle | null = null;

  constructor(address: string, deps: WatchedAccountDeps) {
    this.address = address;
    this.#deps = deps;
    this.lastUseMs = deps.clock.monoNs() / 1e6;
    this.#life = new ConnectionLife(deps.clock);
    this.reads = new StreamedReads(deps.clock, this.#life);
    const { clock, clockOffset, rest } = deps;
    this.#fills = new OrderFills({ rest, clock, clockOffsetMs: () => clockOffset.offsetMs });
    const latestMs = (): number => deps.clockOffset.latestMs(deps.clock.wallMs());
    this.#data = new AccountState(deps.instrumentOf, (event) => this.#emit(event), address, latestMs);
    this.#resync = new Resync<never, Truth>({
      clock: deps.clock,
      random: deps.random,
      backoff: RECONCILE_BACKOFF,
      // Frames are applied as they come, so none is buffered.
      maxBufferedFrames: 1,
      escalateAfter: ESCALATE_AFTER,
      load: () => this.#loadTruth(),
      apply: (truth) => (this.#adopt(truth) ? "synced" : "retry"),
      onEscalate: (attemptCount) => deps.logger.error("venueone.account.unreconciled", { attemptCount }),
    });
  }

  get state(): FeedState {
    return this.#state;
  }

  get isAcknowledged(): boolean {
    return this.#acknowledged.size > 0;
  }

  read(): Read<readonly VenuePosition[]> {
    if (this.#state !== "LIVE") return failedRead("VENUE_ERROR", `the account stream is ${this.#state}`);
    return { ok: true, value: this.#data.positions(), asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /** Positions that may stand for a live read (streamed-reads.ts). Else null. */
  livePositions(wanted: WantedLots | null): LivePositions | null {
    if (this.#state !== "LIVE") return null;
    const positions = this.reads.standing(this.#data.positions(), wanted);
    return positions === null ? null : { positions, asOfMs: this.reads.asOfMs };
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

  acknowledge(type: string): void {
    this.#acknowledged.add(type);
    this.#life.noteFrame();
    // From here on nothing is missed: a read begun now and the streams together are the whole truth.
    if (this.#isWhole() && this.#state !== "LIVE") this.#reconcile();
  }

  /** The streams are gone (`STALE`) or asked for again: all must be acknowledged again. */
  invalidate(state: FeedState): void {
    this.#acknowledged.clear();
    this.#life.lost();
    this.#resync.cancel();
    this.#setState(state);
  }

  dispose(): void {
    this.#isGone = true;
    this.#setState("DOWN");
    this.#resync.cancel();
    this.#clearRefresh();
  }

  onState(account: VenueoneWireAccount): void {
    this.#life.noteFrame();
    const applied = this.#applyState(account);
    if (!applied.ok) this.onUnreadable(applied.problem);
    else {
      const { clock, clockOffset } = this.#deps;
      const asOfMs = account.time - clockOffset.offsetMs;
      this.reads.happened(asOfMs);
      // The venue says as of when it is: as good as a read that began then, which was not later than now.
      if (applied.isNewest) this.reads.agreed(this.reads.begin() - Math.max(0, clock.wallMs() - asOfMs));
      if (this.reads.isPending) this.refreshSoon();
    }
  }

  onOrders(rows: readonly VenueoneWireOrder[]): void {
    const applied = this.#data.applyOrders(rows);
    if (applied.ok) this.#listCount++;
    else this.onUnreadable(applied.problem);
    for (const row of applied.gone) this.#lookUpEnd(row);
  }

  onFills(fills: readonly VenueoneWireFill[], isSnapshot: boolean): void {
    // One of a time that is not yet takes none of the others with it: nothing else would tell of them.
    const told = fills.filter(({ time }) => this.#isYet(time));
    const before = this.#data.positions();
    const applied = this.#data.applyFills(told, isSnapshot);
    this.reads.moved(before, this.#data.positions());
    if (!applied.ok) this.onUnreadable(applied.problem);
    else if (told.length < fills.length) this.onUnreadable(NOT_YET);
    else if (this.#data.needsState) this.refreshSoon();
    // Their fills are told; what is lost past the bound is only how they ended, which nobody may be there to hear.
    if (this.listeners.size === 0) return;
    for (const oid of applied.unlisted) this.#lookUp(() => this.#readUnlisted(oid));
  }

  /** Something about this account could not be read: not LIVE until REST has told the whole state. */
  onUnreadable(problem: string): void {
    this.#deps.counters.decodeErrorCount++;
    this.#deps.logger.warn("venueone.account.unreadable", { problem: problem.slice(0, MAX_PROBLEM_CHARS) });
    this.distrust();
  }

  /** Something was lost that may have been about this account. */
  distrust(): void {
    // The answer to come may lag behind it: another is asked for surely later.
    this.reads.doubt();
    this.#hasUnread = true;
    this.#setState("SYNCING");
    this.#reconcile();
  }

  /** Called regularly. */
  reverify(): void {
    if (this.#state !== "LIVE") return;
    if (this.reads.isUnshown) {
      // Lost or late: also what was told of others' orders may be.
      this.#setState("SYNCING");
      this.#reconcile();
    } else if (this.#monoMs() - this.#askedAtMs > TRUTH_EVERY_MS) this.#refresh();
  }

  /** A silent state stream is alive if REST says what we hold. */
  async probe(): Promise<ProbeResult> {
    const beganMs = this.reads.begin();
    const account = await this.#deps.rest.clearinghouseState(this.address, RECONCILE_LANE);
    if (!account.ok || this.#isGone) return "unknown";
    const applied = this.#applyState(account.value);
    if (!applied.ok) return "unknown";
    if (applied.isNewest) this.reads.agreed(beganMs);
    return applied.differences === 0 ? "quiet" : "dead";
  }

  #monoMs(): number {
    return this.#deps.clock.monoNs() / 1e6;
  }

  #isWhole(): boolean {
    return ACCOUNT_STREAMS.every((type) => this.#acknowledged.has(type));
  }

  /** `isNewest`: nothing newer was held. */
  #applyState(account: VenueoneWireAccount): ReturnType<AccountState["applyState"]> & { readonly isNewest: boolean } {
    if (!this.#isYet(account.time)) return { ok: false, problem: NOT_YET, differences: 0, isNewest: false };
    const before = this.#data.positions();
    const isNewest = account.time >= this.#data.stateMs;
    const applied = this.#data.applyState(account);
    if (!applied.ok) return { ...applied, isNewest: false };
    this.reads.moved(before, this.#data.positions());
    if (isNewest) this.reads.proven(account.time - this.#deps.clockOffset.offsetMs);
    return { ...applied, isNewest };
  }

  /** What is held of a time that is not come would be newer than the truth until it comes. */
  #isYet(venueMs: number): boolean {
    const { clock, clockOffset } = this.#deps;
    return clockOffset.isPlausible(venueMs, clock.wallMs());
  }

  #reconcile(): void {
    if (!this.#isGone && this.#resync.start()) this.#deps.counters.resyncCount++;
  }

  async #loadTruth(): Promise<Truth | null> {
    const { rest } = this.#deps;
    const listCount = this.#listCount;
    this.#hasUnread = false;
    const beganMs = this.reads.begin();
    const [account, orders] = await Promise.all([
      rest.clearinghouseState(this.address, RECONCILE_LANE),
      rest.frontendOpenOrders(this.address, RECONCILE_LANE),
    ]);
    if (!account.ok || !orders.ok) return null;
    return { beganMs, account: account.value, orders: listCount === this.#listCount ? orders.value : null };
  }

  #adopt(truth: Truth): boolean {
    const state = this.#applyState(truth.account);
    const orders = truth.orders === null ? { ok: true, gone: [] } : this.#data.applyOrders(truth.orders);
    if (!state.ok || !orders.ok) {
      this.#deps.counters.decodeErrorCount++;
      return false;
    }
    this.#noteDifferences(state.differences);
    for (const row of orders.gone) this.#lookUpEnd(row);
    this.#askedAtMs = this.#monoMs();
    if (state.isNewest) this.reads.agreed(truth.beganMs);
    // Only an answer asked for after it tells what it was.
    if (this.#hasUnread || this.reads.isUnshown) return false;
    if (this.#isWhole()) this.#setState("LIVE");
    return true;
  }

  #noteDifferences(coins: number): void {
    if (coins === 0) return;
    this.#deps.counters.differenceCount += coins;
    this.#deps.logger.warn("venueone.account.difference", { coins, state: this.#state });
  }

  refreshSoon(): void {
    if (this.#refreshTimer !== null || this.#state !== "LIVE") return;
    this.#refreshTimer = this.#deps.clock.setTimer(() => {
      this.#refreshTimer = null;
      // The stream may have brought the state meanwhile.
      if (this.#data.needsState || this.reads.isOverdue) this.#refresh();
      // Those under way may be told of in time, and cost no read.
      else if (this.reads.isPending) this.refreshSoon();
    }, SURELY_LATER_MS);
  }

  #clearRefresh(): void {
    if (this.#refreshTimer !== null) this.#deps.clock.clearTimer(this.#refreshTimer);
    this.#refreshTimer = null;
  }

  /** Reads positions alone (cheap); a failure leaves things as they are, age tells. */
  #refresh(): void {
    const beganMs = this.reads.begin();
    this.#askedAtMs = this.#monoMs();
    this.#isRefreshing = true;
    void this.#deps.rest.clearinghouseState(this.address, RECONCILE_LANE).then((account) => {
      this.#isRefreshing = false;
      if (this.#isGone) return;
      if (account.ok) this.#refreshed(account.value, beganMs);
      // An order may have come since: its state is still to be seen.
      if (this.reads.isPending) this.refreshSoon();
    });
  }

  #refreshed(account: VenueoneWireAccount, beganMs: number): void {
    const applied = this.#applyState(account);
    if (!applied.ok) {
      this.onUnreadable(applied.problem);
      return;
    }
    if (applied.isNewest) this.reads.agreed(beganMs);
    this.#noteDifferences(applied.differences);
  }

  #lookUpEnd(row: VenueoneWireOrder): void {
    if (!this.#lookUp(() => this.#readEnd(row))) this.#endUnknown(row);
  }

  /** False: too many are running. */
  #lookUp(work: () => Promise<void>): boolean {
    if (this.#lookupCount >= MAX_LOOKUPS) return false;
    this.#lookupCount++;
    void work().finally(() => {
      this.#lookupCount--;
    });
    return true;
  }

  /** An order that filled at once, or the venue's own liquidation order: it never was in the list. */
  async #readUnlisted(oid: number): Promise<void> {
    const { rest, clock } = this.#deps;
    for (let attempt = 1; attempt <= LOOKUP_TRIES; attempt++) {
      const answer = await rest.orderStatus(this.address, oid, RECONCILE_LANE);
      if (this.#isGone) return;
      if (answer.ok && answer.value !== null) {
        this.#noteWord(answer.value.status);
        const filled = await this.#filledOf(answer.value);
        if (this.#isGone) return;
        if (filled !== null) {
          const applied = this.#data.applyUnlisted(answer.value, filled);
          if (!applied.ok) this.#noteUnfit(applied.problem);
          return;
        }
      }
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOKUP_BACKOFF_MS * attempt);
      });
    }
  }

  async #readEnd(row: VenueoneWireOrder): Promise<void> {
    const { rest, clock } = this.#deps;
    for (let attempt = 1; attempt <= LOOKUP_TRIES; attempt++) {
      const answer = await rest.orderStatus(this.address, row.oid, RECONCILE_LANE);
      if (this.#isGone) return;
      // Still `open` right after it left the list is the same lag as an unknown oid.
      if (answer.ok && answer.value !== null && answer.value.status !== "open") {
        this.#noteWord(answer.value.status);
        const filled = await this.#filledOf(answer.value);
        if (this.#isGone) return;
        if (filled !== null) {
          const applied = this.#data.applyEnd(row, answer.value, filled);
          if (!applied.ok) {
            this.#noteUnfit(applied.problem);
            this.#endUnknown(row);
          }
          return;
        }
      }
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOKUP_BACKOFF_MS * attempt);
      });
    }
    if (!this.#isGone) this.#endUnknown(row);
  }

  /** What it filled, read where neither its row nor the stream tells; null: not to be learnt now. */
  async #filledOf(update: VenueoneWireOrderUpdate): Promise<FilledSummary | null> {
    const { clock, instrumentOf } = this.#deps;
    const instrument = instrumentOf(update.order.coin);
    if (instrument === null || !this.#data.lacksFills(update)) return NOTHING_FILLED;
    const deadline = new Deadline(clock, RECONCILE_LANE);
    const read = await this.#fills.read(this.address, update, instrument, deadline);
    if (!read.ok) return null;
    // Less than all so soon after the end may be what the index has of it so far.
    const { clockOffset } = this.#deps;
    const sinceEndMs = clock.wallMs() + clockOffset.offsetMs - update.statusTimestamp;
    const isWhole = read.value.filledLots === lotsOf(instrument, update.order.origSz, "origSz");
    return isWhole || sinceEndMs >= SURELY_LATER_MS ? read.value : null;
  }

  #noteWord(status: string): void {
    if (statusOfWord(status) === "UNKNOWN") this.#deps.words.note("status", status);
  }

  /** A look-up that does not fit its contract: nothing else would tell of it. */
  #noteUnfit(problem: string): void {
    this.#deps.counters.decodeErrorCount++;
    this.#deps.logger.warn("venueone.account.unreadable", { problem: problem.slice(0, MAX_PROBLEM_CHARS) });
  }

  #endUnknown(row: VenueoneWireOrder): void {
    this.#deps.counters.unresolvedEndCount++;
    this.#data.applyEnd(row, null);
  }

  #setState(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    if (state === "LIVE" && this.reads.isPending) this.refreshSoon();
    this.#emit({ kind: "state", state });
  }

  #emit(event: AccountEvent): void {
    if (event.kind === "fill") this.reads.filled(event.order.venueClientOrderId, event.qtyLots);
    else if (event.kind === "order") this.reads.told(event.order);
    for (const listener of this.listeners) listener(event);
  }
}
