// hot path
/**
 * Who pays for a request: its key; without one its caller's address on arrival, or its accounts once their credentials
 * are read.
 *
 * Invariant: a refused request takes no token, and where one of several payers has none left, none pays.
 */
import type { HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { BucketName } from "../../schemas/service.js";
import { type Addresses, LOOPBACK } from "./addresses.js";
import type { Payers } from "./caller-tags.js";
import { type CallerBuckets, policyText, type RateLimiter, type TokenBucket } from "./limiter.js";
import type { ReplyState } from "./reply-state.js";

const ANON: readonly BucketName[] = ["anon"];

export class RequestCharges {
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;
  readonly #addresses: Addresses;
  readonly #loopbackCaller: CallerBuckets;

  constructor(limiter: RateLimiter, clock: Clock, addresses: Addresses) {
    this.#limiter = limiter;
    this.#clock = clock;
    this.#addresses = addresses;
    this.#loopbackCaller = limiter.caller(LOOPBACK, clock.monoNs());
  }

  /** The rules are the same for every caller, so any caller's buckets give the policy. */
  policy(buckets: readonly BucketName[]): string {
    return policyText(buckets.map((name) => this.#loopbackCaller[name]));
  }

  /** Buckets of the address. */
  caller(response: HttpResponse, forwardedFor: string): CallerBuckets {
    if (this.#addresses.isOne) return this.#loopbackCaller;
    return this.#limiter.caller(this.#addresses.keyOf(response, forwardedFor), this.#clock.monoNs());
  }

  /** Buckets of what must not use up those of its own address: another host name, or a foreign page. */
  stranger(response: HttpResponse, forwardedFor: string, kind: "name" | "page"): CallerBuckets {
    return this.#limiter.caller(`${kind} ${this.#addresses.keyOf(response, forwardedFor)}`, this.#clock.monoNs());
  }

  /** Charges a proven key. Returns the refusal, or null. */
  chargeKey(state: ReplyState, payer: string): ServiceError | null {
    const nowNs = this.#clock.monoNs();
    return this.#charge(state, this.#limiter.caller(payer, nowNs), nowNs);
  }

  /** Charges the caller on arrival, or leaves it unpaid where an account pays. Returns the refusal, or null. */
  arrival(state: ReplyState, caller: CallerBuckets): ServiceError | null {
    const { admission } = state;
    const nowNs = this.#clock.monoNs();
    if (admission.byAccount && !state.paysAnon) {
      state.unpaid = caller;
      return null;
    }
    state.unpaid = null;
    const first = state.paysAnon ? caller.anon : caller[admission.buckets[0] as BucketName];
    if (!first.take(admission.weight, nowNs)) return this.#charge(state, caller, nowNs);
    state.rateHeader = `\r\nRateLimit: "${first.policy}";r=${first.remaining(nowNs)};t=0`;
    return null;
  }

  /** Charges these accounts, or the address for null, unless someone has paid. Returns the refusal, or null. */
  charge(state: ReplyState, payers: Payers): ServiceError | null {
    const { unpaid } = state;
    if (unpaid === null) return null;
    state.unpaid = null;
    const nowNs = this.#clock.monoNs();
    if (payers !== null && typeof payers !== "string") return this.#chargeAll(state, payers, nowNs);
    return this.#charge(state, payers === null ? unpaid : this.#limiter.caller(payers, nowNs), nowNs);
  }

  /** Charges the first bucket that has the weight. */
  #charge(state: ReplyState, caller: CallerBuckets, nowNs: number): ServiceError | null {
    const { weight } = state.admission;
    for (const name of bucketsOf(state)) {
      const bucket = caller[name];
      if (!bucket.take(weight, nowNs)) continue;
      state.rateHeader = `\r\nRateLimit: "${name}";r=${bucket.remaining(nowNs)};t=0`;
      return null;
    }
    return this.#refused(state, caller, nowNs);
  }

  #chargeAll(state: ReplyState, payers: readonly string[], nowNs: number): ServiceError | null {
    const { buckets: names, weight } = state.admission;
    const paying: TokenBucket[] = [];
    for (const payer of payers) {
      const buckets = this.#limiter.caller(payer, nowNs);
      const name = names.find((one) => buckets[one].waitMs(weight, nowNs) === 0);
      if (name === undefined) return this.#refused(state, buckets, nowNs);
      paying.push(buckets[name]);
    }
    let shown: TokenBucket | null = null;
    for (const bucket of paying) {
      bucket.take(weight, nowNs);
      if (shown === null || bucket.remaining(nowNs) < shown.remaining(nowNs)) shown = bucket;
    }
    // The remaining tokens of the payer that has the least.
    if (shown !== null) state.rateHeader = `\r\nRateLimit: "${shown.policy}";r=${shown.remaining(nowNs)};t=0`;
    return null;
  }

  /** Returns the refusal of the bucket that has the tokens soonest. */
  #refused(state: ReplyState, caller: CallerBuckets, nowNs: number): ServiceError {
    const { weight } = state.admission;
    const soonest = bucketsOf(state)
      .map((name) => caller[name])
      .reduce((best: TokenBucket, bucket) =>
        bucket.waitMs(weight, nowNs) < best.waitMs(weight, nowNs) ? bucket : best,
      );
    const retryAfterMs = soonest.waitMs(weight, nowNs);
    state.rateHeader = `\r\nRateLimit: "${soonest.policy}";r=0;t=${Math.max(1, Math.ceil(retryAfterMs / 1000))}`;
    return new ServiceError("RATE_LIMITED", {
      policy: soonest.policy,
      limit: soonest.burst,
      windowSeconds: soonest.windowSeconds,
      retryAfterMs,
    });
  }
}

function bucketsOf({ admission, paysAnon }: ReplyState): readonly BucketName[] {
  return paysAnon ? ANON : admission.buckets;
}
