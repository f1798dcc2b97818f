/**
 * One HTTP request over an undici pool, from its deadline to its outcome. It is undici's handler of the request itself: one
 * object a call, and one timer. hot path
 *
 * Invariants: it settles once; `notSent` only while no byte of the request was handed to a socket; it is never written twice.
 */
import type { Dispatcher } from "undici";
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { HttpRequest, HttpResult } from "./http.js";

/** Thrown into undici to drop a request that is out of time and has not been written. */
const OUT_OF_TIME = new Error("out of time before the send");

export interface HttpCallOptions {
  readonly pool: Pick<Dispatcher, "dispatch">;
  readonly clock: Clock;
  readonly maxBodyBytes: number;
}

/** What of a request goes onto the wire. */
export type WireRequest = Pick<HttpRequest, "method" | "path" | "headers" | "body">;

export function sendCall(options: HttpCallOptions, request: WireRequest, leftMs: number): Promise<HttpResult> {
  return new Promise((resolve) => {
    new HttpCall(options, leftMs, resolve).send(request);
  });
}

class HttpCall implements Dispatcher.DispatchHandler {
  readonly #options: HttpCallOptions;
  readonly #resolve: (result: HttpResult) => void;
  readonly #timer: TimerHandle;
  #isSettled = false;
  /** Null while it is on no socket. */
  #controller: Dispatcher.DispatchController | null = null;
  #sentAtMs = 0;
  #status = 0;
  #headers: Record<string, string> = {};
  #bodyBytes = 0;
  readonly #chunks: Buffer[] = [];

  constructor(options: HttpCallOptions, leftMs: number, resolve: (result: HttpResult) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#timer = options.clock.setTimer(() => this.#timedOut(), leftMs);
  }

  send({ method, path, headers, body }: WireRequest): void {
    try {
      this.#options.pool.dispatch({ method, path, headers: { ...headers }, body }, this);
    } catch {
      // A destroyed pool or a header undici refuses: nothing was written.
      this.#settle({ kind: "notSent", reason: "CLOSED", retryAfterMs: null });
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Throwing here makes undici drop the request without writing it, and keeps the connection.
    // A second start would be a second send of the same bytes: never.
    if (this.#isSettled || this.#controller !== null) throw OUT_OF_TIME;
    this.#controller = controller;
    this.#sentAtMs = this.#options.clock.wallMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    rawHeaders: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = statusCode;
    this.#headers = flatten(rawHeaders);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > this.#options.maxBodyBytes) this.#abort("BODY_TOO_LARGE");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks).toString("utf8");
    this.#settle({
      kind: "response",
      status: this.#status,
      headers: this.#headers,
      body,
      sentAtMs: this.#sentAtMs,
      receivedAtMs: this.#options.clock.wallMs(),
    });
  }

  onResponseError(): void {
    if (this.#controller === null) this.#settle({ kind: "notSent", reason: "CONNECT_FAILED", retryAfterMs: null });
    else this.#settle({ kind: "noResponse", reason: "CONNECTION_LOST" });
  }

  #timedOut(): void {
    // On no socket yet: `onRequestStart` makes undici drop it.
    if (this.#controller === null) this.#settle({ kind: "notSent", reason: "CONNECT_FAILED", retryAfterMs: null });
    else this.#abort("TIMEOUT");
  }

  #abort(reason: "TIMEOUT" | "BODY_TOO_LARGE"): void {
    this.#settle({ kind: "noResponse", reason });
    this.#controller?.abort(new Error(reason));
  }

  #settle(result: HttpResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#options.clock.clearTimer(this.#timer);
    this.#resolve(result);
  }
}

function flatten(rawHeaders: Record<string, string | string[] | undefined>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(rawHeaders)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}
