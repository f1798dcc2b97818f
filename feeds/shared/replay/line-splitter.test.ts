import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, MAX_LINE_BYTES } from "./line-splitter.js";

function split(chunks: readonly Buffer[]): { lines: string[]; overlongCount: number } {
  const lines: string[] = [];
  const splitter = new LineSplitter((bytes, start, end) => lines.push(bytes.toString("latin1", start, end)));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, overlongCount: splitter.overlongCount };
}

describe("LineSplitter", () => {
  it("gives the lines of the whole, however it is cut", () => {
    const text = fc
      .array(fc.constantFrom("a", "bc", "\n", "\r\n", "{}", " "), { maxLength: 200 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat(30), { maxLength: 100 }), (whole, sizes) => {
        const bytes = Buffer.from(whole);
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        chunks.push(bytes.subarray(at));
        const expected = whole
          .split("\n")
          .map((line) => line.replace(/\r$/, ""))
          .filter((line) => line !== "");
        expect(split(chunks).lines).toEqual(expected);
      }),
      { numRuns: 300, seed: 21 },
    );
  });

  it("does not depend on the caller keeping its chunk", () => {
    const lines: string[] = [];
    const splitter = new LineSplitter((bytes, start, end) => lines.push(bytes.toString("latin1", start, end)));
    const chunk = Buffer.from("half");
    splitter.push(chunk);
    chunk.fill(0x78);
    splitter.push(Buffer.from(" a line\n"));
    expect(lines).toEqual(["half a line"]);
  });

  it("drops an overlong line, counts it, and goes on with the next", () => {
    const long = Buffer.alloc(MAX_LINE_BYTES / 2 + 1, 0x61);
    expect(split([Buffer.from("one\n"), long, long, Buffer.from("rest\ntwo\n")])).toEqual({
      lines: ["one", "two"],
      overlongCount: 1,
    });
  });
});
