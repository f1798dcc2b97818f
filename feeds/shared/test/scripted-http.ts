/** A hand-written VenueHttp for tests: answers come from a script in order, requests are kept. An empty script is an error. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../net/http.js";

type Step = HttpResult | ((request: HttpRequest) => HttpResult | Promise<HttpResult>);

export class ScriptedHttp implements VenueHttp {
  readonly requests: HttpRequest[] = [];
  readonly #clock: Clock;
  readonly #steps: Step[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reply 20 ms after the send. `body` that is no text is written as JSON. */
  reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): this {
    return this.step(() => this.response(status, body, headers));
  }

  step(step: Step): this {
    this.#steps.push(step);
    return this;
  }

  response(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpResult {
    const sentAtMs = this.#clock.wallMs();
    return {
      kind: "response",
      status,
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
      sentAtMs,
      receivedAtMs: sentAtMs + 20,
    };
  }

  get unusedStepCount(): number {
    return this.#steps.length;
  }

  /** The newest request. */
  get last(): HttpRequest {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error("nothing was requested");
    return last;
  }

  async request(request: HttpRequest): Promise<HttpResult> {
    this.requests.push(request);
    const step = this.#steps.shift();
    if (step === undefined)
      throw new Error(`the script has no answer to ${request.method} ${request.path} ${request.body ?? ""}`);
    return typeof step === "function" ? step(request) : step;
  }
}
