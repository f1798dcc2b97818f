/**
 * Asks the authenticator for whom a signed request speaks, and refuses a flood of wrong ones before any of them is
 * checked.
 *
 * A wrong request is paid for by its address (bucket `anon`). Once that is used up, a key that was proven from the same
 * address before is checked still, and each other live key as often as FIRST_PROOFS says: neighbours behind one address
 * lock each other out neither for good nor at their first request, after a start too. What names no live key is refused
 * before a digest is made. Bounds: `pairsMax` such pairs are remembered, and as many keys with first proofs; the one not
 * seen longest is forgotten.
 */
import { LRUCache } from "lru-cache";
import { ServiceError } from "../../engine/domain/errors.js";
import type { AuthVerdict, Authenticator, SignedRequest } from "./caller.js";
import { TokenBucket } from "./limiter.js";

/** Of one key, from all addresses without tokens: a flood under its id, too, costs no more than that. */
const FIRST_PROOFS = { perSecond: 1, burst: 1 } as const;

/** Reads nothing and knows no key: a service without keys. */
export const NO_KEYS: Authenticator = {
  mode: "public",
  namedKey: () => null,
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
  /** By the id of the key. */
  readonly #firstProofs: LRUCache<string, TokenBucket>;

  constructor(authenticator: Authenticator, pairsMax: number) {
    this.mode = authenticator.mode;
    this.#authenticator = authenticator;
    this.#proven = new LRUCache({ max: pairsMax });
    this.#firstProofs = new LRUCache({ max: pairsMax });
  }

  /** Without a key: open to everyone, with the reach of `PUBLIC_CALLER`. */
  get isPublic(): boolean {
    return this.mode === "public";
  }

  /** Whether this key was proven from this address before. */
  knows(request: Pick<SignedRequest, "headers" | "address">): boolean {
    return this.#proven.has(pairOf(request));
  }

  /** Null: not checked, since nobody has tokens left for a wrong one. `weight`: what that would cost its address. */
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
    if (anon.waitMs(weight, nowNs) === 0 || this.#proven.get(pairOf(request)) === true) return true;
    const keyId = this.#authenticator.namedKey(request);
    return keyId !== null && this.#firstProofsOf(keyId, nowNs).take(1, nowNs);
  }

  #firstProofsOf(keyId: string, nowNs: number): TokenBucket {
    const known = this.#firstProofs.get(keyId);
    if (known !== undefined) return known;
    const fresh = new TokenBucket("anon", FIRST_PROOFS, nowNs);
    this.#firstProofs.set(keyId, fresh);
    return fresh;
  }

  #noted(request: SignedRequest, verdict: AuthVerdict): AuthVerdict {
    if (verdict.ok && verdict.caller !== null) this.#proven.set(pairOf(request), true);
    return verdict;
  }
}

function pairOf({ headers, address }: Pick<SignedRequest, "headers" | "address">): string {
  return headers.apiKey === null ? "" : `${headers.apiKey}\0${address}`;
}
