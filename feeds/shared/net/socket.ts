/**
 * A persistent WebSocket: connects, subscribes, keeps alive, notices silence per subscription
 * (subscription-health.ts), reconnects, and replaces its connection before the venue ends it.
 *
 *   idle → connecting → open → waiting → connecting …      stop() → stopped
 *
 * Invariants: at most one primary and one standby connection; a planned rotation closes the old one
 * only after each live subscription has delivered on the new one (make before break); connects stay
 * within the venue's budget; every subscription asked for is asked again after each connect.
 * Frames of both connections are delivered during an overlap: rooms drop what is not newer.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import { type BackoffPolicy, fullJitterMs } from "./backoff.js";
import { CLOSE_ABNORMAL } from "./connector.js";
import { Link, type LinkOptions } from "./link.js";
import type { SocketOptions, SocketState, SocketStats } from "./socket-options.js";
import { isSuspect, MAX_LOGGED_NAMES, SubscriptionHealth } from "./subscription-health.js";
import { Subscription, type SubscriptionSpec } from "./subscriptions.js";

/** The cap keeps the way back short after a longer outage; the connection budget keeps the venue's limit. */
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 3_000 };
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_MAX_FRAME_BYTES = 4 * 1024 * 1024;
const DEFAULT_MAX_QUEUED_SENDS = 256;
const MAX_BUFFERED_BYTES = 1024 * 1024;
const LIVENESS_CHECK_MS = 500;
/** A connection open this long was healthy: the next loss starts the backoff again. */
const STABLE_AFTER_MS = 10_000;
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
export class PersistentSocket {
  readonly #options: SocketOptions;
  readonly #linkOptions: Omit<LinkOptions, "pacers">;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #health: SubscriptionHealth;
  #state: SocketState = "idle";
  #primary: Link | null = null;
  #standby: Link | null = null;
  #nextLinkId = 1;
  #attemptCount = 0;
  #connectTimer: TimerHandle | null = null;
  #livenessTimer: TimerHandle | null = null;
  #rotationTimer: TimerHandle | null = null;
  #overlapTimer: TimerHandle | null = null;
  #connectionCount = 0;
  #reconnectCount = 0;
  #rotationCount = 0;
  #frameCount = 0;
  #frameBytes = 0;
  #handlerErrorCount = 0;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#health = new SubscriptionHealth(options, this.#subscriptions, {
      linkId: () => this.primaryLinkId,
      askAgain: (name) => this.#primary?.writer.resubscribe(name),
      askAlone: (name) => this.#askAlone(name),
      reconnect: (reason) => this.reconnect(reason),
      guard: (call) => this.#guard(call),
    });
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

  /** Connection whose data count; 0 while there is none. */
  get primaryLinkId(): number {
    return this.#primary?.id ?? 0;
  }

  stats(): SocketStats {
    return {
      state: this.#state,
      connectionCount: this.#connectionCount,
      reconnectCount: this.#reconnectCount,
      rotationCount: this.#rotationCount,
      frameCount: this.#frameCount,
      frameBytes: this.#frameBytes,
      handlerErrorCount: this.#handlerErrorCount,
      silentCount: this.#health.silentCount,
      quarantinedCount: this.#health.quarantinedCount,
      queuedSendCount: this.#primary?.writer.queuedSendCount ?? 0,
      subscriptionCount: this.#subscriptions.size,
    };
  }

  start(): void {
    if (this.#state !== "idle") return;
    this.#connectPrimary();
    this.#checkLiveness();
  }

  /** Closes for good; resolves nothing: connections end within the close grace. */
  stop(): void {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    const { clock } = this.#options;
    for (const timer of [this.#connectTimer, this.#livenessTimer, this.#rotationTimer, this.#overlapTimer]) {
      if (timer !== null) clock.clearTimer(timer);
    }
    this.#primary?.close(1000, "");
    this.#standby?.close(1000, "");
  }

  /** Adds a stream; null when the socket carries its maximum. The same name gives the same subscription. */
  subscribe(spec: SubscriptionSpec): Subscription | null {
    const known = this.#subscriptions.get(spec.name);
    if (known !== undefined) return known;
    if (this.#subscriptions.size >= this.#options.maxSubscriptions) return null;
    const subscription = new Subscription(spec);
    this.#subscriptions.set(spec.name, subscription);
    this.#primary?.writer.ask(spec.name, false);
    this.#standby?.writer.ask(spec.name, false);
    return subscription;
  }

  subscription(name: string): Subscription | null {
    return this.#subscriptions.get(name) ?? null;
  }

  /** Asks for a stream again (unsubscribe, subscribe) on the present connection. */
  resubscribe(name: string): void {
    const subscription = this.#subscriptions.get(name);
    if (subscription === undefined || subscription.isQuarantined) return;
    this.#primary?.writer.resubscribe(name);
  }

  unsubscribe(name: string): void {
    if (!this.#subscriptions.delete(name)) return;
    this.#primary?.writer.unsubscribe(name);
    this.#standby?.writer.unsubscribe(name);
  }

  /** Not on a connection that may be ending anyway: its end would be blamed on the name. */
  #askAlone(name: string): boolean {
    const link = this.#primary;
    if (link === null || !link.isOpen || !link.writer.isRequested || this.#standby !== null) return false;
    if ((this.#options.clock.monoNs() - link.openedNs) / 1e6 < STABLE_AFTER_MS) return false;
    link.writer.ask(name, true);
    return true;
  }

  /** Sends one message behind the pace on the primary; false when it can not be taken. */
  send(text: string): boolean {
    return this.#primary?.writer.send(text) ?? false;
  }

  /** Drops the primary connection and connects again. */
  reconnect(reason: string): void {
    this.#primary?.terminate(CLOSE_ABNORMAL, reason);
  }

  /** The same where what ended the primary ended the standby as well: it does not take over. */
  reconnectBoth(reason: string): void {
    this.#standby?.terminate(CLOSE_ABNORMAL, reason);
    this.reconnect(reason);
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
          if (link === this.#primary) this.#guard(() => this.#options.handlers.onControl?.());
        },
        onRequested: (link, names) => this.#requested(link, names),
        onCleared: (_link, names) => {
          for (const name of names) this.#subscriptions.get(name)?.cleared();
        },
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
    const suspects: Subscription[] = [];
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.isQuarantined) continue;
      if (isSuspect(subscription)) suspects.push(subscription);
      else link.writer.ask(subscription.spec.name, false);
    }
    // The most suspected last: what goes before them is cleared, so that after each kill fewer of them are left.
    suspects.sort((left, right) => left.suspicion - right.suspicion);
    for (const { spec } of suspects) link.writer.ask(spec.name, true);
    link.writer.flush();
    if (link !== this.#primary) return;
    this.#state = "open";
    this.#announce(link);
  }

  #announce(link: Link): void {
    const { rotateAfterMs = 0, random } = this.#options;
    if (rotateAfterMs > 0) this.#scheduleRotation(rotateAfterMs * (1 - 0.1 * random.next()));
    this.#guard(() => this.#options.handlers.onOpen?.(link.id));
  }

  #frame(link: Link, data: Buffer, tsRecvNs: number): void {
    this.#frameCount++;
    this.#frameBytes += data.length;
    try {
      this.#options.handlers.onFrame(data, tsRecvNs, link.id);
    } catch (error) {
      this.#handlerFailed(error);
    }
    if (link === this.#standby && this.#isInSync(link)) this.#takeOver(link, "in sync");
  }

  #requested(link: Link, names: readonly string[]): void {
    if (link !== this.#primary) return;
    const nowNs = this.#options.clock.monoNs();
    for (const name of names) this.#subscriptions.get(name)?.requested(nowNs);
  }

  #isInSync(link: Link): boolean {
    if (!link.isOpen || !link.writer.isRequested) return false;
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.isQuarantined || subscription.spec.livenessMs === 0) continue;
      if (subscription.seenLinkId < link.id) return false;
    }
    return this.#options.handlers.isStandbyReady?.(link.id) ?? true;
  }

  #endOverlap(): void {
    this.#overlapTimer = null;
    const standby = this.#standby;
    if (standby === null) return;
    if (standby.isOpen && standby.writer.isRequested) this.#takeOver(standby, "overlap over");
    else standby.terminate(CLOSE_ABNORMAL, "overlap over");
  }

  #takeOver(link: Link, reason: string): void {
    const old = this.#primary;
    this.#primary = link;
    this.#standby = null;
    this.#state = "open";
    this.#rotationCount++;
    if (this.#overlapTimer !== null) this.#options.clock.clearTimer(this.#overlapTimer);
    this.#overlapTimer = null;
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
    if (wasKilled) this.#health.suspect(link.writer.suspects.suspectNames());
    if (isStandby) {
      this.#standby = null;
      if (this.#overlapTimer !== null) this.#options.clock.clearTimer(this.#overlapTimer);
      this.#overlapTimer = null;
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
      if (this.#overlapTimer !== null) this.#options.clock.clearTimer(this.#overlapTimer);
      this.#overlapTimer = null;
    }
    for (const subscription of this.#subscriptions.values()) subscription.unasked();
    this.#guard(() => this.#options.handlers.onDown?.(code, reason));
    // A handler may have stopped it.
    if (this.#primary === null && !this.#isStopped()) this.#reconnectAfter(link, code, reason);
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

  #checkLiveness(): void {
    this.#livenessTimer = this.#options.clock.setTimer(() => {
      if (this.#state === "open") this.#health.judgeAll(this.#options.clock.monoNs());
      if (!this.#isStopped()) this.#checkLiveness();
    }, LIVENESS_CHECK_MS);
  }

  #isStopped(): boolean {
    return this.#state === "stopped";
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#handlerFailed(error);
    }
  }

  #handlerFailed(error: unknown): void {
    this.#handlerErrorCount++;
    // A bug of ours, once per kind is enough: the count is exported.
    if (this.#handlerErrorCount > 1) return;
    const text = error instanceof Error ? error.message : "not an Error";
    this.#options.logger.error("socket.handler-failed", { socket: this.#options.name, text });
  }
}
