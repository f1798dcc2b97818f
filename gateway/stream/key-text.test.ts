import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { INTERVALS_MS } from "../../schemas/stream-data.js";
import { keyText, parseKeyText, type PublicKey } from "./key-text.js";

const symbol = fc.stringMatching(/^[A-Z0-9]{1,12}$/);
const exchanges = fc.uniqueArray(fc.constantFrom(...ROUTABLE_VENUES), { minLength: 1 });
const intervalMs = fc.constantFrom(...INTERVALS_MS);
const key: fc.Arbitrary<PublicKey> = fc.oneof(
  fc.constant({ topic: "status" as const }),
  fc.record({ topic: fc.constant("ticker" as const), symbol, exchanges, intervalMs }),
  fc.record({
    topic: fc.constant("book" as const),
    symbol,
    exchanges,
    depth: fc.integer({ min: 1, max: 500 }),
    intervalMs,
  }),
);

describe("the texts of public keys", () => {
  it("are read back as they were printed, with sorted exchanges", () => {
    fc.assert(
      fc.property(key, (printed) => {
        const text = keyText(printed);
        const read = parseKeyText(text);
        expect(read).toEqual(
          printed.topic === "status" ? printed : { ...printed, exchanges: [...printed.exchanges].sort() },
        );
      }),
      { seed: 11 },
    );
  });

  it("are one per subscription, and no other text is read as a key", () => {
    const near = key.chain((printed) =>
      fc
        .tuple(
          fc.nat({ max: 60 }),
          fc.constantFrom("", ":", ",", "0", "1", "venueone", " ", "\0", "-", "é"),
          fc.nat({ max: 2 }),
        )
        .map(([at, insert, cut]) => {
          const text = keyText(printed);
          return text.slice(0, at) + insert + text.slice(at + cut);
        }),
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => {
        const read = parseKeyText(text);
        if (read !== null) expect(keyText(read)).toBe(text);
      }),
      { seed: 12, numRuns: 2000 },
    );
  });

  it.each([
    "",
    "ticker",
    "ticker:BTC",
    "ticker::venueone:100",
    "ticker:BTC::100",
    "ticker:BTC:venuetwo,venueone:100",
    "ticker:BTC:venueone,venueone:100",
    "ticker:BTC:venueone,:100",
    "ticker:BTC:venuefive:100",
    "ticker:BTC:venueone:99",
    "ticker:BTC:venueone:0100",
    "ticker:BTC:venueone:1e2",
    "ticker:BTC:venueone:100:",
    "ticker:BTC:venueone:20:100",
    "book:BTC:venueone:100",
    "book:BTC:venueone:0:100",
    "book:BTC:venueone:501:100",
    "book:BTC:venueone:020:100",
    "book:BTC:venueone:20:100:0",
    "status:",
    "status:x",
    "STATUS",
    "__proto__",
    `ticker:${"A".repeat(300)}:venueone:100`,
  ])("do not include %j", (text) => {
    expect(parseKeyText(text)).toBeNull();
  });
});
