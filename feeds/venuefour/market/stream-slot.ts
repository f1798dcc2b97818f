/**
 * One subscription as this venue answers it: an echo, or nothing at all. The echo frame (or data of the stream) is the
 * only sign that it was taken, so its absence is timed, per connection, and judged only while the connection speaks.
 */
import type { PersistentSocket } from "../../shared/net/socket.js";
import type { Subscription, SubscriptionSpec } from "../../shared/net/subscriptions.js";
import { ECHO_TIMEOUT_MS, REFUSED_RETRY_CAP_MS, REFUSED_RETRY_MS } from "../rules/limits.js";

export type Channel = "book" | "bbo" | "trades" | "prices";

/** In place of monotonic ns: not waiting. */
const NOT_WAITING = -1;
/** Bounds the doubling of the retry wait. */
const MAX_DOUBLINGS = 10;

export class StreamSlot {
  readonly channel: Channel;
  /** Null means a channel for all symbols. */
  readonly symbol: string | null;
  readonly #socket: PersistentSocket;
  readonly #spec: SubscriptionSpec;
  #subscription: Subscription | null;
  /** Highest connection that echoed it or brought its data since it was last asked for. */
  #answeredLinkId = 0;
  #waitingSinceNs = NOT_WAITING;
  /** Refusals in a row. */
  #refusalCount = 0;
  #retryAtNs = NOT_WAITING;

  constructor(
    socket: PersistentSocket,
    channel: Channel,
    symbol: string | null,
    liveness: Pick<SubscriptionSpec, "livenessMs" | "probe">,
  ) {
    this.channel = channel;
    this.symbol = symbol;
    this.#socket = socket;
    this.#spec = { name: subscriptionName(channel, symbol), ...liveness };
    this.#subscription = socket.subscribe(this.#spec);
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Asked for, or to be: neither refused nor given up. */
  get isWanted(): boolean {
    return this.#subscription !== null && !this.#subscription.isQuarantined;
  }

  get isRefused(): boolean {
    return this.#retryAtNs !== NOT_WAITING;
  }

  /** Data arrived. Called per frame: plain stores only. */
  alive(tsRecvNs: number, linkId: number): void {
    this.#subscription?.alive(tsRecvNs, linkId);
    if (linkId > this.#answeredLinkId) this.#answeredLinkId = linkId;
  }

  /**
   * Touches and trades send nothing on subscribing, so for them the echo is all that a fresh connection can show; books
   * and prices speak by themselves, and a connection is not ready before they have.
   */
  echoed(tsRecvNs: number, linkId: number): void {
    if (this.channel === "bbo" || this.channel === "trades") this.#subscription?.alive(tsRecvNs, linkId);
    if (linkId > this.#answeredLinkId) this.#answeredLinkId = linkId;
  }

  isAnsweredOn(linkId: number): boolean {
    return this.#answeredLinkId >= linkId;
  }

  /** It is being subscribed again: what was answered before says nothing. */
  forgetAnswers(): void {
    this.#answeredLinkId = 0;
    this.#waitingSinceNs = NOT_WAITING;
  }

  /** Has an asked subscription stayed without answer too long, on a connection that has spoken since? */
  isOverdue(nowNs: number, lastFrameNs: number): boolean {
    const subscription = this.#subscription;
    const linkId = this.#socket.primaryLinkId;
    if (subscription === null || linkId === 0 || subscription.aliveNs < 0) {
      this.#waitingSinceNs = NOT_WAITING;
      return false;
    }
    if (this.isAnsweredOn(linkId)) {
      this.#waitingSinceNs = NOT_WAITING;
      this.#refusalCount = 0;
      return false;
    }
    if (this.#waitingSinceNs === NOT_WAITING) this.#waitingSinceNs = nowNs;
    return nowNs - this.#waitingSinceNs >= ECHO_TIMEOUT_MS * 1e6 && lastFrameNs > this.#waitingSinceNs;
  }

  /** Taken for refused: not asked for again before the retry, on no connection. */
  refuse(nowNs: number): void {
    const waitMs = Math.min(REFUSED_RETRY_CAP_MS, REFUSED_RETRY_MS * 2 ** Math.min(this.#refusalCount, MAX_DOUBLINGS));
    this.#refusalCount++;
    this.#retryAtNs = nowNs + waitMs * 1e6;
    this.#socket.unsubscribe(this.name);
    this.#subscription = null;
    this.forgetAnswers();
  }

  retryIfDue(nowNs: number): void {
    if (!this.isRefused || nowNs < this.#retryAtNs) return;
    this.#retryAtNs = NOT_WAITING;
    this.#subscription = this.#socket.subscribe(this.#spec);
  }

  /** For good: the contract is gone. */
  dispose(): void {
    this.#retryAtNs = NOT_WAITING;
    this.#subscription = null;
    this.#socket.unsubscribe(this.name);
  }
}

/** The name of a subscription is its parameters as JSON, ready to be sent. */
function subscriptionName(channel: Channel, symbol: string | null): string {
  if (symbol === null) return JSON.stringify({ source: channel });
  // Level 1 is no aggregation; other levels move prices to the edge of their bucket.
  return JSON.stringify(channel === "book" ? { source: channel, symbol, agg_level: 1 } : { source: channel, symbol });
}

/** Which stream an echo or a name is about. */
export function slotKey(channel: string, symbol: string | null): string {
  return `${channel} ${symbol ?? ""}`;
}

/** Only texts of subscriptionName come here. */
export function keyOfName(name: string): string {
  const { source, symbol } = JSON.parse(name) as { readonly source: string; readonly symbol?: string };
  return slotKey(source, symbol ?? null);
}
