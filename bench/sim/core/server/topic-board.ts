/** Who listens to which topic of a local venue. A frame is printed once and pushed to every listener. */
import type { SimSocket } from "./server-types.js";

export class TopicBoard {
  readonly #listeners = new Map<string, Set<SimSocket>>();
  readonly #topics = new Map<SimSocket, Set<string>>();

  /** Topics that somebody listens to. */
  get topics(): Iterable<string> {
    return this.#listeners.keys();
  }

  isWanted(topic: string): boolean {
    return this.#listeners.has(topic);
  }

  has(socket: SimSocket, topic: string): boolean {
    return this.#listeners.get(topic)?.has(socket) ?? false;
  }

  /** Topics of one socket. */
  of(socket: SimSocket): ReadonlySet<string> {
    return this.#topics.get(socket) ?? new Set();
  }

  add(socket: SimSocket, topic: string): void {
    const own = this.#topics.get(socket) ?? new Set();
    this.#topics.set(socket, own.add(topic));
    this.#listeners.set(topic, (this.#listeners.get(topic) ?? new Set()).add(socket));
  }

  remove(socket: SimSocket, topic: string): boolean {
    const listeners = this.#listeners.get(topic);
    if (listeners === undefined || !listeners.delete(socket)) return false;
    if (listeners.size === 0) this.#listeners.delete(topic);
    this.#topics.get(socket)?.delete(topic);
    return true;
  }

  drop(socket: SimSocket): void {
    for (const topic of [...this.of(socket)]) this.remove(socket, topic);
    this.#topics.delete(socket);
  }

  /** Faults match against the name `stream`. */
  publish(topic: string, stream: string, text: string, sequenced: boolean, scope: "market" | "user" = "market"): void {
    // A faulted push can cut the socket and so remove it from the set during the walk: sets allow that.
    for (const socket of this.#listeners.get(topic) ?? []) socket.push(scope, stream, text, sequenced);
  }
}
