// hot path
/**
 * venuetwo's signed REST calls, both generations (sheet sections 3 to 5). A call names its parameters once; the
 * session decides between V1 (timestamp, recvWindow, HMAC) and V3 (nonce, user, signer, EIP-712). Parameters go into
 * the query of GET and DELETE and into the body of POST and PUT, never both; the text signed is the text sent.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import {
  failedRead,
  isRateLimitStatus,
  readFailureOf,
  retryAfterMs,
  venueText,
  type FailedRead,
  type HttpResponse,
} from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline, settleWithin } from "../../shared/net/deadline.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { decodeJson, parseJsonExact } from "../../shared/room/wire-fields.js";
import { readError, type VenuetwoWireError } from "./wire.js";
import { credentialTagOf } from "./credential-tag.js";
import { bannedUntilMs, classifyError, isClockError, isKeyRefusal } from "../rules/errors.js";
import { MAX_AHEAD_MS, NONCE_WINDOW_MS } from "../sign/nonces.js";
import { type VenuetwoIdentity, VenuetwoSession } from "./session.js";
import { encodeForm, signHmac, type FormParams, type MessageSigner } from "../sign/sign.js";

/** The venue takes at most this. */
const MAX_RECV_WINDOW_MS = 60_000;
/** Below this, the error of our clock offset alone could get a request refused. */
const MIN_RECV_WINDOW_MS = 3_000;

/** The venue's now is rounded, and so is the end in our time. */
const ROUNDING_MS = 2;

const FORM_TYPE = "application/x-www-form-urlencoded";

export interface VenuetwoCall {
  readonly method: HttpRequest["method"];
  readonly v1Path: string;
  readonly v3Path: string;
  readonly params: FormParams;
  readonly weight: number;
  /** Units of the account's order budget. */
  readonly accountWeight: number;
  /** V1 only: the key header alone, without timestamp and signature (listen keys). */
  readonly isKeyOnly?: boolean;
  /** Asks whether the venue knows the key: it is asked each time, and a "no" is kept against nobody. */
  readonly isProbe?: boolean;
}

export type Sent =
  | {
      readonly kind: "sent";
      readonly result: HttpResult;
      readonly validUntilMs: number;
      /** The venue refused the key a moment ago: nothing was sent now. */
      readonly isRepeated?: true;
    }
  /** Nothing left: closed session, no nonce. */
  | {
      readonly kind: "local";
      readonly code: "SESSION" | "NONCE_AHEAD" | "NONCE_STORE";
      readonly retryAfterMs: number | null;
    };

export interface VenuetwoRestDeps {
  readonly http: VenueHttp;
  readonly signer: MessageSigner;
  readonly nonces: NonceSequencer;
  readonly clock: Clock;
  readonly standing: CallerStanding;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** As the nonces have it. */
  readonly leastOffsetMs: () => number;
  /** Measures the venue's clock again. */
  readonly onClockError: () => Promise<void>;
}

export class VenuetwoRest {
  readonly #deps: VenuetwoRestDeps;

  constructor(deps: VenuetwoRestDeps) {
    this.#deps = deps;
  }

  /** Signs and sends once. `validUntilMs` is our wall time after which the venue refuses this very request. */
  async send(session: VenuetwoSession, call: VenuetwoCall, options: CallOptions): Promise<Sent> {
    const { identity } = session;
    const tag = credentialTagOf(session);
    if (tag === null) return { kind: "local", code: "SESSION", retryAfterMs: null };
    const refused = call.isProbe === true ? null : this.#deps.standing.refusalOf(tag);
    if (refused !== null)
      return { kind: "sent", result: refused, validUntilMs: this.#deps.clock.wallMs(), isRepeated: true };
    const named: CallOptions = { timeoutMs: options.timeoutMs, lane: options.lane, caller: tag };
    const sent = await (identity.kind === "v1"
      ? this.#sendV1(session, identity, call, named)
      : this.#sendV3(session, identity, call, named));
    if (sent.kind === "sent") this.#note(tag, call, sent.result);
    return sent;
  }

  /** Notes what the answer shows of the credentials. Known ones are not judged again. */
  #note(tag: string, call: VenuetwoCall, result: HttpResult): void {
    const { standing } = this.#deps;
    if (result.kind !== "response" || standing.isProven(tag)) return;
    const error = readError(result.body);
    if (error !== null) {
      if (call.isProbe !== true && result.status < 500 && isKeyRefusal(error.code, error.msg))
        standing.refused(tag, result);
      // A listen key of the older kind is given for the key's name alone.
    } else if (result.status >= 200 && result.status < 300 && call.isKeyOnly !== true) standing.answeredWell(tag);
  }

  /** A signed read. Reads change nothing, so one refused for our clock is asked once more after measuring it. */
  async read<T>(
    session: VenuetwoSession,
    call: VenuetwoCall,
    decode: (value: unknown) => T,
    options: CallOptions,
    parse = parseJsonExact,
  ): Promise<Read<T>> {
    const answer = await this.readRaw(session, call, options);
    if (!answer.ok) return answer;
    if (answer.value.error !== null) return failureOf(answer.value.error, answer.value.response, this.#venueNowMs());
    const decoded = decodeJson(answer.value.response.body, decode, parse);
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `${call.v1Path}: ${decoded.problem}`);
    return { ok: true, value: decoded.value, asOfMs: answer.value.response.receivedAtMs, source: "venue" };
  }

  /** As `read`, with the venue's own error left to the caller, to whom a code can be an answer. */
  async readRaw(
    session: VenuetwoSession,
    call: VenuetwoCall,
    options: CallOptions,
  ): Promise<Read<{ readonly response: HttpResponse; readonly error: VenuetwoWireError | null }>> {
    const deadline = new Deadline(this.#deps.clock, options);
    for (let attempt = 1; ; attempt++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left");
      const sent = await this.send(session, call, left);
      if (sent.kind === "local") return localFailure(sent);
      const { result } = sent;
      if (result.kind !== "response") return readFailureOf(result) ?? failedRead("VENUE_ERROR", "no response");
      const error = readError(result.body);
      if (error !== null && isClockError(error.code) && attempt === 1) {
        await this.remeasureClock(deadline.leftMs());
        continue;
      }
      const isOk = result.status >= 200 && result.status < 300;
      if (error === null && !isOk) return statusFailure(call, result);
      return { ok: true, value: { response: result, error }, asOfMs: result.receivedAtMs, source: "venue" };
    }
  }

  /** Bounded by `maxMs`: a clock that cannot be measured must not eat the caller's time. */
  async remeasureClock(maxMs: number): Promise<void> {
    if (maxMs > 0) await settleWithin(this.#deps.clock, this.#deps.onClockError(), maxMs);
  }

  #venueNowMs(): number {
    return Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
  }

  async #sendV1(
    session: VenuetwoSession,
    identity: Extract<VenuetwoIdentity, { kind: "v1" }>,
    call: VenuetwoCall,
    options: CallOptions,
  ): Promise<Sent> {
    const timestamp = this.#venueNowMs();
    const recvWindow = Math.min(Math.max(Math.ceil(options.timeoutMs), MIN_RECV_WINDOW_MS), MAX_RECV_WINDOW_MS);
    let text = encodeForm(call.params);
    if (call.isKeyOnly !== true) {
      text += `${text === "" ? "" : "&"}recvWindow=${recvWindow}&timestamp=${timestamp}`;
      const signed = text;
      const signature = session.withSecret((secret) => signHmac(secret, signed, ""));
      if (signature === null) return { kind: "local", code: "SESSION", retryAfterMs: null };
      text += `&signature=${signature}`;
    } else if (!session.isOpen) {
      return { kind: "local", code: "SESSION", retryAfterMs: null };
    }
    const result = await this.#request(call, call.v1Path, text, { "x-mbx-apikey": identity.apiKey }, session, options);
    return { kind: "sent", result, validUntilMs: Math.ceil(timestamp + recvWindow - this.#deps.clockOffsetMs()) };
  }

  async #sendV3(
    session: VenuetwoSession,
    identity: Extract<VenuetwoIdentity, { kind: "v3" }>,
    call: VenuetwoCall,
    options: CallOptions,
  ): Promise<Sent> {
    const startNs = this.#deps.clock.monoNs();
    const next = await this.#deps.nonces.next(identity.signer.toLowerCase());
    const spentMs = (this.#deps.clock.monoNs() - startNs) / 1e6;
    // A reservation that took all the time: a request signed now would be valid past validityBoundMs.
    if (spentMs >= options.timeoutMs) return { kind: "local", code: "NONCE_STORE", retryAfterMs: null };
    if (!next.ok) return { kind: "local", code: `NONCE_${next.problem}`, retryAfterMs: next.retryAfterMs };
    const text = encodeForm([
      ...call.params,
      ["nonce", String(next.nonce)],
      ["user", identity.user],
      ["signer", identity.signer],
    ]);
    const signature = session.withSecret((privateKey) => this.#deps.signer.sign(text, privateKey));
    if (signature === null) return { kind: "local", code: "SESSION", retryAfterMs: null };
    const left = { ...options, timeoutMs: Math.ceil(options.timeoutMs - spentMs) };
    const result = await this.#request(call, call.v3Path, `${text}&signature=${signature}`, {}, session, left);
    const nonceMs = next.nonce / 1000;
    return { kind: "sent", result, validUntilMs: Math.ceil(nonceMs + NONCE_WINDOW_MS - this.#deps.leastOffsetMs()) };
  }

  #request(
    call: VenuetwoCall,
    path: string,
    text: string,
    headers: Readonly<Record<string, string>>,
    session: VenuetwoSession,
    options: CallOptions,
  ): Promise<HttpResult> {
    const isInBody = call.method === "POST" || call.method === "PUT";
    const caller = options.caller ?? session.accountId;
    return this.#deps.http.request({
      method: call.method,
      path: isInBody || text === "" ? path : `${path}?${text}`,
      headers: isInBody ? { ...headers, "content-type": FORM_TYPE } : headers,
      body: isInBody ? text : null,
      lane: options.lane,
      weight: call.weight,
      timeoutMs: options.timeoutMs,
      // Anybody can name a wallet: orders of strangers are charged to themselves.
      account: this.#deps.standing.isProven(caller) ? session.accountId : caller,
      caller,
      payer: session.payer,
      accountWeight: call.accountWeight,
    });
  }
}

/**
 * How long after the start of a call that may sign twice within `timeoutMs` the venue can still take its request. A
 * nonce may run ahead of the clock and is good for the widest window; a timestamp says its own window.
 */
export function validityBoundMs(session: AccountSession, timeoutMs: number): number {
  const isV1 = session instanceof VenuetwoSession && session.identity.kind === "v1";
  // Beyond recvWindow's cap the sum is merely longer than needed.
  return Math.ceil(timeoutMs) + ROUNDING_MS + (isV1 ? MIN_RECV_WINDOW_MS : MAX_AHEAD_MS + NONCE_WINDOW_MS);
}

/** A venue error as the failure of a read. */
function failureOf(error: VenuetwoWireError, response: HttpResponse, venueNowMs: number): FailedRead {
  const { errorClass, reason } = classifyError(error.code, error.msg);
  const message = `${error.code} ${venueText(error.msg)}`;
  if (isRateLimitStatus(response.status) || reason === "RATE_LIMITED") {
    return failedRead("RATE_LIMITED", message, limitRetryAfterMs(response, error, venueNowMs));
  }
  return failedRead(errorClass === "A" ? "AUTH" : "VENUE_ERROR", message);
}

/** The header, else the ban's end in the text; null where neither is there. */
export function limitRetryAfterMs(
  response: HttpResponse,
  error: VenuetwoWireError | null,
  venueNowMs: number,
): number | null {
  const fromHeader = retryAfterMs(response);
  if (fromHeader !== null || error === null) return fromHeader;
  const untilMs = bannedUntilMs(error.msg);
  return untilMs === null ? null : Math.max(0, untilMs - venueNowMs);
}

/** No error object in the body: a proxy's HTML, or nothing. */
function statusFailure(call: VenuetwoCall, response: HttpResponse): FailedRead {
  const message = `${call.v1Path}: HTTP ${response.status}`;
  if (isRateLimitStatus(response.status)) return failedRead("RATE_LIMITED", message, retryAfterMs(response));
  if (response.status === 401) return failedRead("AUTH", message);
  return failedRead(response.status >= 500 || response.status === 403 ? "VENUE_ERROR" : "BAD_RESPONSE", message);
}

function localFailure(sent: Extract<Sent, { kind: "local" }>): FailedRead {
  if (sent.code === "SESSION") return failedRead("AUTH", "session is closed");
  return failedRead(sent.code === "NONCE_AHEAD" ? "RATE_LIMITED" : "VENUE_ERROR", sent.code, sent.retryAfterMs);
}
