/** HTTP and WebSocket of the venue as the shell serves them. */
import type { RestVerdict } from "../core/server/fault-types.js";
import { retryAfterHeaders } from "../core/server/faults.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimSocket } from "../core/server/server-types.js";
import type { ApiServers } from "./market/api-servers.js";
import { CODE } from "./wire/errors.js";
import type { Router } from "./router.js";
import type { Sessions } from "./socket-session.js";

export const SOCKET_PATH = "/stream";

export interface ProtocolDeps {
  readonly router: Router;
  readonly sessions: Sessions;
  readonly servers: ApiServers;
}

export class Protocol implements SimProtocol {
  readonly #deps: ProtocolDeps;

  constructor(deps: ProtocolDeps) {
    this.#deps = deps;
  }

  handleHttp(request: SimHttpRequest): SimHttpReply {
    return this.#deps.router.handle(request);
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers = retryAfterHeaders(verdict);
    const { status } = verdict;
    if (kind !== "error")
      return { status, headers, body: JSON.stringify({ code: CODE.tooManyRequests, message: "Too Many Requests!" }) };
    // 502 and the like come from the proxy in front of the venue.
    if (status !== 500)
      return { status, headers, contentType: "text/html", body: `<html><body><h1>${status}</h1></body></html>` };
    return { status, headers, body: JSON.stringify({ code: CODE.serverError, message: "internal server error" }) };
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
    this.#deps.sessions.onClientFrame(socket);
  }

  onSocketPong(socket: SimSocket): void {
    this.#deps.sessions.onClientFrame(socket);
  }

  onSocketClose(socket: SimSocket): void {
    this.#deps.sessions.close(socket);
    this.#deps.servers.dropUnheld((server) => this.#deps.sessions.isHeld(server));
  }
}
