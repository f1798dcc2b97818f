/**
 * One account being watched: its state as streamed (account-slot.ts) and the REST reads that make and
 * keep it true.
 *
 * LIVE only after its streams are acknowledged on the present connection **and** a read begun after
 * that was adopted; the venue does not replay what was missed. A failed read is not a flat account: it
 * stays SYNCING and tries again. The venue's state is the truth; differences are logged and adopted.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import type { FeedState } from "../../engine/market/market.js";
import type { AccountEvent, CallOptions, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import type { ClockOffset } from "../shared/clock-offset.js";
import { OrderDoubts, type WantedLots } from "../shared/order-doubts.js";
import { Resync } from "../shared/resync.js";
import type { ProbeResult } from "../shared/subscriptions.js";
import { AccountSlot } from "./account-slot.js";
import type { VenueoneWireAccount } from "./account-wire.js";
import type { VenueoneRest } from "./rest.js";
import type { VenueoneWireFill, VenueoneWireOrder } from "./wire.js";

export const ACCOUNT_STREAMS = ["clearinghouseState", "openOrders", "userFills"] as const;

const RECONCILE_LANE: CallOptions = { timeoutMs: 5_000, lane: "reconcile" };
const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const ESCALATE_AFTER = 5;
/** REST truth, whatever the streams say. */
const TRUTH_EVERY_MS = 60_000;
/**
 * The venue's reads lag its acknowledgements by up to 1.1 s (measured on order look-ups), and its clock is known to
 * about a second: a state counts as newer than an order only when it is this much later.
 */
const SURELY_LATER_MS = 1_500;
/** Ends of orders looked up at once per account; beyond it an end is reported as UNKNOWN. */
const MAX_LOOKUPS = 32;
/** An order that has just left the list may not be indexed yet. */
const LOOKUP_TRIES = 3;
const LOOKUP_BACKOFF_MS = 500;
const MAX_PROBLEM_CHARS = 200;

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
}

/** Positions that stand for a live read, and since when. */
export interface LivePositions {
  readonly positions: readonly VenuePosition[];
  readonly asOfMs: number;
}

interface Truth {
  readonly account: VenueoneWireAccount;
  /** Null: the stream told the whole list while this one was read, and a list names no time: the stream's stands. */
  readonly orders: readonly VenueoneWireOrder[] | null;
}

export class WatchedAccount {
  readonly address: string;
  readonly listeners = new Set<(event: AccountEvent) => void>();
  lastUseMs: number;
  isSubscribed = false;
  readonly #deps: WatchedAccountDeps;
  readonly #data: AccountSlot;
  readonly #doubts = new OrderDoubts();
  readonly #resync: Resync<never, Truth>;
  readonly #acknowledged = new Set<string>();
  #state: FeedState = "SYNCING";
  /** Given up: answers that come later do nothing. */
  #isGone = false;
  #lookupCount = 0;
  /** Whole lists of open orders that the stream told. */
  #listCount = 0;
  /** Wall ms of the last frame or answer about this account. */
  #asOfMs = 0;
  #truthAtMs = 0;
  /** Wall ms of the last order of ours, sent or answered, that `#doubts` cannot judge; 0 once a state surely newer was adopted. */
  #lastOrderMs = 0;
  #refreshTimer: TimerHandle | null = null;

  constructor(address: string, deps: WatchedAccountDeps) {
    this.address = address;
    this.#deps = deps;
    this.lastUseMs = deps.clock.wallMs();
    this.#data = new AccountSlot(deps.instrumentOf, (event) => this.#emit(event), address);
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
    return { ok: true, value: this.#data.positions(), asOfMs: this.#asOfMs, source: "stream" };
  }

  /**
   * Positions that may stand for a live read: LIVE, recent, and newer than our last order. While reducing orders of ours
   * are not told of yet, only if they leave what is `wanted` whatever they did: a read of the venue would know no more
   * of those still under way. Else null.
   */
  livePositions(maxAgeMs: number, wanted: WantedLots | null): LivePositions | null {
    if (this.#state !== "LIVE" || this.#lastOrderMs > 0) return null;
    if (this.#deps.clock.wallMs() - this.#asOfMs > maxAgeMs) return null;
    const positions = this.#data.positions();
    return this.#doubts.leaves(positions, wanted) ? { positions, asOfMs: this.#asOfMs } : null;
  }

  /** A reducing order of ours goes out. `clientId`: as the venue sees it. */
  noteReduction(clientId: string, coin: string, qtyLots: number): void {
    if (!this.#doubts.sent(clientId, coin, qtyLots)) this.noteOrder();
  }

  /** What it filled by the venue's answer, 0 when it was not sent; null: unknown, or refused. */
  noteAnswer(clientId: string, filledLots: number | null): void {
    if (filledLots !== null && this.#doubts.answered(clientId, filledLots, this.#deps.clock.wallMs())) {
      if (this.#doubts.size > 0) this.#refreshSoon();
      return;
    }
    this.#doubts.drop(clientId);
    this.noteOrder();
  }

  /** An order of ours goes out, or its answer came: what was streamed before is no longer the whole truth. */
  noteOrder(): void {
    this.#lastOrderMs = this.#deps.clock.wallMs();
    // Counted from the latest order: a state read earlier would have to be read again.
    this.#clearRefresh();
    this.#refreshSoon();
  }

  acknowledge(type: string): void {
    this.#acknowledged.add(type);
    // From here on nothing is missed: a read begun now and the streams together are the whole truth.
    if (this.#isWhole() && this.#state !== "LIVE") this.#reconcile();
  }

  /** The streams are gone (`STALE`) or asked for anew: all must be acknowledged again. */
  unsync(state: FeedState): void {
    this.#acknowledged.clear();
    this.#resync.cancel();
    this.#setState(state);
  }

  giveUp(): void {
    this.#isGone = true;
    this.#setState("DOWN");
    this.#resync.cancel();
    this.#clearRefresh();
  }

  onState(account: VenueoneWireAccount): void {
    this.#seen();
    const applied = this.#data.applyState(account);
    if (!applied.ok) this.onUnreadable(applied.problem);
    else this.#believeUntil(account.time - this.#deps.clockOffset.offsetMs - SURELY_LATER_MS);
  }

  onOrders(rows: readonly VenueoneWireOrder[]): void {
    this.#seen();
    const applied = this.#data.applyOrders(rows);
    if (applied.ok) this.#listCount++;
    else this.onUnreadable(applied.problem);
    for (const row of applied.gone) this.#lookUpEnd(row);
  }

  onFills(fills: readonly VenueoneWireFill[], isSnapshot: boolean): void {
    this.#seen();
    const applied = this.#data.applyFills(fills, isSnapshot);
    if (!applied.ok) this.onUnreadable(applied.problem);
    else if (this.#data.needsState) this.#refreshSoon();
    // Their fills are told; what is lost past the bound is only how they ended, which nobody may be there to hear.
    if (this.listeners.size === 0) return;
    for (const oid of applied.unlisted) this.#lookUp(() => this.#readUnlisted(oid));
  }

  /** Something about this account could not be read: not LIVE until REST has told the whole state. */
  onUnreadable(problem: string): void {
    this.#deps.counters.decodeErrorCount++;
    this.#deps.logger.warn("venueone.account.unreadable", { problem: problem.slice(0, MAX_PROBLEM_CHARS) });
    this.#setState("SYNCING");
    this.#reconcile();
  }

  /** Called regularly. */
  keepTrue(): void {
    if (this.#state === "LIVE" && this.#deps.clock.wallMs() - this.#truthAtMs > TRUTH_EVERY_MS) this.#refresh();
  }

  /** A silent state stream is alive if REST says what we hold. */
  async probe(): Promise<ProbeResult> {
    const account = await this.#deps.rest.clearinghouseState(this.address, RECONCILE_LANE);
    if (!account.ok || this.#isGone) return "unknown";
    const applied = this.#data.applyState(account.value);
    if (!applied.ok) return "unknown";
    this.#seen();
    return applied.differences === 0 ? "quiet" : "dead";
  }

  #isWhole(): boolean {
    return ACCOUNT_STREAMS.every((type) => this.#acknowledged.has(type));
  }

  #seen(): void {
    this.#asOfMs = this.#deps.clock.wallMs();
  }

  #reconcile(): void {
    if (!this.#isGone && this.#resync.start()) this.#deps.counters.resyncCount++;
  }

  async #loadTruth(): Promise<Truth | null> {
    const { rest } = this.#deps;
    const listCount = this.#listCount;
    const [account, orders] = await Promise.all([
      rest.clearinghouseState(this.address, RECONCILE_LANE),
      rest.frontendOpenOrders(this.address, RECONCILE_LANE),
    ]);
    if (!account.ok || !orders.ok) return null;
    return { account: account.value, orders: listCount === this.#listCount ? orders.value : null };
  }

  #adopt(truth: Truth): boolean {
    const state = this.#data.applyState(truth.account);
    const orders = truth.orders === null ? { ok: true, gone: [] } : this.#data.applyOrders(truth.orders);
    if (!state.ok || !orders.ok) {
      this.#deps.counters.decodeErrorCount++;
      return false;
    }
    this.#noteDifferences(state.differences);
    for (const row of orders.gone) this.#lookUpEnd(row);
    this.#seen();
    this.#truthAtMs = this.#asOfMs;
    if (this.#isWhole()) this.#setState("LIVE");
    return true;
  }

  #noteDifferences(coins: number): void {
    if (coins === 0) return;
    this.#deps.counters.differenceCount += coins;
    this.#deps.logger.warn("venueone.account.difference", { coins, state: this.#state });
  }

  #refreshSoon(): void {
    if (this.#refreshTimer !== null || this.#state !== "LIVE") return;
    this.#refreshTimer = this.#deps.clock.setTimer(() => {
      this.#refreshTimer = null;
      // The stream may have brought the state meanwhile.
      if (this.#data.needsState || this.#lastOrderMs > 0 || this.#doubts.size > 0) this.#refresh();
    }, SURELY_LATER_MS);
  }

  #clearRefresh(): void {
    if (this.#refreshTimer !== null) this.#deps.clock.clearTimer(this.#refreshTimer);
    this.#refreshTimer = null;
  }

  /** Reads positions alone (cheap); a failure leaves things as they are, age tells. */
  #refresh(): void {
    const beganMs = this.#deps.clock.wallMs();
    this.#truthAtMs = beganMs;
    void this.#deps.rest.clearinghouseState(this.address, RECONCILE_LANE).then((account) => {
      if (this.#isGone) return;
      if (account.ok) this.#refreshed(account.value, beganMs);
      // An order may have come since: its state is still to be seen.
      if (this.#lastOrderMs > 0 || this.#doubts.size > 0) this.#refreshSoon();
    });
  }

  #refreshed(account: VenueoneWireAccount, beganMs: number): void {
    const applied = this.#data.applyState(account);
    if (!applied.ok) {
      this.onUnreadable(applied.problem);
      return;
    }
    this.#seen();
    this.#believeUntil(beganMs - SURELY_LATER_MS);
    this.#noteDifferences(applied.differences);
  }

  /** A whole state was adopted that tells of every order answered by then. */
  #believeUntil(untilMs: number): void {
    if (untilMs >= this.#lastOrderMs) this.#lastOrderMs = 0;
    this.#doubts.forgetAnswered(untilMs);
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
        this.#data.applyUnlisted(answer.value);
        return;
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
        this.#data.applyEnd(row, answer.value);
        return;
      }
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOKUP_BACKOFF_MS * attempt);
      });
    }
    if (!this.#isGone) this.#endUnknown(row);
  }

  #endUnknown(row: VenueoneWireOrder): void {
    this.#deps.counters.unresolvedEndCount++;
    this.#data.applyEnd(row, null);
  }

  #setState(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#emit({ kind: "state", state });
  }

  #emit(event: AccountEvent): void {
    if (event.kind === "fill") this.#doubts.told(event.order.venueClientOrderId, event.qtyLots);
    for (const listener of this.listeners) listener(event);
  }
}
