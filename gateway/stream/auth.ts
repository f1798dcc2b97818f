/**
 * Identifies the caller of a connection. A port, so that key authentication can replace it. In public mode no API key
 * exists and none is needed; a key that is sent anyway is checked like any other: it is unknown.
 */
import type { ErrorCode } from "../../engine/domain/errors.js";

export interface AuthClaim {
  readonly apiKey: string;
  readonly timestamp: number;
  readonly signature: string;
}

export type AuthScope = "read" | "trade" | "transfer" | "sign";

export type AuthResult =
  | { readonly ok: true; readonly scopes: readonly AuthScope[] }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

export interface StreamAuth {
  authenticate(claim: AuthClaim, nowMs: number): AuthResult;
}

export const PUBLIC_AUTH: StreamAuth = {
  authenticate: (_claim, nowMs) => ({
    ok: false,
    code: "AUTH_UNKNOWN_KEY",
    details: { mode: "public", reason: "no API keys exist here, and no topic served needs one", serverTime: nowMs },
  }),
};
