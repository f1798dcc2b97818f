/**
 * A user of the demo: plain fetch, one Idempotency-Key for each act, and patience. Every request has a timeout, and every
 * wait an end.
 */
import { randomUUID } from "node:crypto";

export type Fields = Readonly<Record<string, unknown>>;

const CALL_MS_MAX = 60_000;
/** A machine that stands still for a while is no reason to give up. */
const WAIT_MS_MAX = 180_000;
const LOOK_MS = 250;
/** Refusals that pass by themselves; asked for again with the same key an act is the same one. */
const PASSING = new Set([
  "SIGNER_UNAVAILABLE",
  "VENUE_UNAVAILABLE",
  "CHAIN_UNAVAILABLE",
  "REGISTRATION_UNSETTLED",
  "RATE_LIMITED",
  "OVERLOADED",
  "IDEMPOTENCY_IN_PROGRESS",
]);

export class CircleError extends Error {}

export class User {
  readonly #base: string;
  /** The newest refusal that may pass. */
  #refusal = "";

  constructor(base: string) {
    this.#base = base;
  }

  read(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Fields> {
    return this.#send("GET", path, null, headers);
  }

  /** The same key for every try: it is one act. */
  act(path: string, body: Fields, headers: Readonly<Record<string, string>> = {}): Promise<Fields> {
    return this.#send("POST", path, body, { "idempotency-key": randomUUID(), ...headers });
  }

  /** Looks until `found` gives something. */
  async until<T>(what: string, found: () => Promise<T | null>): Promise<T> {
    const endMs = performance.now() + WAIT_MS_MAX;
    for (;;) {
      const value = await found();
      if (value !== null) return value;
      if (performance.now() > endMs)
        throw new CircleError(`${what}: not after ${WAIT_MS_MAX / 1_000} s${this.#refusal}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #send(
    method: "GET" | "POST",
    path: string,
    body: Fields | null,
    headers: Readonly<Record<string, string>>,
  ): Promise<Fields> {
    return this.until(`${method} ${path}`, async () => {
      const response = await fetch(this.#base + path, {
        method,
        headers: { ...headers, ...(body === null ? {} : { "content-type": "application/json" }) },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(CALL_MS_MAX),
      });
      const reply = (await response.json()) as Fields;
      if (response.ok && reply["success"] === true) return reply;
      const text = `${response.status} ${String(reply["code"])}, ${String(reply["error"])} ${JSON.stringify(reply["details"] ?? {})}`;
      if (!PASSING.has(String(reply["code"]))) throw new CircleError(`${method} ${path}: ${text}`);
      this.#refusal = `; the newest refusal: ${text}`;
      return null;
    });
  }
}
