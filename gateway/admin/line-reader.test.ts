import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "./line-reader.js";

function linesOf(reader: LineReader): string[] {
  const lines: string[] = [];
  for (;;) {
    const read = reader.next();
    if (read.kind !== "line") return read.kind === "none" ? lines : [...lines, read.kind];
    lines.push(read.text);
  }
}

describe("the reader of lines", () => {
  it("gives the same lines however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/[\r\n]/.test(text)),
          { maxLength: 8 },
        ),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 12 }),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const points = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
          const reader = new LineReader(100_000);
          const got: string[] = [];
          for (let index = 1; index < points.length; index++) {
            reader.push(bytes.subarray(points[index - 1], points[index]));
            got.push(...linesOf(reader));
          }
          expect(got).toEqual(lines);
          expect(reader.restBytes).toBe(0);
        },
      ),
    );
  });

  it("takes a line of just the longest size and refuses one byte more, with or without its end", () => {
    const reader = new LineReader(4);
    reader.push(Buffer.from("abcd\r\n\n\r\nabcde\n"));
    expect(linesOf(reader)).toEqual(["abcd", "too-long"]);
    const other = new LineReader(4);
    other.push(Buffer.from("abcd"));
    expect(other.next().kind).toBe("none");
    other.push(Buffer.from("e"));
    expect(other.next().kind).toBe("too-long");
  });

  it("refuses bytes that are no UTF-8 instead of replacing them", () => {
    const reader = new LineReader(100);
    reader.push(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    expect(reader.next().kind).toBe("not-utf8");
  });
});
