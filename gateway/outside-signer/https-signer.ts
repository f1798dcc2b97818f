/**
 * The outside signer over HTTPS (docs/outside-signer.md): one call each, told apart by what it leaves certain.
 *
 * Invariants: a call whose bytes may have left is `unknown` whatever goes wrong with it; nothing is sent twice here. No
 * redirect is followed, and no answer beyond its bound is read. Token, payloads and signatures reach no log.
 *
 * Bounds: connections and the calls that wait for one; the time of a call.
 */
import { Pool } from "undici";
import type {
  OutsideName,
  OutsideProblem,
  OutsideReply,
  OutsideRequest,
  OutsideSigner,
} from "../../engine/custody/outside/outside-signer.js";
import type { Clock } from "../../engine/domain/clock.js";
import { sendCall, type WireRequest } from "../../feeds/shared/net/http-call.js";
import type { HttpResult } from "../../feeds/shared/net/http.js";
import { parseRetryAfterMs } from "../../feeds/shared/net/retry-after.js";
import type { SignerToken } from "./signer-token.js";
import { bodyOf, contractProblem, saysHealthy, saysUnknown, standingOf } from "./signer-wire.js";

export interface HttpsSignerOptions {
  /** https, or http to this machine; may have a path. */
  readonly url: string;
  readonly token: SignerToken;
  /** PEM of the authorities that are trusted instead of those of the system; null: those. */
  readonly ca: string | null;
  readonly clock: Clock;
}

const CONNECTIONS = 8;
/** Calls on their way or waiting; beyond it a call is not begun. */
const CALLS_MAX = 256;
const ANSWER_BYTES_MAX = 65_536;
const CONNECT_MS = 2_000;
/** Our own timers decide; undici's only clean up behind them. */
const BACKSTOP_MS = 30_000;

type Answer = Extract<HttpResult, { readonly kind: "response" }>;

/** By the contract the signer looked at the request, and will never do it. */
const REJECTIONS: ReadonlySet<number> = new Set([400, 422]);

export class HttpsSigner implements OutsideSigner {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #token: SignerToken;
  /** Path of the URL, without a slash at its end. */
  readonly #root: string;
  #callCount = 0;

  constructor({ url, token, ca, clock }: HttpsSignerOptions) {
    const { origin, pathname } = new URL(url);
    this.#clock = clock;
    this.#token = token;
    this.#root = pathname.replace(/\/+$/, "");
    this.#pool = new Pool(origin, {
      ...{ connections: CONNECTIONS, pipelining: 1, keepAliveTimeout: 10_000 },
      ...{ headersTimeout: BACKSTOP_MS, bodyTimeout: BACKSTOP_MS },
      connect: { timeout: CONNECT_MS, minVersion: "TLSv1.2", ...(ca === null ? {} : { ca }) },
    });
  }

  async begin(request: OutsideRequest, timeoutMs: number): Promise<OutsideReply> {
    const path = request.kind === "wallet" ? "/wallets" : "/signatures";
    const headers = { "content-type": "application/json", "idempotency-key": request.requestId };
    const result = await this.#call({ method: "POST", path, headers, body: bodyOf(request) }, timeoutMs);
    if (result.kind !== "response") return withoutAnswer(result);
    if (isAccepted(result)) return this.#standing(result, request);
    if (REJECTIONS.has(result.status)) return { kind: "rejected" };
    // Another body under this id (409) is another writing of the same bytes, and any other answer may be that of somebody
    // on the way who has passed the request on: what became of it is asked for.
    return this.#refusedCall(result) ?? this.#noAnswer(result);
  }

  async look(name: OutsideName, timeoutMs: number): Promise<OutsideReply> {
    const result = await this.#call(get(`/requests/${name.requestId}`), timeoutMs);
    if (result.kind !== "response") return withoutAnswer(result);
    if (isAccepted(result)) return this.#standing(result, name);
    if (result.status === 404 && saysUnknown(result.body, name)) return { kind: "absent" };
    return this.#refusedCall(result) ?? this.#noAnswer(result);
  }

  async health(timeoutMs: number): Promise<OutsideProblem | null> {
    const result = await this.#call(get("/health"), timeoutMs);
    if (result.kind !== "response") return "UNREACHABLE";
    if (result.status === 200) return saysHealthy(result.body) ? null : "CONTRACT";
    const refused = this.#refusedCall(result);
    if (refused !== null) return refused.kind === "notTaken" ? refused.problem : null;
    return result.status >= 500 ? "UNREACHABLE" : "CONTRACT";
  }

  /** What is on its way ends as unknown. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #standing(answer: Answer, name: OutsideName): OutsideReply {
    const standing = standingOf(answer.body, name);
    const retryAfterMs = this.#retryAfterMs(answer);
    return standing === null ? contractProblem(retryAfterMs) : { kind: "standing", standing, retryAfterMs };
  }

  /** Answers that say for certain that this call did nothing, and that another time may be better. */
  #refusedCall(answer: Answer): Extract<OutsideReply, { readonly kind: "notTaken" }> | null {
    const retryAfterMs = this.#retryAfterMs(answer);
    if (answer.status === 429) return { kind: "notTaken", problem: null, retryAfterMs };
    if (answer.status !== 401 && answer.status !== 403) return null;
    const isChanged = this.#token.readAgain();
    return { kind: "notTaken", problem: isChanged ? null : "TOKEN", retryAfterMs };
  }

  #noAnswer(answer: Answer): OutsideReply {
    const problem = answer.status >= 500 ? "UNREACHABLE" : "CONTRACT";
    return { kind: "unknown", problem, retryAfterMs: this.#retryAfterMs(answer) };
  }

  #retryAfterMs({ headers }: Answer): number | null {
    return parseRetryAfterMs(headers["retry-after"], this.#clock.wallMs());
  }

  async #call({ path, headers, ...request }: WireRequest, timeoutMs: number): Promise<HttpResult> {
    if (this.#callCount >= CALLS_MAX) return { kind: "notSent", reason: "QUEUE_FULL", retryAfterMs: null };
    this.#callCount++;
    try {
      return await sendCall(
        { pool: this.#pool, clock: this.#clock, maxBodyBytes: ANSWER_BYTES_MAX },
        {
          ...request,
          path: this.#root + path,
          headers: { ...headers, accept: "application/json", authorization: this.#token.header },
        },
        timeoutMs,
      );
    } finally {
      this.#callCount--;
    }
  }
}

function get(path: string): WireRequest {
  return { method: "GET", path, headers: {}, body: null };
}

function isAccepted({ status }: Answer): boolean {
  return status === 200 || status === 201 || status === 202;
}

function withoutAnswer(result: Exclude<HttpResult, Answer>): OutsideReply {
  if (result.kind === "notSent") {
    const problem = result.reason === "QUEUE_FULL" ? null : "UNREACHABLE";
    return { kind: "notTaken", problem, retryAfterMs: null };
  }
  return result.reason === "BODY_TOO_LARGE"
    ? contractProblem()
    : { kind: "unknown", problem: "UNREACHABLE", retryAfterMs: null };
}
