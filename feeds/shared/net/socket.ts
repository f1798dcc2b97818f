/**
 * A persistent WebSocket: carries its subscriptions over whatever connection there is (connection-pair.ts), and notices
 * silence of each (subscription-health.ts).
 *
 * Invariants: every subscription asked for is asked again after each connect; a rotation ends only after each live
 * subscription has delivered on the new connection. Frames of both connections are delivered during an overlap: rooms
 * drop what is not newer.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import { ConnectionPair, STABLE_AFTER_MS } from "./connection-pair.js";
import { CLOSE_ABNORMAL } from "./connector.js";
import { HandlerGuard } from "./handler-guard.js";
import type { Link } from "./link.js";
import type { SocketOptions, SocketState, SocketStats } from "./socket-options.js";
import { SubscriptionHealth } from "./subscription-health.js";
import { SubscriptionSet } from "./subscription-set.js";
import type { Subscription, SubscriptionSpec } from "./subscriptions.js";

const LIVENESS_CHECK_MS = 500;

export class PersistentSocket {
  readonly #options: SocketOptions;
  readonly #subscriptions: SubscriptionSet;
  readonly #guard: HandlerGuard;
  readonly #health: SubscriptionHealth;
  readonly #pair: ConnectionPair;
  #livenessTimer: TimerHandle | null = null;
  #frameCount = 0;
  #frameBytes = 0;

  constructor(options: SocketOptions) {
    const { clock, handlers, logger, name: socketName } = options;
    this.#options = options;
    const guard = new HandlerGuard(logger, socketName);
    const subscriptions = new SubscriptionSet(options.maxSubscriptions);
    this.#guard = guard;
    this.#subscriptions = subscriptions;
    this.#health = new SubscriptionHealth(options, subscriptions.byName, {
      linkId: () => this.primaryLinkId,
      askAgain: (name) => this.#pair.primary?.writer.resubscribe(name),
      askAlone: (name) => this.#askAlone(name),
      reconnect: (reason) => this.reconnect(reason),
      guard: (call) => guard.run(call),
    });
    this.#pair = new ConnectionPair(options, {
      onOpened: (link) => subscriptions.askAll(link),
      onPrimary: (link) => guard.run(() => handlers.onOpen?.(link.id)),
      onFrame: (link, data, tsRecvNs) => this.#frame(link, data, tsRecvNs),
      onControl: () => guard.run(() => handlers.onControl?.()),
      onRequested: (names) => subscriptions.requested(names, clock.monoNs()),
      onCleared: (names) => subscriptions.cleared(names),
      onKilled: (names) => this.#health.suspect(names),
      onDown: (code, reason) => {
        subscriptions.unasked();
        guard.run(() => handlers.onDown?.(code, reason));
      },
      isInSync: (link) => subscriptions.isCarriedBy(link) && (handlers.isStandbyReady?.(link.id) ?? true),
    });
  }

  get state(): SocketState {
    return this.#pair.state;
  }

  /** Connection whose data count; 0 while there is none. */
  get primaryLinkId(): number {
    return this.#pair.primary?.id ?? 0;
  }

  stats(): SocketStats {
    return {
      state: this.#pair.state,
      ...this.#pair.counts,
      frameCount: this.#frameCount,
      frameBytes: this.#frameBytes,
      handlerErrorCount: this.#guard.failureCount,
      silentCount: this.#health.silentCount,
      quarantinedCount: this.#health.quarantinedCount,
      queuedSendCount: this.#pair.primary?.writer.queuedSendCount ?? 0,
      subscriptionCount: this.#subscriptions.byName.size,
    };
  }

  start(): void {
    if (this.#pair.state !== "idle") return;
    this.#pair.start();
    this.#checkLiveness();
  }

  /** Closes for good; resolves nothing: connections end within the close grace. */
  stop(): void {
    if (this.#pair.state === "stopped") return;
    if (this.#livenessTimer !== null) this.#options.clock.clearTimer(this.#livenessTimer);
    this.#pair.stop();
  }

  /** Adds a stream; null when the socket carries its maximum. The same name gives the same subscription. */
  subscribe(spec: SubscriptionSpec): Subscription | null {
    const known = this.#subscriptions.get(spec.name);
    if (known !== null) return known;
    const subscription = this.#subscriptions.add(spec);
    if (subscription === null) return null;
    this.#pair.primary?.writer.ask(spec.name, false);
    this.#pair.standby?.writer.ask(spec.name, false);
    return subscription;
  }

  subscription(name: string): Subscription | null {
    return this.#subscriptions.get(name);
  }

  /** Asks for a stream again (unsubscribe, subscribe) on the present connection. */
  resubscribe(name: string): void {
    const subscription = this.#subscriptions.get(name);
    if (subscription === null || subscription.isQuarantined) return;
    this.#pair.primary?.writer.resubscribe(name);
  }

  unsubscribe(name: string): void {
    if (!this.#subscriptions.delete(name)) return;
    this.#pair.primary?.writer.unsubscribe(name);
    this.#pair.standby?.writer.unsubscribe(name);
  }

  /** Not on a connection that may be ending anyway: its end would be blamed on the name. */
  #askAlone(name: string): boolean {
    const { primary: link, standby } = this.#pair;
    if (link === null || !link.isOpen || !link.writer.isRequested || standby !== null) return false;
    if ((this.#options.clock.monoNs() - link.openedNs) / 1e6 < STABLE_AFTER_MS) return false;
    link.writer.ask(name, true);
    return true;
  }

  /** Sends one message behind the pace on the primary; false when it can not be taken. */
  send(text: string): boolean {
    return this.#pair.primary?.writer.send(text) ?? false;
  }

  /** Drops the primary connection and connects again. */
  reconnect(reason: string): void {
    this.#pair.primary?.terminate(CLOSE_ABNORMAL, reason);
  }

  /** The same where what ended the primary ended the standby as well: it does not take over. */
  reconnectBoth(reason: string): void {
    this.#pair.standby?.terminate(CLOSE_ABNORMAL, reason);
    this.reconnect(reason);
  }

  /** Replaces the connection, make before break. False when not open or already replacing. */
  rotate(): boolean {
    return this.#pair.rotate();
  }

  #frame(link: Link, data: Buffer, tsRecvNs: number): void {
    this.#frameCount++;
    this.#frameBytes += data.length;
    try {
      this.#options.handlers.onFrame(data, tsRecvNs, link.id);
    } catch (error) {
      this.#guard.failed(error);
    }
  }

  #checkLiveness(): void {
    const { clock } = this.#options;
    this.#livenessTimer = clock.setTimer(() => {
      if (this.#pair.state === "open") this.#health.judgeAll(clock.monoNs());
      if (this.#pair.state !== "stopped") this.#checkLiveness();
    }, LIVENESS_CHECK_MS);
  }
}
