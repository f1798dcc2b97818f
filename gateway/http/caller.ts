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
  /**
   * The key pays for its requests (request-charges.ts), and at the venues out of its share of each lane. Null without a
   * key.
   */
  readonly keyId: string | null;
  readonly scopes: ReadonlySet<Scope>;
}

/** What a caller may see of orders and executions, and who pays (engine/orders/durable/execution-registry.ts). */
export function askerOf({ ownerId, keyId, scopes }: Caller): {
  readonly ownerId: string | null;
  readonly payer: string | null;
  readonly seesAll: boolean;
} {
  return { ownerId, payer: keyId, seesAll: scopes.has("admin") };
}

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
}

export type AuthVerdict =
  /**
   * `caller` null: no key was shown. `deprecated`: a secret was sent, which the reply calls deprecated. `settled`: wait
   * for it before the request does anything (the first write after a pause); it never rejects.
   */
  | {
      readonly ok: true;
      readonly caller: Caller | null;
      readonly deprecated: boolean;
      readonly settled?: Promise<void>;
    }
  | { readonly ok: false; readonly error: ServiceError };

export interface Authenticator {
  /** `public`: keys are verified where they are shown. */
  readonly mode: "public" | "signed" | "secret";
  /** Id of the live key that is named, where that allows the address; null: there is none. Proves nothing, and costs no digest. */
  namedKey(request: Pick<SignedRequest, "headers" | "address">): string | null;
  /** Never throws; answers at once. A signed write is accepted once. */
  authenticate(request: SignedRequest): AuthVerdict;
  /** For the `auth` frame of the stream, signed like a GET of its address: a signature is accepted once. */
  authenticateOnce(request: SignedRequest): AuthVerdict;
}

/** Tickets that open the stream for a key (POST /api/stream/ticket): single use, short-lived, for one address. */
export interface StreamTickets {
  /** `expiresAt`: wall ms. Throws OVERLOADED. */
  issue(keyId: string, address: string): { readonly ticket: string; readonly expiresAt: number };
  /** Uses the ticket up. Null: no such ticket, used, expired, of a revoked key, or from another address. */
  redeem(ticket: string, address: string): Caller | null;
}

export interface Revocations {
  /** Calls with the id of each key that is revoked from now on, at once. */
  onRevoked(listener: (keyId: string) => void): void;
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
