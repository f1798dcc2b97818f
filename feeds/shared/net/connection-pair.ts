/**
 * The connections of a persistent socket: connects, reconnects with backoff, and replaces the connection before the venue
 * ends it.
 *
 *   idle → connecting → open → waiting → connecting …      stop() → stopped
 *
 * Invariants: at most one primary and one standby connection; a planned rotation closes the old one only once the new one
 * is in sync, or MAX_OVERLAP_MS are over (make before break); connects stay within the venue's budget.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import { type BackoffPolicy, fullJitterMs } from "./backoff.js";
import { CLOSE_ABNORMAL } from "./connector.js";
import { Link, type LinkOptions } from "./link.js";
import type { SocketOptions, SocketState } from "./socket-options.js";
import { MAX_LOGGED_NAMES } from "./subscription-health.js";

/** The cap bounds the wait after a long outage. The connection budget keeps the venue's limit. */
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 3_000 };
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_MAX_FRAME_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_QUEUED_SENDS = 256;
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** A connection open this long was healthy: the next loss starts the backoff again. */
export const STABLE_AFTER_MS = 10_000;
/** A standby that is not in sync after this takes over anyway if it is open: liveness judges its streams. */
const MAX_OVERLAP_MS = 20_000;
const ROTATION_RETRY_MS = 30_000;
/** RFC 6455 registry: 1012 service restart, 1013 try again later. Whole fleets reconnect after these. */
const CLOSE_RESTART = 1012;
const CLOSE_TRY_LATER = 1013;
const RESTART_SPREAD: BackoffPolicy = { baseMs: 5_000, capMs: 30_000 };
const TRY_LATER_MIN_MS = 5_000;
/** Shorter waits are the pace of a start. */
const BUDGET_WAIT_WORTH_A_LINE_MS = 1_000;

/** What happens on the connections. Their data come in `onFrame`, once a frame: plain calls only. */
export interface PairHost {
  /** A connection is open, the standby perhaps: everything is to be asked for on it. */
  onOpened(link: Link): void;
  /** The data of this connection count from now on. */
  onPrimary(link: Link): void;
  /** Of both connections. */
  onFrame(link: Link, data: Buffer, tsRecvNs: number): void;
  /** A ping or pong on the primary. */
  onControl(): void;
  /** These names were written on the primary. */
  onRequested(names: readonly string[]): void;
  /** A connection survived these suspects. */
  onCleared(names: readonly string[]): void;
  /** A connection was killed soon after these names were written. */
  onKilled(names: readonly string[]): void;
  /** The primary is gone and no standby is open. */
  onDown(code: number, reason: string): void;
  /** The standby carries all that the primary does. */
  isInSync(link: Link): boolean;
}

export class ConnectionPair {
  readonly #options: SocketOptions;
  readonly #linkOptions: Omit<LinkOptions, "pacers">;
  readonly #host: PairHost;
  #state: SocketState = "idle";
  #primary: Link | null = null;
  #standby: Link | null = null;
  #nextLinkId = 1;
  #attemptCount = 0;
  #connectTimer: TimerHandle | null = null;
  #rotationTimer: TimerHandle | null = null;
  #overlapTimer: TimerHandle | null = null;
  #connectionCount = 0;
  #reconnectCount = 0;
  #rotationCount = 0;

  constructor(options: SocketOptions, host: PairHost) {
    this.#options = options;
    this.#host = host;
    this.#linkOptions = {
      clock: options.clock,
      connector: options.connector,
      heartbeat: options.heartbeat,
      protocol: options.protocol,
      connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
      maxFrameBytes: options.maxFrameBytes ?? DEFAULT_MAX_FRAME_BYTES,
      maxQueuedSends: options.maxQueuedSends ?? DEFAULT_MAX_QUEUED_SENDS,
      maxBufferedBytes: MAX_BUFFERED_BYTES,
    };
  }

  get state(): SocketState {
    return this.#state;
  }

  get primary(): Link | null {
    return this.#primary;
  }

  get standby(): Link | null {
    return this.#standby;
  }

  get counts(): { readonly connectionCount: number; readonly reconnectCount: number; readonly rotationCount: number } {
    return {
      connectionCount: this.#connectionCount,
      reconnectCount: this.#reconnectCount,
      rotationCount: this.#rotationCount,
    };
  }

  start(): void {
    if (this.#state === "idle") this.#connectPrimary();
  }

  stop(): void {
    this.#state = "stopped";
    const { clock } = this.#options;
    for (const timer of [this.#connectTimer, this.#rotationTimer, this.#overlapTimer]) {
      if (timer !== null) clock.clearTimer(timer);
    }
    this.#primary?.close(1000, "");
    this.#standby?.close(1000, "");
  }

  /** Replaces the connection, make before break. False when not open or already replacing. */
  rotate(): boolean {
    if (this.#state !== "open" || this.#standby !== null) return false;
    if (this.#options.budget.tryOpen() > 0) {
      this.#scheduleRotation(ROTATION_RETRY_MS);
      return false;
    }
    const link = this.#createLink();
    this.#standby = link;
    this.#overlapTimer = this.#options.clock.setTimer(() => this.#endOverlap(), MAX_OVERLAP_MS);
    void this.#open(link);
    return true;
  }

  #createLink(): Link {
    this.#connectionCount++;
    return new Link(
      this.#nextLinkId++,
      { ...this.#linkOptions, pacers: this.#options.pacers() },
      {
        onOpen: (link) => this.#linkOpened(link),
        onFrame: (link, data, tsRecvNs) => this.#frame(link, data, tsRecvNs),
        onControl: (link) => {
          if (link === this.#primary) this.#host.onControl();
        },
        onRequested: (link, names) => {
          if (link === this.#primary) this.#host.onRequested(names);
        },
        onCleared: (_link, names) => this.#host.onCleared(names),
        onClosed: (link, code, reason) => this.#linkClosed(link, code, reason),
      },
    );
  }

  #connectPrimary(): void {
    this.#connectTimer = null;
    const waitMs = this.#options.budget.tryOpen();
    if (waitMs > 0) {
      this.#state = "waiting";
      if (waitMs >= BUDGET_WAIT_WORTH_A_LINE_MS) this.#logWait(waitMs, 0, "connect budget");
      // Spread, so that sockets that wait for the same budget do not all ask at one instant.
      const spreadMs = waitMs * (1 + 0.1 * this.#options.random.next());
      this.#connectTimer = this.#options.clock.setTimer(() => this.#connectPrimary(), spreadMs);
      return;
    }
    this.#state = "connecting";
    this.#primary = this.#createLink();
    void this.#open(this.#primary);
  }

  async #open(link: Link): Promise<void> {
    const { url } = this.#options;
    try {
      const target = typeof url === "string" ? url : await url();
      if (this.#state === "stopped" || (link !== this.#primary && link !== this.#standby)) {
        link.terminate(1000, "stopped");
        return;
      }
      link.open(target);
    } catch {
      // No URL or a malformed one: as a failed connect. The cause may hold a listen key, so it is not logged.
      link.terminate(CLOSE_ABNORMAL, "no usable url");
    }
  }

  #linkOpened(link: Link): void {
    this.#host.onOpened(link);
    if (link !== this.#primary) return;
    this.#state = "open";
    this.#announce(link);
  }

  #announce(link: Link): void {
    const { rotateAfterMs = 0, random } = this.#options;
    if (rotateAfterMs > 0) this.#scheduleRotation(rotateAfterMs * (1 - 0.1 * random.next()));
    this.#host.onPrimary(link);
  }

  #frame(link: Link, data: Buffer, tsRecvNs: number): void {
    this.#host.onFrame(link, data, tsRecvNs);
    if (link === this.#standby && this.#isReady(link)) this.#takeOver(link, "in sync");
  }

  #isReady(link: Link): boolean {
    return link.isOpen && link.writer.isRequested && this.#host.isInSync(link);
  }

  #endOverlap(): void {
    this.#overlapTimer = null;
    const standby = this.#standby;
    if (standby === null) return;
    if (standby.isOpen && standby.writer.isRequested) this.#takeOver(standby, "overlap over");
    else standby.terminate(CLOSE_ABNORMAL, "overlap over");
  }

  #clearOverlap(): void {
    if (this.#overlapTimer !== null) this.#options.clock.clearTimer(this.#overlapTimer);
    this.#overlapTimer = null;
  }

  #takeOver(link: Link, reason: string): void {
    const old = this.#primary;
    this.#primary = link;
    this.#standby = null;
    this.#state = "open";
    this.#rotationCount++;
    this.#clearOverlap();
    this.#options.logger.info("socket.rotated", { socket: this.#options.name, link: link.id, reason });
    this.#announce(link);
    old?.close(1000, "");
  }

  #linkClosed(link: Link, code: number, reason: string): void {
    this.#options.budget.closed();
    // The refusal is of the address, so it holds every socket that shares the budget.
    this.#options.budget.hold(link.namedWaitMs);
    if (this.#state === "stopped") return;
    const isPrimary = link === this.#primary;
    const isStandby = link === this.#standby;
    // The old connection of a finished rotation.
    if (!isPrimary && !isStandby) return;
    const { logger, name } = this.#options;
    const wasKilled = code === CLOSE_ABNORMAL && !link.isEndedByUs;
    logger.warn("socket.closed", {
      socket: name,
      link: link.id,
      code,
      reason,
      isPrimary,
      askedLastSecond: wasKilled ? link.writer.suspects.recentNames().slice(0, MAX_LOGGED_NAMES).join(" ") : "",
    });
    if (wasKilled) this.#host.onKilled(link.writer.suspects.suspectNames());
    if (isStandby) {
      this.#standby = null;
      this.#clearOverlap();
      this.#scheduleRotation(ROTATION_RETRY_MS);
      return;
    }
    this.#primary = null;
    const standby = this.#standby;
    if (standby?.isOpen === true) {
      this.#takeOver(standby, "primary lost");
      return;
    }
    if (standby !== null) {
      // Half-open replacement: it becomes the reconnect.
      this.#standby = null;
      this.#primary = standby;
      this.#state = "connecting";
      this.#clearOverlap();
    }
    this.#host.onDown(code, reason);
    // A handler may have stopped it.
    if (this.#primary === null && this.state !== "stopped") this.#reconnectAfter(link, code, reason);
  }

  #reconnectAfter(link: Link, code: number, reason: string): void {
    const { clock, random } = this.#options;
    this.#reconnectCount++;
    const openMs = link.openedNs === 0 ? 0 : (clock.monoNs() - link.openedNs) / 1e6;
    if (openMs >= STABLE_AFTER_MS) this.#attemptCount = 0;
    const policy = code === CLOSE_RESTART || code === CLOSE_TRY_LATER ? RESTART_SPREAD : this.#options.backoff;
    const minMs = code === CLOSE_TRY_LATER ? TRY_LATER_MIN_MS : 0;
    const waitMs = minMs + fullJitterMs(policy ?? DEFAULT_BACKOFF, this.#attemptCount++, random);
    this.#state = "waiting";
    this.#logWait(waitMs, code, reason);
    if (this.#rotationTimer !== null) clock.clearTimer(this.#rotationTimer);
    this.#rotationTimer = null;
    this.#connectTimer = clock.setTimer(() => this.#connectPrimary(), waitMs);
  }

  /** `code` 0: no connection has ended. `attempt`: tries since the last connection that lasted. */
  #logWait(waitMs: number, code: number, reason: string): void {
    const { logger, name: socket } = this.#options;
    const attempt = this.#attemptCount;
    logger.debug?.("socket.reconnect", { socket, code, reason, attempt, delayMs: Math.round(waitMs) });
  }

  #scheduleRotation(afterMs: number): void {
    const { clock } = this.#options;
    if (this.#rotationTimer !== null) clock.clearTimer(this.#rotationTimer);
    this.#rotationTimer = clock.setTimer(() => {
      this.#rotationTimer = null;
      this.rotate();
    }, afterMs);
  }
}
