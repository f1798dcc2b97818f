/**
 * Who asks, and the port that proves it (gateway/auth implements it). The HTTP server and the stream know this file
 * alone.
 */
import type { ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";

/** A caller whose key is proven, or one without a key where the mode allows that. */
export interface Caller {
  /** Whose accounts, executions and rows it reaches. Null: nobody has a key here, rows belong to `local` (engine/domain/owner.ts). */
  readonly ownerId: string | null;
  /** The key pays for its requests (request-charges.ts). Null without a key. */
  readonly keyId: string | null;
  readonly scopes: ReadonlySet<Scope>;
}

/** What a caller may see of orders and executions (engine/orders/durable/execution-registry.ts). */
export function askerOf({ ownerId, scopes }: Caller): { readonly ownerId: string | null; readonly seesAll: boolean } {
  return { ownerId, seesAll: scopes.has("admin") };
}

/** Everyone in public mode. What only the operator may do is decided by operator-access.ts there. */
export const PUBLIC_CALLER: Caller = {
  ownerId: null,
  keyId: null,
  scopes: new Set<Scope>(["read", "trade", "transfer", "sign"]),
};

/** Headers of a request that concern its key, as they came; null where absent. */
export interface KeyHeaders {
  readonly apiKey: string | null;
  readonly timestamp: string | null;
  readonly recvWindow: string | null;
  readonly signature: string | null;
  readonly secret: string | null;
}

export interface SignedRequest {
  readonly headers: KeyHeaders;
  /** Upper case, as it was sent. */
  readonly method: string;
  /** The request target exactly as it was sent: path and query, not decoded. */
  readonly target: string;
  readonly body: Uint8Array;
  /** Text form of the caller's address, behind trusted proxies the one they name. */
  readonly address: string;
}

export type AuthVerdict =
  /** `caller` null: no key was shown. `deprecated`: a secret was sent, which the reply calls deprecated. */
  | { readonly ok: true; readonly caller: Caller | null; readonly deprecated: boolean }
  | { readonly ok: false; readonly error: ServiceError };

export interface Authenticator {
  /** `public`: keys are verified where they are shown. */
  readonly mode: "public" | "signed" | "secret";
  /** Never throws; answers at once. A signed write is accepted once. */
  authenticate(request: SignedRequest): AuthVerdict;
}
