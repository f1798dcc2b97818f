import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { listedVectorFiles, runConformance, type ConformanceIo } from "./conformance.js";

const fixture = readFileSync(new URL("../../feeds/venueone/fixtures/trading/vectors.json", import.meta.url), "utf8");

function io(files: Record<string, string>): ConformanceIo & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error(`no ${path}`);
      return text;
    },
    writeLine: (line) => lines.push(line),
  };
}

describe("the conformance command", () => {
  it("prints passed/total per file and closes with the sum", () => {
    const shell = io({ "/v/one.json": fixture, "/v/two.json": '[{"id":"x","kind":"nope"}]' });
    expect(runConformance(["/v/one.json", "/v/two.json"], shell)).toBe(1);
    expect(shell.lines).toEqual([
      "one.json: 20/20 passed",
      "two.json: 0/1 passed",
      "  FAIL x: unknown kind nope",
      "20 passed, 1 failed",
    ]);
  });

  it("succeeds only when something passed and nothing failed", () => {
    expect(runConformance(["/v/one.json"], io({ "/v/one.json": fixture }))).toBe(0);
    expect(runConformance([], io({}))).toBe(1);
    const missing = io({});
    expect(runConformance(["/v/none.json"], missing)).toBe(1);
    expect(missing.lines.at(-1)).toBe("0 passed, 1 failed");
  });

  it("finds the files that conformance.json names", () => {
    const shell = io({ "/repo/conformance.json": '{"files":["a.json"]}' });
    expect(listedVectorFiles("/repo", shell)).toEqual(["/shared/vectors/a.json"]);
    expect(() => listedVectorFiles("/repo", io({ "/repo/conformance.json": "{}" }))).toThrow(TypeError);
  });

  it("uses the vectors of every venue that signs, where no file is named", () => {
    const list = readFileSync(new URL("../../conformance.json", import.meta.url), "utf8");
    const files = listedVectorFiles("/repo", io({ "/repo/conformance.json": list })).map((path) => basename(path));
    expect(files).toEqual([...ROUTABLE_VENUES.map((venue) => `${venue}-signing.json`), "venuefive-calldata.json"]);
  });
});
