/**
 * Client messages of one connection, fact sheet 9.1 and 9.2. Every refusal is a frame without type or channel and
 * leaves the socket open; a second subscription to the same channel is refused and sends no snapshot.
 */
import type { Random } from "../../../engine/domain/random.js";
import { RollingBudget } from "../core/rolling-budget.js";
import type { FaultInjector, SimSocket } from "../core/types.js";
import type { ApiServer } from "./api-server.js";
import { CODE, errorFrame } from "./errors.js";
import type { VenuethreeContext } from "./context.js";

interface SocketState {
  readonly server: ApiServer;
  lastClientMs: number;
  lastPingMs: number;
}

export interface SessionDeps {
  readonly context: VenuethreeContext;
  readonly faults: FaultInjector;
  readonly random: Random;
  /** The machine's time: a skewed venue clock must not end connections. */
  nowMs(): number;
  /** The server that a new connection meets. */
  nextServer(): ApiServer;
}

const MINUTE_MS = 60_000;
const TRY_AGAIN_LATER = 1013;

export class Sessions {
  readonly #deps: SessionDeps;
  readonly #sockets = new Map<SimSocket, SocketState>();
  readonly #messages = new RollingBudget(MINUTE_MS);
  readonly #opened = new RollingBudget(MINUTE_MS);

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  open(socket: SimSocket): void {
    const { context, nowMs } = this.#deps;
    const { limits } = context;
    const { remoteAddress } = socket;
    const openCount = [...this.#sockets.keys()].filter((other) => other.remoteAddress === remoteAddress).length;
    const isAllowed =
      openCount < limits.connections &&
      this.#opened.trySpend(remoteAddress, 1, limits.newConnectionsPerMinute, nowMs());
    if (!isAllowed) {
      socket.reply(errorFrame(CODE.tooManyConnections, "Too Many Connections!"));
      socket.close(TRY_AGAIN_LATER, "");
      return;
    }
    this.#sockets.set(socket, { server: this.#deps.nextServer(), lastClientMs: nowMs(), lastPingMs: nowMs() });
    socket.reply(JSON.stringify({ session_id: uuid(this.#deps.random), type: "connected" }));
  }

  /** Any frame of the client shows that it lives, a WebSocket ping too. */
  onClientFrame(socket: SimSocket): void {
    const state = this.#sockets.get(socket);
    if (state !== undefined) state.lastClientMs = this.#deps.nowMs();
  }

  message(socket: SimSocket, text: string): void {
    const state = this.#sockets.get(socket);
    if (state === undefined) return;
    this.onClientFrame(socket);
    const { limits } = this.#deps.context;
    if (!this.#messages.trySpend(socket.remoteAddress, 1, limits.messagesPerMinute, this.#deps.nowMs())) {
      socket.reply(errorFrame(CODE.tooManyMessages, "Too Many Websocket Messages!"));
      return;
    }
    const answer = this.#answer(socket, state, text);
    if (answer !== null) socket.reply(answer);
  }

  close(socket: SimSocket): void {
    this.#sockets.get(socket)?.server.drop(socket);
    this.#sockets.delete(socket);
  }

  /** True while a connection of this server is open. */
  isHeld(server: ApiServer): boolean {
    for (const state of this.#sockets.values()) if (state.server === server) return true;
    return false;
  }

  /** Closes what has been silent too long, and pings where older servers would. */
  sweep(): void {
    const { context } = this.#deps;
    const nowMs = this.#deps.nowMs();
    const { serverPingMs } = context.quirks;
    for (const [socket, state] of [...this.#sockets]) {
      if (nowMs - state.lastClientMs >= context.cadences.clientSilenceMs) socket.close(1000, "");
      else if (serverPingMs > 0 && nowMs - state.lastPingMs >= serverPingMs) {
        state.lastPingMs = nowMs;
        socket.reply('{"type":"ping"}');
      }
    }
  }

  /** Null: nothing is answered. */
  #answer(socket: SimSocket, state: SocketState, text: string): string | null {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return errorFrame(CODE.invalidJson, "Invalid Json");
    }
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return errorFrame(CODE.invalidJson, "Invalid Json");
    const { type, channel, auth } = message as Record<string, unknown>;
    if (type === "ping") return '{"type":"pong"}';
    if (type === "pong") return null;
    if (type === "jsonapi/sendtx" || type === "jsonapi/sendtxbatch")
      return errorFrame(CODE.unsupported, `Operation isn't supported ${type}`);
    if (type !== "subscribe" && type !== "unsubscribe") return errorFrame(CODE.invalidType, "Invalid Type");
    return this.#change(socket, state, type, String(channel ?? ""), typeof auth === "string" && auth !== "");
  }

  #change(
    socket: SimSocket,
    { server }: SocketState,
    type: "subscribe" | "unsubscribe",
    text: string,
    hasAuth: boolean,
  ): string | null {
    const reading = server.read(text, hasAuth || type === "unsubscribe");
    if (!reading.ok) return errorFrame(reading.code, reading.message);
    const { channel } = reading;
    if (type === "unsubscribe") {
      return server.unsubscribe(socket, channel)
        ? // With the venue's own spaces.
          `{"type": "unsubscribed", "channel": "${channel.name}"}`
        : errorFrame(CODE.notSubscribed, `Not Subscribed to : ${channel.name}`);
    }
    if (server.board.has(socket, channel.name))
      return errorFrame(CODE.alreadySubscribed, `Already Subscribed to : ${channel.name}`);
    if (server.board.of(socket).size >= this.#deps.context.limits.subscriptionsPerConnection)
      return errorFrame(CODE.tooManySubscriptions, "Too Many Subscriptions!");
    if (this.#deps.faults.onSubscribe(channel.name)) return null;
    server.subscribe(socket, channel);
    return null;
  }
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16));
  hex[12] = "4";
  hex[16] = "89ab"[Math.floor(random.next() * 4)] ?? "8";
  const text = hex.join("");
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
