/** HTTP and WebSocket of the venue as the shell serves them. */
import type { RestVerdict } from "../core/server/fault-types.js";
import { retryAfterHeaders } from "../core/server/faults.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimSocket } from "../core/server/server-types.js";
import type { AccountStreams } from "./account/account-streams.js";
import type { Router } from "./router.js";
import type { Sessions } from "./socket-session.js";

export const SOCKET_PATH = "/ws";

export interface ProtocolDeps {
  readonly router: Router;
  readonly sessions: Sessions;
  readonly accounts: AccountStreams;
}

export class Protocol implements SimProtocol {
  readonly #deps: ProtocolDeps;

  constructor(deps: ProtocolDeps) {
    this.#deps = deps;
  }

  async handleHttp(request: SimHttpRequest): Promise<SimHttpReply> {
    const reply = await this.#deps.router.handle(request);
    this.#deps.accounts.flush();
    return reply;
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers = retryAfterHeaders(verdict);
    const { status } = verdict;
    const envelope = (error: string): string => JSON.stringify({ success: false, data: null, error, code: status });
    if (kind !== "error") return { status, headers, body: envelope("Rate limit exceeded") };
    if (status === 500) return { status, headers, body: envelope("Internal server error") };
    if (status === 504) return { status, headers, body: envelope("Request timed out") };
    // The proxy in front of the venue answers in plain text.
    return { status, headers, contentType: "text/plain", body: "upstream connect error" };
  }

  acceptSocket(path: string): number | null {
    return path === SOCKET_PATH ? null : 404;
  }

  onSocketOpen(socket: SimSocket): void {
    this.#deps.sessions.open(socket);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    this.#deps.sessions.message(socket, text);
  }

  onSocketPing(socket: SimSocket): void {
    this.#deps.sessions.onPing(socket);
  }

  onSocketClose(socket: SimSocket): void {
    this.#deps.sessions.close(socket);
  }
}
