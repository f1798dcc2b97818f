/**
 * Pushed account state over the streams that name their user (userFills, openOrders,
 * clearinghouseState): one socket serves all accounts, addresses only, no key is held. The two
 * streams that do not name it (orderUpdates, user) would cost one of ten connections per account;
 * they carry nothing that these and a status look-up do not.
 *
 * Slots: the venue allows ten users per IP. Streams asked for hold a slot; accounts that trade
 * repeatedly get a free one by themselves, and lose it first (least recently used). What one watched
 * account is, and when it is LIVE, stands in watched-account.ts.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
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
import type { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { RecentUses } from "../../shared/account/recent-uses.js";
import { logDropped } from "../../shared/net/dropped-frame.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import type { WantedLots } from "../../shared/account/streamed-reads.js";
import { decodeAccountFrame, type VenueoneAccountFrame } from "./frames.js";
import { MAX_STREAMED_USERS, PING_EVERY_MS, PING_TEXT, QUIET_SOCKET_IDLE_MS } from "../rules/limits.js";
import { SUBSCRIBE_PROTOCOL } from "../market/stream.js";
import {
  ACCOUNT_STREAMS,
  type AccountCounters,
  type LivePositions,
  WatchedAccount,
  type WatchedAccountDeps,
} from "./watched-account.js";

/** The venue frees a user about 2 s after the unsubscription. */
const FREEING_MS = 3_000;
/** A second use within this makes an account hot. */
const HOT_WINDOW_MS = 10 * 60_000;
/** A hot slot nobody used for so long is given back. */
const HOT_IDLE_MS = 10 * 60_000;
/** Silence of a state stream after which REST is asked whether it is dead. */
const STATE_LIVENESS_MS = 20_000;
/** Begins every refusal for want of a user slot of the venue. */
const STREAM_LIMIT = "STREAM_LIMIT";
const RESOLVE: CallOptions = { timeoutMs: 5_000, lane: "read" };
const RESOLVE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const MAX_RESOLVE_TRIES = 5;
const HOUSEKEEPING_MS = 1_000;

export interface AccountStreamsOptions extends Omit<WatchedAccountDeps, "counters" | "words"> {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly messages: MessagePacer;
  /** The account behind a session; only then may its address be subscribed. */
  readonly resolveAccount: (session: AccountSession, options: CallOptions) => Promise<Read<string>>;
  readonly maxUsers?: number;
}

type Listener = (event: AccountEvent) => void;

export interface AccountStreamsStats extends Readonly<AccountCounters> {
  readonly socket: SocketStats | null;
  readonly slotCount: number;
  readonly liveCount: number;
  /** Words that nobody knows. */
  readonly driftCount: number;
}

export class VenueoneAccountStreams implements AccountStreams {
  readonly #options: AccountStreamsOptions;
  readonly #accounts = new Map<string, WatchedAccount>();
  /** Addresses just unsubscribed, with the monotonic ms at which the venue has surely freed them. Bounded as the slots are. */
  readonly #freeing = new Map<string, number>();
  readonly #uses = new RecentUses(HOT_WINDOW_MS);
  readonly #counters: AccountCounters = {
    resyncCount: 0,
    decodeErrorCount: 0,
    differenceCount: 0,
    unresolvedEndCount: 0,
  };
  readonly #words: UnknownWords;
  #maxUsers: number;
  #socket: PersistentSocket | null = null;
  #housekeeping: TimerHandle | null = null;
  #isStopped = false;

  constructor(options: AccountStreamsOptions) {
    this.#options = options;
    this.#words = new UnknownWords("venueone", () => options.logger);
    this.#maxUsers = Math.min(options.maxUsers ?? MAX_STREAMED_USERS, MAX_STREAMED_USERS);
  }

  stats(): AccountStreamsStats {
    let liveCount = 0;
    for (const account of this.#accounts.values()) if (account.state === "LIVE") liveCount++;
    return {
      socket: this.#socket?.stats() ?? null,
      slotCount: this.#accounts.size,
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
    if (!this.#hasRoom() && !this.#accounts.has(session.accountId)) {
      return { ok: false, problem: `${STREAM_LIMIT}: all ${this.#maxUsers} account streams of this venue are in use` };
    }
    let account: WatchedAccount | null = null;
    let isClosed = false;
    let failure = failedRead("VENUE_ERROR", "the account stream is starting");
    let state: FeedState = "SYNCING";
    const fail = (why: ReturnType<typeof failedRead>): void => {
      failure = why;
      state = "DOWN";
      onEvent({ kind: "state", state });
    };
    const resolve = async (): Promise<void> => {
      const address = await this.#resolve(session, () => isClosed);
      if (isClosed) return;
      account = address.ok ? this.#acquire(address.value) : null;
      if (!address.ok) fail(address);
      else if (account === null)
        fail(failedRead("RATE_LIMITED", `${STREAM_LIMIT}: no account stream is free on this venue`));
      else {
        account.listeners.add(onEvent);
        onEvent({ kind: "state", state: account.state });
      }
    };
    void resolve();
    const stream: AccountStream = {
      get state() {
        return account?.state ?? state;
      },
      ordersDoubtMs: () => account?.reads.ordersDoubtMs() ?? null,
      positions: () => account?.read() ?? failure,
      close: () => {
        isClosed = true;
        account?.listeners.delete(onEvent);
      },
    };
    return { ok: true, stream };
  }

  /** An account was used (read or traded); the second use within a while makes it hot. */
  noteUse(address: string): void {
    const nowMs = this.#monoMs();
    const account = this.#accounts.get(address);
    if (account !== undefined) {
      account.lastUseMs = nowMs;
      return;
    }
    if (this.#uses.isAgain(address, nowMs) && this.#acquire(address) !== null) this.#uses.forget(address);
  }

  /** The account as it is streamed. Null when whose it is is not known; then it may be any of them. */
  watched(address: string | null): readonly WatchedAccount[] {
    if (address === null) return [...this.#accounts.values()];
    const account = this.#accounts.get(address);
    return account === undefined ? [] : [account];
  }

  /** Streamed positions if they may stand for a live read, else null. `wanted` null: exact sizes count. */
  livePositions(address: string, wanted: WantedLots | null = null): LivePositions | null {
    return this.#accounts.get(address)?.livePositions(wanted) ?? null;
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    this.#socket?.reconnect("a contract was listed anew");
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#housekeeping !== null) this.#options.clock.clearTimer(this.#housekeeping);
    for (const account of this.#accounts.values()) account.dispose();
    this.#accounts.clear();
    this.#socket?.stop();
  }

  /** Asks who the session acts for; tries again on failures that may pass. */
  async #resolve(session: AccountSession, isClosed: () => boolean): Promise<Read<string>> {
    const { clock, random, resolveAccount } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const address = await resolveAccount(session, RESOLVE);
      if (address.ok || address.code === "AUTH" || attempt >= MAX_RESOLVE_TRIES || isClosed()) return address;
      await new Promise<void>((done) => {
        clock.setTimer(done, fullJitterMs(RESOLVE_BACKOFF, attempt, random));
      });
    }
  }

  #monoMs(): number {
    return this.#options.clock.monoNs() / 1e6;
  }

  #hasRoom(): boolean {
    if (this.#accounts.size < this.#maxUsers) return true;
    for (const account of this.#accounts.values()) if (account.listeners.size === 0) return true;
    return false;
  }

  /** The account's slot, made by evicting the least recently used one nobody asked for; null when there is none. */
  #acquire(address: string): WatchedAccount | null {
    const known = this.#accounts.get(address);
    if (known !== undefined) {
      known.lastUseMs = this.#monoMs();
      return known;
    }
    if (this.#isStopped) return null;
    if (this.#accounts.size >= this.#maxUsers && !this.#evictOne()) return null;
    const account = new WatchedAccount(address, { ...this.#options, counters: this.#counters, words: this.#words });
    this.#accounts.set(address, account);
    this.#subscribe(account);
    this.#housekeep();
    return account;
  }

  #evictOne(): boolean {
    let oldest: WatchedAccount | null = null;
    for (const account of this.#accounts.values()) {
      if (account.listeners.size > 0) continue;
      if (oldest === null || account.lastUseMs < oldest.lastUseMs) oldest = account;
    }
    if (oldest === null) return false;
    this.#drop(oldest);
    return true;
  }

  #drop(account: WatchedAccount): void {
    this.#accounts.delete(account.address);
    account.dispose();
    if (!account.isSubscribed) return;
    for (const type of ACCOUNT_STREAMS) this.#socket?.unsubscribe(streamName(type, account.address));
    this.#freeing.set(account.address, this.#monoMs() + FREEING_MS);
  }

  /** Subscribes unless the venue still counts users we gave back; housekeeping comes again. */
  #subscribe(account: WatchedAccount): void {
    const nowMs = this.#monoMs();
    for (const [address, freeAtMs] of this.#freeing) if (freeAtMs <= nowMs) this.#freeing.delete(address);
    this.#freeing.delete(account.address);
    let subscribedCount = 0;
    for (const other of this.#accounts.values()) if (other.isSubscribed) subscribedCount++;
    if (account.isSubscribed || subscribedCount + this.#freeing.size >= this.#maxUsers) return;
    const socket = this.#openSocket();
    account.isSubscribed = true;
    for (const type of ACCOUNT_STREAMS) {
      const isState = type === "clearinghouseState";
      socket.subscribe({
        name: streamName(type, account.address),
        livenessMs: isState ? STATE_LIVENESS_MS : 0,
        probe: isState ? () => account.probe() : null,
      });
    }
  }

  #openSocket(): PersistentSocket {
    if (this.#socket !== null) return this.#socket;
    const { wsUrl, clock, random, logger, connector, budget, messages } = this.#options;
    const socket = new PersistentSocket({
      name: "venueone.accounts",
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      protocol: SUBSCRIBE_PROTOCOL,
      pacers: () => [messages],
      maxSubscriptions: MAX_STREAMED_USERS * ACCOUNT_STREAMS.length,
      heartbeat: { pingText: PING_TEXT, everyMs: PING_EVERY_MS, idleMs: QUIET_SOCKET_IDLE_MS },
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#frame(decodeAccountFrame(data), tsRecvNs, linkId),
        onDown: () => {
          for (const account of this.#accounts.values()) account.invalidate("STALE");
        },
        onSilent: (name) => this.#silent(name),
      },
    });
    this.#socket = socket;
    socket.start();
    return socket;
  }

  #frame(frame: VenueoneAccountFrame, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "subscribed":
        if (frame.method === "subscribe" && frame.user !== null) {
          this.#accounts.get(frame.user.toLowerCase())?.acknowledge(frame.type);
        }
        return;
      case "clearinghouseState":
        this.#socket?.subscription(streamName("clearinghouseState", frame.user))?.alive(tsRecvNs, linkId);
        this.#accounts.get(frame.user)?.onState(frame.account);
        return;
      case "openOrders":
        this.#accounts.get(frame.user)?.onOrders(frame.orders);
        return;
      case "userFills":
        this.#accounts.get(frame.user)?.onFills(frame.fills, frame.isSnapshot);
        return;
      case "malformed":
        this.#unreadable(frame);
        return;
      case "unknown":
        this.#words.note("channel", frame.channel);
        return;
      case "error":
        this.#errorFrame(frame.text);
        return;
      default:
        // Pongs and the greeting.
        return;
    }
  }

  /** A frame of an account channel that does not say whose it is may be anybody's. */
  #unreadable({ channel, subject, problem }: Extract<VenueoneAccountFrame, { readonly kind: "malformed" }>): void {
    const named = subject === null ? undefined : this.#accounts.get(subject.toLowerCase());
    if (named !== undefined) {
      named.onUnreadable(problem);
      return;
    }
    this.#counters.decodeErrorCount++;
    logDropped(this.#options.logger, "venueone", channel, "MALFORMED", "");
    const isOfSomebody = subject === null && ACCOUNT_STREAMS.some((type) => type === channel);
    if (isOfSomebody) for (const account of this.#accounts.values()) account.distrust();
  }

  #silent(name: string): void {
    for (const account of this.#accounts.values()) {
      if (!name.includes(account.address)) continue;
      account.invalidate("STALE");
      // All three are asked for again: an acknowledgement of one alone would not make the account whole.
      for (const type of ACCOUNT_STREAMS) this.#socket?.resubscribe(streamName(type, account.address));
    }
  }

  /** `Cannot track more …` names nobody: the accounts not yet acknowledged are the ones refused. */
  #errorFrame(text: string): void {
    this.#options.logger.warn("venueone.account.error-frame", { text: text.slice(0, 120) });
    if (!text.startsWith("Cannot track more")) return;
    const refused = [...this.#accounts.values()].filter((account) => account.isSubscribed && !account.isAcknowledged);
    this.#maxUsers = Math.max(1, this.#accounts.size - refused.length);
    for (const account of refused) this.#drop(account);
  }

  #housekeep(): void {
    if (this.#housekeeping !== null || this.#isStopped) return;
    this.#housekeeping = this.#options.clock.setTimer(() => {
      this.#housekeeping = null;
      const nowMs = this.#monoMs();
      for (const account of [...this.#accounts.values()]) {
        if (account.listeners.size === 0 && nowMs - account.lastUseMs > HOT_IDLE_MS) this.#drop(account);
        else if (account.isSubscribed) account.reverify();
        else this.#subscribe(account);
      }
      if (this.#accounts.size > 0) this.#housekeep();
    }, HOUSEKEEPING_MS);
  }
}

/** The subscription's JSON text, as the venue takes it. */
function streamName(type: (typeof ACCOUNT_STREAMS)[number], user: string): string {
  return JSON.stringify({ type, user });
}
