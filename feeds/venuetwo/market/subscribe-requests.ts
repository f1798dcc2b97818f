/**
 * SUBSCRIBE and UNSUBSCRIBE with numbers of ours, and the names behind each number, so that an acknowledgement starts the
 * books it is about.
 *
 * Bound: MAX_OPEN_REQUESTS requests without an answer; a connection that dies leaves some behind, the oldest are dropped.
 */
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { STREAMS_PER_SUBSCRIBE } from "../rules/limits.js";

const MAX_OPEN_REQUESTS = 256;

export class SubscribeRequests {
  readonly protocol: SubscribeProtocol;
  readonly #namesById = new Map<number, readonly string[]>();
  #nextId = 1;

  constructor() {
    this.protocol = {
      subscribe: (names) => this.#subscribe(names),
      unsubscribe: (names) => JSON.stringify({ method: "UNSUBSCRIBE", params: names, id: this.#nextId++ }),
      maxNamesPerFrame: STREAMS_PER_SUBSCRIBE,
    };
  }

  /** The names of a request that was answered; none where it named no streams, or was forgotten. */
  answered(id: number): readonly string[] {
    const names = this.#namesById.get(id) ?? [];
    this.#namesById.delete(id);
    return names;
  }

  #subscribe(names: readonly string[]): string {
    const id = this.#nextId++;
    const oldest = this.#namesById.size >= MAX_OPEN_REQUESTS ? this.#namesById.keys().next() : null;
    if (oldest !== null && oldest.done !== true) this.#namesById.delete(oldest.value);
    this.#namesById.set(id, names);
    return JSON.stringify({ method: "SUBSCRIBE", params: names, id });
  }
}
