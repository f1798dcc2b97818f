// hot path
/**
 * Everything a route needs to reply: admission by rate limit, request ids, headers, envelopes, counts.
 *
 * A handler runs synchronously between `admit` and its reply, so the state of the present request is in fields (no
 * object per request); a handler that waits takes it with it by `detach`. Reply headers go out in two native calls, one
 * encoded at the start and one short text: each call and each built text costs as much as the rest of a ticker reply.
 * The blocks contain only our own text, line breaks included, and names that `headerSafe` has cleaned.
 */
import { STATUS_CODES } from "node:http";
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { LogFields, Logger } from "../../engine/domain/logger.js";
import type { BucketName } from "../../schemas/service.js";
import { encodedText } from "./encoded-text.js";
import type { Payers } from "./caller-tags.js";
import { asServiceError, errorBody, retryAfterSeconds } from "./error-reply.js";
import { checkFraming, type RequestHead } from "./framing.js";
import { type CallerBuckets, callerKey, policyText, type RateLimiter, type TokenBucket } from "./limiter.js";
import type { OriginGuard } from "./origin-guard.js";
import { PendingReply } from "./pending-reply.js";
import type { Access, Admission, ReplyState, ReplyWriter, RouteCounts } from "./reply-state.js";

export interface EdgeOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limiter: RateLimiter;
  /** Random text that makes request ids of this process unique. */
  readonly idPrefix: string;
  readonly origins: OriginGuard;
  /** Bound to a loopback address: every caller is on this machine, so addresses are not read. */
  readonly loopbackOnly: boolean;
  readonly targetBytesMax: number;
}

const LOOPBACK = "127.0.0.1";
const NO_ADMISSION: Admission = {
  counts: { route: "none", okCount: 0, otherCounts: new Map(), abortedCount: 0 },
  buckets: ["anon"],
  weight: 0,
  headOnly: false,
  access: "changes",
  byAccount: false,
  logsMethod: null,
  jsonHeaders: new Uint8Array(0),
};

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [Number(status), `${status} ${text}`]),
);

export class Edge implements ReplyWriter {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limiter: RateLimiter;
  readonly targetBytesMax: number;
  readonly routes: RouteCounts[] = [];
  /** Set at shutdown: every reply then ends its connection. */
  closing = false;

  readonly #idPrefix: string;
  readonly #origins: OriginGuard;
  readonly #fixedHeaders: string;
  readonly #loopbackOnly: boolean;
  readonly #loopbackCaller: CallerBuckets;
  #nextId = 0;
  /** State of the present request. */
  readonly #current: ReplyState = {
    admission: NO_ADMISSION,
    rateHeader: "",
    corsHeader: "",
    requestId: "",
    admittedNs: 0,
    unpaid: null,
  };

  constructor(options: EdgeOptions) {
    this.clock = options.clock;
    this.logger = options.logger;
    this.limiter = options.limiter;
    this.targetBytesMax = options.targetBytesMax;
    this.#idPrefix = options.idPrefix;
    this.#loopbackOnly = options.loopbackOnly;
    this.#loopbackCaller = options.limiter.caller(LOOPBACK, options.clock.monoNs());
    this.#origins = options.origins;
    this.#fixedHeaders = `\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff${options.origins.varyHeader}`;
  }

  countsFor(route: string): RouteCounts {
    const counts: RouteCounts = { route, okCount: 0, otherCounts: new Map(), abortedCount: 0 };
    this.routes.push(counts);
    return counts;
  }

  admissionFor(
    counts: RouteCounts,
    buckets: readonly BucketName[],
    weight: number,
    headOnly: boolean,
    access: Access,
    byAccount = false,
    logsMethod: string | null = null,
  ): Admission {
    return {
      counts,
      buckets,
      weight,
      headOnly,
      access,
      byAccount,
      logsMethod,
      jsonHeaders: Buffer.from(this.#sameHeaders("application/json", buckets)),
    };
  }

  /**
   * Begins a request: charges the first bucket that has the weight, or answers 429 and returns false. Throws
   * AMBIGUOUS_REQUEST, FOREIGN_HOST or FOREIGN_ORIGIN before anything is charged.
   */
  admit(response: HttpResponse, request: HttpRequest, admission: Admission): boolean {
    const current = this.#current;
    current.admission = admission;
    current.requestId = this.#idPrefix + (this.#nextId++).toString(36);
    current.rateHeader = "";
    current.corsHeader = "";
    current.unpaid = null;
    current.admittedNs = admission.logsMethod === null ? 0 : this.clock.monoNs();
    const head = checkFraming(request);
    let caller: CallerBuckets;
    if (admission.access === "open") caller = this.#anybody(response, head);
    else {
      current.corsHeader = this.#origins.check(head, admission.access === "reads");
      caller = this.caller(response);
    }
    const nowNs = this.clock.monoNs();
    if (admission.byAccount) {
      current.unpaid = caller;
      return true;
    }
    const first = caller[admission.buckets[0] as BucketName];
    if (first.take(admission.weight, nowNs)) {
      current.rateHeader = `\r\nRateLimit: "${first.policy}";r=${first.remaining(nowNs)};t=0`;
      return true;
    }
    return this.#admitByOther(response, caller, admission, nowNs);
  }

  /** All or nothing: where one of several payers has no tokens, none pays. */
  charge(state: ReplyState, payers: Payers): ServiceError | null {
    const { admission, unpaid } = state;
    if (unpaid === null) return null;
    state.unpaid = null;
    const nowNs = this.clock.monoNs();
    if (payers !== null && typeof payers !== "string") return this.#chargeAll(state, payers, nowNs);
    const buckets = payers === null ? unpaid : this.limiter.caller(payers, nowNs);
    for (const name of admission.buckets) {
      const bucket = buckets[name];
      if (!bucket.take(admission.weight, nowNs)) continue;
      state.rateHeader = `\r\nRateLimit: "${name}";r=${bucket.remaining(nowNs)};t=0`;
      return null;
    }
    return this.#refused(state, buckets, nowNs);
  }

  #chargeAll(state: ReplyState, payers: readonly string[], nowNs: number): ServiceError | null {
    const { buckets: names, weight } = state.admission;
    const paying: TokenBucket[] = [];
    for (const payer of payers) {
      const buckets = this.limiter.caller(payer, nowNs);
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

  caller(response: HttpResponse): CallerBuckets {
    if (this.#loopbackOnly) return this.#loopbackCaller;
    return this.limiter.caller(callerKey(response.getRemoteAddress()), this.clock.monoNs());
  }

  /**
   * Buckets for what is served to everyone. A page of another origin, or a caller with another host name, has buckets
   * separate from its address, so that no page can use up those of a supervisor on the same machine.
   */
  #anybody(response: HttpResponse, head: RequestHead): CallerBuckets {
    if (!this.#origins.asksForUs(head)) return this.#stranger(response, "name");
    const cors = this.#origins.corsOf(head, true);
    if (cors === null) return this.#stranger(response, "page");
    this.#current.corsHeader = cors;
    return this.caller(response);
  }

  #stranger(response: HttpResponse, kind: "name" | "page"): CallerBuckets {
    const address = this.#loopbackOnly ? LOOPBACK : callerKey(response.getRemoteAddress());
    return this.limiter.caller(`${kind} ${address}`, this.clock.monoNs());
  }

  /** 200 with a JSON body, within the handler. */
  ok(response: HttpResponse, body: string): void {
    this.write(response, this.#current, 200, body, "", false, "");
  }

  /** Sends a refusal as an ordinary reply, for callers that need it without the error's status. */
  refusal(response: HttpResponse, error: ServiceError): void {
    this.ok(response, errorBody(error, this.#current.requestId, this.clock.wallMs()));
  }

  /** A file from memory, within the handler: `headers` begins with the content type; a null body means 304. */
  file(response: HttpResponse, headers: Uint8Array, body: Uint8Array | null): void {
    const { admission, requestId } = this.#current;
    const { counts, headOnly } = admission;
    const status = body === null ? 304 : 200;
    if (status === 200) counts.okCount++;
    else {
      counts.otherCounts.set(status, (counts.otherCounts.get(status) ?? 0) + 1);
      response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    }
    response.writeHeader("Content-Type", headers);
    response.writeHeader("X-Request-Id", requestId);
    if (body === null) response.endWithoutBody();
    else if (headOnly) {
      response.writeHeader("Content-Length", String(body.byteLength));
      response.endWithoutBody();
    } else response.end(body, this.closing);
  }

  /** 204, within the handler. */
  noContent(response: HttpResponse, extraHeaders: string): void {
    this.write(response, this.#current, 204, "", extraHeaders, false, "");
  }

  /** Any error, within the handler. `extraHeaders` begin with a line break. */
  fail(response: HttpResponse, error: unknown, extraHeaders = ""): void {
    const known = asServiceError(error);
    if (known.code === "AMBIGUOUS_REQUEST") this.#failAndEnd(response, known);
    else this.writeError(response, this.#current, known, extraHeaders, false);
  }

  /** Takes the present request out of the synchronous turn; installs the abort handler. */
  detach(response: HttpResponse): PendingReply {
    return new PendingReply(this, response, { ...this.#current });
  }

  /** Throws URI_TOO_LONG; called by routes that read more of the target than one short parameter. */
  checkTarget(request: HttpRequest): void {
    const bytes = request.getUrl().length + (request.getQuery()?.length ?? 0);
    if (bytes > this.targetBytesMax) throw new ServiceError("URI_TOO_LONG", { limitBytes: this.targetBytesMax });
  }

  write(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    contentType: string,
  ): void {
    if (state.admission.logsMethod !== null) this.#logAccess(state, { status });
    this.#send(response, state, status, body, extraHeaders, closeConnection, contentType);
  }

  #send(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    contentType: string,
  ): void {
    const { counts, headOnly, jsonHeaders, buckets } = state.admission;
    if (status === 200) counts.okCount++;
    else {
      counts.otherCounts.set(status, (counts.otherCounts.get(status) ?? 0) + 1);
      response.writeStatus(STATUS_LINES.get(status) ?? String(status));
    }
    response.writeHeader("Content-Type", contentType === "" ? jsonHeaders : this.#sameHeaders(contentType, buckets));
    response.writeHeader("X-Request-Id", state.requestId + state.corsHeader + state.rateHeader + extraHeaders);
    if (status === 204) response.endWithoutBody();
    else if (headOnly) {
      // The native form that reports a length leaves the response pending; a header of our own does not.
      response.writeHeader("Content-Length", String(Buffer.byteLength(body)));
      response.endWithoutBody();
    } else response.end(encodedText(body), closeConnection || this.closing);
  }

  writeHead(response: HttpResponse, state: ReplyState, extraHeaders: string, contentType: string): void {
    const { buckets } = state.admission;
    response.writeHeader("Content-Type", this.#sameHeaders(contentType, buckets));
    response.writeHeader("X-Request-Id", state.requestId + state.corsHeader + state.rateHeader + extraHeaders);
  }

  writeError(
    response: HttpResponse,
    state: ReplyState,
    error: ServiceError,
    extraHeaders: string,
    closeConnection: boolean,
  ): void {
    if (error.code === "INTERNAL") this.#logFault(error, state);
    // Refused before its payer was known.
    const shown = this.charge(state, null) ?? error;
    const seconds = retryAfterSeconds(shown);
    const retry = seconds === null ? "" : `\r\nRetry-After: ${seconds}`;
    const body = errorBody(shown, state.requestId, this.clock.wallMs());
    if (state.admission.logsMethod !== null) this.#logAccess(state, { status: shown.status, code: shown.code });
    this.#send(response, state, shown.status, body, retry + extraHeaders, closeConnection, "");
  }

  aborted(state: ReplyState): void {
    state.admission.counts.abortedCount++;
    if (state.admission.logsMethod !== null) this.#logAccess(state, { outcome: "aborted" });
  }

  #admitByOther(response: HttpResponse, caller: CallerBuckets, admission: Admission, nowNs: number): boolean {
    const { buckets, weight } = admission;
    for (const name of buckets) {
      const bucket = caller[name];
      if (bucket.take(weight, nowNs)) {
        this.#current.rateHeader = `\r\nRateLimit: "${name}";r=${bucket.remaining(nowNs)};t=0`;
        return true;
      }
    }
    this.fail(response, this.#refused(this.#current, caller, nowNs));
    return false;
  }

  /** Returns the refusal of the bucket that has the tokens soonest. */
  #refused(state: ReplyState, caller: CallerBuckets, nowNs: number): ServiceError {
    const { buckets, weight } = state.admission;
    const soonest = buckets
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

  /** The rules are the same for every caller, so any caller's buckets give the policy. */
  #sameHeaders(contentType: string, buckets: readonly BucketName[]): string {
    const policy = policyText(buckets.map((name) => this.#loopbackCaller[name]));
    return `${contentType}${this.#fixedHeaders}\r\nRateLimit-Policy: ${policy}`;
  }

  /**
   * For a request whose end, and so the next one's begin, is not known. The server ends a connection on which another
   * request seems to follow an unanswered one. So the reply is sent after the present bytes have been read, and then
   * the connection ends.
   */
  #failAndEnd(response: HttpResponse, error: ServiceError): void {
    const reply = this.detach(response);
    setImmediate(() => reply.fail(error, "", true));
  }

  /** Written after the reply has gone out, so that the log does not delay it. */
  #logAccess({ requestId, admission, admittedNs }: ReplyState, what: LogFields): void {
    const elapsedMs = Math.round((this.clock.monoNs() - admittedNs) / 1000) / 1000;
    const { logsMethod: method, counts } = admission;
    setImmediate(() => this.logger.info("http.access", { requestId, method, route: counts.route, elapsedMs, ...what }));
  }

  #logFault(error: ServiceError, state: ReplyState): void {
    const cause = error.cause instanceof Error ? error.cause : error;
    // Frames only: a message of a foreign library may quote the request.
    const frames = (cause.stack ?? "")
      .split("\n")
      .filter((line) => line.startsWith("    at "))
      .slice(0, 6);
    this.logger.error("http.fault", {
      requestId: state.requestId,
      route: state.admission.counts.route,
      errorName: cause.name,
      frames: frames.join(" | "),
    });
  }
}

/** Returns names for X-Ignored-Fields: visible ASCII only, bounded, so that no text of a caller can end a header. */
export function headerSafe(names: readonly string[]): string {
  return names.map((name) => name.replace(/[^\x21-\x7e]|[,;"\\]/g, "?").slice(0, 64)).join(", ");
}
