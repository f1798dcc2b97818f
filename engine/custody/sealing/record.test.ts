import { createCipheriv } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentLayerData, keyLayerData } from "./context.js";
import { Kek } from "./kek.js";
import {
  MAX_PLAINTEXT_BYTES,
  openRecord,
  RECORD_OVERHEAD_BYTES,
  recordKekId,
  rewrapRecord,
  sealRecord,
} from "./record.js";
import type { SealContext } from "./sealer.js";
import { systemSecretRandom } from "./secret-bytes.js";
import { codeOf, errorOf, seededRandom } from "./test/sealing-doubles.js";

const kek = new Kek(Buffer.alloc(32, "first key of these tests"));
const otherKek = new Kek(Buffer.alloc(32, "other key of these tests"));
const context: SealContext = { purpose: "api-key", parts: ["pk_1", Uint8Array.of(0, 255)], recordVersion: 3 };
const secret = Buffer.from("sk_test_8Jx2");
const random = seededRandom(14);

const sealed = sealRecord(kek, context, secret, random);

function open(record: Uint8Array, as: SealContext = context, under: Kek = kek): string {
  return openRecord(under, as, record).toString("utf8");
}

const plaintexts = fc.uint8Array({ maxLength: 300 });
const contexts = fc.record({
  purpose: fc.constantFrom("api-key", "venue-credentials", "share"),
  parts: fc.array(fc.oneof(fc.string({ unit: "grapheme", maxLength: 20 }), fc.uint8Array({ maxLength: 20 })), {
    maxLength: 4,
  }),
  recordVersion: fc.maxSafeNat(),
});

describe("a sealed record", () => {
  it("is byte for byte what another library makes of the same keys, IVs and context", () => {
    const vector = JSON.parse(
      readFileSync(new URL("./test/fixtures/sealed-record.json", import.meta.url), "utf8"),
    ) as Record<"kek" | "kekId" | "dek" | "wrapIv" | "iv" | "purpose" | "plaintext" | "record", string> & {
      readonly parts: readonly (string | { readonly hex: string })[];
      readonly recordVersion: number;
    };
    const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
    const drawn = [vector.dek, vector.wrapIv, vector.iv].map(bytes);
    const vectorKek = new Kek(bytes(vector.kek));
    const vectorContext = {
      purpose: vector.purpose,
      parts: vector.parts.map((part) => (typeof part === "string" ? part : bytes(part.hex))),
      recordVersion: vector.recordVersion,
    };
    const record = sealRecord(vectorKek, vectorContext, bytes(vector.plaintext), (target) =>
      target.set(drawn.shift() ?? []),
    );
    expect(vectorKek.id).toBe(vector.kekId);
    expect(record.toString("hex")).toBe(vector.record);
    expect(openRecord(vectorKek, vectorContext, bytes(vector.record)).toString("hex")).toBe(vector.plaintext);
  });

  it("opens to what was sealed, also empty and of the greatest size", () => {
    fc.assert(
      fc.property(contexts, plaintexts, (as, plaintext) => {
        const record = sealRecord(kek, as, plaintext, systemSecretRandom);
        expect(record.byteLength).toBe(plaintext.byteLength + RECORD_OVERHEAD_BYTES);
        expect(openRecord(kek, as, record).equals(plaintext)).toBe(true);
      }),
    );
    const largest = Buffer.alloc(MAX_PLAINTEXT_BYTES, 7);
    expect(openRecord(kek, context, sealRecord(kek, context, largest, random)).equals(largest)).toBe(true);
    const tooLarge = Buffer.alloc(MAX_PLAINTEXT_BYTES + 1);
    expect(errorOf(() => sealRecord(kek, context, tooLarge, random)).code).toBe("INTERNAL");
  });

  it("leaves the plaintext as it was: it is its caller's to wipe", () => {
    const plaintext = Buffer.from(secret);
    sealRecord(kek, context, plaintext, random);
    expect(plaintext.equals(secret)).toBe(true);
  });

  it("has new keys and IVs each time it is sealed", () => {
    const drawn = new Set<string>();
    const remember = (target: Uint8Array): void => {
      systemSecretRandom(target);
      drawn.add(Buffer.from(target).toString("hex"));
    };
    const records = new Set(
      Array.from({ length: 50 }, () => sealRecord(kek, context, secret, remember).toString("hex")),
    );
    expect([records.size, drawn.size]).toEqual([50, 150]);
  });

  it("fails for every single bit that is flipped in it", () => {
    for (let bit = 0; bit < sealed.byteLength * 8; bit++) {
      const changed = Buffer.from(sealed);
      const at = bit >> 3;
      changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
      const inKekId = at >= 2 && at < 10;
      expect(errorOf(() => open(changed)).code, `bit ${bit}`).toBe(inKekId ? "SEAL_KEY_UNKNOWN" : "SEAL_BROKEN");
    }
  });

  it("fails under every other context", () => {
    fc.assert(
      fc.property(contexts, contexts, (as, other) => {
        fc.pre(!contentLayerData(as).equals(contentLayerData(other)));
        const record = sealRecord(kek, as, secret, systemSecretRandom);
        expect(errorOf(() => open(record, other)).code).toBe("SEAL_BROKEN");
      }),
    );
    const { parts, purpose, recordVersion } = context;
    const near: readonly SealContext[] = [
      { ...context, purpose: `${purpose}s` },
      { ...context, recordVersion: recordVersion + 1 },
      { ...context, recordVersion: recordVersion - 1 },
      { ...context, parts: [...parts].reverse() },
      { ...context, parts: parts.slice(0, 1) },
      { ...context, parts: [...parts, ""] },
      { ...context, parts: ["pk_", "1", Uint8Array.of(0, 255)] },
      { ...context, parts: [Buffer.from("pk_1"), Uint8Array.of(0, 255)] },
    ];
    for (const other of near) expect(errorOf(() => open(sealed, other)).code).toBe("SEAL_BROKEN");
  });

  it("fails in the row of another, and an older version fails in the place of a newer one", () => {
    const rows = ["pk_1", "pk_2"].map((keyId) => {
      const as = { purpose: "api-key", parts: [keyId], recordVersion: 1 };
      return { as, record: sealRecord(kek, as, Buffer.from(keyId), random) };
    });
    const [first, second] = rows;
    if (first === undefined || second === undefined) throw new Error("two rows");
    expect(open(first.record, first.as)).toBe("pk_1");
    expect(errorOf(() => open(first.record, second.as)).context).toEqual({ reason: "KEY" });
    expect(errorOf(() => open(second.record, first.as)).context).toEqual({ reason: "KEY" });
    expect(errorOf(() => open(first.record, { ...first.as, recordVersion: 2 })).code).toBe("SEAL_BROKEN");
  });

  it("fails where the content of one is put under the key of another of the same context", () => {
    const twin = sealRecord(kek, context, Buffer.from("sk_test_9Ky3"), random);
    const mixed = Buffer.concat([sealed.subarray(0, 70), twin.subarray(70)]);
    expect(errorOf(() => open(mixed)).context).toEqual({ reason: "CONTENT" });
  });

  it("fails at every length but its own, a shorter tag included", () => {
    for (let length = 0; length < sealed.byteLength; length++)
      expect(errorOf(() => open(sealed.subarray(0, length))).code, `${length} bytes`).toBe("SEAL_BROKEN");
    for (const extra of [1, 4, 16, 98])
      expect(errorOf(() => open(Buffer.concat([sealed, Buffer.alloc(extra)]))).code).toBe("SEAL_BROKEN");
    const huge = Buffer.concat([sealed, Buffer.alloc(MAX_PLAINTEXT_BYTES)]);
    expect(errorOf(() => open(huge)).context).toEqual({ reason: "LENGTH" });
  });

  it("fails with a content tag of four bytes, though the right key made it", () => {
    const dek = Buffer.alloc(32, 9);
    const drawn = [dek, Buffer.alloc(12, 1), Buffer.alloc(12, 2)];
    const whole = sealRecord(kek, context, secret, (target) => target.set(drawn.shift() ?? []));
    const cipher = createCipheriv("aes-256-gcm", dek, Buffer.alloc(12, 2), { authTagLength: 4 });
    cipher.setAAD(contentLayerData(context));
    const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
    const short = Buffer.concat([whole.subarray(0, 82), ciphertext, cipher.getAuthTag()]);
    expect(short.byteLength).toBe(whole.byteLength - 12);
    expect(errorOf(() => open(short)).code).toBe("SEAL_BROKEN");
  });

  it("is refused by name for an unknown format or algorithm, whatever follows", () => {
    expect(errorOf(() => open(Uint8Array.of(2, 1))).context).toEqual({ reason: "UNKNOWN_FORMAT", format: 2 });
    expect(errorOf(() => open(Uint8Array.of(1, 9))).context).toEqual({ reason: "UNKNOWN_ALGORITHM", algorithm: 9 });
    expect(errorOf(() => open(Uint8Array.of(1))).context).toEqual({ reason: "LENGTH" });
    expect(errorOf(() => recordKekId(new Uint8Array(0))).context).toEqual({ reason: "LENGTH" });
  });

  it("under another KEK is not broken but of an unknown key, which it names", () => {
    const error = errorOf(() => open(sealed, context, otherKek));
    expect([error.code, error.status, error.context]).toEqual(["SEAL_KEY_UNKNOWN", 503, { kekId: kek.id }]);
  });

  it("of a KEK whose id is borrowed does not open", () => {
    const borrowed = Buffer.from(sealed);
    borrowed.write(otherKek.id, 2, "hex");
    expect(codeOf(() => open(borrowed, context, otherKek))).toBe("SEAL_BROKEN");
  });

  it("takes any bytes without another error than its two", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 250 }), fc.boolean(), (bytes, hasHead) => {
        const record = hasHead ? Buffer.concat([sealed.subarray(0, 10), bytes]) : bytes;
        expect(["SEAL_BROKEN", "SEAL_KEY_UNKNOWN"]).toContain(codeOf(() => open(record)));
      }),
    );
  });

  it("is read from the middle of a larger buffer", () => {
    const larger = Buffer.concat([Buffer.alloc(5, 1), sealed, Buffer.alloc(5, 1)]);
    expect(open(new Uint8Array(larger.buffer, larger.byteOffset + 5, sealed.byteLength))).toBe("sk_test_8Jx2");
  });
});

describe("a rewrapped record", () => {
  const rewrapped = rewrapRecord(kek, otherKek, context, sealed, random);

  it("opens under the new KEK alone, with its content bytes untouched", () => {
    expect(recordKekId(rewrapped)).toBe(otherKek.id);
    expect(open(rewrapped, context, otherKek)).toBe("sk_test_8Jx2");
    expect(errorOf(() => open(rewrapped)).code).toBe("SEAL_KEY_UNKNOWN");
    expect(rewrapped.subarray(70).equals(sealed.subarray(70))).toBe(true);
    expect(rewrapped.subarray(10, 70).equals(sealed.subarray(10, 70))).toBe(false);
    expect(open(sealed)).toBe("sk_test_8Jx2");
  });

  it("is not made of a record in the wrong row or of an older version", () => {
    for (const wrong of [
      { ...context, parts: ["pk_2"] },
      { ...context, recordVersion: 4 },
    ])
      expect(errorOf(() => rewrapRecord(kek, otherKek, wrong, sealed, random)).code).toBe("SEAL_BROKEN");
  });
});

describe("the context of a record", () => {
  it("has one encoding for each context and layer, and none is the beginning of another", () => {
    fc.assert(
      fc.property(contexts, contexts, (left, right) => {
        const isSame =
          left.purpose === right.purpose &&
          left.recordVersion === right.recordVersion &&
          left.parts.length === right.parts.length &&
          left.parts.every((part, index) => {
            const other = right.parts[index];
            if (typeof part === "string" || typeof other === "string") return part === other;
            return other !== undefined && Buffer.compare(part, other) === 0;
          });
        const [one, two] = [contentLayerData(left), contentLayerData(right)];
        expect(one.equals(two)).toBe(isSame);
        if (!isSame) expect(one.subarray(0, two.byteLength).equals(two)).toBe(false);
      }),
      { numRuns: 500 },
    );
    expect(keyLayerData(context, Buffer.alloc(8)).equals(contentLayerData(context))).toBe(false);
  });

  it.each([
    ["an empty purpose", { ...context, purpose: "" }],
    ["a purpose of other letters", { ...context, purpose: "API key" }],
    ["too many parts", { ...context, parts: new Array<string>(17).fill("a") }],
    ["too long parts", { ...context, parts: ["a".repeat(9_000)] }],
    ["half a character", { ...context, parts: ["\ud800"] }],
    ["a fraction as version", { ...context, recordVersion: 1.5 }],
    ["a negative version", { ...context, recordVersion: -1 }],
    ["a version beyond the safe integers", { ...context, recordVersion: 2 ** 53 }],
  ])("is our own mistake with %s", (_name, wrong) => {
    expect(errorOf(() => sealRecord(kek, wrong, secret, random)).code).toBe("INTERNAL");
    expect(errorOf(() => openRecord(kek, wrong, sealed)).code).toBe("INTERNAL");
  });
});

describe("errors of sealed records", () => {
  it("show nothing of key or content, in no field and no cause", () => {
    const changed = Buffer.from(sealed);
    changed[sealed.byteLength - 1] = (changed[sealed.byteLength - 1] ?? 0) ^ 1;
    for (const error of [errorOf(() => open(changed)), errorOf(() => open(sealed, context, otherKek))]) {
      const text = JSON.stringify([error.message, error.context, error.stack]);
      expect(text).not.toContain("sk_test");
      expect(text).not.toContain(kek.key.toString("hex"));
      expect(error.cause).toBeUndefined();
    }
  });
});
