import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32 } from "node:zlib";
import { keptSnapshotChars, SNAPSHOT_TEXTS_CHARS_MAX, VenueBookImage } from "./book-image.js";

type Member = {
  bids: [string, string][];
  asks: [string, string][];
  state?: string;
  crc?: number;
  venueSeq: string | null;
};

function image(
  bids: ReadonlyMap<number, number>,
  asks: ReadonlyMap<number, number>,
  changeCount: number,
  decimals = 1,
): VenueBookImage {
  const flat = (side: ReadonlyMap<number, number>, sign: number) =>
    [...side].sort((a, b) => sign * (a[0] - b[0])).flat();
  return new VenueBookImage("LIVE", flat(bids, -1), flat(asks, 1), 7, false, changeCount, decimals, 2);
}

const side = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5 })), { maxLength: 25 })
  .map((levels) => new Map(levels));

function fold(member: Member, into: { bids: Map<string, string>; asks: Map<string, string> }): void {
  for (const name of ["bids", "asks"] as const) {
    for (const [price, size] of member[name]) {
      if (size === "0") into[name].delete(price);
      else into[name].set(price, size);
    }
  }
}

function foldedFrom(member: Member) {
  const state = { bids: new Map<string, string>(), asks: new Map<string, string>() };
  fold(member, state);
  return state;
}

describe("a book's image", () => {
  it("is reached from any other by the update between them, which contains nothing unnecessary", () => {
    fc.assert(
      fc.property(side, side, side, side, fc.boolean(), (bids, asks, nextBids, nextAsks, isOtherContract) => {
        const from = image(bids, asks, 0);
        const to = image(nextBids, nextAsks, 1, isOtherContract ? 2 : 1);
        const folded = foldedFrom(JSON.parse(from.snapshotText()) as Member);
        const update = JSON.parse(to.updateText(from)) as Member;
        fold(update, folded);
        const wanted = foldedFrom(JSON.parse(to.snapshotText()) as Member);
        expect(new Map([...folded.bids].sort())).toEqual(new Map([...wanted.bids].sort()));
        expect(new Map([...folded.asks].sort())).toEqual(new Map([...wanted.asks].sort()));
        if (isOtherContract) return;
        const changed = (before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>) =>
          [...new Set([...before.keys(), ...after.keys()])].filter((price) => before.get(price) !== after.get(price))
            .length;
        expect(update.bids.length).toBe(changed(bids, nextBids));
        expect(update.asks.length).toBe(changed(asks, nextAsks));
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  it("has a checksum over the best ten levels of each side, as its frame prints them", () => {
    const bids = new Map(Array.from({ length: 12 }, (_, index) => [1000 - index, 100 + index]));
    const asks = new Map([[1010, 250]]);
    const expected = Array.from({ length: 10 }, (_, index) => {
      const price = (1000 - index) / 10;
      return `${price}:${(100 + index) / 100}`;
    });
    expect(image(bids, asks, 0).crc()).toBe(crc32([...expected, "101:2.5"].join("|")));
    expect(image(new Map(), new Map(), 0).crc()).toBe(0);
    // The published example.
    expect(image(new Map([[974_180, 120]]), new Map([[974_181, 80]]), 0).crc()).toBe(3_536_425_790);
  });

  it("has its checksum every 50 changes, also when a merged update passes that point", () => {
    const at = (changeCount: number) => image(new Map([[10, 1]]), new Map(), changeCount);
    const hasCrc = (from: number, to: number) => (JSON.parse(at(to).updateText(at(from))) as Member).crc !== undefined;
    expect([hasCrc(0, 1), hasCrc(48, 49), hasCrc(49, 50), hasCrc(50, 51), hasCrc(30, 70), hasCrc(51, 99)]).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("the texts of book snapshots", () => {
  it("are made once for all readers while they are new, and are not kept forever", () => {
    const levels = Array.from({ length: 2_000 }, (_, index) => 1_000 + index);
    const make = () => new VenueBookImage("LIVE", levels, levels, 7, false, 0, 1, 2);
    const first = make();
    const text = first.snapshotText();
    expect(first.snapshotText()).toBe(text);
    const before = keptSnapshotChars();
    expect(before).toBeGreaterThanOrEqual(text.length);
    for (let count = 0; count < 2 * (SNAPSHOT_TEXTS_CHARS_MAX / text.length); count++) make().snapshotText();
    expect(keptSnapshotChars()).toBeLessThanOrEqual(SNAPSHOT_TEXTS_CHARS_MAX);
    expect(first.snapshotText()).toBe(text);
  });
});
