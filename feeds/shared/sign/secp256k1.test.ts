import { secp256k1 as noble } from "@noble/curves/secp256k1";
import fc from "fast-check";
import { sign as viemSign } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { addressOfPrivateKey, fromHex, recoverAddress, toHex } from "./eip712.js";
import { createNativeSecp256k1, createPortableSecp256k1, type Secp256k1 } from "./secp256k1.js";

const native = createNativeSecp256k1();
const portable = createPortableSecp256k1();
const implementations: [string, Secp256k1][] = [["portable", portable]];
if (native !== null) implementations.push(["native", native]);

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const privateKeys = bytes32.filter((key) => portable.isPrivateKey(key));

describe.each(implementations)("secp256k1, %s", (_name, curve) => {
  it("signs as viem does, bit for bit", async () => {
    await fc.assert(
      fc.asyncProperty(bytes32, privateKeys, async (digest, key) => {
        const rs = new Uint8Array(64);
        const recoveryId = curve.sign(digest, key, rs);
        const reference = await viemSign({
          hash: toHex(digest) as `0x${string}`,
          privateKey: toHex(key) as `0x${string}`,
          to: "object",
        });
        expect(toHex(rs)).toBe(reference.r + reference.s.slice(2));
        expect(27 + recoveryId).toBe(Number(reference.v));
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it("recovers the signer of its own signatures, with low s", () => {
    fc.assert(
      fc.property(bytes32, privateKeys, (digest, key) => {
        const rs = new Uint8Array(64);
        const recoveryId = curve.sign(digest, key, rs);
        expect(toHex(curve.recover(digest, rs, recoveryId) ?? new Uint8Array())).toBe(toHex(curve.publicKey(key)));
        expect(BigInt(toHex(rs.subarray(32)))).toBeLessThanOrEqual(noble.CURVE.n / 2n);
      }),
      { numRuns: 40, seed: 2 },
    );
  });

  it("verifies a signature for its digest and key alone, and never with a high s", () => {
    fc.assert(
      fc.property(bytes32, privateKeys, fc.nat(63), (digest, key, at) => {
        const rs = new Uint8Array(64);
        curve.sign(digest, key, rs);
        const publicKey = curve.publicKey(key);
        expect(curve.verify(digest, rs, publicKey)).toBe(true);
        expect(curve.verify(digest, rs, noble.getPublicKey(key, true))).toBe(true);
        const changed = Uint8Array.from(rs, (byte, index) => (index === at ? byte ^ 1 : byte));
        expect(curve.verify(digest, changed, publicKey)).toBe(false);
        const high = Uint8Array.from(rs);
        const s = noble.CURVE.n - BigInt(toHex(rs.subarray(32)));
        high.set(fromHex(s.toString(16).padStart(64, "0")), 32);
        expect(curve.verify(digest, high, publicKey)).toBe(false);
      }),
      { numRuns: 40, seed: 4 },
    );
    expect(curve.verify(new Uint8Array(32), new Uint8Array(64).fill(1), new Uint8Array(33))).toBe(false);
  });

  it("refuses keys off the curve", () => {
    expect(curve.isPrivateKey(new Uint8Array(32))).toBe(false);
    expect(curve.isPrivateKey(new Uint8Array(32).fill(0xff))).toBe(false);
    expect(curve.isPrivateKey(new Uint8Array(31).fill(1))).toBe(false);
    expect(curve.isPrivateKey(fromHex(noble.CURVE.n.toString(16)))).toBe(false);
    expect(curve.isPrivateKey(fromHex((noble.CURVE.n - 1n).toString(16)))).toBe(true);
  });

  it("answers null, not a throw, for signatures that fit no key", () => {
    const digest = new Uint8Array(32).fill(7);
    expect(curve.recover(digest, new Uint8Array(64), 0)).toBeNull();
    expect(curve.recover(digest, new Uint8Array(64).fill(0xff), 1)).toBeNull();
    expect(recoverAddress(digest, new Uint8Array(64).fill(1), 99)).toBeNull();
  });
});

describe("secp256k1", () => {
  it.skipIf(native === null)("gives the same bytes natively and portably (needs the native binary)", () => {
    fc.assert(
      fc.property(bytes32, privateKeys, (digest, key) => {
        const left = new Uint8Array(64);
        const right = new Uint8Array(64);
        expect(native?.sign(digest, key, left)).toBe(portable.sign(digest, key, right));
        expect(left).toEqual(right);
      }),
      { numRuns: 60, seed: 3 },
    );
  });

  it("derives the known address of a published test key", () => {
    expect(addressOfPrivateKey(fromHex("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"))).toBe(
      "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    );
  });
});
