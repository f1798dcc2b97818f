import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { decodeCursor, encodeCursor, MAX_CURSOR_CHARS } from "./cursor.js";

const HASH = createKeyedHash(Buffer.alloc(32, 1));
const CURSOR = { query: { from: 1, to: 2, order: "asc", symbol: "BTC" }, key: ["1795233600000001", "venueone"] };

function refusal(text: string, kind = "ticks", hash = HASH, ownerId: string | null = null): unknown {
  try {
    decodeCursor(hash, kind, ownerId, text);
    return null;
  } catch (error) {
    return error instanceof ServiceError ? [error.code, error.context.fields] : error;
  }
}

const REFUSED = [
  "INVALID_PARAMETERS",
  [{ path: "cursor", problem: "must be the nextCursor of an earlier reply of this route" }],
];

describe("the cursor of a page", () => {
  it("is decoded unchanged, for any query and key", () => {
    const value = fc.oneof(fc.string(), fc.nat());
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,12}$/), value, { maxKeys: 8, noNullPrototype: true }),
        fc.array(fc.string(), { maxLength: 5 }),
        (query, key) => {
          const text = encodeCursor(HASH, "trades", null, { query, key });
          fc.pre(text.length <= MAX_CURSOR_CHARS);
          expect(text).toMatch(/^[A-Za-z0-9_-]+\.[0-9a-f]{32}$/);
          expect(decodeCursor(HASH, "trades", null, text)).toEqual({ query, key });
        },
      ),
    );
  });

  it("is refused when any of its characters was changed, dropped or added", () => {
    const text = encodeCursor(HASH, "ticks", null, CURSOR);
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom("A", "z", "0", "-", ".", "é", ""),
        fc.boolean(),
        (at, char, insert) => {
          const changed = text.slice(0, at) + char + text.slice(insert ? at : at + 1);
          fc.pre(changed !== text);
          expect(refusal(changed)).toEqual(REFUSED);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each([
    "",
    ".",
    "a",
    "a.b",
    `${"A".repeat(50)}.${"0".repeat(32)}`,
    `.${"0".repeat(32)}`,
    `${"A".repeat(MAX_CURSOR_CHARS)}.${"0".repeat(32)}`,
    "x".repeat(100_000),
  ])("is refused when it never was a cursor", (text) => {
    expect(refusal(text)).toEqual(REFUSED);
  });

  it("is refused for another kind of record and by another server's key", () => {
    const text = encodeCursor(HASH, "ticks", null, CURSOR);
    expect(refusal(text)).toBeNull();
    expect(refusal(text, "trades")).toEqual(REFUSED);
    expect(refusal(text, "ticks", createKeyedHash(Buffer.alloc(32, 2)))).toEqual(REFUSED);
  });

  it("continues for the owner that it was given to, and for nobody else", () => {
    for (const [ownerId, others] of [
      ["ow_alice", ["ow_bob", null]],
      [null, ["ow_alice", ""]],
    ] as const) {
      const text = encodeCursor(HASH, "fills", ownerId, CURSOR);
      expect(decodeCursor(HASH, "fills", ownerId, text)).toEqual(CURSOR);
      for (const other of others) expect(refusal(text, "fills", HASH, other)).toEqual(REFUSED);
    }
  });
});
