import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../engine/domain/random.js";
import { judgeLine, type LeakBound, lineThrough, type MemorySample, verdictText } from "./leak-line.js";
import { memoryBounds } from "./memory-lines.js";

const MIB = 2 ** 20;
const SEEDS = 200;
const BOUND: LeakBound = { mibPerMinute: 0.5, warmShare: 0.3, samplesMin: 20, spanMinMs: 240_000 };

interface Course {
  readonly minutes?: number;
  readonly everyMs?: number;
  /** Memory in MiB at each minute. */
  readonly at: (minute: number) => number;
  /** Largest deviation, up or down. */
  readonly noise?: number;
  readonly seed?: number;
}

function course({ minutes = 10, everyMs = 10_000, at, noise = 0, seed = 1 }: Course): MemorySample[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: Math.floor((minutes * 60_000) / everyMs) + 1 }, (_, index) => {
    const atMs = index * everyMs;
    return { atMs, bytes: (80 + at(atMs / 60_000) + (random.next() - 0.5) * 2 * noise) * MIB };
  });
}

const kinds = (one: Omit<Course, "seed">): string[] => [
  ...new Set(Array.from({ length: SEEDS }, (_, seed) => judgeLine(course({ ...one, seed: seed + 1 }), BOUND).kind)),
];

describe("the line through memory", () => {
  it("has the slope that it was made with, and no error without scatter", () => {
    const { slope, error } = lineThrough(course({ at: (minute) => 1.25 * minute }));
    expect(slope).toBeCloseTo(1.25, 9);
    expect(error).toBeCloseTo(0, 9);
    expect(lineThrough(course({ at: (minute) => -0.5 * minute, noise: 2 })).slope).toBeCloseTo(-0.5, 0);
  });

  it("finds a leak of one MiB a minute within ten minutes, in the noise that a service makes", () => {
    for (const noise of [0, 0.5, 1])
      expect([noise, kinds({ at: (minute) => minute, noise })]).toEqual([noise, ["leak"]]);
    expect(kinds({ at: (minute) => 4 * minute, noise: 3 })).toEqual(["leak"]);
  });

  it("finds none in what is flat, falls, or rises too little to matter", () => {
    for (const rise of [-3, 0, 0.2]) {
      for (const noise of [0, 1, 3])
        expect([rise, noise, kinds({ at: (minute) => rise * minute, noise })]).toEqual([rise, noise, ["flat"]]);
    }
  });

  it("finds none in what fills up and stays, at once or by and by, before it is warm or after", () => {
    const risen = (from: number, minutes: number) => (minute: number) =>
      20 * Math.max(0, Math.min(1, (minute - from) / minutes));
    for (const at of [
      risen(0, 2.5),
      risen(4, 0.1),
      risen(5.5, 1),
      risen(8.8, 1),
      (minute: number) => 30 * (1 - 2 ** (-minute / 0.8)),
    ])
      expect(kinds({ at, noise: 0.5 })).toEqual(["flat"]);
  });

  it("finds a leak that began beside what levelled off", () => {
    expect(kinds({ at: (minute) => 15 * Math.min(1, minute / 2) + 1.2 * minute, noise: 0.8 })).toEqual(["leak"]);
  });

  it("says that it is too short where it is, and says nothing of samples that are not there", () => {
    expect(judgeLine([], BOUND)).toEqual({ kind: "short" });
    expect(judgeLine(course({ minutes: 0.5, at: (minute) => 9 * minute }), BOUND)).toEqual({ kind: "short" });
    // Long enough, with too few samples.
    expect(judgeLine(course({ everyMs: 60_000, at: (minute) => minute }), BOUND)).toEqual({ kind: "short" });
    // Half of the samples are missing; the other half is judged.
    const half = course({ at: (minute) => minute, noise: 0.5 }).filter((_, index) => index % 3 !== 0);
    expect(judgeLine(half, BOUND).kind).toBe("leak");
  });

  it("is reported with its slope", () => {
    expect(verdictText({ kind: "short" })).toBe("too short to judge");
    expect(verdictText({ kind: "leak", slope: 1, error: 0.125, parts: [0.9, 1, 1.1] })).toBe(
      "LEAK +1.00 ± 0.13 MiB/min (thirds +0.90, +1.00, +1.10)",
    );
    expect(verdictText({ kind: "flat", slope: -0.1, error: 0.02, parts: [0, -0.1, -0.2] })).toBe(
      "-0.10 ± 0.02 MiB/min (thirds +0.00, -0.10, -0.20)",
    );
  });
});

/**
 * The shape that a heap diff over a run shows: less and less code is compiled, and each trade adds executions and
 * quotes up to a bound that ten minutes do not reach.
 */
const service = (minute: number): number => 8 * (1 - 2 ** (-minute / 2.5)) + 0.35 * minute;

describe("the bounds of a soak", () => {
  const found = (
    line: keyof ReturnType<typeof memoryBounds>,
    at: (minute: number) => number,
    noise: number,
    minutes = 10,
  ): string[] => [
    ...new Set(
      Array.from(
        { length: SEEDS },
        (_, seed) => judgeLine(course({ at, noise, minutes, seed: seed + 1 }), memoryBounds(minutes)[line]).kind,
      ),
    ),
  ];

  it("let a service pass that fills what it keeps, and find a MiB a minute on top of it", () => {
    for (const noise of [0, 0.5, 1]) {
      expect([noise, found("heapUsed", service, noise)]).toEqual([noise, ["flat"]]);
      expect([noise, found("heapUsed", (minute) => service(minute) + minute, noise)]).toEqual([noise, ["leak"]]);
      expect([noise, found("external", (minute) => 0.2 * minute, noise)]).toEqual([noise, ["flat"]]);
      expect([noise, found("external", (minute) => 1.1 * minute, noise)]).toEqual([noise, ["leak"]]);
    }
  });

  it("are the closer the longer it lasts", () => {
    const warming = (minute: number): number => 12 * (1 - 2 ** (-minute / 4));
    expect(found("heapUsed", warming, 1, 60)).toEqual(["flat"]);
    expect(found("heapUsed", (minute) => warming(minute) + 0.4 * minute, 1, 60)).toEqual(["leak"]);
    expect(found("resident", (minute) => warming(minute) + 2 * minute, 4, 60)).toEqual(["leak"]);
  });

  it("let what is resident follow the heap with what its allocator keeps beside, and no faster", () => {
    expect(found("resident", (minute) => 3 * service(minute), 2)).toEqual(["flat"]);
    expect(found("resident", (minute) => 3 * service(minute) + 6 * minute, 2)).toEqual(["leak"]);
  });
});
