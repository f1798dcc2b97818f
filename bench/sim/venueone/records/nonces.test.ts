import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NonceSet } from "./nonces.js";

const NOW = 1_790_000_000_000;
const DAY_MS = 86_400_000;

describe("nonce set", () => {
  it("admits no nonce twice, and none at or below the smallest of the 100 highest", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: NOW - 3 * DAY_MS, max: NOW + 2 * DAY_MS }), { maxLength: 400 }),
        (nonces) => {
          const set = new NonceSet();
          const admitted: number[] = [];
          for (const nonce of nonces) {
            const highest = [...admitted].sort((left, right) => right - left).slice(0, 100);
            const verdict = set.admit(nonce, NOW);
            const tooHigh = nonce > NOW + DAY_MS - 120_000;
            const tooOld = nonce < NOW - 2 * DAY_MS + 120_000;
            const floor = highest.length < 100 ? -1 : (highest[99] ?? -1);
            const expected = tooHigh
              ? "tooHigh"
              : tooOld
                ? "tooLow"
                : admitted.includes(nonce)
                  ? "duplicate"
                  : nonce <= floor
                    ? "tooLow"
                    : "admitted";
            expect(verdict.kind).toBe(expected);
            if (verdict.kind === "admitted") admitted.push(nonce);
          }
        },
      ),
    );
  });

  it("takes nonces out of order while fewer than 100 are held", () => {
    const set = new NonceSet();
    expect([5, 3, 4, 1, 2].map((offset) => set.admit(NOW + offset, NOW).kind)).toEqual(Array(5).fill("admitted"));
  });

  it("calls a forgotten-looking nonce a duplicate when it was seen, too low when it was not", () => {
    const set = new NonceSet();
    set.admit(NOW, NOW);
    for (let offset = 10; offset < 110; offset++) set.admit(NOW + offset, NOW);
    expect(set.admit(NOW, NOW)).toEqual({ kind: "duplicate" });
    expect(set.admit(NOW + 1, NOW)).toEqual({ kind: "tooLow", min: NOW + 10 });
  });

  it("says which bound was missed", () => {
    const set = new NonceSet();
    expect(set.admit(NOW + 2 * DAY_MS, NOW)).toEqual({ kind: "tooHigh", max: NOW + DAY_MS - 120_000 });
    expect(set.admit(7, NOW)).toEqual({ kind: "tooLow", min: NOW - 2 * DAY_MS + 120_000 });
  });

  it("still refuses a replay after more nonces than it remembers", () => {
    const set = new NonceSet();
    for (let offset = 0; offset < 30_000; offset++) set.admit(NOW + offset, NOW);
    for (const offset of [0, 9_999, 20_000, 29_999]) expect(set.admit(NOW + offset, NOW).kind).not.toBe("admitted");
  });
});
