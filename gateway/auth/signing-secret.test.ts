import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { IpList } from "./ip-list.js";
import { LiveKey } from "./key-table.js";
import { BLOCK_BYTES, SigningSecret } from "./signing-secret.js";

const TEXT = "1790000000000GET/api/limits";

function frame(): Buffer {
  return Buffer.concat([Buffer.alloc(BLOCK_BYTES), Buffer.from(TEXT)]);
}

const signatureOf = (secret: string): string => createHmac("sha256", secret).update(TEXT).digest("hex");
const digestOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
const matches = (secret: SigningSecret | null, signature: string): boolean | undefined =>
  secret?.isSignature(frame(), BLOCK_BYTES + TEXT.length, signature);

describe("a signing secret", () => {
  it("matches its signature and its digest, and nothing after it was wiped", () => {
    const secret = new SigningSecret(Buffer.from("sk_one"));
    expect([matches(secret, signatureOf("sk_one")), secret.hasDigest(digestOf("sk_one"))]).toEqual([true, true]);
    expect([matches(secret, signatureOf("sk_two")), secret.hasDigest(digestOf("sk_two"))]).toEqual([false, false]);
    secret.wipe();
    expect([matches(secret, signatureOf("sk_one")), secret.hasDigest(digestOf("sk_one"))]).toEqual([false, false]);
  });

  it("that was wiped does not take the signature of its zeros: everybody can make that", () => {
    const secret = new SigningSecret(Buffer.from("sk_one"));
    secret.wipe();
    const ofZeros = secret.hmacHex(frame(), BLOCK_BYTES + TEXT.length);
    expect([matches(secret, ofZeros), secret.hasDigest("\0".repeat(64))]).toEqual([false, false]);
  });

  it("ends in memory too where a rotation leaves it no overlap", () => {
    const facts = { keyId: "pk_one", ownerId: "ow_one", scopes: ["read"], ips: IpList.parse([]) as IpList } as const;
    const former = new SigningSecret(Buffer.from("sk_one"));
    const key = new LiveKey(facts, former);
    key.rotate(new SigningSecret(Buffer.from("sk_two")), null);
    expect([matches(former, signatureOf("sk_one")), matches(key.present, signatureOf("sk_two"))]).toEqual([
      false,
      true,
    ]);
    expect(former.hmacHex(frame(), BLOCK_BYTES + TEXT.length)).not.toBe(signatureOf("sk_one"));
  });
});
