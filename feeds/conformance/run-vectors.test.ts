import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runVectors } from "./run-vectors.js";

function roomVectors(room: string): Record<string, unknown>[] {
  const url = new URL(`../${room}/fixtures/trading/vectors.json`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as Record<string, unknown>[];
}

/** Another value of the same form: a check that still passes with it checks nothing. */
function spoil(value: unknown): unknown {
  if (typeof value === "number") return value === 27 ? 28 : 27;
  if (typeof value === "boolean") return !value;
  const text = String(value);
  const last = text.at(-1) ?? "";
  return text.slice(0, -1) + (last === "1" ? "2" : "1");
}

const rooms = ["venueone", "venuetwo", "venuefour"];
/** Text for people, which no check can hold anything against. */
const NOT_CHECKED: ReadonlySet<string> = new Set(["venueResponse", "why"]);

describe("vector runner", () => {
  it.each(rooms)("passes the vectors that %s keeps", (room) => {
    const vectors = roomVectors(room);
    expect(runVectors(JSON.stringify(vectors))).toEqual({
      total: vectors.length,
      passed: vectors.length,
      failures: [],
    });
  });

  it.each(
    rooms.flatMap((room) =>
      roomVectors(room).flatMap((vector) =>
        Object.keys(vector["expected"] as object)
          .filter((name) => !NOT_CHECKED.has(name))
          .map((name) => [`${room} ${String(vector["id"])} ${name}`, vector, name] as const),
      ),
    ),
  )("fails when the expectation is another: %s", (_title, vector, name) => {
    const expected = { ...(vector["expected"] as Record<string, unknown>) };
    expected[name] = spoil(expected[name]);
    const report = runVectors(JSON.stringify([{ ...vector, expected }]));
    expect(report.passed).toBe(0);
    expect(report.failures[0]?.id).toBe(vector["id"]);
  });

  it("fails an entry of a kind that no check knows, one without expectation, and one with an unknown expectation", () => {
    const [vector] = roomVectors("venueone");
    const report = runVectors(
      JSON.stringify([
        { id: "a", kind: "schnorr" },
        { id: "b", kind: "toString" },
        { ...vector, id: "c", expected: {} },
        { ...vector, id: "d", expected: { colour: "red" } },
        5,
        vector,
      ]),
    );
    expect(report.total).toBe(6);
    expect(report.passed).toBe(1);
    expect(report.failures.map((failure) => failure.id)).toEqual(["a", "b", "c", "d", "#4"]);
    expect(report.failures[0]?.problem).toContain("unknown kind");
  });

  it.each(["", "[]", "{}", '{"vectors":[]}', "null", "[1", '{"constants":[1,2]}'])(
    "counts the file %j as a failure, not as nothing to do",
    (text) => {
      expect(runVectors(text)).toMatchObject({ total: 1, passed: 0 });
    },
  );
});
