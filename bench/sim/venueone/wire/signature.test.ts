import { readFileSync } from "node:fs";
import fc from "fast-check";
import { toHex } from "viem";
import { describe, expect, it } from "vitest";
import { decodeExchange } from "./actions.js";
import { readJson } from "./json.js";
import { type PackValue, packMessage } from "./msgpack.js";
import { agentDigest, hashAction, recoverSigner, recoverSignerSlowly, requestDigest } from "./signature.js";
import { addressOf, sign } from "../test/kit.js";

interface Vector {
  readonly id: string;
  readonly kind: "l1" | "user" | "hash";
  readonly isMainnet?: boolean;
  readonly nonce: number;
  readonly vaultAddress?: string;
  readonly expiresAfter?: number;
  readonly action: PackValue;
  readonly expected: Readonly<
    Record<"actionHash" | "eip712Digest" | "r" | "s" | "signer" | "msgpack", string | undefined>
  > & { readonly v?: number };
}

const VECTORS = JSON.parse(
  readFileSync(new URL("../fixtures/signing-vectors.json", import.meta.url), "utf8"),
) as readonly Vector[];

function vectorOf(id: string): Vector {
  const vector = VECTORS.find((candidate) => candidate.id === id);
  if (vector === undefined) throw new RangeError(`no vector ${id}`);
  return vector;
}

/** The envelope as a client posts it. */
function decodePosted(vector: Vector, action: unknown = vector.action) {
  const { r, s, v } = vector.expected;
  const body = { action, nonce: vector.nonce, signature: { r, s, v }, vaultAddress: vector.vaultAddress ?? null };
  const node = readJson(JSON.stringify(body))?.node;
  return node === undefined ? null : decodeExchange(node);
}

describe("the hash of an action", () => {
  it.each(
    VECTORS.filter((vector) => vector.expected.actionHash !== undefined).map((vector) => [vector.id, vector] as const),
  )("%s", (_id, vector) => {
    expect(hashAction(vector.action, vector.nonce, vector.vaultAddress ?? null, vector.expiresAfter ?? null)).toBe(
      vector.expected.actionHash,
    );
  });

  it("packs the action byte for byte", () => {
    const vector = vectorOf("na-hash-order");
    expect(`0x${Buffer.from(packMessage(vector.action)).toString("hex")}`).toBe(vector.expected.msgpack);
  });

  it("packs integers in their smallest form on both sides of every boundary", () => {
    const bytes = (value: number): string => Buffer.from(packMessage(value)).toString("hex");
    expect([127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32].map(bytes)).toEqual([
      "7f",
      "cc80",
      "ccff",
      "cd0100",
      "cdffff",
      "ce00010000",
      "ceffffffff",
      "cf0000000100000000",
    ]);
    expect([-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31) - 1].map(bytes)).toEqual([
      "ff",
      "e0",
      "d0df",
      "d080",
      "d1ff7f",
      "d18000",
      "d2ffff7fff",
      "d3ffffffff7fffffff",
    ]);
  });
});

describe("signer recovery", () => {
  it.each(["live-reduceonly-ioc", "py-order-cloid-test", "dv-approveAgent-named-main", "live-withdraw3-by-agent"])(
    "%s recovers through the typed pipeline",
    (id) => {
      const vector = vectorOf(id);
      const request = decodePosted(vector);
      expect(request).not.toBeNull();
      if (request === null) return;
      expect(recoverSigner(requestDigest(request, vector.isMainnet ?? true), request.signature)).toBe(
        vector.expected.signer,
      );
    },
  );

  it("takes a scalar whose leading zeros were stripped, to an odd number of digits", () => {
    const vector = vectorOf("py-vault-main");
    const { r, s, v, signer } = vector.expected;
    expect(r?.length).toBeLessThan(66);
    const digest = agentDigest(hashAction(vector.action, vector.nonce, vector.vaultAddress ?? null, null), true);
    expect(recoverSigner(digest, { r: BigInt(r ?? 0), s: BigInt(s ?? 0), v: v ?? 0 })).toBe(signer);
  });

  it("does not mind reordered keys, padded decimals or an upper-case cloid in the posted body", () => {
    const vector = vectorOf("py-order-cloid-test");
    const text = JSON.stringify(vector.action);
    const posted = JSON.parse(text, (_key, value: unknown) => {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
      const entries = Object.entries(value).reverse();
      return Object.fromEntries(
        entries.map(([key, field]) => {
          if (key === "p" || key === "s") return [key, `0${String(field)}${String(field).includes(".") ? "" : "."}000`];
          return [key, key === "c" ? `0x${String(field).slice(2).toUpperCase()}` : field];
        }),
      );
    }) as unknown;
    expect(JSON.stringify(posted)).not.toBe(text);
    const request = decodePosted(vector, posted);
    expect(request).not.toBeNull();
    if (request !== null) {
      expect(recoverSigner(requestDigest(request, false), request.signature)).toBe(vector.expected.signer);
    }
  });

  it("names a stranger when any field, the network or the nonce differs", () => {
    const vector = vectorOf("live-reduceonly-ioc");
    const request = decodePosted(vector);
    if (request === null) throw new Error("vector does not decode");
    const recovered = [
      recoverSigner(requestDigest(request, true), request.signature),
      recoverSigner(requestDigest({ ...request, nonce: request.nonce + 1 }, false), request.signature),
      recoverSigner(requestDigest({ ...request, expiresAfter: 1 }, false), request.signature),
      recoverSigner(requestDigest({ ...request, vaultAddress: `0x${"1".repeat(40)}` }, false), request.signature),
    ];
    for (const signer of recovered) expect(signer).not.toBe(vector.expected.signer);
  });

  it("agrees between two implementations of the curve, on valid and on arbitrary signatures", () => {
    const scalar = fc.bigInt({ min: 1n, max: 2n ** 255n });
    const digests = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => toHex(bytes));
    fc.assert(
      fc.property(digests, scalar, scalar, fc.constantFrom(27, 28), (digest, r, s, v) => {
        expect(recoverSigner(digest, { r, s, v })).toBe(recoverSignerSlowly(digest, { r, s, v }));
      }),
      { numRuns: 60 },
    );
    const key = `0x${"5a".repeat(32)}` as const;
    const { r, s, v } = sign(key, agentDigest(`0x${"11".repeat(32)}`, true));
    const parts = { r: BigInt(r), s: BigInt(s), v };
    const digest = agentDigest(`0x${"11".repeat(32)}`, true);
    expect([recoverSigner(digest, parts), recoverSignerSlowly(digest, parts)]).toEqual([
      addressOf(key),
      addressOf(key),
    ]);
  });

  it("answers null for scalars no key could have made", () => {
    const digest = agentDigest(`0x${"11".repeat(32)}`, true);
    expect(recoverSigner(digest, { r: 0n, s: 1n, v: 27 })).toBeNull();
    expect(recoverSigner(digest, { r: 1n, s: 2n ** 256n - 1n, v: 27 })).toBeNull();
    expect(recoverSigner(digest, { r: 5n, s: 1n, v: 27 })).toBeNull();
    expect(recoverSigner(digest, { r: 1n, s: 1n, v: 29 })).toBeNull();
  });
});
