/**
 * One JSON-RPC endpoint of a chain: calls within their time, answers read strictly, and what is known of it.
 *
 * Invariants: it is asked nothing before it has named our chain's id, and never again once it named another. Its URL,
 * which may contain a key, is in no log line and no message.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { SCRUBBED } from "../../../engine/domain/scrub.js";
import type { CallOptions } from "../../../engine/ports.js";
import { type FailedRead, failedRead, isRateLimitStatus, readFailureOf, retryAfterMs } from "../net/call-results.js";
import { Deadline } from "../net/deadline.js";
import type { HttpResult, VenueHttp } from "../net/http.js";
import { monoMs } from "../net/weight-window.js";
import { type Decoded, decodeWith } from "../room/wire-fields.js";
import { decodeAnswer, decodeAnswers, readCount, readQuantity, type RpcError } from "./rpc-wire.js";

/** The longest that one call may take. */
export const CALL_MS_MAX = 3_000;
/** A name may come to point at another server; so the id is asked for again now and then, and after each lost connection. */
const PROOF_MS_MAX = 600_000;

/** The longest that several calls in one request may take. */
export const BATCH_MS_MAX = 10_000;

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcResult<T> =
  | { readonly kind: "value"; readonly value: T }
  /** The endpoint answered that it does not do it. */
  | { readonly kind: "error"; readonly error: RpcError }
  /** `isSent`: the call may have reached it. */
  | { readonly kind: "failed"; readonly failure: FailedRead; readonly isSent: boolean };

export type EndpointState = "unproven" | "proven" | "otherChain";

export interface EndpointStatus {
  /** Its place in the configuration, from 1. */
  readonly place: number;
  readonly state: EndpointState;
  /** The height that it named last; null before the first. */
  readonly head: number | null;
  /** Since the start: calls that had no answer in time, or none that could be read. */
  readonly failedCount: number;
  /** Of those, answers that break the protocol. */
  readonly malformedCount: number;
}

export interface RpcEndpointOptions {
  readonly chainId: number;
  readonly place: number;
  readonly http: VenueHttp;
  /** Path and query of the URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts of its URL that may be keys. */
  readonly keys: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Head {
  /** Null: it did not name one. */
  readonly number: number | null;
  readonly askedAtMs: number;
}

export class RpcEndpoint {
  readonly #options: RpcEndpointOptions;
  #id = 0;
  #state: EndpointState = "unproven";
  #provenAtMs = 0;
  #proof: Promise<RpcResult<true>> | null = null;
  #head: Head | null = null;
  #lastHead: number | null = null;
  #headRead: Promise<number | null> | null = null;
  #isWell = true;
  #callCount = 0;
  #failedCount = 0;
  #malformedCount = 0;

  constructor(options: RpcEndpointOptions) {
    this.#options = options;
  }

  get isSetAside(): boolean {
    return this.#state === "otherChain";
  }

  /** Its last call was answered. */
  get isWell(): boolean {
    return this.#isWell;
  }

  /** Calls that were made of it since the start; each of a batch counts. */
  get callCount(): number {
    return this.#callCount;
  }

  status(): EndpointStatus {
    return {
      place: this.#options.place,
      state: this.#state,
      head: this.#lastHead,
      failedCount: this.#failedCount,
      malformedCount: this.#malformedCount,
    };
  }

  /** `read` throws WireFault for a result of another shape. */
  async call<T>(
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => T,
    options: CallOptions,
  ): Promise<RpcResult<T>> {
    return this.#proven(options, (left) => this.#ask(method, params, read, left));
  }

  /**
   * Several calls in one request: all are answered, or the first refusal is the answer of the whole. `read` gets their
   * results in the order of the calls, and throws WireFault for any of another shape.
   */
  async batch<T>(
    calls: readonly RpcCall[],
    read: (results: readonly unknown[]) => T,
    options: CallOptions,
  ): Promise<RpcResult<T>> {
    return this.#proven(options, async (left) => {
      const firstId = this.#id + 1;
      this.#id += calls.length;
      const wire = calls.map((call, index) => ({ jsonrpc: "2.0", id: firstId + index, ...call }));
      const result = await this.#post(wire, calls.length, {
        ...left,
        timeoutMs: Math.min(BATCH_MS_MAX, left.timeoutMs),
      });
      const answer = this.#answerOf(result, (body) => decodeAnswers(body, firstId, calls.length));
      return "results" in answer
        ? this.#decoded(answer.results, (results) => read(results as readonly unknown[]), "batch")
        : this.#refusal(answer);
    });
  }

  /**
   * The height of its chain, not older than this. Null where it names none in time; where it cannot name one, it is not
   * asked again for as long. Callers at the same time share one read, which may end after some of them have gone.
   */
  head(options: CallOptions, ageMsMax: number): Promise<number | null> {
    const held = this.#head;
    if (held !== null && monoMs(this.#options.clock) - held.askedAtMs <= ageMsMax) return Promise.resolve(held.number);
    this.#headRead ??= this.#readHead({ ...options, timeoutMs: CALL_MS_MAX }).finally(() => {
      this.#headRead = null;
    });
    return within(this.#options.clock, this.#headRead, options.timeoutMs).then((read) =>
      read.done ? read.value : null,
    );
  }

  async #proven<T>(options: CallOptions, ask: (left: CallOptions) => Promise<RpcResult<T>>): Promise<RpcResult<T>> {
    const deadline = new Deadline(this.#options.clock, options);
    const proof = await this.#prove(deadline);
    if (proof.kind !== "value") return proof;
    const left = deadline.left();
    return left === null ? outOfTime() : ask(left);
  }

  async #readHead(options: CallOptions): Promise<number | null> {
    const askedAtMs = monoMs(this.#options.clock);
    const result = await this.call("eth_blockNumber", [], (value) => readCount(value, "height"), options);
    const number = result.kind === "value" ? result.value : null;
    this.#head = { number, askedAtMs };
    if (number !== null) this.#lastHead = number;
    return number;
  }

  /** Callers at the same time share one proof; each waits no longer than it has time. */
  async #prove(deadline: Deadline): Promise<RpcResult<true>> {
    if (this.#state === "otherChain") return OTHER_CHAIN;
    if (this.#state === "proven" && monoMs(this.#options.clock) - this.#provenAtMs <= PROOF_MS_MAX) return PROVEN;
    const left = deadline.left();
    if (left === null) return outOfTime();
    this.#proof ??= this.#readChainId({ ...left, timeoutMs: CALL_MS_MAX }).finally(() => {
      this.#proof = null;
    });
    const proof = await within(this.#options.clock, this.#proof, left.timeoutMs);
    return proof.done ? proof.value : outOfTime();
  }

  async #readChainId(options: CallOptions): Promise<RpcResult<true>> {
    const { chainId, place, logger } = this.#options;
    const result = await this.#ask("eth_chainId", [], (value) => readQuantity(value, "chain id"), options);
    if (result.kind === "error")
      return this.#failed(failedRead("VENUE_ERROR", `endpoint ${place} names no chain id`), true);
    if (result.kind === "failed") return result;
    if (result.value === BigInt(chainId)) {
      this.#state = "proven";
      this.#provenAtMs = monoMs(this.#options.clock);
      return PROVEN;
    }
    this.#state = "otherChain";
    const answer = result.value.toString().slice(0, 20);
    logger.error("chain.other_id", { name: `chain ${chainId}`, part: `endpoint ${place}`, answer });
    return OTHER_CHAIN;
  }

  async #ask<T>(
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => T,
    options: CallOptions,
  ): Promise<RpcResult<T>> {
    const id = ++this.#id;
    const timeoutMs = Math.min(CALL_MS_MAX, options.timeoutMs);
    const result = await this.#post({ jsonrpc: "2.0", id, method, params }, 1, { ...options, timeoutMs });
    const answer = this.#answerOf(result, (body) => decodeAnswer(body, id));
    return "result" in answer ? this.#decoded(answer.result, read, method) : this.#refusal(answer);
  }

  #post(wire: unknown, weight: number, options: CallOptions): Promise<HttpResult> {
    this.#callCount += weight;
    return this.#options.http.request({
      method: "POST",
      path: this.#options.path,
      headers: this.#options.headers,
      body: JSON.stringify(wire),
      lane: options.lane,
      weight,
      timeoutMs: options.timeoutMs,
      account: null,
      payer: options.payer ?? null,
      accountWeight: 0,
    });
  }

  #decoded<T>(result: unknown, read: (result: unknown) => T, what: string): RpcResult<T> {
    const decoded = decodeWith(result, read);
    if (!decoded.ok) return this.#malformed(`${what}: ${decoded.problem}`);
    this.#isWell = true;
    return { kind: "value", value: decoded.value };
  }

  #answerOf<Answer extends object>(
    result: HttpResult,
    decode: (body: string) => Decoded<Answer | Refusal>,
  ): Answer | Refusal | Extract<RpcResult<never>, { kind: "failed" }> {
    const failure = readFailureOf(result);
    if (failure !== null) {
      if (failure.code === "BAD_RESPONSE") this.#malformedCount++;
      // Who answers next may be another.
      if (this.#state === "proven" && failure.code !== "RATE_LIMITED") this.#state = "unproven";
      return this.#failed(failure, result.kind === "noResponse");
    }
    if (result.kind !== "response") return this.#malformed("no response");
    if (isRateLimitStatus(result.status))
      return this.#failed(failedRead("RATE_LIMITED", `HTTP ${result.status}`, retryAfterMs(result)), true);
    if (result.status >= 500) return this.#failed(failedRead("VENUE_ERROR", `HTTP ${result.status}`), true);
    const decoded = decode(result.body);
    // A refusal may come with any status; a result comes with 200 alone.
    if (decoded.ok && ("error" in decoded.value || result.status === 200)) return decoded.value;
    if (result.status !== 200) return this.#failed(failedRead("VENUE_ERROR", `HTTP ${result.status}`), true);
    return this.#malformed(decoded.ok ? "answer" : decoded.problem);
  }

  /** An endpoint that refuses a key may repeat it. */
  #refusal(answer: Refusal | Extract<RpcResult<never>, { kind: "failed" }>): RpcResult<never> {
    if ("kind" in answer) return answer;
    const { error } = answer;
    const message = this.#options.keys.reduce((clean, key) => clean.replaceAll(key, SCRUBBED), error.message);
    return { kind: "error", error: { ...error, message } };
  }

  #malformed(problem: string): Extract<RpcResult<never>, { kind: "failed" }> {
    const { chainId, place, logger } = this.#options;
    if (this.#malformedCount++ === 0 || this.#isWell)
      logger.warn("chain.malformed_answer", { name: `chain ${chainId}`, part: `endpoint ${place}`, problem });
    return this.#failed(failedRead("BAD_RESPONSE", `endpoint ${place}: ${problem}`), true);
  }

  #failed(failure: FailedRead, isSent: boolean): Extract<RpcResult<never>, { kind: "failed" }> {
    this.#failedCount++;
    this.#isWell = false;
    return { kind: "failed", failure, isSent };
  }
}

interface Refusal {
  readonly error: RpcError;
}

const PROVEN: RpcResult<true> = { kind: "value", value: true };
const OTHER_CHAIN = {
  kind: "failed",
  failure: failedRead("VENUE_ERROR", "the endpoint is of another chain"),
  isSent: false,
} as const;

function outOfTime(): Extract<RpcResult<never>, { kind: "failed" }> {
  return { kind: "failed", failure: failedRead("TIMEOUT", "no time left"), isSent: false };
}
