import { describe, expect, it } from "vitest";
import { mintKeyId, mintOwnerId, mintSecret, mintTicket } from "./secret-text.js";
import { BLOCK_BYTES } from "./signing-secret.js";
import { seededFill } from "./test/auth-harness.js";

describe("a minted text", () => {
  it("has its prefix and enough digits for its bits", () => {
    const fill = seededFill(1);
    expect(mintKeyId(fill)).toMatch(/^pk_[0-9A-Za-z]{22}$/);
    expect(mintOwnerId(fill)).toMatch(/^ow_[0-9A-Za-z]{22}$/);
    expect(mintSecret(fill).toString("latin1")).toMatch(/^sk_[0-9A-Za-z]{43}$/);
    expect(mintTicket(fill)).toMatch(/^st_[0-9A-Za-z]{43}$/);
    expect(62n ** 22n > 1n << 128n && 62n ** 43n > 1n << 256n).toBe(true);
  });

  it("of a secret fits one block of the hash, so that its SHA-256 does not sign", () => {
    expect(mintSecret(seededFill(2)).byteLength).toBeLessThanOrEqual(BLOCK_BYTES);
  });

  it("has every digit equally often", () => {
    const counts = new Map<string, number>();
    const fill = seededFill(3);
    for (let made = 0; made < 2_000; made++)
      for (const digit of mintSecret(fill).toString("latin1").slice(3)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    const expected = (2_000 * 43) / 62;
    expect(counts.size).toBe(62);
    for (const [digit, count] of counts)
      expect(Math.abs(count - expected), digit).toBeLessThan(6 * Math.sqrt(expected));
  });

  it("draws again where its random bytes are too high, and never ends short", () => {
    let call = 0;
    const secret = mintSecret((target) => target.fill(call++ === 0 ? 255 : 61));
    expect([secret.toString("latin1"), call]).toEqual([`sk_${"z".repeat(43)}`, 2]);
  });
});
