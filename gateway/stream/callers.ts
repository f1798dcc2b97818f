/**
 * Who is behind each connection of the stream, and how many connections a key, or an address without one, may hold.
 *
 * Outside public mode a connection is nobody's until it has proven a key, which it can do once. Until then it is served
 * what is public. One that asks for more has `authDeadlineMs` for the proof, from its first such wish on; asking again
 * prolongs nothing.
 *
 * Invariants: every connection that was admitted is in here until `forget`; a key's connections can be found by its id
 * from the moment its proof was accepted, so that a revocation misses none. All bounds are those of limits.ts.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";
import { type Caller, PUBLIC_CALLER } from "../http/caller.js";
import { requireScope } from "../http/require-scope.js";
import type { AuthClaim, StreamAuth } from "./auth.js";
import type { Connection } from "./connection.js";
import type { StreamLimits } from "./limits.js";

interface Known {
  readonly addressText: string;
  caller: Caller | null;
  /** Its proof was accepted; `caller` follows when that is settled. */
  keyId: string | null;
  /** Monotonic; infinite while nothing was asked that needs a key. */
  untilNs: number;
}

/** `TOO_MANY`: the key is proven, and has as many connections as it may. */
export type Proven = { readonly caller: Caller; readonly settled: Promise<void> | null } | "TOO_MANY";

type Bounds = Pick<StreamLimits, "authDeadlineMs" | "unauthenticatedPerAddressMax" | "connectionsPerKeyMax">;

export class StreamCallers {
  readonly #auth: StreamAuth;
  readonly #bounds: Bounds;
  readonly #monoNs: () => number;
  readonly #known = new Map<Connection, Known>();
  readonly #unprovenOf = new Map<string, number>();
  readonly #ofKey = new Map<string, Set<Connection>>();

  constructor(auth: StreamAuth, bounds: Bounds, monoNs: () => number) {
    this.#auth = auth;
    this.#bounds = bounds;
    this.#monoNs = monoNs;
  }

  /** False: its address has too many connections without a key. It is counted until `forget` all the same. */
  admit(connection: Connection, addressText: string): boolean {
    const isPublic = this.#auth.mode === "public";
    const caller = isPublic ? PUBLIC_CALLER : null;
    this.#known.set(connection, { addressText, caller, keyId: null, untilNs: Number.POSITIVE_INFINITY });
    if (isPublic) return true;
    return this.#count(connection.address, 1) <= this.#bounds.unauthenticatedPerAddressMax;
  }

  forget(connection: Connection): void {
    const known = this.#known.get(connection);
    if (known === undefined) return;
    this.#known.delete(connection);
    if (known.keyId === null) {
      if (this.#auth.mode !== "public") this.#count(connection.address, -1);
      return;
    }
    const connections = this.#ofKey.get(known.keyId);
    connections?.delete(connection);
    if (connections?.size === 0) this.#ofKey.delete(known.keyId);
  }

  /** Whose rows it reaches; null: those made without a key, or none. */
  ownerOf(connection: Connection): string | null {
    return this.#known.get(connection)?.caller?.ownerId ?? null;
  }

  /** It has proven no key where one is needed. */
  isNobody(connection: Connection): boolean {
    return (this.#known.get(connection)?.caller ?? null) === null;
  }

  /** The key that pays at the venues for what is opened for it; null without one. */
  payerOf(connection: Connection): string | null {
    return this.#known.get(connection)?.caller?.keyId ?? null;
  }

  /** Throws AUTH_REQUIRED or SCOPE_MISSING. */
  require(connection: Connection, scope: Scope): void {
    const known = this.#known.get(connection);
    if (known?.caller != null) {
      requireScope(known.caller, scope);
      return;
    }
    const { authDeadlineMs } = this.#bounds;
    if (known !== undefined && known.untilNs === Number.POSITIVE_INFINITY)
      known.untilNs = this.#monoNs() + authDeadlineMs * 1e6;
    throw new ServiceError("AUTH_REQUIRED", { scope, deadlineMs: authDeadlineMs });
  }

  /** Its time for a proof is over. */
  isOverdue(connection: Connection, nowNs: number): boolean {
    const known = this.#known.get(connection);
    return known !== undefined && known.caller === null && known.keyId === null && nowNs >= known.untilNs;
  }

  /** Throws NOT_SUPPORTED for a second proof, which is not looked at, or the refusal. */
  prove(connection: Connection, claim: AuthClaim): Proven {
    const known = this.#known.get(connection);
    if (known === undefined) throw new ServiceError("INTERNAL");
    if (known.keyId !== null)
      throw new ServiceError("NOT_SUPPORTED", { what: "a second auth on one connection; open another one" });
    const result = this.#auth.authenticate(claim, { address: connection.address, addressText: known.addressText });
    if (!result.ok) throw result.error;
    const { caller, settled } = result;
    const { keyId } = caller;
    if (keyId === null) throw new ServiceError("AUTH_UNKNOWN_KEY");
    const connections = this.#ofKey.get(keyId) ?? new Set();
    if (connections.size >= this.#bounds.connectionsPerKeyMax) return "TOO_MANY";
    this.#ofKey.set(keyId, connections.add(connection));
    known.keyId = keyId;
    if (this.#auth.mode !== "public") this.#count(connection.address, -1);
    if (settled === null) known.caller = caller;
    return { caller, settled };
  }

  /** What `prove` returned to wait for has resolved. False: the connection has gone meanwhile. */
  believe(connection: Connection, caller: Caller): boolean {
    const known = this.#known.get(connection);
    if (known === undefined) return false;
    known.caller = caller;
    return true;
  }

  /** Connections of a key, also those whose proof is not settled yet. */
  ofKey(keyId: string): readonly Connection[] {
    return [...(this.#ofKey.get(keyId) ?? [])];
  }

  #count(address: string, change: 1 | -1): number {
    const count = (this.#unprovenOf.get(address) ?? 0) + change;
    if (count > 0) this.#unprovenOf.set(address, count);
    else this.#unprovenOf.delete(address);
    return count;
  }
}
