/**
 * The API servers behind the venue's one address. Connections go round them, so that offsets change wholly after a
 * reconnect; a server whose nonces count from lower belongs to one connection.
 */
import type { Random } from "../../../../engine/domain/random.js";
import { ApiServer } from "./api-server.js";
import type { VenuethreeContext } from "../orders/context.js";

/** Each reset goes back by this much: no two generations of nonces meet, and the last one stays above zero. */
const GENERATION_SPAN = 1_000_000_000;
const GENERATIONS_MAX = 17;
/** Pulses that the batches of one server lag behind those of the one before. */
const PHASE_STEP = 2;

export class ApiServers {
  readonly #context: VenuethreeContext;
  readonly #random: Random;
  readonly #servers: readonly ApiServer[];
  readonly #resetServers = new Set<ApiServer>();
  #next = 0;
  #generation = 0;

  constructor(context: VenuethreeContext, random: Random, count: number) {
    this.#context = context;
    this.#random = random;
    this.#servers = Array.from({ length: Math.max(1, count) }, (_, index) => this.#create(0, index * PHASE_STEP));
  }

  *all(): Iterable<ApiServer> {
    yield* this.#servers;
    yield* this.#resetServers;
  }

  forConnection(): ApiServer {
    if (this.#context.quirks.resetNonceOnConnect) this.#generation = Math.min(GENERATIONS_MAX, this.#generation + 1);
    if (this.#generation > 0) {
      const server = this.#create(this.#generation * GENERATION_SPAN, 0);
      this.#resetServers.add(server);
      return server;
    }
    const server = this.#servers[this.#next++ % this.#servers.length];
    if (server === undefined) throw new RangeError("the venue has no API server");
    return server;
  }

  /** Drops the servers whose connection has ended. */
  dropUnheld(isHeld: (server: ApiServer) => boolean): void {
    for (const server of this.#resetServers) if (!isHeld(server)) this.#resetServers.delete(server);
  }

  #create(nonceShift: number, phase: number): ApiServer {
    return new ApiServer({ context: this.#context, random: this.#random, nonceShift, phase });
  }
}

/** Change id of the engine behind a nonce on the wire, for an engine that began at `firstNonce`. */
export function seqOfNonce(nonce: number, firstNonce: number): number {
  const generation = Math.max(0, Math.ceil((firstNonce - nonce) / GENERATION_SPAN));
  return nonce + generation * GENERATION_SPAN;
}
