/**
 * One user stream and all who stream with its credentials.
 *
 *   listenKey → socket → reconcile over REST → LIVE      (again after every loss)
 *
 * Invariants: positions are readable only while LIVE; LIVE means that a REST answer asked for after the
 * socket opened has been taken; events that arrive meanwhile are applied at once and outlive an answer that
 * may be older (account/state.ts); and the socket speaks, and has told of our orders (streamed-reads.ts). One reconcile runs at a time. A session is used only while its owner
 * keeps the stream open.
 *
 * The listenKey is not deleted at the end: the venue gives all of an account's clients the same key, and
 * deleting it would cut the others off.
 */
import { type Clock, delay, type TimerHandle } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type {
  AccountEvent,
  AccountReader,
  AccountSession,
  AccountStream,
  CallOptions,
  Read,
} from "../../../engine/ports.js";
import { fullJitterMs } from "../../shared/net/backoff.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { StreamedAccount } from "../../shared/orders/own-order.js";
import { PendingNews } from "../../shared/account/pending-news.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { StreamMembers } from "../../shared/account/stream-members.js";
import {
  ConnectionLife,
  heldAtLeast,
  sameSizes,
  StreamedReads,
  SURELY_LATER_MS,
  type WantedLots,
} from "../../shared/account/streamed-reads.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import { marginModeOf, statusOfWord } from "./normalize.js";
import { AccountState, type AppliedEvent } from "./state.js";
import { decodeUserEvent } from "../market/decode-slow.js";
import { ROTATE_AFTER_MS, LISTEN_KEY_REFRESH_MS, LOAD_TIMEOUT_MS, MAX_MESSAGES_PER_SECOND } from "../rules/limits.js";
import type { StreamHostLayout } from "../market/stream-plan.js";
import type { VenuetwoWireUserEvent } from "../market/wire.js";

/** How listen keys are got and kept; `expired`: the venue knows the key no more (-1125). */
export interface ListenKeys {
  create(session: AccountSession, options: CallOptions): Promise<Read<string>>;
  extend(session: AccountSession, options: CallOptions): Promise<Read<"extended" | "expired">>;
}

/** Summed over all accounts of a room. */
export interface AccountCounters {
  /** Events that could not be read, or do not fit their contract. */
  decodeErrorCount: number;
}

export interface AccountStreamDeps {
  readonly wsUrl: string;
  readonly layout: StreamHostLayout;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: ConnectionBudget;
  readonly reader: AccountReader;
  readonly listenKeys: ListenKeys;
  readonly instrumentOf: (nativeSymbol: string) => Instrument | null;
  readonly clockOffsetMs: () => number;
  /** The first time of the venue that is not believed (feeds/shared/book/stamps.ts). */
  readonly latestVenueMs: () => number;
  readonly counters: AccountCounters;
  readonly words: UnknownWords;
}

/** The stream is silent while nothing happens: the pongs prove that it lives (streamed-reads.ts: 6 s of silence). */
const PING_EVERY_MS = 2_000;
const IDLE_MS = 12_000;
/** How often it is looked whether the stream may still be LIVE. */
const WATCH_EVERY_MS = 1_000;
const RECONCILE_BACKOFF = { baseMs: 250, capMs: 10_000 } as const;
/** Failed tries after which it is logged, and again after as many more. */
const ESCALATE_EVERY = 4;
/** A key or agent that was just approved may be refused for a second or two. */
const MAX_REFUSALS = 4;
const RECONCILE_OPTIONS: CallOptions = { timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" };
/** A refresh that failed is repeated well before the key's hour is over. */
const LISTEN_KEY_RETRY_MS = 60_000;
/** The venue's word over REST, against events that never came. */
const TRUTH_EVERY_MS = 60_000;
/** Room for the error of the clock offset when a REST answer is weighed against events. */
const CLOCK_MARGIN_MS = 1_000;
/** Orders looked up one by one after a loss, because they vanished from the open ones. */
const MAX_LOOKED_UP = 50;

export class SharedAccountStream implements StreamedAccount {
  readonly accountId: string;
  readonly reads: StreamedReads;
  readonly #deps: AccountStreamDeps;
  readonly #life: ConnectionLife;
  readonly #onEnd: () => void;
  readonly #members: StreamMembers<AccountSession>;
  readonly #socket: PersistentSocket;
  readonly #account = new AccountState();
  #isStopped = false;
  /** Grows with each loss and at the end: a reconcile that ends late finds itself outdated. */
  #runId = 0;
  #isReconciling = false;
  #refusalCount = 0;
  /** Something asked for a reconcile while one was running. */
  #isReconcileDue = false;
  /**
   * A signed call of these credentials has succeeded. A listen key is given out for the key's name alone,
   * so until then nothing that the stream says is passed on.
   */
  #isProven = false;
  /** Something came that could not be read since the reconcile in flight asked its questions. */
  #hasUnread = false;
  readonly #news = new PendingNews();
  #refreshTimer: TimerHandle | null = null;
  #truthTimer: TimerHandle | null = null;
  #watchTimer: TimerHandle | null = null;
  #askTimer: TimerHandle | null = null;

  constructor(deps: AccountStreamDeps, accountId: string, onEnd: () => void) {
    const { clock, random, logger, connector, budget } = deps;
    this.#deps = deps;
    this.accountId = accountId;
    this.#life = new ConnectionLife(clock);
    this.reads = new StreamedReads(clock, this.#life);
    this.#onEnd = onEnd;
    this.#members = new StreamMembers({
      logger,
      failureEvent: "venuetwo.account-subscriber-failed",
      positions: () => ({ ok: true, value: this.#account.positions(), asOfMs: this.reads.asOfMs, source: "stream" }),
      ordersDoubtMs: () => this.reads.ordersDoubtMs(),
      onEmpty: () => this.stop(),
    });
    this.#socket = new PersistentSocket({
      name: "venuetwo.account",
      url: () => this.#url(),
      clock,
      random,
      logger,
      connector,
      budget,
      heartbeat: { pingText: null, everyMs: PING_EVERY_MS, idleMs: IDLE_MS },
      // The listen key is the subscription; nothing is ever asked for by name.
      protocol: { subscribe: () => "", unsubscribe: () => "", maxNamesPerFrame: 1 },
      pacers: () => [new MessagePacer(clock, MAX_MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: 1,
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, _tsRecvNs, linkId) => {
          if (linkId === this.#socket.primaryLinkId) this.#life.noteFrame();
          this.#onFrame(data);
        },
        onControl: () => this.#life.noteFrame(),
        // Also after a planned change of connection, when nothing was lost: it stays LIVE meanwhile.
        onOpen: () => {
          this.#life.noteFrame();
          this.#startReconcile();
        },
        onDown: () => this.#onDown(),
      },
    });
    this.#refreshTimer = clock.setTimer(() => void this.#refresh(), LISTEN_KEY_REFRESH_MS);
    this.#truthTimer = clock.setTimer(() => this.#checkTruth(), TRUTH_EVERY_MS);
    this.#watchTimer = clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
  }

  get isLive(): boolean {
    return this.#members.state === "LIVE";
  }

  join(session: AccountSession, onEvent: (event: AccountEvent) => void): AccountStream {
    const stream = this.#members.join(session, onEvent);
    this.#socket.start();
    return stream;
  }

  /** Positions that may stand for a live read; null where only the venue may answer. `wanted` null: exact sizes count. */
  settled(wanted: WantedLots | null): Read<readonly VenuePosition[]> | null {
    // Nothing streamed is shown to credentials that the venue has not confirmed: LIVE says that it has.
    const value = this.isLive ? this.reads.standing(this.#account.positions(), wanted) : null;
    return value === null ? null : { ok: true, value, asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /**
   * Somebody asked the venue. Where it contradicts what is streamed, that stands for nothing until it was made true.
   * Returns what is held at least.
   */
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[] {
    if (!this.isLive) return positions;
    const held = this.#account.positions();
    const ofIt =
      instrument === null ? held : held.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol);
    if (sameSizes(ofIt, positions)) return positions;
    this.reads.doubt();
    if (!this.#isReconciling) this.#startReconcile("positions");
    return heldAtLeast(this.reads, ofIt, positions);
  }

  /** Something of ours is to be reported; where it is not, the venue is asked. */
  refreshSoon(): void {
    if (this.#askTimer !== null || this.#isStopped) return;
    this.#askTimer = this.#deps.clock.setTimer(() => {
      this.#askTimer = null;
      if (this.reads.isOverdue && this.isLive) this.#startReconcile("positions");
      else if (this.reads.isPending) this.refreshSoon();
    }, SURELY_LATER_MS);
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#runId++;
    this.#members.end();
    const { clock } = this.#deps;
    if (this.#refreshTimer !== null) clock.clearTimer(this.#refreshTimer);
    if (this.#truthTimer !== null) clock.clearTimer(this.#truthTimer);
    if (this.#watchTimer !== null) clock.clearTimer(this.#watchTimer);
    if (this.#askTimer !== null) clock.clearTimer(this.#askTimer);
    this.#socket.stop();
    this.#onEnd();
  }

  // ------------------------------------------------------------ listen key

  /** Asked before each connect: the venue gives the running key again and prolongs it, or a new one. */
  async #url(): Promise<string> {
    const { layout, listenKeys, wsUrl } = this.#deps;
    const session = this.#members.session();
    const read = session === null ? null : await listenKeys.create(session, RECONCILE_OPTIONS);
    if (read === null || !read.ok) {
      // The socket counts it as a failed connect and comes back with backoff.
      if (read !== null) {
        this.#deps.logger.warn("venuetwo.listen-key-refused", { code: read.code });
        this.#countRefusal(read.code === "AUTH");
      }
      throw new Error("no listen key");
    }
    const key = encodeURIComponent(read.value);
    return layout === "single" ? `${wsUrl}/ws/${key}` : `${wsUrl}/private/ws?listenKey=${key}`;
  }

  async #refresh(): Promise<void> {
    const session = this.#members.session();
    let nextMs = LISTEN_KEY_REFRESH_MS;
    if (session !== null && this.#socket.state === "open") {
      const read = await this.#deps.listenKeys.extend(session, RECONCILE_OPTIONS);
      if (this.#isStopped) return;
      if (!read.ok) nextMs = LISTEN_KEY_RETRY_MS;
      else if (read.value === "expired") this.#renew("listen key gone");
    }
    this.#refreshTimer = this.#deps.clock.setTimer(() => void this.#refresh(), nextMs);
  }

  rescaled(): void {
    this.#renew("a contract was listed anew");
  }

  /** The key is dead and the stream with it, whatever the socket says: connect anew with a new one. */
  #renew(reason: string): void {
    this.#onDown();
    this.#socket.reconnect(reason);
  }

  // ------------------------------------------------------------ events

  #onFrame(data: Buffer): void {
    const event = decodeUserEvent(data.toString("utf8"));
    switch (event.kind) {
      case "expired":
        this.#renew("listen key expired");
        return;
      case "ignored":
        return;
      case "malformed":
        this.#deps.logger.warn("venuetwo.account-event-unread", { kind: event.kind });
        this.#lostOne();
        return;
      case "unknown":
        // A kind that is new to us need not be about positions; one that can not be read may have moved one.
        this.#deps.words.note("event", event.event);
        this.#startReconcile();
        return;
    }
    this.#apply(event);
    this.#noteWords(event);
  }

  #apply(event: VenuetwoWireUserEvent): void {
    const { clockOffsetMs, instrumentOf } = this.#deps;
    switch (event.kind) {
      case "order": {
        const tsEventMs = this.#timeOf(event.tsEventMs);
        if (tsEventMs !== null) this.#happened(tsEventMs);
        this.#applied(this.#account.applyOrder(event.order, tsEventMs, instrumentOf));
        break;
      }
      case "account": {
        const tsEventMs = this.#timeOf(event.tsEventMs);
        if (tsEventMs !== null) this.#happened(tsEventMs);
        const before = this.#account.positions();
        const applied = this.#account.applyPositions(event.positions, tsEventMs, instrumentOf);
        this.reads.moved(before, this.#account.positions());
        if (tsEventMs !== null) this.reads.proven(tsEventMs - clockOffsetMs());
        this.#applied(applied);
        break;
      }
      case "leverage":
        this.#applied(this.#account.applyLeverage(event.symbol, event.leverage));
        break;
      case "config":
        this.#startReconcile();
        break;
      default:
        break;
    }
  }

  #noteWords(event: VenuetwoWireUserEvent): void {
    const { words } = this.#deps;
    if (event.kind === "order" && statusOfWord(event.order.X) === "UNKNOWN") words.note("status", event.order.X);
    if (event.kind !== "account") return;
    for (const { mt } of event.positions) if (marginModeOf(mt) === null) words.note("margin type", mt);
  }

  /**
   * Null: of a time that is not yet. It is taken, as it is news to whoever awaits it, but bars nothing of before its
   * receipt and proves nothing: not LIVE until REST has told.
   */
  #timeOf(tsEventMs: number): number | null {
    const latestMs = this.#deps.latestVenueMs();
    this.#account.forgetBeyond(latestMs);
    if (tsEventMs < latestMs) return tsEventMs;
    this.#lostOne();
    return null;
  }

  #applied(applied: AppliedEvent): void {
    if (applied.kind === "unfit") {
      this.#deps.logger.error("venuetwo.account-event-unfit", { problem: applied.problem });
      this.#lostOne();
      return;
    }
    for (const event of applied.events) {
      if (event.kind === "order") this.reads.told(event.order);
      // Positions can be read only when LIVE, and are announced then.
      if (event.kind !== "positions" || this.#members.state === "LIVE") this.#emit(event);
    }
  }

  /** At this venue time. */
  #happened(tsVenueMs: number): void {
    this.reads.happened(tsVenueMs - this.#deps.clockOffsetMs());
    if (this.reads.isPending) this.refreshSoon();
  }

  /** What an event said is lost to us: not LIVE until REST has told. */
  #lostOne(): void {
    this.#deps.counters.decodeErrorCount++;
    this.#hasUnread = true;
    // The answer to come may lag behind it: another is asked for surely later.
    this.reads.doubt();
    this.#members.enter("SYNCING");
    this.#startReconcile();
  }

  #emit(event: AccountEvent): void {
    if (this.#isProven) this.#members.tell(event);
  }

  #onDown(): void {
    this.#runId++;
    this.#life.lost();
    this.#isReconciling = false;
    this.#isReconcileDue = false;
    // What the next connection missed may contradict any event of this one.
    this.#account.forgetEventTimes();
    this.#members.enter("SYNCING");
  }

  // ------------------------------------------------------------ reconcile

  /** Lost or late: also what was told of others' orders may be. */
  #watch(): void {
    if (this.#isStopped) return;
    this.#watchTimer = this.#deps.clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
    if (this.isLive && (!this.reads.isAlive || this.reads.isUnshown)) this.#members.enter("SYNCING");
    if (!this.isLive && this.reads.isAlive && !this.#isReconciling) this.#startReconcile();
  }

  /** `scope` positions: the cheap check of a stream that lost nothing (all open orders weigh eight times as much). */
  #startReconcile(scope: "all" | "positions" = "all"): void {
    if (this.#isStopped) return;
    if (this.#isReconciling) {
      this.#isReconcileDue = true;
      return;
    }
    this.#isReconciling = true;
    void this.#reconcile(this.#runId, scope);
  }

  async #reconcile(runId: number, firstScope: "all" | "positions"): Promise<void> {
    const { clock, random, logger } = this.#deps;
    for (let attempt = 0; runId === this.#runId; attempt++) {
      this.#isReconcileDue = false;
      const isTaken = await this.#tryReconcile(runId, attempt === 0 ? firstScope : "all");
      if (runId !== this.#runId) return;
      if (isTaken && !this.#isReconcileDue) {
        this.#isReconciling = false;
        return;
      }
      if (!isTaken) {
        // Without an answer, what we have is hearsay.
        this.#members.enter("SYNCING");
        if (attempt % ESCALATE_EVERY === ESCALATE_EVERY - 1) {
          logger.error("venuetwo.account-reconcile-failing", { attemptCount: attempt + 1 });
        }
      }
      await delay(clock, RECONCILE_BACKOFF.baseMs + fullJitterMs(RECONCILE_BACKOFF, attempt, random));
    }
  }

  /** True when the account is taken, and LIVE. */
  async #tryReconcile(runId: number, scope: "all" | "positions"): Promise<boolean> {
    const { clock, clockOffsetMs, reader, instrumentOf } = this.#deps;
    const session = this.#members.session();
    if (session === null) return false;
    const options = RECONCILE_OPTIONS;
    this.#hasUnread = false;
    const beganMs = this.reads.begin();
    const sinceVenueMs = clock.wallMs() + clockOffsetMs() - CLOCK_MARGIN_MS;
    const [positions, orders] = await Promise.all([
      reader.readPositions(session, null, options),
      scope === "all" ? reader.readOpenOrders(session, null, options) : null,
    ]);
    if (runId !== this.#runId) return false;
    if (!positions.ok || orders?.ok === false) {
      this.#countRefusal(!positions.ok && positions.code === "AUTH");
      return false;
    }
    this.#refusalCount = 0;

    const openNow = orders?.value ?? this.#account.openOrders();
    const openIds = new Set(openNow.map((order) => order.venueOrderId));
    const vanished = this.#account.openOrders().filter((order) => !openIds.has(order.venueOrderId));
    for (const order of openNow) this.#learn(order);
    // Orders that ended while nobody listened: each is asked for, so that no fill stays unknown.
    for (const order of vanished.slice(0, MAX_LOOKED_UP)) {
      const instrument = instrumentOf(order.nativeSymbol);
      if (instrument === null) continue;
      const read = await reader.readOrder(session, instrument, { venueOrderId: order.venueOrderId }, options);
      if (runId !== this.#runId) return false;
      if (!read.ok) return false;
      if (read.value !== null) this.#learn(read.value);
    }
    this.#account.forgetBeyond(this.#deps.latestVenueMs());
    const before = this.#account.positions();
    const isChanged = this.#account.adoptPositions(positions.value, sinceVenueMs);
    this.reads.moved(before, this.#account.positions());
    const wasLive = this.#members.state === "LIVE";
    if (wasLive && isChanged)
      this.#deps.logger.warn("venuetwo.account-differed", { positionCount: positions.value.length });
    // Where a newer event is held, the answer only counts if it says the same.
    if (sameSizes(this.#account.positions(), positions.value)) {
      this.reads.agreed(beganMs);
      this.reads.proven(positions.asOfMs);
    }
    // Only an answer asked for after it tells what it was.
    if (this.#hasUnread) return false;
    if (this.reads.isPending) this.refreshSoon();
    // The account is known as of then, and #watch looks again when the connection speaks.
    if (!this.reads.isAlive) return true;
    if (this.reads.isUnshown) return false;
    const learnt = this.#news.take((order) => this.#account.isNewest(order));
    // What was learnt before the proof is reported now.
    const news = this.#isProven ? learnt : this.#account.openOrders().map(orderEvent);
    this.#isProven = true;
    this.#members.enter("LIVE");
    if (isChanged || !wasLive) this.#emit({ kind: "positions" });
    for (const event of news) this.#emit(event);
    return true;
  }

  #learn(order: VenueOrder): void {
    if (this.#account.adoptOrder(order)) this.#news.add([orderEvent(order)]);
  }

  /** Credentials the venue refuses again and again will not get better: the stream ends, and says so. */
  #countRefusal(isRefused: boolean): void {
    this.#refusalCount = isRefused ? this.#refusalCount + 1 : 0;
    if (this.#refusalCount < MAX_REFUSALS) return;
    this.#deps.logger.warn("venuetwo.account-refused", { refusalCount: this.#refusalCount });
    this.#members.enter("DOWN");
    this.stop();
  }

  #checkTruth(): void {
    if (this.#isStopped) return;
    this.#truthTimer = this.#deps.clock.setTimer(() => this.#checkTruth(), TRUTH_EVERY_MS);
    if (this.#members.state === "LIVE") this.#startReconcile("positions");
  }
}

function orderEvent(order: VenueOrder): AccountEvent {
  return { kind: "order", order };
}
