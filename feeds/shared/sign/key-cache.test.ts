import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { addressOfPrivateKey } from "./eip712.js";
import { createAddressCache, KeyCache } from "./key-cache.js";

const KEY_BYTES = 32;

function setUp() {
  const derived: number[] = [];
  const cache = new KeyCache(KEY_BYTES, (privateKey) => {
    derived.push(privateKey[0] ?? -1);
    return privateKey[0] === 0 ? null : `public ${privateKey[0]}`;
  });
  const publicOf = (seed: number): string | null => cache.publicOf(new Uint8Array(KEY_BYTES).fill(seed));
  return { cache, derived, publicOf };
}

describe("the cache of keys", () => {
  it("derives each key once, by its bytes and not by the array that holds them", () => {
    const { derived, publicOf } = setUp();
    const asked = [1, 2, 1, 2, 1].map(publicOf);
    expect(asked).toEqual(["public 1", "public 2", "public 1", "public 2", "public 1"]);
    expect(derived).toEqual([1, 2]);
  });

  it("refuses bytes of another length unseen, and asks again about what is no key", () => {
    const { cache, derived, publicOf } = setUp();
    expect(cache.publicOf(new Uint8Array(KEY_BYTES - 1).fill(1))).toBeNull();
    expect(cache.publicOf(new Uint8Array(KEY_BYTES + 1).fill(1))).toBeNull();
    expect(derived).toEqual([]);
    expect([publicOf(0), publicOf(0), derived]).toEqual([null, null, [0, 0]]);
  });

  it("shows nothing of itself, and does not change the caller's bytes", () => {
    const { cache } = setUp();
    const key = new Uint8Array(KEY_BYTES).fill(7);
    cache.publicOf(key);
    expect([JSON.stringify(cache), inspect(cache, { depth: 9, showHidden: true })]).toEqual(["{}", "KeyCache {}"]);
    expect(key.every((byte) => byte === 7)).toBe(true);
  });
});

describe("the cache of addresses", () => {
  it("gives the address of each key, first and later, and none of what is no key of the curve", () => {
    const cache = createAddressCache();
    for (let round = 0; round < 2; round++) {
      for (let seed = 1; seed <= 20; seed++) {
        const key = new Uint8Array(KEY_BYTES).fill(seed);
        expect(cache.publicOf(key)).toBe(addressOfPrivateKey(key));
      }
    }
    expect([cache.publicOf(new Uint8Array(KEY_BYTES)), cache.publicOf(new Uint8Array(KEY_BYTES).fill(255))]).toEqual([
      null,
      null,
    ]);
  });
});
