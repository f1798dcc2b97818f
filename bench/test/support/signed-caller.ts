/** A caller with an API key against a running service; each reply is judged by the OpenAPI document. */
import { type ContractJudge, type Reply, type RequestOptions, TestClient } from "../../../gateway/test/client.js";
import { signed } from "../../../gateway/test/test-keys.js";

export interface CallerKey {
  readonly keyId: string;
  readonly secret: string;
}

export interface SignedAsk {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Added to the time of this machine. */
  readonly shiftMs?: number;
}

/** The widest: this machine may stand still between the signature and its arrival. */
export const RECV_WINDOW = "60000";

let lastMs = 0;

/** No two signatures are of one time: the second write would be taken for a repetition. */
function nextMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

/** Target and options of a signed request, to be sent once or more. */
export function signedRequest(key: CallerKey, target: string, ask: SignedAsk = {}): RequestOptions {
  const { method = "GET", body = "", headers = {}, shiftMs = 0 } = ask;
  const proof = signed(key, { method, target, body, timestamp: nextMs() + shiftMs, recvWindow: RECV_WINDOW });
  const type = body === "" ? {} : { "content-type": "application/json" };
  return { method, headers: { ...type, ...proof, ...headers }, ...(body === "" ? {} : { body }) };
}

export class SignedCaller {
  readonly #client: TestClient;
  readonly #key: CallerKey;

  constructor(url: string, key: CallerKey, judge?: ContractJudge) {
    this.#client = judge === undefined ? new TestClient(url) : new TestClient(url, judge);
    this.#key = key;
  }

  ask(target: string, ask: SignedAsk = {}): Promise<Reply> {
    return this.#client.send(target, signedRequest(this.#key, target, ask));
  }

  /** As it is, signed by whoever did. */
  send(target: string, request: RequestOptions): Promise<Reply> {
    return this.#client.send(target, request);
  }

  close(body: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.ask("/api/trade/position/close", { method: "POST", body, headers });
  }

  /** The `auth` frame of the stream. */
  claim(): Readonly<Record<string, unknown>> {
    const timestamp = nextMs();
    const headers = signed(this.#key, { target: "/ws", timestamp });
    return { op: "auth", apiKey: this.#key.keyId, timestamp, signature: headers["x-api-signature"] };
  }

  stop(): Promise<void> {
    return this.#client.stop();
  }
}
