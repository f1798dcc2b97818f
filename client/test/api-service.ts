/**
 * What a service does with signed requests, as far as its clients can see: windows, replays, stored replies, and what
 * can go wrong on the way. Written from the design (auth-and-limits), independently of the client.
 */
import { createHmac } from "node:crypto";
import type { FetchInit, FetchPort, FetchReply } from "../api/fetch-port.js";
import type { ImportSecret } from "../api/signing.js";
import type { ApiTime } from "./api-time.js";

export const KEYS = { apiKey: "pk_test", secret: "sk_test_8Jx2" } as const;

/** What happens to one request. `done` and `undone`: whether the service acted on it. */
export type Fault =
  | "none"
  /** The connection breaks. */
  | "lost done"
  | "lost undone"
  /** No reply ever comes; the request may arrive when its sender has given up. */
  | "silent undone"
  | "silent done late"
  /** A page of a proxy. */
  | "page done"
  | "page undone"
  | "limited"
  | "overloaded"
  | "internal undone"
  | "internal done"
  /** A browser sends it again by itself: the client sees the reply to the copy. */
  | "sent twice"
  /** The same, after the window has passed. */
  | "sent twice late"
  /** Refused for a reason of its own. */
  | "refused";

export interface Seen {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** HMAC without WebCrypto, whose threads no virtual time waits for. */
export const plainMac: ImportSecret = async (secret) => async (bytes) =>
  createHmac("sha256", secret).update(bytes).digest("hex");

const TRAVEL_MS = 20;

export class ModelService {
  readonly #time: ApiTime;
  readonly #seenSignatures = new Set<string>();
  readonly #stored = new Map<string, string>();
  readonly #late: (() => void)[] = [];
  /** The service's clock is so far off the true time. */
  skewMs = 0;
  /** One per request, in order; then none. */
  faults: Fault[] = [];
  /** Without those of the time. */
  readonly seen: Seen[] = [];
  timeReads = 0;
  /** Bodies of the writes that were acted on. */
  readonly done: string[] = [];

  constructor(time: ApiTime) {
    this.#time = time;
  }

  /** Requests that were still on their way arrive. */
  arriveLate(): void {
    for (const act of this.#late.splice(0)) act();
  }

  get nowMs(): number {
    return this.#time.trueMs() + this.skewMs;
  }

  readonly fetch: FetchPort = async (url, init) => {
    await this.#travel();
    const { pathname, search } = new URL(url);
    const target = pathname + search;
    const body = init.body === undefined ? "" : Buffer.from(init.body).toString();
    if (target === "/api/time") {
      this.timeReads++;
      const reply = json(200, { success: true, data: { serverTime: this.nowMs, iso: "" }, timestamp: this.nowMs });
      await this.#travel();
      return reply;
    }
    const request = { method: init.method, target, headers: init.headers, body };
    this.seen.push(request);
    const reply = await this.#withFault(this.faults.shift() ?? "none", request, init);
    await this.#travel();
    return reply;
  };

  #travel(): Promise<void> {
    return new Promise((resolve) => void this.#time.after(TRAVEL_MS, resolve));
  }

  async #withFault(fault: Fault, request: Seen, init: FetchInit): Promise<FetchReply> {
    switch (fault) {
      case "none":
        return this.#answer(request);
      case "lost done":
        this.#answer(request);
        throw new TypeError("connection lost");
      case "lost undone":
        throw new TypeError("connection lost");
      case "silent undone":
        return never(init.signal);
      case "silent done late":
        // It reaches the service within its window, whenever the sender stopped listening.
        this.#late.push(() => void this.#act(request));
        return never(init.signal);
      case "page done":
        this.#answer(request);
        return page(502);
      case "page undone":
        return page(503);
      case "limited":
        return refusal(429, "RATE_LIMITED", { retryAfterMs: 1_400 }, { "retry-after": "2" });
      case "overloaded":
        return refusal(503, "OVERLOADED");
      case "internal done":
        this.#answer(request);
        return refusal(500, "INTERNAL");
      case "internal undone":
        return refusal(500, "INTERNAL");
      case "sent twice":
        this.#answer(request);
        return this.#answer(request);
      case "sent twice late":
        this.#answer(request);
        this.#time.advance(6_000);
        return this.#answer(request);
      case "refused":
        return refusal(400, "SLIPPAGE_CAP");
    }
  }

  #answer(request: Seen): FetchReply {
    return this.#refusalOf(request) ?? this.#act(request);
  }

  #refusalOf({ method, target, headers, body }: Seen): FetchReply | null {
    const { "x-api-timestamp": timestamp, "x-api-signature": signature = "" } = headers;
    if (timestamp === undefined) return null;
    const { nowMs } = this;
    const details = { serverTime: nowMs };
    const wanted = createHmac("sha256", KEYS.secret).update(`${timestamp}${method}${target}${body}`).digest("hex");
    if (signature !== wanted) return refusal(401, "AUTH_BAD_SIGNATURE", details);
    if (Number(timestamp) < nowMs - 5_000 || Number(timestamp) > nowMs + 1_000)
      return refusal(401, "AUTH_TIMESTAMP_OUT_OF_WINDOW", details);
    if (method === "GET") return null;
    if (this.#seenSignatures.has(signature)) return refusal(401, "AUTH_REPLAY", details);
    this.#seenSignatures.add(signature);
    return null;
  }

  #act({ method, headers, body }: Seen): FetchReply {
    if (method === "GET") return json(200, { success: true, data: { read: true }, timestamp: this.nowMs });
    const key = headers["idempotency-key"];
    const stored = key === undefined ? undefined : this.#stored.get(key);
    if (stored !== undefined && stored !== body) return refusal(422, "IDEMPOTENCY_MISMATCH");
    if (stored === undefined) this.done.push(body);
    if (key !== undefined) this.#stored.set(key, body);
    const replayed: Record<string, string> = stored === undefined ? {} : { "idempotent-replayed": "true" };
    return json(200, { success: true, data: { count: this.done.length }, timestamp: this.nowMs }, replayed);
  }
}

export function json(status: number, body: object, headers: Record<string, string> = {}): FetchReply {
  return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => JSON.stringify(body) };
}

export function refusal(
  status: number,
  code: string,
  details: object = {},
  headers: Record<string, string> = {},
): FetchReply {
  return json(
    status,
    { success: false, error: `refused: ${code}`, code, details, requestId: "r", timestamp: 1 },
    headers,
  );
}

function page(status: number): FetchReply {
  return { status, headers: { get: () => null }, text: async () => "<html>Bad gateway</html>" };
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
}
