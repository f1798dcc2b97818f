/** HTTP and WebSocket of the venue as the shell serves them. */
import type { RestVerdict } from "../core/server/fault-types.js";
import { retryAfterHeaders } from "../core/server/faults.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimSocket } from "../core/server/server-types.js";
import type { Router } from "./router.js";
import { acceptSocket, onMessage, openSession, type SessionDeps } from "./socket-session.js";
import { stateOf } from "./records/topics.js";

export interface ProtocolDeps {
  readonly router: Router;
  readonly session: SessionDeps;
  /** The venue's time. */
  nowMs(): number;
}

/** An address that goes on after its 429 is banned for this long at least. */
const BAN_S_MIN = 120;

export class Protocol implements SimProtocol {
  readonly #deps: ProtocolDeps;

  constructor(deps: ProtocolDeps) {
    this.#deps = deps;
  }

  handleHttp(request: SimHttpRequest): Promise<SimHttpReply> {
    return this.#deps.router.handle(request);
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers = retryAfterHeaders(verdict);
    const { status } = verdict;
    const refusal = (code: number, msg: string): string => JSON.stringify({ code, msg });
    if (kind === "rate429") {
      const text = "Too many requests; current limit is 2400 requests per minute.";
      return { status, headers, body: refusal(-1003, text) };
    }
    if (kind === "ban418") {
      const untilMs = this.#deps.nowMs() + Math.max(verdict.retryAfterS, BAN_S_MIN) * 1000;
      return { status, headers, body: refusal(-1003, `Way too many requests; IP banned until ${untilMs}.`) };
    }
    // 500 comes as an HTML page of the front end, 503 as JSON of the backend (fact sheet 5.0).
    if (status === 500) {
      const body = "<html><head><title>500 Internal Server Error</title></head></html>";
      return { status, body, contentType: "text/html" };
    }
    const text = "Timeout waiting for response from backend server. Send status unknown; execution status unknown.";
    return { status, body: refusal(status === 503 || status === 504 ? -1007 : -1000, text) };
  }

  acceptSocket(path: string): number | null {
    return acceptSocket(path);
  }

  onSocketOpen(socket: SimSocket): void {
    openSession(socket, this.#deps.session);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    onMessage(socket, text, this.#deps.session);
  }

  onSocketPong(socket: SimSocket): void {
    stateOf(socket).lastPongMs = this.#deps.session.nowMs();
  }

  onSocketClose(socket: SimSocket): void {
    this.#deps.session.topics.drop(socket);
  }
}
