/**
 * Proves who opened a connection: by the signature of an `auth` frame, or by a ticket of POST /api/stream/ticket.
 *
 * A refused proof is paid for by its address, from `anon`, as over HTTP (verifier.ts): a flood of wrong ones is refused
 * before it costs a digest.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { STREAM_PATH } from "../../schemas/asyncapi.js";
import type { Authenticator, Caller, StreamTickets } from "../http/caller.js";
import type { RateLimiter } from "../http/limiter.js";
import type { Verifier } from "../http/verifier.js";

export type AuthClaim =
  | { readonly apiKey: string; readonly timestamp: number; readonly signature: string }
  | { readonly ticket: string };

/** Where a connection comes from: the name of its rate limits, and its text for the checks of keys. */
export interface StreamOrigin {
  readonly address: string;
  readonly addressText: string;
}

export type AuthResult =
  /** `settled`: wait for it before the caller is believed; it never rejects. */
  | { readonly ok: true; readonly caller: Caller; readonly settled: Promise<void> | null }
  | { readonly ok: false; readonly error: ServiceError };

export interface StreamAuth {
  readonly mode: Authenticator["mode"];
  authenticate(claim: AuthClaim, from: StreamOrigin): AuthResult;
}

export interface StreamAuthParts {
  readonly verifier: Verifier;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  /** Absent: there are no keys, and so no tickets. */
  readonly tickets?: StreamTickets;
}

const NO_BODY = new Uint8Array(0);

export function createStreamAuth({ verifier, limiter, clock, tickets }: StreamAuthParts): StreamAuth {
  const bucketOf = (from: StreamOrigin) => limiter.caller(from.address, clock.monoNs()).anon;

  /** The refusal, or that its address has asked too often. */
  function refused(error: ServiceError, from: StreamOrigin): AuthResult {
    const anon = bucketOf(from);
    const nowNs = clock.monoNs();
    if (anon.take(1, nowNs)) return { ok: false, error };
    const { policy, burst: limit, windowSeconds } = anon;
    const details = { policy, limit, windowSeconds, retryAfterMs: anon.waitMs(1, nowNs) };
    return { ok: false, error: new ServiceError("RATE_LIMITED", details) };
  }

  function byTicket(ticket: string, from: StreamOrigin): AuthResult {
    if (bucketOf(from).waitMs(1, clock.monoNs()) > 0) return refused(new ServiceError("AUTH_BAD_TICKET"), from);
    const caller = tickets?.redeem(ticket, from.addressText) ?? null;
    return caller === null ? refused(new ServiceError("AUTH_BAD_TICKET"), from) : { ok: true, caller, settled: null };
  }

  return {
    mode: verifier.mode,
    authenticate(claim, from) {
      if ("ticket" in claim) return byTicket(claim.ticket, from);
      const { apiKey, signature } = claim;
      const headers = { apiKey, timestamp: String(claim.timestamp), signature, recvWindow: null, secret: null };
      const request = { headers, method: "GET", target: STREAM_PATH, body: NO_BODY, address: from.addressText };
      const verdict = verifier.verifyOnce(request, bucketOf(from), clock.monoNs());
      if (verdict === null) return refused(new ServiceError("AUTH_UNKNOWN_KEY"), from);
      if (!verdict.ok) return refused(verdict.error, from);
      if (verdict.caller === null) return refused(new ServiceError("AUTH_UNKNOWN_KEY"), from);
      return { ok: true, caller: verdict.caller, settled: verdict.settled ?? null };
    },
  };
}

/** Of a service without keys: a key that is sent anyway is unknown. */
export const PUBLIC_AUTH: StreamAuth = {
  mode: "public",
  authenticate(claim) {
    const context = { mode: "public", reason: "no API keys exist here, and no topic served needs one" };
    return { ok: false, error: new ServiceError("ticket" in claim ? "AUTH_BAD_TICKET" : "AUTH_UNKNOWN_KEY", context) };
  },
};
