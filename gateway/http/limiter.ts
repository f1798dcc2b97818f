// hot path
/**
 * Inbound rate limits: token buckets per caller, refilled by the monotonic clock at each use. A caller is an API key, an
 * account by the tag of its credentials (caller-tags.ts), or an address.
 *
 * Invariants: a bucket never holds more than its burst; a refused request takes nothing. At most `callersMax` callers
 * are remembered; beyond, the one not seen longest is dropped and starts again with full buckets (so dropping can only
 * be generous). Nothing is allocated for a known caller.
 */
import { LRUCache } from "lru-cache";
import type { BucketName, PolicyName } from "../../schemas/service.js";

/** `perSecond` tokens flow in, at most `burst` are kept. */
export interface BucketRule {
  readonly perSecond: number;
  readonly burst: number;
}

export type BucketRules = Readonly<Record<BucketName, BucketRule>>;

export class TokenBucket {
  readonly policy: PolicyName;
  readonly perSecond: number;
  readonly burst: number;
  /** Seconds in which an empty bucket fills: the window of the published policy. */
  readonly windowSeconds: number;
  #tokens: number;
  #filledAtNs: number;

  constructor(policy: PolicyName, rule: BucketRule, nowNs: number) {
    this.policy = policy;
    this.perSecond = rule.perSecond;
    this.burst = rule.burst;
    this.windowSeconds = Math.max(1, Math.ceil(rule.burst / rule.perSecond));
    this.#tokens = rule.burst;
    this.#filledAtNs = nowNs;
  }

  take(weight: number, nowNs: number): boolean {
    this.#fill(nowNs);
    if (this.#tokens < weight) return false;
    this.#tokens -= weight;
    return true;
  }

  /** Whole tokens left. */
  remaining(nowNs: number): number {
    this.#fill(nowNs);
    return Math.floor(this.#tokens);
  }

  /**
   * Returns the time until `weight` tokens are there; 0 when they are. Rounded up: an earlier request would be refused
   * again.
   */
  waitMs(weight: number, nowNs: number): number {
    this.#fill(nowNs);
    return this.#tokens >= weight ? 0 : Math.ceil(((weight - this.#tokens) / this.perSecond) * 1000);
  }

  #fill(nowNs: number): void {
    const elapsedNs = nowNs - this.#filledAtNs;
    if (elapsedNs <= 0) return;
    this.#filledAtNs = nowNs;
    this.#tokens = Math.min(this.burst, this.#tokens + (elapsedNs * this.perSecond) / 1e9);
  }
}

export type CallerBuckets = Readonly<Record<BucketName, TokenBucket>>;

/** The reply-header text about the buckets used; built once, shared by all replies of a route. */
export function policyText(buckets: readonly TokenBucket[]): string {
  return buckets.map((bucket) => `"${bucket.policy}";q=${bucket.burst};w=${bucket.windowSeconds}`).join(", ");
}

export class RateLimiter {
  readonly rules: BucketRules;
  readonly #callers: LRUCache<string, CallerBuckets>;

  constructor(rules: BucketRules, callersMax: number) {
    this.rules = rules;
    this.#callers = new LRUCache({ max: callersMax });
  }

  get callerCount(): number {
    return this.#callers.size;
  }

  caller(address: string, nowNs: number): CallerBuckets {
    const known = this.#callers.get(address);
    if (known !== undefined) return known;
    const fresh: CallerBuckets = {
      read: new TokenBucket("read", this.rules.read, nowNs),
      trade: new TokenBucket("trade", this.rules.trade, nowNs),
      exit: new TokenBucket("exit", this.rules.exit, nowNs),
      transfer: new TokenBucket("transfer", this.rules.transfer, nowNs),
      anon: new TokenBucket("anon", this.rules.anon, nowNs),
    };
    this.#callers.set(address, fresh);
    return fresh;
  }
}

/**
 * The owner of one IPv6 host usually has its /64, so that is one caller; an IPv4 address mapped into IPv6 is itself.
 */
export function callerKey(address: ArrayBuffer): string {
  const bytes = new Uint8Array(address);
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return "unknown";
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.subarray(12).join(".") : `6:${bytes.subarray(0, 8).join(".")}`;
}
