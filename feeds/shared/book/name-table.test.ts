import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NameTable } from "./name-table.js";

describe("NameTable", () => {
  it("finds by bytes what a Map finds by text, after any insertions and removals", () => {
    const name = fc.oneof(
      fc.constantFrom("BTC", "ETH", "kPEPE", "xyz:TSLA", "A", "B", "AB", "BA"),
      fc.string({ minLength: 1, maxLength: 6 }),
    );
    const step = fc.record({ name, remove: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.array(name, { maxLength: 20 }), (steps, probes) => {
        const table = new NameTable<number>();
        const map = new Map<string, number>();
        for (const [index, { name: coin, remove }] of steps.entries()) {
          if (remove) {
            table.delete(coin);
            map.delete(coin);
          } else {
            table.set(coin, index);
            map.set(coin, index);
          }
        }
        expect(table.size).toBe(map.size);
        for (const coin of [...map.keys(), ...probes]) {
          // Inside a longer frame, as it is used.
          const bytes = Buffer.from(`{"coin":"${coin}"}`);
          const start = 9;
          expect(table.find(bytes, start, bytes.length - 2)).toBe(map.get(coin));
        }
      }),
    );
  });

  it("finds nothing in an empty table or in an empty range", () => {
    const table = new NameTable<number>();
    expect(table.find(Buffer.from("BTC"), 0, 3)).toBeUndefined();
    table.set("BTC", 1);
    expect(table.find(Buffer.from("BTC"), 0, 0)).toBeUndefined();
  });
});
