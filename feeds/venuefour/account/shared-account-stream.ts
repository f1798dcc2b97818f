/**
 * One account's private channels and all who stream them with the same credentials.
 *
 *   connect → subscribe → every echo → reconcile over REST → LIVE      (again after every loss)
 *
 * Invariants: positions are readable only while LIVE; LIVE means that a REST answer asked for after the venue took the
 * subscriptions has been taken; frames that arrive meanwhile are applied at once and outlive an older answer
 * (account/state.ts); and the connection speaks, and has told of our orders (streamed-reads.ts). One reconcile (account/catch-up.ts) runs at a time. A session is used only while its owner keeps
 * the stream open. After a loss the fills missed are read and told, each once.
 */
import { delay, type TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { AccountEvent, AccountStream, Read } from "../../../engine/ports.js";
import { fullJitterMs } from "../../shared/net/backoff.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { StreamedAccount } from "../../shared/orders/own-order.js";
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
import { WireFault } from "../../shared/room/wire-fields.js";
import { AccountCatchUp, type CatchUpDeps } from "./catch-up.js";
import { ACCOUNT_CHANNELS, type AccountFrame, decodeAccountFrame, ESSENTIAL_CHANNELS } from "./frames.js";
import { normalizeFill, normalizeOrder } from "./normalize.js";
import { AccountState } from "./state.js";
import {
  ACCOUNT_IDLE_MS,
  ACCOUNT_PING_EVERY_MS,
  ECHO_TIMEOUT_MS,
  MESSAGES_PER_SECOND,
  PING_TEXT,
  ROTATE_AFTER_MS,
} from "../rules/limits.js";
import type { VenuefourSession } from "./session.js";
import type { KnownSettings } from "./known-settings.js";

/** Summed over all accounts of a room. */
export interface AccountCounters {
  /** Frames that could not be read, or do not fit their contract. */
  decodeErrorCount: number;
}

export interface AccountStreamDeps extends CatchUpDeps {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: ConnectionBudget;
  readonly settings: KnownSettings;
  readonly counters: AccountCounters;
  readonly words: UnknownWords;
}

const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 } as const;
/** Failed tries after which it is logged, and again after as many more. */
const ESCALATE_EVERY = 4;
/** The venue's word over REST, against frames that never came: two credits of the hundred a minute that all share. */
const TRUTH_EVERY_MS = 5 * 60_000;
/** How often it is looked whether the stream may still be LIVE. */
const WATCH_EVERY_MS = 1_000;
/** A frame that is so late is late: our clock estimate is off by up to two seconds. */
const LATE_AFTER_MS = 5_000;
/** A fill waits so long for the update of its order before the venue is asked for it. */
const FILL_PATIENCE_MS = 2_000;
/** Echoes that stayed away this often on one connection: it is replaced. */
const MAX_ECHO_TRIES = 3;

export class SharedAccountStream implements StreamedAccount {
  readonly reads: StreamedReads;
  readonly #deps: AccountStreamDeps;
  readonly #life: ConnectionLife;
  readonly #onEnd: () => void;
  readonly #accountId: string;
  readonly #members: StreamMembers<VenuefourSession>;
  readonly #socket: PersistentSocket;
  readonly #account = new AccountState();
  readonly #catchUp: AccountCatchUp;
  /** Channels that the venue has echoed, by connection. At most two connections overlap. */
  readonly #echoes = new Map<number, Set<string>>();
  #isStopped = false;
  /** Grows with each loss and at the end: a reconcile that ends late finds itself outdated. */
  #runId = 0;
  #isReconciling = false;
  /** Something asked for a reconcile while one was running. */
  #isReconcileDue = false;
  /** Something came that could not be read since the reconcile in flight asked its questions. */
  #hasUnread = false;
  /** Of positions, those that were taken. */
  #positionFrameCount = 0;
  /** Monotonic ms of the last one. */
  #positionFrameMs = Number.NEGATIVE_INFINITY;
  /** One of a lower number came after it. */
  #hasLateFrame = false;
  #echoTryCount = 0;
  #echoTimer: TimerHandle | null = null;
  #truthTimer: TimerHandle | null = null;
  #fillTimer: TimerHandle | null = null;
  #watchTimer: TimerHandle | null = null;
  #refreshTimer: TimerHandle | null = null;

  constructor(deps: AccountStreamDeps, accountId: string, onEnd: () => void) {
    const { clock, random, logger, connector, budget } = deps;
    this.#deps = deps;
    this.#accountId = accountId;
    this.#life = new ConnectionLife(clock);
    this.reads = new StreamedReads(clock, this.#life);
    this.#onEnd = onEnd;
    this.#catchUp = new AccountCatchUp(deps, accountId, this.#account);
    this.#members = new StreamMembers({
      logger,
      failureEvent: "venuefour.account.subscriber-failed",
      positions: () => ({ ok: true, value: this.#account.positions(), asOfMs: this.reads.asOfMs, source: "stream" }),
      ordersDoubtMs: () => this.reads.ordersDoubtMs(),
      onEmpty: () => this.stop(),
    });
    this.#socket = new PersistentSocket({
      name: "venuefour.account",
      url: deps.wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      heartbeat: { pingText: PING_TEXT, everyMs: ACCOUNT_PING_EVERY_MS, idleMs: ACCOUNT_IDLE_MS },
      protocol: {
        subscribe: (names) => `{"method":"subscribe","params":${names[0] ?? "{}"}}`,
        unsubscribe: (names) => `{"method":"unsubscribe","params":${names[0] ?? "{}"}}`,
        maxNamesPerFrame: 1,
      },
      pacers: () => [new MessagePacer(clock, MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: ACCOUNT_CHANNELS.length,
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#onFrame(data, tsRecvNs, linkId),
        onOpen: (linkId) => this.#onOpen(linkId),
        onDown: () => this.#onDown(),
        isStandbyReady: (linkId) => this.#isAnswered(linkId),
      },
    });
    // Silence says nothing: an account at rest has nothing to tell.
    for (const channel of ACCOUNT_CHANNELS)
      this.#socket.subscribe({ name: this.#nameOf(channel), livenessMs: 0, probe: null });
    this.#truthTimer = clock.setTimer(() => this.#checkTruth(), TRUTH_EVERY_MS);
    this.#watchTimer = clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
  }

  get accountId(): string {
    return this.#accountId;
  }

  get isLive(): boolean {
    return this.#members.state === "LIVE";
  }

  join(session: VenuefourSession, onEvent: (event: AccountEvent) => void): AccountStream {
    const stream = this.#members.join(session, onEvent);
    this.#socket.start();
    return stream;
  }

  /** Positions that may stand for a live read; null where only the venue may answer. `wanted` null: exact sizes count. */
  settled(wanted: WantedLots | null): Read<readonly VenuePosition[]> | null {
    const value = this.isLive ? this.reads.standing(this.#account.positions(), wanted) : null;
    return value === null ? null : { ok: true, value, asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /**
   * Somebody asked the venue. Where it contradicts what is streamed, that stands for nothing until it was made true.
   * Returns what is held at least.
   */
  compare(positions: readonly VenuePosition[]): readonly VenuePosition[] {
    const held = this.#account.positions();
    if (!this.isLive || sameSizes(held, positions)) return positions;
    this.reads.doubt();
    if (!this.#isReconciling) this.#startReconcile();
    return heldAtLeast(this.reads, held, positions);
  }

  /** Something of ours is to be reported; where it is not, the venue is asked. */
  refreshSoon(): void {
    if (this.#refreshTimer !== null || this.#isStopped) return;
    this.#refreshTimer = this.#deps.clock.setTimer(() => {
      this.#refreshTimer = null;
      if (this.reads.isOverdue && this.isLive) this.#startReconcile();
      else if (this.reads.isPending) this.refreshSoon();
    }, SURELY_LATER_MS);
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#runId++;
    this.#members.end();
    const { clock } = this.#deps;
    for (const timer of [this.#echoTimer, this.#truthTimer, this.#fillTimer, this.#watchTimer, this.#refreshTimer])
      if (timer !== null) clock.clearTimer(timer);
    this.#socket.stop();
    this.#onEnd();
  }

  // ------------------------------------------------------------ connection

  #nameOf(channel: string): string {
    return JSON.stringify({ source: channel, account: this.#accountId });
  }

  #isAnswered(linkId: number): boolean {
    const echoed = this.#echoes.get(linkId);
    return echoed !== undefined && ESSENTIAL_CHANNELS.every((channel) => echoed.has(channel));
  }

  #onOpen(linkId: number): void {
    this.#life.noteFrame();
    for (const known of [...this.#echoes.keys()]) if (known < linkId) this.#echoes.delete(known);
    this.#echoTryCount = 0;
    // A standby that takes over was answered before: nothing was lost, and it stays LIVE meanwhile.
    if (this.#isAnswered(linkId)) this.#startReconcile();
    else this.#awaitEchoes();
  }

  /** No answer is how this venue refuses a subscription: it is asked for again, then on another connection. */
  #awaitEchoes(): void {
    const { clock, logger } = this.#deps;
    if (this.#echoTimer !== null) clock.clearTimer(this.#echoTimer);
    this.#echoTimer = clock.setTimer(() => {
      this.#echoTimer = null;
      const linkId = this.#socket.primaryLinkId;
      if (this.#isStopped || linkId === 0 || this.#isAnswered(linkId)) return;
      this.#echoTryCount++;
      logger.warn("venuefour.account.unanswered", { count: this.#echoTryCount });
      if (this.#echoTryCount >= MAX_ECHO_TRIES) {
        this.#socket.reconnect("subscriptions unanswered");
        return;
      }
      const echoed = this.#echoes.get(linkId);
      for (const channel of ESSENTIAL_CHANNELS)
        if (echoed?.has(channel) !== true) this.#socket.resubscribe(this.#nameOf(channel));
      this.#awaitEchoes();
    }, ECHO_TIMEOUT_MS);
  }

  /** A standby connection may take over without a loss: the state is given up first. */
  rescaled(): void {
    this.#onDown();
    this.#socket.reconnect("a contract was listed anew");
  }

  #onDown(): void {
    this.#runId++;
    this.#life.lost();
    this.#isReconciling = false;
    this.#isReconcileDue = false;
    this.#catchUp.lost();
    this.#account.forgetSequence();
    this.#members.enter("SYNCING");
  }

  // ------------------------------------------------------------ frames

  #onFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    if (linkId === this.#socket.primaryLinkId) this.#life.noteFrame();
    const frame = decodeAccountFrame(data.toString("utf8"));
    if (frame.kind === "ignored") return;
    if (frame.kind === "unknown") {
      this.#deps.words.note("channel", frame.channel);
      return;
    }
    if (frame.kind === "echo") {
      this.#echoed(frame.channel, tsRecvNs, linkId);
      return;
    }
    try {
      this.#apply(frame);
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      this.#unread(`${error.field} ${error.problem}`);
    }
  }

  #echoed(channel: string, tsRecvNs: number, linkId: number): void {
    const echoed = this.#echoes.get(linkId) ?? new Set<string>();
    const wasAnswered = this.#isAnswered(linkId);
    this.#echoes.set(linkId, echoed.add(channel));
    this.#socket.subscription(this.#nameOf(channel))?.alive(tsRecvNs, linkId);
    if (!wasAnswered && this.#isAnswered(linkId) && linkId === this.#socket.primaryLinkId) this.#startReconcile();
  }

  #apply(frame: Exclude<AccountFrame, { kind: "echo" | "ignored" | "unknown" }>): void {
    const { account, instrumentOf, memory, settings } = this.#deps;
    switch (frame.kind) {
      case "positions": {
        const { lateCount } = this.#account;
        const positions = account.normalizePositions(this.#accountId, frame.rows);
        const before = this.#account.positions();
        const isChanged = this.#account.applyPositions(positions, frame.li);
        const held = this.#account.positions();
        if (this.#account.lateCount > lateCount) {
          // Out of order, or the venue's numbers began again: only a read tells.
          this.#hasLateFrame = true;
          this.reads.doubtPositions();
          this.refreshSoon();
          return;
        }
        this.#positionFrameCount++;
        this.#positionFrameMs = this.reads.begin();
        this.#hasLateFrame = false;
        // A whole picture, unless something newer is held.
        if (held === positions) this.reads.proven(this.#deps.clock.wallMs());
        this.reads.moved(before, held);
        if (isChanged && this.#members.state === "LIVE") this.#members.tell({ kind: "positions" });
        return;
      }
      case "orders":
        for (const { order: wire, li } of frame.rows) {
          const instrument = instrumentOf(wire.symbol);
          // A contract outside our list can not be traded here.
          if (instrument === null) continue;
          const order = normalizeOrder(wire, instrument);
          if (order.status === "UNKNOWN") this.#deps.words.note("status", order.venueStatus);
          const events = this.#account.applyOrder(order, li);
          this.reads.told(order);
          this.#happened(order.tsVenueMs);
          memory.told(this.#accountId, order);
          for (const event of events) this.#members.tell(event);
        }
        return;
      case "fills":
        for (const wire of frame.rows) {
          const instrument = instrumentOf(wire.symbol);
          if (instrument === null) continue;
          const { tradeId, venueOrderId, nativeSymbol, qtyLots, fee } = normalizeFill(wire, instrument);
          const fill = { tradeId, venueOrderId, nativeSymbol, qtyLots, price: wire.price, fee };
          for (const event of this.#account.applyFill(fill)) this.#members.tell(event);
        }
        this.#awaitOrders();
        return;
      case "settings":
        settings.changed(this.#accountId);
        this.#startReconcile();
        return;
      case "malformed":
        this.#unread(frame.problem);
    }
  }

  /** At this venue time. */
  #happened(tsVenueMs: number): void {
    this.reads.happened(tsVenueMs - this.#deps.clockOffsetMs(), LATE_AFTER_MS);
    if (this.reads.isPending) this.refreshSoon();
  }

  /** A frame that can not be read may have moved a position: not LIVE until REST has told. */
  #unread(problem: string): void {
    this.#deps.counters.decodeErrorCount++;
    this.#deps.logger.warn("venuefour.account.unread", { problem });
    this.#hasUnread = true;
    // The answer to come may lag behind it: another is asked for surely later.
    this.reads.doubt();
    this.#members.enter("SYNCING");
    if (this.#isAnswered(this.#socket.primaryLinkId)) this.#startReconcile();
  }

  /** Fills whose order has not been reported: its update is late, or lost. */
  #awaitOrders(): void {
    if (this.#fillTimer !== null || this.#account.awaitedOrderIds().length === 0) return;
    this.#fillTimer = this.#deps.clock.setTimer(() => {
      this.#fillTimer = null;
      if (!this.#isStopped && this.#account.awaitedOrderIds().length > 0) this.#startReconcile();
    }, FILL_PATIENCE_MS);
  }

  // ------------------------------------------------------------ reconcile

  /** Lost or late: also what was told of others' orders may be. */
  #watch(): void {
    if (this.#isStopped) return;
    this.#watchTimer = this.#deps.clock.setTimer(() => this.#watch(), WATCH_EVERY_MS);
    if (this.isLive && (!this.reads.isAlive || this.reads.isUnshown)) {
      this.#catchUp.lost();
      this.#members.enter("SYNCING");
    }
    const isAnswered = this.#isAnswered(this.#socket.primaryLinkId);
    if (!this.isLive && isAnswered && this.reads.isAlive && !this.#isReconciling) this.#startReconcile();
  }

  #startReconcile(): void {
    if (this.#isStopped) return;
    if (this.#isReconciling) {
      this.#isReconcileDue = true;
      return;
    }
    this.#isReconciling = true;
    void this.#reconcile(this.#runId);
  }

  async #reconcile(runId: number): Promise<void> {
    const { clock, random, logger } = this.#deps;
    for (let attempt = 0; runId === this.#runId; attempt++) {
      this.#isReconcileDue = false;
      const isTaken = await this.#tryReconcile(runId);
      if (runId !== this.#runId) return;
      if (isTaken && !this.#isReconcileDue) {
        this.#isReconciling = false;
        return;
      }
      if (!isTaken) {
        // Without an answer, what we have is hearsay.
        this.#members.enter("SYNCING");
        if (attempt % ESCALATE_EVERY === ESCALATE_EVERY - 1)
          logger.error("venuefour.account.reconcile-failing", { count: attempt + 1 });
      }
      await delay(clock, RECONCILE_BACKOFF.baseMs + fullJitterMs(RECONCILE_BACKOFF, attempt, random));
    }
  }

  /** True when the account is taken, and LIVE. */
  async #tryReconcile(runId: number): Promise<boolean> {
    const session = this.#members.session(({ isOpen }) => isOpen);
    if (session === null) return false;
    this.#hasUnread = false;
    const beganMs = this.reads.begin();
    const framesBefore = this.#positionFrameCount;
    const caught = await this.#catchUp.read(session, () => runId === this.#runId);
    if (caught === null) return false;
    const hasNewerFrame = this.#positionFrameCount > framesBefore;
    const { positions, lastId, asOfMs } = caught;
    const before = this.#account.positions();
    // Where numbers may have begun again, what is asked for so long after the last frame is newer, whatever its own.
    const isBegunAgain = this.#hasLateFrame && !hasNewerFrame && beganMs - this.#positionFrameMs >= SURELY_LATER_MS;
    const isChanged = this.#account.adoptPositions(positions, lastId, hasNewerFrame, isBegunAgain);
    this.reads.moved(before, this.#account.positions());
    const wasLive = this.#members.state === "LIVE";
    if (wasLive && isChanged) this.#deps.logger.warn("venuefour.account.differed", { count: positions.length });
    // Where a newer frame is held, the answer only counts if it says the same.
    if (sameSizes(this.#account.positions(), positions)) {
      this.reads.agreed(beganMs);
      this.reads.proven(asOfMs);
    }
    this.#catchUp.taken(caught);
    // Only an answer asked for after it tells what it was.
    if (this.#hasUnread) return false;
    if (this.reads.isPending) this.refreshSoon();
    // The account is known as of then, and #watch looks again when the connection speaks.
    if (!this.reads.isAlive) return true;
    if (this.reads.isUnshown) return false;
    this.#members.enter("LIVE");
    if (isChanged || !wasLive) this.#members.tell({ kind: "positions" });
    for (const event of this.#catchUp.takeNews()) this.#members.tell(event);
    return true;
  }

  #checkTruth(): void {
    if (this.#isStopped) return;
    this.#truthTimer = this.#deps.clock.setTimer(() => this.#checkTruth(), TRUTH_EVERY_MS);
    if (this.#members.state === "LIVE") this.#startReconcile();
  }
}
