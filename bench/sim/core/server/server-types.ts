/** HTTP and WebSocket of a local venue as its room sees them: what shell.ts serves, and what a room fills in. */
import type { RestVerdict } from "./fault-types.js";

export interface SimHttpRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Raw, undecoded, without `?`. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly remoteAddress: string;
  readonly receivedMs: number;
}

export interface SimHttpReply {
  readonly status: number;
  readonly body: string;
  /** Default `application/json;charset=UTF-8`. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One accepted WebSocket; sends pass through the fault injector. */
export interface SimSocket {
  readonly id: number;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  readonly openedMs: number;
  /** Room's own state of this connection. */
  state: unknown;
  /** A frame of a stream, subject to faults. `sequenced`: carries a book sequence (subject to `gap`). */
  push(scope: "market" | "user", stream: string, text: string, sequenced: boolean): void;
  /** An answer to a client's own message: subject to `silent` only. */
  reply(text: string): void;
  ping(): void;
  close(code: number, reason: string): void;
  /** Cuts without a close frame. */
  terminate(): void;
}

export interface SimProtocol {
  /** Answers one request; may be async. Throwing gives the room's 500. */
  handleHttp(request: SimHttpRequest): SimHttpReply | Promise<SimHttpReply>;
  /** The venue's own body for a fault. `kind` names which. */
  faultReply(kind: "rate429" | "ban418" | "error", verdict: RestVerdict, request: SimHttpRequest): SimHttpReply;
  /** Null accepts the upgrade; else the HTTP status that refuses it. */
  acceptSocket(path: string, query: string): number | null;
  onSocketOpen(socket: SimSocket): void;
  onSocketMessage(socket: SimSocket, text: string): void;
  /** A pong frame arrived. */
  onSocketPong?(socket: SimSocket): void;
  /** A ping frame arrived; the shell answers it. */
  onSocketPing?(socket: SimSocket): void;
  onSocketClose(socket: SimSocket): void;
}

/** Live counters for /_sim/state and benches. */
export interface ShellStats {
  httpCount: number;
  frameCount: number;
  frameBytes: number;
  socketCount: number;
}

/** What the control API sees of the shell. */
export interface ShellView {
  readonly stats: ShellStats;
  readonly sockets: ReadonlySet<SimSocket>;
}

/** A JSON object of the control API. */
export type ControlBody = Readonly<Record<string, unknown>>;

/** Venue-specific parts of the control API: keys are the venue's business. */
export interface SimControlHooks {
  /** POST /_sim/accounts: registers keys for an account that the core has just created or found. Returns what to add to the answer. */
  registerKeys(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Added to GET /_sim/state. */
  describe(): Readonly<Record<string, unknown>>;
  /** What POST /_sim/<name> does where the core has no such name: limits, quirks, … */
  readonly commands: Readonly<Record<string, (body: ControlBody) => ControlBody | Promise<ControlBody>>>;
}
