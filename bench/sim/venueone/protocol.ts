/** HTTP and WebSocket of the venue as the shell serves them. */
import type { RestVerdict } from "../core/server/fault-types.js";
import { retryAfterHeaders } from "../core/server/faults.js";
import type { SimHttpReply, SimHttpRequest, SimProtocol, SimSocket } from "../core/server/server-types.js";
import { readJson } from "./wire/json.js";
import type { RequestHandler } from "./router.js";
import type { Sessions } from "./socket-session.js";
import { TEXT_BAD_CONTENT_TYPE, TEXT_BAD_JSON } from "./wire/texts.js";

export const SOCKET_PATH = "/ws";
const CORS = { "access-control-allow-origin": "*" };

export class Protocol implements SimProtocol {
  readonly #handler: RequestHandler;
  readonly #sessions: Sessions;

  constructor(handler: RequestHandler, sessions: Sessions) {
    this.#handler = handler;
    this.#sessions = sessions;
  }

  handleHttp(request: SimHttpRequest): SimHttpReply {
    const isInfo = request.path === "/info";
    if (request.method === "OPTIONS") {
      const allow = { "access-control-allow-methods": "POST", "access-control-allow-headers": "content-type" };
      return { status: 200, body: "", headers: { ...CORS, ...allow } };
    }
    if (!isInfo && request.path !== "/exchange") return plain(404, "");
    if (request.method !== "POST") return plain(405, "");
    if (!isJson(request.headers["content-type"])) return plain(415, TEXT_BAD_CONTENT_TYPE);
    const text = decodeUtf8(request.body);
    const reading = text === null ? null : readJson(text);
    if (reading === null) return plain(400, TEXT_BAD_JSON);
    const outcome = isInfo
      ? this.#handler.info(reading.node, request.remoteAddress)
      : this.#handler.exchange(reading.node, request.remoteAddress);
    const { status, body } = outcome;
    if (outcome.isText) return plain(status, String(body));
    return { status, body: JSON.stringify(body), contentType: "application/json", headers: CORS };
  }

  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict): SimHttpReply {
    const headers = { ...CORS, ...retryAfterHeaders(verdict) };
    if (kind === "rate429") return { status: 429, body: "null", contentType: "application/json", headers };
    if (kind === "ban418") return { status: 418, body: "null", contentType: "application/json", headers };
    // What the proxy in front of the venue answers when the venue does not.
    const body = `<html><body><h1>${verdict.status}</h1></body></html>`;
    return { status: verdict.status, body, contentType: "text/html", headers };
  }

  acceptSocket(path: string): number | null {
    return path === SOCKET_PATH ? null : 404;
  }

  onSocketOpen(socket: SimSocket): void {
    this.#sessions.open(socket);
  }

  onSocketMessage(socket: SimSocket, text: string): void {
    this.#sessions.message(socket, text);
  }

  onSocketClose(socket: SimSocket): void {
    this.#sessions.close(socket);
  }
}

function plain(status: number, body: string): SimHttpReply {
  return { status, body, contentType: "text/plain; charset=utf-8", headers: CORS };
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType ?? "");
}

/** Returns null for bytes that are not UTF-8: no JSON to the venue. */
function decodeUtf8(body: Buffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    // The decoder's only failure is malformed input.
    return null;
  }
}
