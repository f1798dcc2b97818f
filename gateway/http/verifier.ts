/**
 * Asks the authenticator for whom a signed request speaks, and refuses a flood of wrong ones before any of them is
 * checked.
 *
 * A wrong request is paid for by its address (bucket `anon`). Once that is used up, only a key that was proven from the
 * same address before is checked at all: neighbours behind one address cannot lock each other out. Bound: `pairsMax`
 * such pairs are remembered; the one not seen longest is forgotten.
 */
import { LRUCache } from "lru-cache";
import { ServiceError } from "../../engine/domain/errors.js";
import type { AuthVerdict, Authenticator, SignedRequest } from "./caller.js";
import type { TokenBucket } from "./limiter.js";

/** Reads nothing and knows no key: a service without keys. */
export const NO_KEYS: Authenticator = {
  mode: "public",
  authenticate: () => ({ ok: true, caller: null, deprecated: false }),
  authenticateOnce: ({ headers }) => ({
    ok: false,
    error: new ServiceError(headers.apiKey === null ? "AUTH_MISSING_HEADER" : "AUTH_UNKNOWN_KEY", { mode: "public" }),
  }),
};

export class Verifier {
  readonly mode: Authenticator["mode"];
  readonly #authenticator: Authenticator;
  readonly #proven: LRUCache<string, true>;

  constructor(authenticator: Authenticator, pairsMax: number) {
    this.mode = authenticator.mode;
    this.#authenticator = authenticator;
    this.#proven = new LRUCache({ max: pairsMax });
  }

  /** Without a key: open to everyone, with the reach of `PUBLIC_CALLER`. */
  get isPublic(): boolean {
    return this.mode === "public";
  }

  /** Whether this key was proven from this address before. */
  knows(request: Pick<SignedRequest, "headers" | "address">): boolean {
    return this.#proven.has(pairOf(request));
  }

  /** Null: not checked, since its address has no tokens left for a wrong one. `weight`: what that would cost. */
  verify(request: SignedRequest, anon: TokenBucket, weight: number, nowNs: number): AuthVerdict | null {
    return this.#mayCheck(request, anon, weight, nowNs)
      ? this.#noted(request, this.#authenticator.authenticate(request))
      : null;
  }

  /** Like `verify`, and a signature is accepted once. */
  verifyOnce(request: SignedRequest, anon: TokenBucket, nowNs: number): AuthVerdict | null {
    return this.#mayCheck(request, anon, 1, nowNs)
      ? this.#noted(request, this.#authenticator.authenticateOnce(request))
      : null;
  }

  #mayCheck(request: SignedRequest, anon: TokenBucket, weight: number, nowNs: number): boolean {
    return anon.waitMs(weight, nowNs) === 0 || this.#proven.get(pairOf(request)) === true;
  }

  #noted(request: SignedRequest, verdict: AuthVerdict): AuthVerdict {
    if (verdict.ok && verdict.caller !== null) this.#proven.set(pairOf(request), true);
    return verdict;
  }
}

function pairOf({ headers, address }: Pick<SignedRequest, "headers" | "address">): string {
  return headers.apiKey === null ? "" : `${headers.apiKey}\0${address}`;
}
