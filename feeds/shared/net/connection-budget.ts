/**
 * What a venue grants one egress IP on its sockets, shared by all sockets of a room: new connections
 * per minute, open connections at once, and client messages per window. A venue that refuses a connection and names a
 * time holds them all.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { monoMs, WeightWindow } from "./weight-window.js";

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly connectsPerMinute: number;
}

const MINUTE_MS = 60_000;
/**
 * The minute's connects are not all spent at once: a venue that ends every connection for a while would otherwise find
 * us without any just when it is well again. So many at once, for all sockets of a room to come back together; the
 * others of the minute evenly after that, one every few seconds, which is how long we then come late.
 */
const BURST = 5;

export class ConnectionBudget {
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #minute = new WeightWindow(MINUTE_MS);
  readonly #burst: number;
  /** Between two connects once the burst is spent: burst and refill together stay within the minute's limit. */
  readonly #refillMs: number;
  #tokens: number;
  #refilledMs: number;
  #openCount = 0;
  #heldUntilMs = 0;

  constructor(clock: Clock, limits: ConnectionLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#burst = Math.max(1, Math.min(BURST, Math.floor(limits.connectsPerMinute / 2)));
    this.#refillMs = MINUTE_MS / Math.max(1, limits.connectsPerMinute - this.#burst);
    this.#tokens = this.#burst;
    this.#refilledMs = monoMs(clock);
  }

  get openCount(): number {
    return this.#openCount;
  }

  /** Takes one connection, with `kept` of them left for others: 0 when granted, else the time after which to ask again. */
  tryOpen(kept = 0): number {
    const nowMs = monoMs(this.#clock);
    if (this.#openCount >= this.#limits.maxConnections) return 1_000;
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#refilledMs) / this.#refillMs);
    this.#refilledMs = nowMs;
    const needed = 1 + Math.min(kept, this.#burst - 1);
    const waitMs = Math.max(
      this.#heldUntilMs - nowMs,
      this.#minute.msUntilAtMost(nowMs, this.#limits.connectsPerMinute - needed),
      this.#tokens >= needed ? 0 : Math.ceil((needed - this.#tokens) * this.#refillMs),
    );
    if (waitMs > 0) return waitMs;
    this.#minute.add(nowMs, 1);
    this.#tokens -= 1;
    this.#openCount++;
    return 0;
  }

  /** No connect for so long. Never shortened by a later, shorter time. */
  hold(waitMs: number): void {
    if (waitMs > 0) this.#heldUntilMs = Math.max(this.#heldUntilMs, monoMs(this.#clock) + waitMs);
  }

  /** The connection taken before has ended. */
  closed(): void {
    this.#openCount--;
  }
}

/** Client messages per window; one per IP or one per socket, as the venue counts. */
export class MessagePacer {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #window: WeightWindow;

  constructor(clock: Clock, limit: number, windowMs: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#window = new WeightWindow(windowMs, 20);
  }

  /** Time until one message may be sent; 0 for now. */
  waitMs(): number {
    return this.#window.msUntilAtMost(monoMs(this.#clock), this.#limit - 1);
  }

  /** Counts one message; the caller has asked `waitMs` first. */
  take(): void {
    this.#window.add(monoMs(this.#clock), 1);
  }
}
