import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readListCursor, readOrdersCursor, writeCursor } from "./history-cursor.js";

const scope = fc.constantFrom("516.all", "516.1");
const venueCursor = fc.option(fc.string({ maxLength: 40 }), { nil: null });
const count = fc.maxSafeNat();

describe("history cursors", () => {
  it("come back as they were written", () => {
    fc.assert(
      fc.property(
        scope,
        venueCursor,
        count,
        count,
        fc.bigInt({ min: 0n, max: 1n << 60n }),
        (where, cursor, fixedUs, createdMs, id) => {
          const list = { kind: "fills", scope: where, venueCursor: cursor } as const;
          expect(readListCursor("fills", writeCursor(list))).toEqual(list);
          expect(readListCursor("funding", writeCursor(list))).toBeNull();
          expect(readOrdersCursor(writeCursor(list))).toBeNull();
          const ended = { phase: "ended", scope: where, fixedUs, venueCursor: cursor } as const;
          expect(readOrdersCursor(writeCursor(ended))).toEqual(ended);
          const active = { phase: "active", scope: where, fixedUs, createdMs, orderId: String(id) } as const;
          expect(readOrdersCursor(writeCursor(active))).toEqual(active);
          expect(readListCursor("fills", writeCursor(active))).toBeNull();
        },
      ),
    );
  });

  it("are no other texts", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => Buffer.from(text).toString("base64url")),
        ),
        (text) => {
          expect(readListCursor("fills", text)).toBeNull();
          expect(readOrdersCursor(text)).toBeNull();
        },
      ),
    );
    expect(readOrdersCursor("A".repeat(5_000))).toBeNull();
  });
});
