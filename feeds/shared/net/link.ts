/**
 * One connection of a persistent socket: heartbeat, idle detection, its end. What is written on it is its writer's
 * (paced-writer.ts). It lives once: opened, maybe ready, then closed with exactly one `onClosed`.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { Connection, Connector } from "./connector.js";
import { CLOSE_ABNORMAL } from "./connector.js";
import { PacedWriter, type WriterOptions } from "./paced-writer.js";
import { namedWaitMs, type UpgradeRefusal } from "./upgrade-refusal.js";

export interface Heartbeat {
  /** Text sent as ping; null sends protocol pings. */
  readonly pingText: string | null;
  /** 0 sends none: the venue pings, and the library answers. */
  readonly everyMs: number;
  /** Nothing received for so long, data or control: the connection is dead. */
  readonly idleMs: number;
}

export interface LinkOptions extends WriterOptions {
  readonly connector: Connector;
  readonly heartbeat: Heartbeat;
  readonly connectTimeoutMs: number;
  readonly maxFrameBytes: number;
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

/** A peer that does not answer our close is cut after this. */
const CLOSE_GRACE_MS = 2_000;

export class Link {
  readonly id: number;
  /** What is asked for on it. */
  readonly writer: PacedWriter;
  readonly #options: LinkOptions;
  readonly #handlers: LinkHandlers;
  #connection: Connection | null = null;
  #isOpen = false;
  #isClosed = false;
  #isEndedByUs = false;
  #lastReceivedNs: number;
  #openedNs = 0;
  #namedWaitMs = 0;
  #heartbeatTimer: TimerHandle | null = null;
  #idleTimer: TimerHandle | null = null;
  #closeTimer: TimerHandle | null = null;

  constructor(id: number, options: LinkOptions, handlers: LinkHandlers) {
    this.id = id;
    this.#options = options;
    this.#handlers = handlers;
    this.writer = new PacedWriter(options, {
      onRequested: (names) => handlers.onRequested(this, names),
      onCleared: (names) => handlers.onCleared(this, names),
      onStuck: () => this.terminate(CLOSE_ABNORMAL, "send buffer stuck"),
    });
    this.#lastReceivedNs = options.clock.monoNs();
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isClosed;
  }

  /** We cut it (idle, stuck, on request); the peer did not. */
  get isEndedByUs(): boolean {
    return this.#isEndedByUs;
  }

  /** 0 while it never opened. */
  get openedNs(): number {
    return this.#openedNs;
  }

  /** The venue refused the connection and named this wait, ms; 0 otherwise. */
  get namedWaitMs(): number {
    return this.#namedWaitMs;
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

  /** Closing handshake, cut short if the peer does not answer it. */
  close(code: number, reason: string): void {
    if (this.#isClosed || this.#closeTimer !== null) return;
    this.writer.closing();
    this.#connection?.close(code, reason);
    this.#closeTimer = this.#options.clock.setTimer(() => this.terminate(code, reason), CLOSE_GRACE_MS);
  }

  /** Ends at once; `onClosed` reports `code` and `reason`. */
  terminate(code: number, reason: string): void {
    this.#isEndedByUs = true;
    // Ours first: the connection's own report of this end would say 1006 without a reason.
    this.#closed(code, reason);
    this.#connection?.terminate();
  }

  #opened(): void {
    if (this.#isClosed) return;
    const { clock, heartbeat } = this.#options;
    this.#isOpen = true;
    if (this.#connection !== null) this.writer.opened(this.#connection);
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
      if (!this.#isOpen) this.terminate(CLOSE_ABNORMAL, "connect timeout");
      else if (silentMs >= heartbeat.idleMs) this.terminate(CLOSE_ABNORMAL, "idle");
      else this.#watchIdle(heartbeat.idleMs - silentMs);
    }, afterMs);
  }

  #closed(code: number, reason: string, refusal?: UpgradeRefusal): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isOpen = false;
    const { clock } = this.#options;
    this.writer.closed();
    if (refusal !== undefined) this.#namedWaitMs = namedWaitMs(refusal, clock.wallMs());
    for (const timer of [this.#heartbeatTimer, this.#idleTimer, this.#closeTimer]) {
      if (timer !== null) clock.clearTimer(timer);
    }
    this.#handlers.onClosed(this, code, reason);
  }
}
