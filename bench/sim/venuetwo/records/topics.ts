/** Who listens to which stream name. A frame is printed once and sent to all, wrapped where the connection is combined. */
import type { SimSocket } from "../../core/server/server-types.js";

export const STREAMS_PER_SOCKET_MAX = 200;

export interface SocketState {
  readonly names: Set<string>;
  combined: boolean;
  lastPongMs: number;
  lastPingMs: number;
  /** Arrival times of the newest messages, for the limit of ten a second. */
  readonly arrivals: number[];
}

export function stateOf(socket: SimSocket): SocketState {
  return socket.state as SocketState;
}

export class Topics {
  readonly #sockets = new Map<string, Set<SimSocket>>();
  /** Names grouped by how they are produced, so that a tick touches only what is wanted. */
  readonly #names = new Set<string>();

  get names(): ReadonlySet<string> {
    return this.#names;
  }

  wanted(name: string): boolean {
    return this.#names.has(name);
  }

  subscribe(socket: SimSocket, name: string): boolean {
    const { names } = stateOf(socket);
    if (names.has(name)) return true;
    if (names.size >= STREAMS_PER_SOCKET_MAX) return false;
    names.add(name);
    let listeners = this.#sockets.get(name);
    if (listeners === undefined) {
      listeners = new Set();
      this.#sockets.set(name, listeners);
      this.#names.add(name);
    }
    listeners.add(socket);
    return true;
  }

  unsubscribe(socket: SimSocket, name: string): void {
    stateOf(socket).names.delete(name);
    const listeners = this.#sockets.get(name);
    listeners?.delete(socket);
    if (listeners?.size === 0) {
      this.#sockets.delete(name);
      this.#names.delete(name);
    }
  }

  drop(socket: SimSocket): void {
    for (const name of [...stateOf(socket).names]) this.unsubscribe(socket, name);
  }

  /** `stream`: the name that faults match against. */
  publish(name: string, scope: "market" | "user", event: unknown, sequenced: boolean, stream = name): void {
    const listeners = this.#sockets.get(name);
    if (listeners === undefined) return;
    const text = JSON.stringify(event);
    let wrapped = "";
    for (const socket of listeners) {
      if (stateOf(socket).combined) {
        wrapped ||= `{"stream":${JSON.stringify(name)},"data":${text}}`;
        socket.push(scope, stream, wrapped, sequenced);
      } else socket.push(scope, stream, text, sequenced);
    }
  }
}
