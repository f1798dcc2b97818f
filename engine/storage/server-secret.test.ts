import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKeyedHash } from "./server-secret.js";

/** The definition of the hash, through the library's own HMAC. */
function reference(key: Uint8Array, purpose: string, parts: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac("sha256", key);
  for (const part of [purpose, ...parts]) {
    const bytes = typeof part === "string" ? Buffer.from(part, "utf8") : part;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.byteLength);
    hmac.update(length).update(bytes);
  }
  return hmac.digest("hex");
}

describe("the keyed hash of the server", () => {
  it("is HMAC-SHA256 over purpose and parts, each with its length before it", () => {
    const part = fc.oneof(fc.string({ unit: "binary", maxLength: 80 }), fc.uint8Array({ maxLength: 300 }));
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 100 }),
        fc.string({ maxLength: 20 }),
        fc.array(part, { maxLength: 4 }),
        (key, purpose, parts) => {
          const hash = createKeyedHash(key);
          const expected = reference(key, purpose, parts);
          expect(hash.hmacHex(purpose, parts)).toBe(expected);
          // The scratch buffer of one call does not affect the next.
          hash.hmacHex("other", ["text"]);
          expect(hash.hmacHex(purpose, parts)).toBe(expected);
        },
      ),
      { numRuns: 500, seed: 20_263 },
    );
  });

  it("keeps its key when the caller wipes the secret", () => {
    const secret = randomBytes(32);
    const key = Uint8Array.from(secret);
    const hash = createKeyedHash(secret);
    secret.fill(0);
    expect(hash.hmacHex("account", ["venueone", "0xabc"])).toBe(reference(key, "account", ["venueone", "0xabc"]));
  });
});
