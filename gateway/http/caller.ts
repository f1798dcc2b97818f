/**
 * Who asks, and the port that proves it (gateway/auth implements it). The HTTP server and the stream know this file
 * alone.
 */
import type { ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";

/** A caller whose key is proven, or one without a key where the mode allows that. */
export interface Caller {
  /** Whose accounts, executions and rows it reaches. Null: nobody has a key here, rows belong to `LOCAL_OWNER`. */
  readonly ownerId: string | null;
  /** The key pays for its requests (request-charges.ts). Null without a key. */
  readonly keyId: string | null;
  readonly scopes: ReadonlySet<Scope>;
}

/** Owner of every row that was made without a key. */
export const LOCAL_OWNER = "local";

/** Everyone in public mode. What only the operator may do is decided by operator-access.ts there. */
export const PUBLIC_CALLER: Caller = {
  ownerId: null,
  keyId: null,
  scopes: new Set<Scope>(["read", "trade", "transfer", "sign"]),
};

/** Someone without a key where keys are needed: served what is open to everyone, and nothing else. */
export const ANONYMOUS_CALLER: Caller = { ownerId: null, keyId: null, scopes: new Set<Scope>() };

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
  /** The `auth` frame of the stream: a GET whose signature is accepted once, like that of a write. */
  readonly once?: true;
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

/** Tickets that open the stream for a key (POST /api/stream/ticket). */
export interface StreamTickets {
  /** Single use, short-lived, bound to the key and the address. Throws OVERLOADED when too many are open. */
  issue(caller: Caller, address: string): { readonly ticket: string; readonly expiresAtMs: number };
  /** Uses it up. Fails with AUTH_BAD_TICKET, or KEY_REVOKED where its key was revoked meanwhile. Never throws. */
  redeem(ticket: string, address: string): AuthVerdict;
}

export interface Revocations {
  /** Calls with the id of each key that is revoked from now on, at once. Returns the function that ends this. */
  onRevoked(listener: (keyId: string) => void): () => void;
}

/**
 * Returns the text of the address that a request comes from: the socket's, or the one that trusted proxies name.
 * `forwardedFor`: every X-Forwarded-For of the request, in order, joined by commas; "" without one.
 */
export type AddressOf = (socketAddress: string, forwardedFor: string) => string;

/** What the server needs of the keys. */
export interface CallerAuth {
  readonly authenticator: Authenticator;
  readonly tickets: StreamTickets;
  readonly revocations: Revocations;
  /** Absent: no proxy is trusted. */
  readonly addressOf?: AddressOf;
}
