/**
 * One WebSocket connection as the persistent socket sees it, and its implementation over `ws`.
 * `onClose` is called exactly once per connection, also when the handshake fails (code 1006).
 * Tests pass a connector of their own.
 */
import WebSocket from "ws";
import type { UpgradeRefusal } from "./upgrade-refusal.js";

export interface Connection {
  /** Hands bytes to the kernel or to the library's buffer; ignored when not open. */
  send(text: string): void;
  /** Protocol-level ping frame. */
  ping(): void;
  close(code: number, reason: string): void;
  /** Ends at once, without a closing handshake. */
  terminate(): void;
  /** Bytes accepted by `send` that have not left yet. */
  readonly bufferedBytes: number;
}

export interface ConnectionHandlers {
  onOpen(): void;
  onMessage(data: Buffer): void;
  /** A protocol ping or pong of the peer: a sign of life, already answered. */
  onControl(): void;
  /** `refusal`: the peer answered the upgrade with another status. */
  onClose(code: number, reason: string, refusal?: UpgradeRefusal): void;
}

export interface ConnectOptions {
  readonly handshakeTimeoutMs: number;
  /** Larger messages end the connection with 1009. */
  readonly maxFrameBytes: number;
}

export type Connector = (url: string, handlers: ConnectionHandlers, options: ConnectOptions) => Connection;

/** Close code for an end without a closing handshake (RFC 6455 section 7.1.5). */
export const CLOSE_ABNORMAL = 1006;

export const connectWs: Connector = (url, handlers, options) => {
  const socket = new WebSocket(url, {
    handshakeTimeout: options.handshakeTimeoutMs,
    maxPayload: options.maxFrameBytes,
    // Compression costs memory per socket and latency per frame; no venue here negotiates it.
    perMessageDeflate: false,
    // Decoders check every byte they use; checking twice costs on the hot path.
    skipUTF8Validation: true,
    followRedirects: false,
  });
  let isClosed = false;
  socket.on("open", () => handlers.onOpen());
  socket.on("message", (data: WebSocket.RawData) => {
    if (Buffer.isBuffer(data)) handlers.onMessage(data);
    else handlers.onMessage(Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data));
  });
  socket.on("ping", () => handlers.onControl());
  socket.on("pong", () => handlers.onControl());
  // `close` always follows `error` in ws; the cause is only kept as text.
  let errorText = "";
  let refusal: UpgradeRefusal | undefined;
  socket.on("error", (error) => {
    errorText = error.message;
  });
  // With a listener, ws lets the listener end the request: `terminate` ends the request, `error` and `close` follow.
  socket.on("unexpected-response", (_request, response) => {
    refusal = { status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] };
    socket.terminate();
  });
  socket.on("close", (code, reason) => {
    if (isClosed) return;
    isClosed = true;
    if (refusal !== undefined) handlers.onClose(code, `Unexpected server response: ${refusal.status}`, refusal);
    else handlers.onClose(code, reason.length > 0 ? reason.toString("utf8") : errorText);
  });
  return {
    send(text) {
      // The callback form: a failing write is followed by `close`, which is where it is handled.
      if (socket.readyState === WebSocket.OPEN) socket.send(text, () => {});
    },
    ping() {
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    },
    close: (code, reason) => socket.close(code, reason),
    terminate: () => socket.terminate(),
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
  };
};
