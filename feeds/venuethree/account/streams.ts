/**
 * Pushed account state: orders, trades and positions of up to MAX_STREAMED_ACCOUNTS accounts over one socket. Each
 * subscription carries a token signed by a session of somebody who watches; nobody is attached to an account before
 * the venue has confirmed that their key is one of its keys (key-directory.ts).
 *
 * Accounts that trade repeatedly ("hot") are watched without being asked for, MAX_HOT_ACCOUNTS of them: their fills are
 * then known when the venue pushes them, and their closes cost no reads. They make room first for those asked for.
 *
 * What one watched account is, and when it is LIVE, stands in watched-account.ts.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { FeedState } from "../../../engine/market/market.js";
import type {
  AccountEvent,
  AccountSession,
  AccountStream,
  AccountStreams,
  CallOptions,
  Read,
} from "../../../engine/ports.js";
import { fullJitterMs } from "../../shared/net/backoff.js";
import { failedRead } from "../../shared/net/call-results.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { RecentUses } from "../../shared/account/recent-uses.js";
import { logDropped } from "../../shared/net/dropped-frame.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { ConnectionLife, type WantedLots } from "../../shared/account/streamed-reads.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { ACCOUNT_CHANNELS, accountChannel, type AccountFrame, decodeAccountFrame } from "./frames.js";
import type { ConfirmedKey } from "./key-directory.js";
import {
  ACCOUNT_MESSAGES_PER_MINUTE,
  ACCOUNT_PING_EVERY_MS,
  HOT_IDLE_MS,
  HOT_WINDOW_MS,
  IDLE_SOCKET_MS,
  MAX_HOT_ACCOUNTS,
  MAX_STREAMED_ACCOUNTS,
  TOKEN_RENEW_MS,
} from "../rules/limits.js";
import { VenuethreeSession } from "./session.js";
import { type AccountCounters, WatchedAccount, type WatchedAccountDeps } from "./watched-account.js";

const RESOLVE: CallOptions = { timeoutMs: 5_000, lane: "read" };
const RESOLVE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const MAX_RESOLVE_TRIES = 5;
const HOUSEKEEPING_MS = 1_000;
/** A channel that is not acknowledged by then was refused without a word that names it, or lost. */
const ACKNOWLEDGE_DEADLINE_MS = 5_000;
/** Tries in a row, each half as patient again as the one before. */
const MAX_PATIENCE = 6;
const PING_TEXT = '{"type":"ping"}';
const PONG_TEXT = '{"type":"pong"}';

export interface AccountStreamsOptions extends Omit<WatchedAccountDeps, "counters" | "life" | "words"> {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly messages: MessagePacer;
  /** The account behind a session; only then may it be subscribed. */
  readonly resolveKey: (session: AccountSession, options: CallOptions) => Promise<Read<ConfirmedKey>>;
  readonly maxAccounts?: number;
}

type Listener = (event: AccountEvent) => void;

/** One account, its subscription, and how far it has come. */
interface Watch {
  readonly account: WatchedAccount;
  /** Monotonic ms at which the last of its channels was asked for; null while they are not. */
  askedAtMs: number | null;
  /** Channels that wait for the pace of messages: of them the venue has refused none. */
  readonly unwritten: Set<string>;
  tryCount: number;
  /** Monotonic ms of the token in use. */
  tokenAtMs: number;
  /** Monotonic ms of its last use in a trade; null: watched only because it was asked for. */
  lastUseMs: number | null;
}

export interface AccountStreamsStats extends Readonly<AccountCounters> {
  readonly socket: SocketStats | null;
  readonly accountCount: number;
  readonly liveCount: number;
  /** Words that nobody knows. */
  readonly driftCount: number;
}

export class VenuethreeAccountStreams implements AccountStreams {
  readonly #options: AccountStreamsOptions;
  readonly #maxAccounts: number;
  readonly #watches = new Map<number, Watch>();
  readonly #uses = new RecentUses(HOT_WINDOW_MS);
  readonly #counters: AccountCounters = { resyncCount: 0, decodeErrorCount: 0, differenceCount: 0 };
  readonly #words: UnknownWords;
  #socket: PersistentSocket | null = null;
  readonly #life: ConnectionLife;
  /** Over all its connections: what is cut again and again must not spend the minute of the books. */
  readonly #messages: MessagePacer;
  #housekeeping: TimerHandle | null = null;
  #isStopped = false;

  constructor(options: AccountStreamsOptions) {
    this.#options = options;
    this.#words = new UnknownWords("venuethree", () => options.logger);
    this.#life = new ConnectionLife(options.clock);
    this.#messages = new MessagePacer(options.clock, ACCOUNT_MESSAGES_PER_MINUTE, 60_000);
    this.#maxAccounts = Math.min(options.maxAccounts ?? MAX_STREAMED_ACCOUNTS, MAX_STREAMED_ACCOUNTS);
  }

  stats(): AccountStreamsStats {
    let liveCount = 0;
    for (const { account } of this.#watches.values()) if (account.state === "LIVE") liveCount++;
    return {
      socket: this.#socket?.stats() ?? null,
      accountCount: this.#watches.size,
      liveCount,
      ...this.#counters,
      driftCount: this.#words.count,
    };
  }

  openAccountStream(
    session: AccountSession,
    onEvent: Listener,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string } {
    if (this.#isStopped) return { ok: false, problem: "the room is stopped" };
    if (!(session instanceof VenuethreeSession)) return { ok: false, problem: "an address alone streams nothing" };
    if (!this.#watches.has(session.accountIndex) && this.#watches.size >= this.#maxAccounts && this.#spare() === null)
      return { ok: false, problem: `all ${this.#maxAccounts} account streams of this venue are in use` };
    let watch: Watch | null = null;
    let key: ConfirmedKey | null = null;
    let isClosed = false;
    // A subscriber's bug is its own.
    const tell: Listener = (event) => {
      try {
        onEvent(event);
      } catch {
        this.#options.logger.error("venuethree.account.subscriber-failed", { kind: event.kind });
      }
    };
    let failure = failedRead("VENUE_ERROR", "the account stream is starting");
    let state: FeedState = "SYNCING";
    const fail = (why: ReturnType<typeof failedRead>): void => {
      failure = why;
      state = "DOWN";
      tell({ kind: "state", state });
    };
    const attach = async (): Promise<void> => {
      const confirmed = await this.#resolve(session, () => isClosed);
      if (isClosed) return;
      if (!confirmed.ok) {
        fail(confirmed);
        return;
      }
      watch = this.#acquire(confirmed.value.accountIndex);
      if (watch === null) {
        fail(failedRead("RATE_LIMITED", "no account stream is free on this venue"));
        return;
      }
      key = confirmed.value;
      watch.account.access.keys.add(key);
      watch.account.listeners.add(tell);
      this.#subscribe(watch);
      tell({ kind: "state", state: watch.account.state });
    };
    void attach();
    const stream: AccountStream = {
      get state() {
        return watch?.account.state ?? state;
      },
      ordersDoubtMs: () => watch?.account.reads.ordersDoubtMs() ?? null,
      positions: () => watch?.account.read() ?? failure,
      close: () => {
        isClosed = true;
        if (watch === null) return;
        watch.account.listeners.delete(tell);
        if (key !== null) watch.account.access.keys.delete(key);
        if (watch.account.listeners.size === 0 && !this.#staysHot(watch)) this.#drop(watch);
      },
    };
    return { ok: true, stream };
  }

  /** A trade reads or uses an account; the second time within a while makes it hot. */
  noteUse(key: ConfirmedKey): void {
    const nowMs = monoMs(this.#options.clock);
    const { accountIndex } = key;
    let watch = this.#watches.get(accountIndex) ?? null;
    if (watch === null) {
      if (!this.#uses.isAgain(String(accountIndex), nowMs) || !this.#hasRoomForHot()) return;
      watch = this.#acquire(accountIndex);
      if (watch === null) return;
      this.#uses.forget(String(accountIndex));
    }
    watch.lastUseMs = nowMs;
    watch.account.access.keep(key);
    this.#subscribe(watch);
  }

  /** The account of an order of ours, where it is watched. */
  watched(accountIndex: number): WatchedAccount | null {
    return this.#watches.get(accountIndex)?.account ?? null;
  }

  /** Streamed positions if they may stand for a live read, else null. `wanted` null: exact sizes count. */
  livePositions(accountIndex: number, wanted: WantedLots | null = null): Read<readonly VenuePosition[]> | null {
    return this.#watches.get(accountIndex)?.account.readSettled(wanted) ?? null;
  }

  /** An order whose end was streamed; null where it was not. */
  endedOrder(accountIndex: number, field: "order_id" | "client_order_id", id: string): VenueOrder | null {
    return this.#watches.get(accountIndex)?.account.endedOrder(field, id) ?? null;
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    this.#socket?.reconnect("a contract was listed anew");
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#housekeeping !== null) this.#options.clock.clearTimer(this.#housekeeping);
    for (const { account } of this.#watches.values()) account.dispose();
    this.#watches.clear();
    this.#socket?.stop();
  }

  /** Asks whose the key is; tries again on failures that may pass. */
  async #resolve(session: AccountSession, isClosed: () => boolean): Promise<Read<ConfirmedKey>> {
    const { clock, random, resolveKey } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const key = await resolveKey(session, RESOLVE);
      if (key.ok || key.code === "AUTH" || attempt >= MAX_RESOLVE_TRIES || isClosed()) return key;
      await new Promise<void>((done) => {
        clock.setTimer(done, fullJitterMs(RESOLVE_BACKOFF, attempt, random));
      });
    }
  }

  #acquire(accountIndex: number): Watch | null {
    const known = this.#watches.get(accountIndex);
    if (known !== undefined) return known;
    if (this.#isStopped) return null;
    if (this.#watches.size >= this.#maxAccounts) {
      const spare = this.#spare();
      if (spare === null) return null;
      this.#drop(spare);
    }
    const account = new WatchedAccount(accountIndex, {
      ...this.#options,
      counters: this.#counters,
      words: this.#words,
      life: this.#life,
    });
    const watch: Watch = { account, askedAtMs: null, unwritten: new Set(), tryCount: 0, tokenAtMs: 0, lastUseMs: null };
    this.#watches.set(accountIndex, watch);
    this.#housekeep();
    return watch;
  }

  /** The hot account that nobody asked for and nobody used for the longest time. */
  #spare(): Watch | null {
    let spare: Watch | null = null;
    for (const watch of this.#watches.values()) {
      if (watch.account.listeners.size > 0 || watch.lastUseMs === null) continue;
      if (spare === null || watch.lastUseMs < (spare.lastUseMs ?? 0)) spare = watch;
    }
    return spare;
  }

  #hotCount(): number {
    let count = 0;
    for (const { account } of this.#watches.values()) if (account.listeners.size === 0) count++;
    return count;
  }

  /** None is given up for another that trades: beginning costs reads, and an idle one goes by itself. */
  #hasRoomForHot(): boolean {
    return this.#hotCount() < MAX_HOT_ACCOUNTS && this.#watches.size < this.#maxAccounts;
  }

  /** Nobody listens any more: is it watched on for the trades of it? */
  #staysHot({ lastUseMs }: Watch): boolean {
    return lastUseMs !== null && this.#hotCount() <= MAX_HOT_ACCOUNTS;
  }

  #drop(watch: Watch): void {
    const { account } = watch;
    // Dropped before, by whoever was first; another watch may carry the account since.
    if (this.#watches.get(account.accountIndex) !== watch) return;
    this.#watches.delete(account.accountIndex);
    account.dispose();
    for (const channel of ACCOUNT_CHANNELS) this.#socket?.unsubscribe(accountChannel(channel, account.accountIndex));
  }

  #subscribe(watch: Watch): void {
    if (watch.askedAtMs !== null) return;
    const socket = this.#openSocket();
    this.#asks(watch);
    // Silence says nothing: an account may be idle for days. The connection's own pings tell whether it lives.
    for (const channel of ACCOUNT_CHANNELS)
      socket.subscribe({ name: accountChannel(channel, watch.account.accountIndex), livenessMs: 0, probe: null });
  }

  #asks(watch: Watch): void {
    watch.askedAtMs = monoMs(this.#options.clock);
    for (const channel of ACCOUNT_CHANNELS) watch.unwritten.add(accountChannel(channel, watch.account.accountIndex));
  }

  /** Unsubscribes and subscribes again, with a fresh token: all of it, as one channel alone would not make it whole. */
  #ask(watch: Watch): void {
    this.#asks(watch);
    watch.account.invalidate("SYNCING");
    for (const channel of ACCOUNT_CHANNELS)
      this.#socket?.resubscribe(accountChannel(channel, watch.account.accountIndex));
  }

  #openSocket(): PersistentSocket {
    if (this.#socket !== null) return this.#socket;
    const { wsUrl, clock, random, logger, connector, budget, messages } = this.#options;
    const socket = new PersistentSocket({
      name: "venuethree.accounts",
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      protocol: {
        subscribe: ([name = ""]) => this.#subscribeText(name),
        unsubscribe: ([name = ""]) => JSON.stringify({ type: "unsubscribe", channel: name }),
        maxNamesPerFrame: 1,
      },
      pacers: () => [messages, this.#messages],
      maxSubscriptions: MAX_STREAMED_ACCOUNTS * ACCOUNT_CHANNELS.length,
      heartbeat: { pingText: PING_TEXT, everyMs: ACCOUNT_PING_EVERY_MS, idleMs: IDLE_SOCKET_MS },
      handlers: {
        onFrame: (data) => {
          this.#life.noteFrame();
          this.#frame(decodeAccountFrame(data.toString("utf8")));
        },
        onOpen: () => {
          this.#life.noteFrame();
          for (const watch of this.#watches.values()) watch.askedAtMs = monoMs(clock);
        },
        onDown: () => {
          this.#life.lost();
          for (const watch of this.#watches.values()) {
            // The next connection asks for all of it again.
            this.#asks(watch);
            watch.account.invalidate("STALE");
          }
        },
      },
    });
    this.#socket = socket;
    socket.start();
    return socket;
  }

  /** Signed as it is written: a token is never older than its subscription. */
  #subscribeText(name: string): string {
    const watch = this.#watches.get(Number(/\d+$/.exec(name)?.[0]));
    const token = watch?.account.access.streamToken() ?? null;
    if (watch?.unwritten.delete(name) === true) watch.askedAtMs = monoMs(this.#options.clock);
    if (watch !== undefined) watch.tokenAtMs = token?.madeAtMs ?? monoMs(this.#options.clock);
    // Without a token (all who watched are gone) the venue refuses, and housekeeping drops the account.
    return JSON.stringify({ type: "subscribe", channel: name, ...(token === null ? {} : { auth: token.text }) });
  }

  #frame(frame: AccountFrame): void {
    switch (frame.kind) {
      case "orders":
      case "trades":
      case "positions":
        this.#watches.get(frame.accountIndex)?.account.onFrame(frame);
        return;
      case "unreadable": {
        const watch = frame.accountIndex === null ? undefined : this.#watches.get(frame.accountIndex);
        if (watch !== undefined) watch.account.onUnreadable(frame.problem);
        else {
          this.#counters.decodeErrorCount++;
          logDropped(this.#options.logger, "venuethree", "account", "MALFORMED", "");
          // It does not say whose it is, and may be anybody's.
          if (frame.accountIndex === null) for (const { account } of this.#watches.values()) account.distrust();
        }
        return;
      }
      case "error":
        // Housekeeping asks again for what stays unacknowledged, whether the error named it or not.
        this.#options.logger.warn("venuethree.account.error-frame", { code: frame.code });
        return;
      case "ping":
        this.#socket?.send(PONG_TEXT);
        return;
      case "other":
        // Pongs, the greeting, acknowledgements of unsubscribing.
        return;
      case "unknown":
        this.#words.note("frame", frame.type);
        return;
    }
  }

  #housekeep(): void {
    if (this.#housekeeping !== null || this.#isStopped) return;
    this.#housekeeping = this.#options.clock.setTimer(() => {
      this.#housekeeping = null;
      for (const watch of [...this.#watches.values()]) this.#look(watch);
      if (this.#watches.size > 0) this.#housekeep();
    }, HOUSEKEEPING_MS);
  }

  #look(watch: Watch): void {
    const nowMs = monoMs(this.#options.clock);
    const { account } = watch;
    const isIdle = watch.lastUseMs === null || nowMs - watch.lastUseMs > HOT_IDLE_MS;
    if (isIdle) account.access.forgetKept();
    if ((isIdle && account.listeners.size === 0) || !account.access.isOpen) {
      this.#drop(watch);
      return;
    }
    if (this.#socket?.state !== "open" || watch.askedAtMs === null) return;
    if (account.isWhole) {
      watch.tryCount = 0;
      account.reverify();
      if (nowMs - watch.tokenAtMs > TOKEN_RENEW_MS) this.#ask(watch);
      return;
    }
    if (watch.unwritten.size > 0) return;
    const patienceMs = ACKNOWLEDGE_DEADLINE_MS * 1.5 ** Math.min(watch.tryCount, MAX_PATIENCE);
    if (nowMs - watch.askedAtMs < patienceMs) return;
    watch.tryCount++;
    account.access.refused();
    if (account.access.isOpen) this.#ask(watch);
    else this.#drop(watch);
  }
}
