/**
 * Pushed account state over the streams that name their user (userFills, openOrders,
 * clearinghouseState): one socket serves all accounts, addresses only, no key is held. The two
 * streams that do not name it (orderUpdates, user) would cost one of ten connections per account;
 * they carry nothing that these and a status look-up do not.
 *
 * Slots: the venue allows ten users per IP. Streams asked for hold a slot; accounts that trade
 * repeatedly get a free one by themselves, and lose it first (least recently used).
 *
 * LIVE only after the streams are acknowledged on the present connection **and** a REST read begun
 * after that was adopted; the venue does not replay what was missed. A failed read is not a flat
 * account: the slot stays SYNCING and tries again. The venue's state is the truth; differences are
 * logged and adopted.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { Random } from "../../engine/domain/random.js";
import type { FeedState } from "../../engine/market/market.js";
import type {
  AccountEvent,
  AccountSession,
  AccountStream,
  AccountStreams,
  CallOptions,
  Read,
} from "../../engine/ports.js";
import { fullJitterMs } from "../shared/backoff.js";
import { failedRead } from "../shared/call-results.js";
import type { ClockOffset } from "../shared/clock-offset.js";
import type { ConnectionBudget, MessagePacer } from "../shared/connection-budget.js";
import type { Connector } from "../shared/connector.js";
import { Resync } from "../shared/resync.js";
import { PersistentSocket, type SocketStats } from "../shared/socket.js";
import { AccountSlot } from "./account-slot.js";
import type { VenueoneWireAccount } from "./account-wire.js";
import { decodeFrame, type VenueoneFrame } from "./decode.js";
import { MAX_STREAMED_USERS, PING_EVERY_MS, PING_TEXT, QUIET_SOCKET_IDLE_MS } from "./limits.js";
import type { VenueoneRest } from "./rest.js";
import { SUBSCRIBE_PROTOCOL } from "./stream.js";
import type { VenueoneWireOrder } from "./wire.js";

/** The venue frees a user about 2 s after the unsubscription. */
const FREEING_MS = 3_000;
/** A second use within this makes an account hot. */
const HOT_WINDOW_MS = 10 * 60_000;
/** A hot slot nobody used for so long is given back. */
const HOT_IDLE_MS = 10 * 60_000;
/** Accounts whose last use is remembered; overflow forgets the oldest. */
const MAX_REMEMBERED_USES = 1_024;
/** REST truth, whatever the streams say. */
const TRUTH_EVERY_MS = 60_000;
const RECONCILE_TIMEOUT_MS = 5_000;
const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const ESCALATE_AFTER = 5;
/** The venue must acknowledge within this, or the slot's streams are asked for again. */
const STATE_LIVENESS_MS = 20_000;
/**
 * The venue's reads lag its acknowledgements by up to 1.1 s (measured on order look-ups), and its clock is known to
 * about a second: a state counts as newer than an order only when it is this much later.
 */
const SURELY_LATER_MS = 1_500;
/** Ends of orders looked up at once per slot; beyond it an end is reported as UNKNOWN. */
const MAX_LOOKUPS = 32;
/** An order that has just left the list may not be indexed yet. */
const LOOKUP_TRIES = 3;
const LOOKUP_BACKOFF_MS = 500;
const MAX_RESOLVE_TRIES = 5;
const RESOLVE_TIMEOUT_MS = 5_000;
const HOUSEKEEPING_MS = 1_000;
const RECONCILE_LANE: CallOptions = { timeoutMs: RECONCILE_TIMEOUT_MS, lane: "reconcile" };
const STREAM_TYPES = ["clearinghouseState", "openOrders", "userFills"] as const;

export interface AccountStreamsOptions {
  readonly wsUrl: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly clockOffset: ClockOffset;
  readonly budget: ConnectionBudget;
  readonly messages: MessagePacer;
  readonly rest: VenueoneRest;
  readonly instrumentOf: (coin: string) => Instrument | null;
  /** The account behind a session; only then may its address be subscribed. */
  readonly resolveAccount: (session: AccountSession, options: CallOptions) => Promise<Read<string>>;
  readonly maxUsers?: number;
}

interface Truth {
  readonly account: VenueoneWireAccount;
  readonly orders: readonly VenueoneWireOrder[];
}

type Listener = (event: AccountEvent) => void;

export interface AccountStreamsStats {
  readonly socket: SocketStats | null;
  readonly slotCount: number;
  readonly liveCount: number;
  readonly resyncCount: number;
  readonly decodeErrorCount: number;
  readonly differenceCount: number;
  readonly unresolvedEndCount: number;
}

class Slot {
  readonly address: string;
  readonly data: AccountSlot;
  readonly listeners = new Set<Listener>();
  readonly acknowledged = new Set<string>();
  readonly resync: Resync<never, Truth>;
  state: FeedState = "SYNCING";
  isSubscribed = false;
  lookupCount = 0;
  lastUseMs: number;
  /** Wall ms of the last frame or answer about this account. */
  asOfMs = 0;
  truthAtMs = 0;
  /** Wall ms (ours) of the last order of ours, sent or answered; 0 once a state surely newer was adopted. */
  lastOrderMs = 0;
  refreshTimer: TimerHandle | null = null;

  constructor(
    address: string,
    nowMs: number,
    createData: (slot: Slot) => AccountSlot,
    createResync: (slot: Slot) => Resync<never, Truth>,
  ) {
    this.address = address;
    this.lastUseMs = nowMs;
    this.data = createData(this);
    this.resync = createResync(this);
  }
}

export class VenueoneAccountStreams implements AccountStreams {
  readonly #options: AccountStreamsOptions;
  readonly #slots = new Map<string, Slot>();
  /** Addresses just unsubscribed, with the wall ms at which the venue has surely freed them. */
  readonly #freeing = new Map<string, number>();
  readonly #lastUses = new Map<string, number>();
  #maxUsers: number;
  #socket: PersistentSocket | null = null;
  #housekeeping: TimerHandle | null = null;
  #isStopped = false;
  #resyncCount = 0;
  #decodeErrorCount = 0;
  #differenceCount = 0;
  #unresolvedEndCount = 0;

  constructor(options: AccountStreamsOptions) {
    this.#options = options;
    this.#maxUsers = Math.min(options.maxUsers ?? MAX_STREAMED_USERS, MAX_STREAMED_USERS);
  }

  stats(): AccountStreamsStats {
    let liveCount = 0;
    for (const slot of this.#slots.values()) if (slot.state === "LIVE") liveCount++;
    return {
      socket: this.#socket?.stats() ?? null,
      slotCount: this.#slots.size,
      liveCount,
      resyncCount: this.#resyncCount,
      decodeErrorCount: this.#decodeErrorCount,
      differenceCount: this.#differenceCount,
      unresolvedEndCount: this.#unresolvedEndCount,
    };
  }

  openAccountStream(
    session: AccountSession,
    onEvent: Listener,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string } {
    if (this.#isStopped) return { ok: false, problem: "the room is stopped" };
    if (!this.#hasRoom() && !this.#slots.has(session.accountId)) {
      return { ok: false, problem: `all ${this.#maxUsers} account streams of this venue are in use` };
    }
    const { clock } = this.#options;
    let slot: Slot | null = null;
    let isClosed = false;
    let failure = failedRead("VENUE_ERROR", "the account stream is starting");
    let state: FeedState = "SYNCING";
    const fail = (message: string): void => {
      failure = failedRead("VENUE_ERROR", message);
      state = "DOWN";
      if (!isClosed) onEvent({ kind: "state", state });
    };
    const resolve = (attempt: number): void => {
      void this.#options.resolveAccount(session, { timeoutMs: RESOLVE_TIMEOUT_MS, lane: "read" }).then((account) => {
        if (isClosed) return;
        if (account.ok) {
          slot = this.#acquire(account.value);
          if (slot === null) fail("no account stream is free on this venue");
          else {
            slot.listeners.add(onEvent);
            onEvent({ kind: "state", state: slot.state });
          }
        } else if (account.code === "AUTH" || attempt >= MAX_RESOLVE_TRIES) {
          failure = account;
          state = "DOWN";
          onEvent({ kind: "state", state });
        } else {
          const waitMs = fullJitterMs(RECONCILE_BACKOFF, attempt, this.#options.random);
          clock.setTimer(() => {
            if (!isClosed) resolve(attempt + 1);
          }, waitMs);
        }
      });
    };
    resolve(1);
    const stream: AccountStream = {
      get state() {
        return slot?.state ?? state;
      },
      positions: () => (slot === null ? failure : readSlot(slot)),
      close: () => {
        isClosed = true;
        slot?.listeners.delete(onEvent);
      },
    };
    return { ok: true, stream };
  }

  /** An account was used (read or traded); the second use within a while makes it hot. */
  noteUse(account: string): void {
    const nowMs = this.#options.clock.wallMs();
    const slot = this.#slots.get(account);
    if (slot !== undefined) {
      slot.lastUseMs = nowMs;
      return;
    }
    const lastMs = this.#lastUses.get(account);
    this.#lastUses.delete(account);
    if (lastMs !== undefined && nowMs - lastMs < HOT_WINDOW_MS) {
      if (this.#acquire(account) !== null) return;
    }
    if (this.#lastUses.size >= MAX_REMEMBERED_USES) {
      const oldest = this.#lastUses.keys().next();
      if (oldest.done !== true) this.#lastUses.delete(oldest.value);
    }
    this.#lastUses.set(account, nowMs);
  }

  /**
   * An order of ours goes out, or its answer came: what was streamed before is no longer the whole truth.
   * Null: the account is not known; then no slot is trusted.
   */
  noteOrder(account: string | null): void {
    for (const slot of this.#slots.values()) {
      if (account !== null && slot.address !== account) continue;
      slot.lastOrderMs = this.#options.clock.wallMs();
      // Counted from the latest order: a state read earlier would have to be read again.
      if (slot.refreshTimer !== null) this.#options.clock.clearTimer(slot.refreshTimer);
      slot.refreshTimer = null;
      this.#refreshSoon(slot);
    }
  }

  /** Streamed positions if they may stand for a live read: LIVE, recent, and newer than our last order. Else null. */
  livePositions(
    account: string,
    maxAgeMs: number,
  ): { readonly positions: readonly VenuePosition[]; readonly asOfMs: number } | null {
    const slot = this.#slots.get(account);
    if (slot === undefined || slot.state !== "LIVE") return null;
    if (this.#options.clock.wallMs() - slot.asOfMs > maxAgeMs) return null;
    if (slot.lastOrderMs > 0) return null;
    return { positions: slot.data.positions(), asOfMs: slot.asOfMs };
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#housekeeping !== null) this.#options.clock.clearTimer(this.#housekeeping);
    for (const slot of this.#slots.values()) {
      this.#setState(slot, "DOWN");
      this.#halt(slot);
    }
    this.#slots.clear();
    this.#socket?.stop();
  }

  #hasRoom(): boolean {
    if (this.#slots.size < this.#maxUsers) return true;
    for (const slot of this.#slots.values()) if (slot.listeners.size === 0) return true;
    return false;
  }

  /** The account's slot, made by evicting the least recently used one nobody asked for; null when there is none. */
  #acquire(address: string): Slot | null {
    const nowMs = this.#options.clock.wallMs();
    const known = this.#slots.get(address);
    if (known !== undefined) {
      known.lastUseMs = nowMs;
      return known;
    }
    if (this.#isStopped) return null;
    if (this.#slots.size >= this.#maxUsers && !this.#evictOne()) return null;
    const slot = this.#createSlot(address, nowMs);
    this.#slots.set(address, slot);
    this.#subscribe(slot);
    this.#keepHouse();
    return slot;
  }

  #createSlot(address: string, nowMs: number): Slot {
    const { clock, random, logger, rest, instrumentOf } = this.#options;
    const createData = (slot: Slot): AccountSlot => new AccountSlot(instrumentOf, (event) => this.#emit(slot, event));
    const createResync = (slot: Slot): Resync<never, Truth> =>
      new Resync<never, Truth>({
        clock,
        random,
        backoff: RECONCILE_BACKOFF,
        maxBufferedFrames: 1,
        escalateAfter: ESCALATE_AFTER,
        load: async () => {
          const [account, orders] = await Promise.all([
            rest.clearinghouseState(address, RECONCILE_LANE),
            rest.frontendOpenOrders(address, RECONCILE_LANE),
          ]);
          return account.ok && orders.ok ? { account: account.value, orders: orders.value } : null;
        },
        apply: (truth) => (this.#adopt(slot, truth) ? "synced" : "retry"),
        onEscalate: (attemptCount) => logger.error("venueone.account.unreconciled", { attemptCount }),
      });
    return new Slot(address, nowMs, createData, createResync);
  }

  #evictOne(): boolean {
    let oldest: Slot | null = null;
    for (const slot of this.#slots.values()) {
      if (slot.listeners.size === 0 && (oldest === null || slot.lastUseMs < oldest.lastUseMs)) oldest = slot;
    }
    if (oldest === null) return false;
    this.#drop(oldest);
    return true;
  }

  #drop(slot: Slot): void {
    this.#slots.delete(slot.address);
    this.#setState(slot, "DOWN");
    this.#halt(slot);
    if (!slot.isSubscribed) return;
    for (const type of STREAM_TYPES) this.#socket?.unsubscribe(streamName(type, slot.address));
    this.#freeing.set(slot.address, this.#options.clock.wallMs() + FREEING_MS);
  }

  #halt(slot: Slot): void {
    slot.resync.cancel();
    if (slot.refreshTimer !== null) this.#options.clock.clearTimer(slot.refreshTimer);
    slot.refreshTimer = null;
  }

  /** Subscribes unless the venue still counts users we gave back; housekeeping comes again. */
  #subscribe(slot: Slot): void {
    const nowMs = this.#options.clock.wallMs();
    for (const [address, freeAtMs] of this.#freeing) if (freeAtMs <= nowMs) this.#freeing.delete(address);
    this.#freeing.delete(slot.address);
    let subscribedCount = 0;
    for (const other of this.#slots.values()) if (other.isSubscribed) subscribedCount++;
    if (slot.isSubscribed || subscribedCount + this.#freeing.size >= this.#maxUsers) return;
    const socket = this.#openSocket();
    slot.isSubscribed = true;
    for (const type of STREAM_TYPES) {
      const isState = type === "clearinghouseState";
      socket.subscribe({
        name: streamName(type, slot.address),
        livenessMs: isState ? STATE_LIVENESS_MS : 0,
        probe: isState ? () => this.#probe(slot) : null,
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
      maxSubscriptions: MAX_STREAMED_USERS * STREAM_TYPES.length,
      heartbeat: { pingText: PING_TEXT, everyMs: PING_EVERY_MS, idleMs: QUIET_SOCKET_IDLE_MS },
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#frame(decodeFrame(data), tsRecvNs, linkId),
        onDown: () => this.#unsync("STALE"),
        onSilent: (name) => this.#silent(name),
      },
    });
    this.#socket = socket;
    socket.start();
    return socket;
  }

  #frame(frame: VenueoneFrame, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "subscribed":
        if (frame.method === "subscribe" && frame.user !== null)
          this.#acknowledged(frame.user.toLowerCase(), frame.type);
        return;
      case "clearinghouseState":
        this.#state(frame.user, frame.account, tsRecvNs, linkId);
        return;
      case "openOrders": {
        const slot = this.#seen(frame.user);
        if (slot === null) return;
        const applied = slot.data.applyOrders(frame.orders);
        if (!applied.ok) this.#doubt(slot, applied.problem);
        for (const row of applied.gone) this.#lookUpEnd(slot, row);
        return;
      }
      case "userFills": {
        const slot = this.#seen(frame.user);
        if (slot === null) return;
        const applied = slot.data.applyFills(frame.fills, frame.isSnapshot);
        if (!applied.ok) this.#doubt(slot, applied.problem);
        else if (slot.data.needsState) this.#refreshSoon(slot);
        return;
      }
      case "malformed": {
        this.#decodeErrorCount++;
        const slot = frame.subject === null ? undefined : this.#slots.get(frame.subject.toLowerCase());
        if (slot !== undefined) this.#doubt(slot, frame.problem);
        return;
      }
      case "error":
        this.#errorFrame(frame.text);
        return;
      default:
        return;
    }
  }

  #seen(user: string): Slot | null {
    const slot = this.#slots.get(user);
    if (slot === undefined) return null;
    slot.asOfMs = this.#options.clock.wallMs();
    return slot;
  }

  #state(user: string, account: VenueoneWireAccount, tsRecvNs: number, linkId: number): void {
    const slot = this.#seen(user);
    if (slot === null) return;
    this.#socket?.subscription(streamName("clearinghouseState", user))?.alive(tsRecvNs, linkId);
    const applied = slot.data.applyState(account);
    if (!applied.ok) this.#doubt(slot, applied.problem);
    else if (account.time - this.#options.clockOffset.offsetMs >= slot.lastOrderMs + SURELY_LATER_MS)
      slot.lastOrderMs = 0;
  }

  #acknowledged(user: string, type: string): void {
    const slot = this.#slots.get(user);
    if (slot === undefined) return;
    slot.acknowledged.add(type);
    // From here on nothing is missed: a read begun now and the streams together are the whole truth.
    if (STREAM_TYPES.every((needed) => slot.acknowledged.has(needed)) && slot.state !== "LIVE") this.#reconcile(slot);
  }

  #reconcile(slot: Slot): void {
    if (slot.resync.start()) this.#resyncCount++;
  }

  #adopt(slot: Slot, truth: Truth): boolean {
    const nowMs = this.#options.clock.wallMs();
    const state = slot.data.applyState(truth.account);
    const orders = slot.data.applyOrders(truth.orders);
    if (!state.ok || !orders.ok) {
      this.#decodeErrorCount++;
      return false;
    }
    if (state.differences > 0) {
      this.#differenceCount += state.differences;
      this.#options.logger.warn("venueone.account.difference", {
        coins: state.differences,
        wasLive: slot.state === "LIVE",
      });
    }
    for (const row of orders.gone) this.#lookUpEnd(slot, row);
    slot.asOfMs = nowMs;
    slot.truthAtMs = nowMs;
    if (slot.acknowledged.size === STREAM_TYPES.length) this.#setState(slot, "LIVE");
    return true;
  }

  /** Something about this account could not be read: not LIVE until REST has told the whole state. */
  #doubt(slot: Slot, problem: string): void {
    this.#decodeErrorCount++;
    this.#options.logger.warn("venueone.account.unreadable", { problem: problem.slice(0, 200) });
    this.#setState(slot, "SYNCING");
    this.#reconcile(slot);
  }

  #refreshSoon(slot: Slot): void {
    if (slot.refreshTimer !== null || slot.state !== "LIVE") return;
    slot.refreshTimer = this.#options.clock.setTimer(() => {
      slot.refreshTimer = null;
      // The stream may have brought the state meanwhile.
      if (slot.data.needsState || slot.lastOrderMs > 0) this.#refresh(slot);
    }, SURELY_LATER_MS);
  }

  /** Reads positions alone (cheap); a failure leaves things as they are, age tells. */
  #refresh(slot: Slot): void {
    const { rest, clock } = this.#options;
    const beganMs = clock.wallMs();
    slot.truthAtMs = beganMs;
    void rest.clearinghouseState(slot.address, RECONCILE_LANE).then((account) => {
      if (this.#slots.get(slot.address) !== slot) return;
      if (account.ok) this.#refreshed(slot, account.value, beganMs);
      // An order may have come since: its state is still to be seen.
      if (slot.lastOrderMs > 0) this.#refreshSoon(slot);
    });
  }

  #refreshed(slot: Slot, account: VenueoneWireAccount, beganMs: number): void {
    const applied = slot.data.applyState(account);
    if (!applied.ok) {
      this.#doubt(slot, applied.problem);
      return;
    }
    slot.asOfMs = this.#options.clock.wallMs();
    if (beganMs >= slot.lastOrderMs + SURELY_LATER_MS) slot.lastOrderMs = 0;
    if (applied.differences === 0) return;
    this.#differenceCount += applied.differences;
    this.#options.logger.warn("venueone.account.difference", { coins: applied.differences, wasLive: true });
  }

  /** A silent state stream: alive if REST says what we hold. */
  async #probe(slot: Slot): Promise<"quiet" | "dead" | "unknown"> {
    const account = await this.#options.rest.clearinghouseState(slot.address, RECONCILE_LANE);
    if (!account.ok || this.#slots.get(slot.address) !== slot) return "unknown";
    const applied = slot.data.applyState(account.value);
    if (!applied.ok) return "unknown";
    slot.asOfMs = this.#options.clock.wallMs();
    return applied.differences === 0 ? "quiet" : "dead";
  }

  #lookUpEnd(slot: Slot, row: VenueoneWireOrder): void {
    if (slot.lookupCount >= MAX_LOOKUPS) {
      this.#unresolvedEndCount++;
      slot.data.applyEnd(row, null);
      return;
    }
    slot.lookupCount++;
    void this.#readEnd(slot, row).finally(() => {
      slot.lookupCount--;
    });
  }

  async #readEnd(slot: Slot, row: VenueoneWireOrder): Promise<void> {
    const { rest, clock } = this.#options;
    for (let attempt = 1; attempt <= LOOKUP_TRIES; attempt++) {
      const answer = await rest.orderStatus(slot.address, row.oid, RECONCILE_LANE);
      if (this.#slots.get(slot.address) !== slot) return;
      // Still `open` right after it left the list is the same lag as an unknown oid.
      if (answer.ok && answer.value !== null && answer.value.status !== "open") {
        slot.data.applyEnd(row, answer.value);
        return;
      }
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, LOOKUP_BACKOFF_MS * attempt);
      });
    }
    this.#unresolvedEndCount++;
    slot.data.applyEnd(row, null);
  }

  #silent(name: string): void {
    for (const slot of this.#slots.values()) {
      if (!name.includes(slot.address)) continue;
      slot.acknowledged.clear();
      this.#setState(slot, "STALE");
      // All three are asked for again: an acknowledgement of one alone would not make the slot whole.
      for (const type of STREAM_TYPES) this.#socket?.resubscribe(streamName(type, slot.address));
    }
  }

  #unsync(state: FeedState): void {
    for (const slot of this.#slots.values()) {
      slot.acknowledged.clear();
      slot.resync.cancel();
      this.#setState(slot, state);
    }
  }

  /** `Cannot track more than …` names nobody: the slots not yet acknowledged are the ones refused. */
  #errorFrame(text: string): void {
    this.#options.logger.warn("venueone.account.error-frame", { text: text.slice(0, 120) });
    if (!text.startsWith("Cannot track more")) return;
    const refused = [...this.#slots.values()].filter((slot) => slot.isSubscribed && slot.acknowledged.size === 0);
    this.#maxUsers = Math.max(1, this.#slots.size - refused.length);
    for (const slot of refused) this.#drop(slot);
  }

  #setState(slot: Slot, state: FeedState): void {
    if (slot.state === state) return;
    slot.state = state;
    this.#emit(slot, { kind: "state", state });
  }

  #emit(slot: Slot, event: AccountEvent): void {
    for (const listener of slot.listeners) listener(event);
  }

  #keepHouse(): void {
    if (this.#housekeeping !== null || this.#isStopped) return;
    this.#housekeeping = this.#options.clock.setTimer(() => {
      this.#housekeeping = null;
      const nowMs = this.#options.clock.wallMs();
      for (const slot of [...this.#slots.values()]) {
        if (slot.listeners.size === 0 && nowMs - slot.lastUseMs > HOT_IDLE_MS) this.#drop(slot);
        else if (!slot.isSubscribed) this.#subscribe(slot);
        else if (slot.state === "LIVE" && nowMs - slot.truthAtMs > TRUTH_EVERY_MS) this.#refresh(slot);
      }
      if (this.#slots.size > 0) this.#keepHouse();
    }, HOUSEKEEPING_MS);
  }
}

function readSlot(slot: Slot): Read<readonly VenuePosition[]> {
  if (slot.state !== "LIVE") return failedRead("VENUE_ERROR", `the account stream is ${slot.state}`);
  return { ok: true, value: slot.data.positions(), asOfMs: slot.asOfMs, source: "stream" };
}

/** The subscription's JSON text, as the venue takes it. */
function streamName(type: (typeof STREAM_TYPES)[number], user: string): string {
  return JSON.stringify({ type, user });
}
