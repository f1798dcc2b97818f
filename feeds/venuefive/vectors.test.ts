import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runVectors } from "../conformance/run-vectors.js";

type Entry = Readonly<Record<string, unknown>> & { readonly id: string };
const FILE = new URL("fixtures/trading/vectors.json", import.meta.url);
const ENTRIES = JSON.parse(readFileSync(FILE, "utf8")) as readonly Entry[];
const EXPECTATIONS = ["expected", "expectedKept", "expectedError"];

/** Every value of an expectation, replaced by another of its form, one at a time. */
function spoiled(entry: Entry): readonly (readonly [string, Entry])[] {
  return EXPECTATIONS.filter((name) => entry[name] !== undefined).flatMap((name) =>
    leaves(entry[name]).map(
      (path) =>
        [`${entry.id} ${[name, ...path].join(".")}`, { ...entry, [name]: withAnother(entry[name], path) }] as const,
    ),
  );
}

function leaves(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, part]) => leaves(part, [...path, key]));
}

function withAnother(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return another(value);
  const part = withAnother((value as Record<string, unknown>)[key], rest);
  return Array.isArray(value)
    ? value.map((one: unknown, at) => (String(at) === key ? part : one))
    : { ...(value as object), [key]: part };
}

function another(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return value + 1;
  const text = String(value);
  return text.slice(0, -1) + (text.endsWith("1") ? "2" : "1");
}

describe("vectors of venuefive", () => {
  it("pass, each of them", () => {
    expect(runVectors(JSON.stringify(ENTRIES))).toEqual({
      total: ENTRIES.length,
      passed: ENTRIES.length,
      failures: [],
    });
  });

  it("count where a file has them in lists beside one another", () => {
    const isOf = (group: string) => (entry: Entry) => entry["group"] === group;
    const file = {
      vectors: ENTRIES.filter(isOf("openTrade")),
      rejects: ENTRIES.filter(isOf("reject")),
      formulas: ENTRIES.filter(isOf("liquidation")),
    };
    expect(runVectors(JSON.stringify(file))).toEqual({ total: 6, passed: 6, failures: [] });
    expect(runVectors(JSON.stringify({ ...file, rejects: 5 }))).toMatchObject({ total: 1, passed: 0 });
  });

  it.each(ENTRIES.flatMap(spoiled))("fail where another is expected: %s", (_, entry) => {
    const report = runVectors(JSON.stringify([entry]));
    expect(report.failures.map(({ id }) => id)).toEqual([entry.id]);
  });

  it("fail where what is refused is not refusable, and where what is opened is refused", () => {
    const open = ENTRIES.find(({ id }) => id === "open-doge-market");
    const input = open?.["input"] as object;
    const entries = [
      { id: "a", group: "reject", input, expectedError: "min 1x" },
      { ...open, id: "b", input: { ...input, leverage: 51 } },
      { ...open, id: "c", input: { ...input, leverage: 4 } },
      { ...open, id: "d", expected: { ...(open?.["expected"] as object), gas: "1" } },
    ];
    const { failures } = runVectors(JSON.stringify(entries));
    expect(failures.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
    expect(failures[1]?.problem).toBe("refused: leverage is 50 at most");
  });
});
