/**
 * The HTTP port (http.ts) over an undici pool: keep-alive, bounded connections, one deadline for the
 * whole call, bounded bodies, lanes, account budgets and the breaker.
 *
 * Invariant: `notSent` is only answered when no byte of the request was handed to a socket; from the
 * moment undici starts to write, whatever goes wrong is `noResponse` (http-call.ts). Nothing is ever sent twice.
 */
import { Pool } from "undici";
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { Lane } from "../../../engine/ports.js";
import { type AccountBudget, AccountLimiter, type WindowLimit } from "./account-limiter.js";
import { Breaker, type BreakerSettings, type BreakerState, DEFAULT_BREAKER } from "./breaker.js";
import type { CallerStanding } from "./caller-standing.js";
import type { HttpRequest, HttpResult, VenueHttp } from "./http.js";
import { type HttpCallOptions, sendCall } from "./http-call.js";
import { LaneQueue } from "./lane-queue.js";
import { LaneBudget, LANES } from "./lanes.js";
import { parseRetryAfterMs } from "./retry-after.js";
import { monoMs } from "./weight-window.js";

export type HttpResponse = Extract<HttpResult, { kind: "response" }>;

/** The limit that a reply names: its scope, and for how long (null when it names no time). */
export interface LimitVerdict {
  readonly scope: "ip" | "account";
  readonly retryAfterMs: number | null;
  readonly isBan: boolean;
}

/** Of a venue that counts in fixed windows, with the time until the next one. */
export interface UsedWeight {
  readonly weight: number;
  readonly resetMs: number;
}

export interface HttpPoolOptions {
  /** Neutral venue name, for logs. */
  readonly name: string;
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** IP budget: weight per window. */
  readonly budget: number;
  readonly budgetWindowMs: number;
  /** A budget where another way to the venue spends from it too, or where it is not one of windows. */
  readonly accountLimits: readonly WindowLimit[] | AccountBudget;
  readonly connections?: number;
  /** Connections only the exit lane may use. */
  readonly exitConnections?: number;
  readonly maxQueuedPerLane?: number;
  readonly maxBodyBytes?: number;
  readonly connectTimeoutMs?: number;
  readonly breaker?: Partial<BreakerSettings>;
  /** Which callers the venue has answered well; absent: all count as such. */
  readonly standing?: CallerStanding;
  /** The venue's own count of used weight, read from a reply; null where it gives none, or counts another budget. */
  readonly usedWeight?: (headers: Readonly<Record<string, string>>, request: HttpRequest) => number | UsedWeight | null;
  /** The same of the budget of the account that the request was charged to. */
  readonly usedOfAccount?: (headers: Readonly<Record<string, string>>) => number | null;
  /** Weight that only the reply reveals (rows). */
  readonly extraWeight?: (request: HttpRequest, response: HttpResponse) => number;
  /** Overrides the reading of limit replies; default: 429 and 418 limit the IP for `Retry-After`. */
  readonly judgeLimit?: (response: HttpResponse, nowWallMs: number, request: HttpRequest) => LimitVerdict | null;
}

export interface HttpPoolStats {
  readonly breaker: BreakerState;
  readonly breakerOpenUntilMs: number;
  readonly laneTokens: Readonly<Record<Lane, number>>;
  readonly queuedByLane: Readonly<Record<Lane, number>>;
  readonly sentCount: number;
  readonly limitedCount: number;
  readonly failedCount: number;
}

const DEFAULTS = {
  connections: 16,
  exitConnections: 4,
  maxQueuedPerLane: 256,
  maxBodyBytes: 8 * 1024 * 1024,
  connectTimeoutMs: 3_000,
} as const;

/** undici's own timers are coarse (about 1 s); ours decide, these only clean up behind it. */
const BACKSTOP_MS = 60_000;

export function defaultLimitVerdict(response: HttpResponse, nowWallMs: number): LimitVerdict | null {
  if (response.status !== 429 && response.status !== 418) return null;
  const retryAfterMs = parseRetryAfterMs(response.headers["retry-after"], nowWallMs);
  return { scope: "ip", retryAfterMs, isBan: response.status === 418 };
}

export class HttpPool implements VenueHttp {
  readonly #options: HttpPoolOptions;
  readonly #pool: Pool;
  readonly #budget: LaneBudget;
  readonly #queue: LaneQueue;
  readonly #accounts: AccountBudget;
  readonly #breaker: Breaker;
  readonly #calls: HttpCallOptions;
  #isClosed = false;
  #sentCount = 0;
  #limitedCount = 0;
  #failedCount = 0;

  constructor(options: HttpPoolOptions) {
    const { clock, random } = options;
    const connections = options.connections ?? DEFAULTS.connections;
    this.#options = options;
    this.#pool = new Pool(options.baseUrl, {
      connections,
      pipelining: 1,
      connectTimeout: options.connectTimeoutMs ?? DEFAULTS.connectTimeoutMs,
      headersTimeout: BACKSTOP_MS,
      bodyTimeout: BACKSTOP_MS,
      keepAliveTimeout: 30_000,
    });
    this.#calls = { pool: this.#pool, clock, maxBodyBytes: options.maxBodyBytes ?? DEFAULTS.maxBodyBytes };
    this.#budget = new LaneBudget({ budget: options.budget, windowMs: options.budgetWindowMs });
    this.#queue = new LaneQueue({
      clock,
      budget: this.#budget,
      slots: connections,
      exitSlots: Math.min(options.exitConnections ?? DEFAULTS.exitConnections, connections - 1),
      maxQueuedPerLane: options.maxQueuedPerLane ?? DEFAULTS.maxQueuedPerLane,
    });
    if (options.standing !== undefined) options.standing.onKnown = (caller) => this.#queue.known(caller);
    const { accountLimits } = options;
    this.#accounts = "tryTake" in accountLimits ? accountLimits : new AccountLimiter(clock, accountLimits);
    this.#breaker = new Breaker({ clock, random, ...DEFAULT_BREAKER, ...options.breaker });
  }

  get breaker(): BreakerState {
    return this.#breaker.state;
  }

  /** How long the venue's own limit keeps us out, ms; 0 when it does not. */
  get limitedForMs(): number {
    return this.#breaker.isLimited ? this.#openForMs() : 0;
  }

  get exitTokens(): number {
    return Math.max(0, this.#budget.available("exit", monoMs(this.#options.clock)));
  }

  /** How long a call of so much weight would wait for its account's own budget, ms; 0 when it would not. */
  accountWaitMs(account: string, accountWeight: number, lane: Lane): number {
    return this.#accounts.waitMs(account, accountWeight, lane);
  }

  stats(): HttpPoolStats {
    const nowMs = monoMs(this.#options.clock);
    const tokens = { exit: 0, trade: 0, reconcile: 0, read: 0, background: 0 };
    const queued = { exit: 0, trade: 0, reconcile: 0, read: 0, background: 0 };
    for (const lane of LANES) {
      tokens[lane] = Math.max(0, this.#budget.available(lane, nowMs));
      queued[lane] = this.#queue.queued(lane);
    }
    return {
      breaker: this.#breaker.state,
      breakerOpenUntilMs: this.#breaker.openUntilWallMs,
      laneTokens: tokens,
      queuedByLane: queued,
      sentCount: this.#sentCount,
      limitedCount: this.#limitedCount,
      failedCount: this.#failedCount,
    };
  }

  async request(request: HttpRequest): Promise<HttpResult> {
    if (this.#isClosed) return { kind: "notSent", reason: "CLOSED", retryAfterMs: null };
    const startMs = monoMs(this.#options.clock);
    const openMs = this.#openForMs();
    if (openMs > 0) return { kind: "notSent", reason: this.#whyShut(), retryAfterMs: openMs };
    const { account, accountWeight, lane, weight, timeoutMs } = request;
    const charged = accountWeight > 0 ? account : null;
    if (charged !== null) {
      // It would be refused in its turn as well: it takes no place in the queue.
      const waitMs = this.#accounts.waitMs(charged, accountWeight, lane);
      if (waitMs > 0)
        return { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: Math.ceil(waitMs), isAccountLimit: true };
    }
    let takenAtMs = startMs;
    const takeOfAccount = (): number => {
      if (charged === null) return 0;
      takenAtMs = monoMs(this.#options.clock);
      return this.#accounts.tryTake(charged, accountWeight, lane);
    };
    const caller = request.caller ?? account;
    const payer = request.payer ?? caller;
    const pending = this.#queue.acquire(lane, weight, timeoutMs, {
      caller,
      payer,
      isProven: caller === null || this.#options.standing?.isProven(caller) !== false,
      takeOther: takeOfAccount,
      borrowsIdle: request.borrowsIdle ?? false,
    });
    const admission = pending instanceof Promise ? await pending : pending;
    if (!admission.ok) return { kind: "notSent", reason: admission.reason, retryAfterMs: admission.retryAfterMs };
    const isProven = admission.isStranger !== true;
    try {
      const result = await this.#send(request, timeoutMs - (monoMs(this.#options.clock) - startMs), isProven);
      if (result.kind === "notSent" && charged !== null) this.#accounts.refund(charged, accountWeight, lane, takenAtMs);
      if (result.kind === "notSent" && !isProven && caller !== null) this.#queue.unsent(lane, caller, weight);
      return result;
    } finally {
      this.#queue.release(isProven);
    }
  }

  /** Refuses new calls, lets running ones end for up to `graceMs`, then cuts them. */
  async close(graceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.close();
    const { clock } = this.#options;
    let timer: TimerHandle | null = null;
    const cut = new Promise<void>((resolve) => {
      timer = clock.setTimer(() => void this.#pool.destroy().then(resolve, resolve), graceMs);
    });
    // A pool that was destroyed meanwhile rejects the pending close: both ways it is closed.
    await Promise.race([this.#pool.close().catch(() => {}), cut]);
    if (timer !== null) clock.clearTimer(timer);
  }

  /** A failure of a caller that is not proven says little of the venue: its deadline, or what it sent, may be the cause. */
  async #send(request: HttpRequest, leftMs: number, isProven: boolean): Promise<HttpResult> {
    // A loop that was held up may admit a call after its deadline: it is not sent any more.
    if (leftMs <= 0) return { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: null };
    // Asked again: the breaker may have opened while the call waited for its lane.
    const pass = this.#breaker.tryPass(!isProven);
    if (!pass.ok) return { kind: "notSent", reason: this.#whyShut(), retryAfterMs: pass.retryAfterMs };
    const result = await sendCall(this.#calls, request, leftMs);
    if (result.kind === "notSent") {
      // No connection is a failure of the way to the venue; CLOSED is our own doing.
      if (result.reason === "CONNECT_FAILED" && isProven) this.#breaker.onFailure(pass.isProbe);
      else this.#breaker.onNotSent(pass.isProbe, !isProven);
      this.#failedCount++;
      return result;
    }
    this.#sentCount++;
    if (result.kind === "noResponse") {
      this.#failedCount++;
      if (isProven) this.#breaker.onFailure(pass.isProbe);
      else this.#breaker.onNotSent(pass.isProbe, !isProven);
      return result;
    }
    const isAccountLimit = this.#judge(request, result, pass.isProbe, isProven);
    return isAccountLimit ? { ...result, isAccountLimit } : result;
  }

  /** Returns true when the reply limits the request's account alone. */
  #judge(request: HttpRequest, response: HttpResponse, isProbe: boolean, isProven: boolean): boolean {
    const { clock, logger, name, usedWeight, usedOfAccount, extraWeight, judgeLimit } = this.#options;
    const nowMs = monoMs(clock);
    const used = usedWeight?.(response.headers, request) ?? null;
    if (typeof used === "number") this.#budget.reportUsed(used, nowMs);
    else if (used !== null) this.#budget.reportUsed(used.weight, nowMs, used.resetMs);
    const ofAccount = request.account !== null && request.accountWeight > 0 ? usedOfAccount?.(response.headers) : null;
    if (typeof ofAccount === "number" && request.account !== null)
      this.#accounts.reportUsed?.(request.account, ofAccount);
    const extra = extraWeight?.(request, response) ?? 0;
    if (extra > 0) this.#budget.charge(request.lane, extra, nowMs);

    const verdict = (judgeLimit ?? defaultLimitVerdict)(response, clock.wallMs(), request);
    if (verdict === null) {
      if (response.status >= 500 && isProven) this.#breaker.onFailure(isProbe);
      else if (response.status >= 500) this.#breaker.onNotSent(isProbe, !isProven);
      else this.#breaker.onSuccess(isProbe, !isProven);
      return false;
    }
    this.#limitedCount++;
    logger.warn("venue.limited", { venue: name, status: response.status, scope: verdict.scope, lane: request.lane });
    if (verdict.scope === "account" && request.account !== null) {
      this.#breaker.onSuccess(isProbe, !isProven);
      this.#accounts.block(request.account, verdict.retryAfterMs ?? DEFAULT_BREAKER.limitedDefaultMs);
      return true;
    }
    this.#breaker.onLimited(isProbe, verdict.retryAfterMs, verdict.isBan, !isProven);
    return false;
  }

  #whyShut(): "VENUE_LIMIT" | "BREAKER_OPEN" {
    return this.#breaker.isLimited ? "VENUE_LIMIT" : "BREAKER_OPEN";
  }

  /** Time the breaker stays open; 0 when a call may be tried (the probe is taken only at the send). */
  #openForMs(): number {
    if (this.#breaker.state !== "open") return 0;
    return Math.max(1, this.#breaker.openUntilWallMs - this.#options.clock.wallMs());
  }
}
