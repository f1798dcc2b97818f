/**
 * One connection of a persistent socket: paced (re)subscription, heartbeat, idle detection, bounded
 * sends. It lives once: opened, maybe ready, then closed with exactly one `onClosed`.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { MessagePacer } from "./connection-budget.js";
import type { Connection, Connector } from "./connector.js";
import { CLOSE_ABNORMAL } from "./connector.js";
import { toldToWaitMs, type UpgradeRefusal } from "./upgrade-refusal.js";

export interface Heartbeat {
  /** Text sent as ping; null sends protocol pings. */
  readonly pingText: string | null;
  /** 0 sends none: the venue pings, and the library answers. */
  readonly everyMs: number;
  /** Nothing received for so long, data or control: the connection is dead. */
  readonly idleMs: number;
}

export interface SubscribeProtocol {
  subscribe(names: readonly string[]): string;
  unsubscribe(names: readonly string[]): string;
  readonly maxNamesPerFrame: number;
}

export interface LinkOptions {
  readonly clock: Clock;
  readonly connector: Connector;
  readonly heartbeat: Heartbeat;
  readonly protocol: SubscribeProtocol;
  /** All must allow a message. */
  readonly pacers: readonly MessagePacer[];
  readonly connectTimeoutMs: number;
  readonly maxFrameBytes: number;
  readonly maxQueuedSends: number;
  /** Unsent bytes beyond which the peer counts as stuck. */
  readonly maxBufferedBytes: number;
}

export interface LinkHandlers {
  onOpen(link: Link): void;
  onFrame(link: Link, data: Buffer, tsRecvNs: number): void;
  /** A ping or pong: it lives. */
  onControl?(link: Link): void;
  /** These names have just been written. */
  onRequested(link: Link, names: readonly string[]): void;
  /** A group of suspects was sent and the connection survived it. */
  onCleared(link: Link, names: readonly string[]): void;
  onClosed(link: Link, code: number, reason: string): void;
}

/** Names written within this time before an abnormal close are suspected of having caused it. */
export const SUSPECT_WINDOW_MS = 1_000;
/**
 * Suspects are sent in so many groups, each only after the one before has survived this long (a venue kills within
 * about 100 ms): a culprit is cornered in few kills, and the innocent are back within two seconds.
 */
const SUSPECT_GROUPS = 4;
const SUSPECT_GAP_MS = 500;
/** A gap that came out so long says nothing of survival. */
const HELD_UP_GAP_MS = 1.5 * SUSPECT_GAP_MS;
/** A peer that was told to close and does not is cut after this. */
const CLOSE_GRACE_MS = 2_000;

interface RecentName {
  readonly name: string;
  readonly atMs: number;
  /** Number of its group of suspects; 0 for names sent without suspicion. */
  readonly group: number;
}

export class Link {
  readonly id: number;
  readonly #options: LinkOptions;
  readonly #handlers: LinkHandlers;
  #connection: Connection | null = null;
  #isOpen = false;
  #isClosed = false;
  #isEndedByUs = false;
  #lastReceivedNs: number;
  #openedNs = 0;
  #toldToWaitMs = 0;
  /** Insertion-ordered, so the first asked is the first sent. Bounded by the number of subscriptions. */
  readonly #pending = new Set<string>();
  readonly #pendingRemovals = new Set<string>();
  readonly #suspects = new Set<string>();
  readonly #sends: string[] = [];
  #recent: RecentName[] = [];
  #group = 0;
  #groupSize = 0;
  #groupLeft = 0;
  #groupTimer: TimerHandle | null = null;
  #pumpTimer: TimerHandle | null = null;
  #heartbeatTimer: TimerHandle | null = null;
  #idleTimer: TimerHandle | null = null;
  #closeTimer: TimerHandle | null = null;

  constructor(id: number, options: LinkOptions, handlers: LinkHandlers) {
    this.id = id;
    this.#options = options;
    this.#handlers = handlers;
    this.#lastReceivedNs = options.clock.monoNs();
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isClosed;
  }

  /** We cut it (idle, stuck, told to); the peer did not. */
  get isEndedByUs(): boolean {
    return this.#isEndedByUs;
  }

  /** 0 while it never opened. */
  get openedNs(): number {
    return this.#openedNs;
  }

  /** The venue refused the connection and named this wait, ms; 0 otherwise. */
  get toldToWaitMs(): number {
    return this.#toldToWaitMs;
  }

  /** Everything asked for has been written. */
  get isRequested(): boolean {
    return this.#pending.size === 0 && this.#suspects.size === 0 && this.#pendingRemovals.size === 0;
  }

  get queuedSendCount(): number {
    return this.#sends.length;
  }

  open(url: string): void {
    const { connector, clock, connectTimeoutMs, maxFrameBytes, heartbeat } = this.#options;
    this.#connection = connector(
      url,
      {
        onOpen: () => this.#opened(),
        onMessage: (data) => {
          if (this.#isClosed) return;
          const tsRecvNs = clock.monoNs();
          this.#lastReceivedNs = tsRecvNs;
          this.#handlers.onFrame(this, data, tsRecvNs);
        },
        onControl: () => {
          this.#lastReceivedNs = clock.monoNs();
          if (!this.#isClosed) this.#handlers.onControl?.(this);
        },
        onClose: (code, reason, refusal) => this.#closed(code, reason, refusal),
      },
      { handshakeTimeoutMs: connectTimeoutMs, maxFrameBytes },
    );
    this.#watchIdle(connectTimeoutMs + heartbeat.idleMs);
  }

  /** Asks for a stream. Written with the others asked for in this turn, so that they share messages. */
  ask(name: string, isSuspect: boolean): void {
    // An unsubscription that waits goes out before it: asked for twice, a stream is refused or brings no snapshot.
    (isSuspect ? this.#suspects : this.#pending).add(name);
    this.#pumpSoon();
  }

  /** Writes at once what the pace allows. */
  flush(): void {
    if (this.#pumpTimer !== null) this.#options.clock.clearTimer(this.#pumpTimer);
    this.#pumpTimer = null;
    this.#pump();
  }

  unsubscribe(name: string): void {
    const wasUnsent = this.#pending.delete(name) || this.#suspects.delete(name);
    if (!wasUnsent) this.#remove(name);
    this.#pumpSoon();
  }

  /** Unsubscribes and subscribes again, in that order. */
  resubscribe(name: string): void {
    this.#remove(name);
    this.#pending.add(name);
    this.#pumpSoon();
  }

  /** Nothing was asked for on a connection that is not open. */
  #remove(name: string): void {
    if (this.isOpen) this.#pendingRemovals.add(name);
  }

  /** Queues one message behind the pace; false when not open or the queue is full. */
  send(text: string): boolean {
    if (!this.isOpen || this.#sends.length >= this.#options.maxQueuedSends) return false;
    this.#sends.push(text);
    this.#pump();
    return true;
  }

  /** Names written during the last second. */
  recentNames(): readonly string[] {
    const sinceMs = this.#nowMs() - SUSPECT_WINDOW_MS;
    return this.#recent.filter((entry) => entry.atMs >= sinceMs).map((entry) => entry.name);
  }

  /** Names that may have killed the connection: the last group of suspects if there was one, else all recent ones. */
  suspectNames(): readonly string[] {
    const group = this.#recent.at(-1)?.group ?? 0;
    if (group === 0) return this.recentNames();
    const sinceMs = this.#nowMs() - SUSPECT_WINDOW_MS;
    return this.#recent.filter((entry) => entry.group === group && entry.atMs >= sinceMs).map((entry) => entry.name);
  }

  /** Closing handshake, cut short if the peer does not answer it. */
  close(code: number, reason: string): void {
    if (this.#isClosed || this.#closeTimer !== null) return;
    this.#connection?.close(code, reason);
    this.#closeTimer = this.#options.clock.setTimer(() => this.#cut(code, reason), CLOSE_GRACE_MS);
  }

  /** Ends at once; `onClosed` reports `code` and `reason`. */
  terminate(code: number, reason: string): void {
    this.#cut(code, reason);
  }

  #cut(code: number, reason: string): void {
    this.#isEndedByUs = true;
    // Ours first: the connection's own report of this end would say 1006 without a reason.
    this.#closed(code, reason);
    this.#connection?.terminate();
  }

  #opened(): void {
    if (this.#isClosed) return;
    const { clock, heartbeat } = this.#options;
    this.#isOpen = true;
    this.#openedNs = clock.monoNs();
    this.#lastReceivedNs = this.#openedNs;
    if (this.#idleTimer !== null) clock.clearTimer(this.#idleTimer);
    this.#watchIdle(heartbeat.idleMs);
    if (heartbeat.everyMs > 0) this.#beat();
    this.#handlers.onOpen(this);
  }

  #beat(): void {
    const { clock, heartbeat } = this.#options;
    this.#heartbeatTimer = clock.setTimer(() => {
      // Outside the pace: two pings a minute are nothing, a late ping loses the socket.
      if (heartbeat.pingText === null) this.#connection?.ping();
      else this.#connection?.send(heartbeat.pingText);
      this.#beat();
    }, heartbeat.everyMs);
  }

  #watchIdle(afterMs: number): void {
    const { clock, heartbeat } = this.#options;
    this.#idleTimer = clock.setTimer(() => {
      const silentMs = (clock.monoNs() - this.#lastReceivedNs) / 1e6;
      if (!this.#isOpen) this.#cut(CLOSE_ABNORMAL, "connect timeout");
      else if (silentMs >= heartbeat.idleMs) this.#cut(CLOSE_ABNORMAL, "idle");
      else this.#watchIdle(heartbeat.idleMs - silentMs);
    }, afterMs);
  }

  #pumpSoon(): void {
    if (!this.isOpen || this.#pumpTimer !== null) return;
    this.#pumpTimer = this.#options.clock.setTimer(() => {
      this.#pumpTimer = null;
      this.#pump();
    }, 0);
  }

  /** Writes what is due and allowed; otherwise comes back when it is. */
  #pump(): void {
    if (!this.isOpen || this.#pumpTimer !== null || this.#closeTimer !== null) return;
    const connection = this.#connection;
    if (connection === null) return;
    const { clock, pacers, maxBufferedBytes } = this.#options;
    while (this.#hasWork()) {
      if (connection.bufferedBytes > maxBufferedBytes) {
        this.#cut(CLOSE_ABNORMAL, "send buffer stuck");
        return;
      }
      // Suspects wait for the group before theirs; its timer comes back.
      if (this.#onlySuspectsLeft() && !this.#mayWriteSuspect()) return;
      let waitMs = 0;
      for (const pacer of pacers) waitMs = Math.max(waitMs, pacer.waitMs());
      if (waitMs > 0) {
        this.#pumpTimer = clock.setTimer(() => {
          this.#pumpTimer = null;
          this.#pump();
        }, Math.ceil(waitMs) + 1);
        return;
      }
      for (const pacer of pacers) pacer.take();
      this.#writeNext(connection);
    }
  }

  #writeNext(connection: Connection): void {
    const { protocol } = this.#options;
    const message = this.#sends.shift();
    if (message !== undefined) {
      connection.send(message);
      return;
    }
    const removals = take(this.#pendingRemovals, protocol.maxNamesPerFrame);
    if (removals.length > 0) {
      connection.send(protocol.unsubscribe(removals));
      return;
    }
    let names = take(this.#pending, protocol.maxNamesPerFrame);
    const isSuspect = names.length === 0;
    if (isSuspect) {
      names = take(this.#suspects, Math.min(protocol.maxNamesPerFrame, this.#groupLeft));
      this.#groupLeft -= names.length;
    }
    if (names.length === 0) return;
    const atMs = this.#nowMs();
    const sinceMs = atMs - SUSPECT_WINDOW_MS;
    this.#recent = this.#recent.filter((entry) => entry.atMs >= sinceMs);
    for (const name of names) this.#recent.push({ name, atMs, group: isSuspect ? this.#group : 0 });
    connection.send(protocol.subscribe(names));
    this.#handlers.onRequested(this, names);
    if (isSuspect && (this.#groupLeft === 0 || this.#suspects.size === 0)) this.#watchGroup();
  }

  /** Opens the next group when the one before is through. */
  #mayWriteSuspect(): boolean {
    if (this.#groupTimer !== null) return false;
    if (this.#groupLeft > 0) return true;
    if (this.#groupSize === 0) this.#groupSize = Math.max(1, Math.ceil(this.#suspects.size / SUSPECT_GROUPS));
    this.#group++;
    this.#groupLeft = this.#groupSize;
    return true;
  }

  #watchGroup(isAgain = false): void {
    this.#groupLeft = 0;
    const group = this.#group;
    const startMs = this.#nowMs();
    this.#groupTimer = this.#options.clock.setTimer(() => {
      this.#groupTimer = null;
      // A loop that was held up has not read what came meanwhile, the end of the connection perhaps.
      if (!isAgain && this.#nowMs() - startMs > HELD_UP_GAP_MS) {
        this.#watchGroup(true);
        return;
      }
      const names = this.#recent.filter((entry) => entry.group === group).map((entry) => entry.name);
      this.#handlers.onCleared(this, names);
      this.#pump();
    }, SUSPECT_GAP_MS);
  }

  #hasWork(): boolean {
    return this.#sends.length > 0 || !this.isRequested;
  }

  #onlySuspectsLeft(): boolean {
    return this.#sends.length === 0 && this.#pendingRemovals.size === 0 && this.#pending.size === 0;
  }

  #nowMs(): number {
    return this.#options.clock.monoNs() / 1e6;
  }

  #closed(code: number, reason: string, refusal?: UpgradeRefusal): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isOpen = false;
    const { clock } = this.#options;
    if (refusal !== undefined) this.#toldToWaitMs = toldToWaitMs(refusal, clock.wallMs());
    for (const timer of [this.#pumpTimer, this.#heartbeatTimer, this.#idleTimer, this.#closeTimer, this.#groupTimer]) {
      if (timer !== null) clock.clearTimer(timer);
    }
    this.#handlers.onClosed(this, code, reason);
  }
}

function take(names: Set<string>, maxCount: number): string[] {
  const taken: string[] = [];
  for (const name of names) {
    if (taken.length >= maxCount) break;
    taken.push(name);
    names.delete(name);
  }
  return taken;
}
