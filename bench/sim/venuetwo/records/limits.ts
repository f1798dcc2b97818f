/**
 * Request weight per IP and order count per account, in fixed windows as the venue's headers show them; who goes on
 * after a 429 is banned with 418. Limits of fact sheet section 8.
 */
import { VenuetwoRefusal } from "../wire/errors.js";

export interface LimitOptions {
  readonly weightPerMinute: number;
  readonly ordersPerMinute: number;
  readonly ordersPer10s: number;
  /** Requests refused with 429 in one minute before the address is banned. */
  readonly refusalsUntilBan: number;
  readonly banMs: number;
}

export const VENUE_LIMITS: LimitOptions = {
  weightPerMinute: 2400,
  ordersPerMinute: 1200,
  ordersPer10s: 300,
  refusalsUntilBan: 50,
  banMs: 120_000,
};

interface Window {
  startMs: number;
  count: number;
}

interface Address {
  readonly weight: Window;
  refusals: number;
  bannedUntilMs: number;
}

const MINUTE_MS = 60_000;
const TEN_SECONDS_MS = 10_000;
/** Addresses and accounts remembered; a local venue sees a handful. */
const TRACKED_MAX = 10_000;

export class RateLimits {
  options: LimitOptions;
  readonly #nowMs: () => number;
  readonly #addresses = new Map<string, Address>();
  readonly #orders = new Map<string, { minute: Window; tenSeconds: Window }>();

  constructor(options: LimitOptions, nowMs: () => number) {
    this.options = options;
    this.#nowMs = nowMs;
  }

  /** Counts one request; throws 429 or 418. Returns the weight used in this minute. */
  countRequest(address: string, weight: number): number {
    const nowMs = this.#nowMs();
    let entry = this.#addresses.get(address);
    if (entry === undefined) {
      if (this.#addresses.size >= TRACKED_MAX) this.#addresses.clear();
      entry = { weight: { startMs: 0, count: 0 }, refusals: 0, bannedUntilMs: 0 };
      this.#addresses.set(address, entry);
    }
    if (entry.bannedUntilMs > nowMs) throw banned(entry.bannedUntilMs, nowMs);
    if (roll(entry.weight, MINUTE_MS, nowMs)) entry.refusals = 0;
    entry.weight.count += weight;
    if (entry.weight.count <= this.options.weightPerMinute) return entry.weight.count;
    entry.refusals++;
    if (entry.refusals > this.options.refusalsUntilBan) {
      entry.bannedUntilMs = nowMs + this.options.banMs;
      throw banned(entry.bannedUntilMs, nowMs);
    }
    const retryAfterS = Math.ceil((entry.weight.startMs + MINUTE_MS - nowMs) / 1000);
    const text = `Too many requests; current limit of IP(${address}) is ${this.options.weightPerMinute} requests per minute. Please use the websocket for live updates to avoid polling the API.`;
    throw new VenuetwoRefusal(-1003, text, 429, { "retry-after": String(retryAfterS) });
  }

  /** Counts one order; throws 429 without Retry-After, as the order limit does. */
  countOrder(accountId: string): { minute: number; tenSeconds: number } {
    const nowMs = this.#nowMs();
    let entry = this.#orders.get(accountId);
    if (entry === undefined) {
      if (this.#orders.size >= TRACKED_MAX) this.#orders.clear();
      entry = { minute: { startMs: 0, count: 0 }, tenSeconds: { startMs: 0, count: 0 } };
      this.#orders.set(accountId, entry);
    }
    roll(entry.minute, MINUTE_MS, nowMs);
    roll(entry.tenSeconds, TEN_SECONDS_MS, nowMs);
    if (entry.tenSeconds.count >= this.options.ordersPer10s)
      throw tooManyOrders(`${this.options.ordersPer10s} orders per 10 SECOND`);
    if (entry.minute.count >= this.options.ordersPerMinute)
      throw tooManyOrders(`${this.options.ordersPerMinute} orders per MINUTE`);
    return { minute: ++entry.minute.count, tenSeconds: ++entry.tenSeconds.count };
  }
}

/** Starts a new window when the old one is over. */
function roll(window: Window, lengthMs: number, nowMs: number): boolean {
  const startMs = Math.floor(nowMs / lengthMs) * lengthMs;
  if (window.startMs === startMs) return false;
  window.startMs = startMs;
  window.count = 0;
  return true;
}

function tooManyOrders(limit: string): VenuetwoRefusal {
  return new VenuetwoRefusal(-1015, `Too many new orders; current limit is ${limit}.`, 429);
}

function banned(untilMs: number, nowMs: number): VenuetwoRefusal {
  const text = `Way too many requests; IP banned until ${untilMs}. Please use the websocket for live updates to avoid bans.`;
  return new VenuetwoRefusal(-1003, text, 418, { "retry-after": String(Math.ceil((untilMs - nowMs) / 1000)) });
}
