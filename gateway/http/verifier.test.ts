import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import type { AuthVerdict, Authenticator, SignedRequest } from "./caller.js";
import { TokenBucket } from "./limiter.js";
import { Verifier } from "./verifier.js";

const HEADERS = { timestamp: "1", recvWindow: null, signature: "s", secret: null };

function requestOf(apiKey: string, address: string): SignedRequest {
  return { headers: { ...HEADERS, apiKey }, method: "GET", target: "/", body: new Uint8Array(0), address };
}

function setUp(pairsMax = 10) {
  const asked: string[] = [];
  const authenticate = ({ headers, address }: SignedRequest): AuthVerdict => {
    asked.push(`${headers.apiKey} ${address}`);
    if (headers.apiKey?.startsWith("bad") !== false)
      return { ok: false, error: new ServiceError("AUTH_BAD_SIGNATURE") };
    return { ok: true, caller: { ownerId: "o", keyId: headers.apiKey, scopes: new Set() }, deprecated: false };
  };
  const authenticator: Authenticator = {
    mode: "signed",
    authenticate,
    authenticateOnce: authenticate,
    namedKey: ({ headers: { apiKey } }) => (apiKey?.includes("pk_live") === true ? apiKey : null),
  };
  const verifier = new Verifier(authenticator, pairsMax);
  const full = new TokenBucket("anon", { perSecond: 1, burst: 2 }, 0);
  const empty = new TokenBucket("anon", { perSecond: 1, burst: 2 }, 0);
  empty.take(2, 0);
  return { asked, verifier, full, empty };
}

describe("the verifier", () => {
  it("checks a key from an address without tokens only where it was proven from that address", () => {
    const { asked, verifier, full, empty } = setUp();
    const here = requestOf("pk_1", "10.0.0.1");
    expect(verifier.verify(here, empty, 1, 0)).toBeNull();
    expect(verifier.verifyOnce(here, empty, 0)).toBeNull();
    expect(asked).toEqual([]);
    expect(verifier.verify(here, full, 1, 0)?.ok).toBe(true);
    expect(verifier.verify(here, empty, 1, 0)?.ok).toBe(true);
    expect(verifier.verifyOnce(here, empty, 0)?.ok).toBe(true);
    for (const other of [requestOf("pk_2", "10.0.0.1"), requestOf("pk_1", "10.0.0.2"), requestOf("pk_1 10.0.0.1", "")])
      expect(verifier.verify(other, empty, 1, 0)).toBeNull();
    expect(asked).toHaveLength(3);
  });

  it("checks a live key from an address without tokens once a second until it is proven from there", () => {
    const { asked, verifier } = setUp();
    const empty = new TokenBucket("anon", { perSecond: 1 / 3600, burst: 1 }, 0);
    empty.take(1, 0);
    const second = 1e9;
    const flood = requestOf("bad pk_live", "10.0.0.1");
    expect(verifier.verify(flood, empty, 1, 0)?.ok).toBe(false);
    // Whoever floods under its id takes its turns, and nobody else's.
    for (let ns = 0; ns < second; ns += second / 10) expect(verifier.verify(flood, empty, 1, ns)).toBeNull();
    expect(verifier.verifyOnce(flood, empty, 0)).toBeNull();
    const first = requestOf("pk_live", "10.0.0.1");
    expect(verifier.verifyOnce(first, empty, 0)?.ok).toBe(true);
    for (let index = 0; index < 10; index++) expect(verifier.verify(first, empty, 1, 0)?.ok).toBe(true);
    expect(verifier.verify(requestOf("pk_live", "10.0.0.2"), empty, 1, 0)).toBeNull();
    expect(verifier.verify(flood, empty, 1, 2 * second)?.ok).toBe(false);
    expect(asked).toHaveLength(13);
  });

  it("remembers no key that was refused", () => {
    const { asked, verifier, full, empty } = setUp();
    expect(verifier.verify(requestOf("bad", "a"), full, 1, 0)?.ok).toBe(false);
    expect(verifier.verify(requestOf("bad", "a"), empty, 1, 0)).toBeNull();
    expect(asked).toHaveLength(1);
  });

  it("forgets the pair not seen longest, beyond its bound", () => {
    const { verifier, full, empty } = setUp(2);
    for (const key of ["pk_1", "pk_2", "pk_3"]) verifier.verify(requestOf(key, "a"), full, 1, 0);
    const known = ["pk_1", "pk_2", "pk_3"].map((key) => verifier.verify(requestOf(key, "a"), empty, 1, 0) !== null);
    expect(known).toEqual([false, true, true]);
  });
});
