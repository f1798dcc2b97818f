/** The local venue says what the recorded one said: same keys, same JSON types. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shapeProblems } from "../../core/test/shape.js";
import info from "../fixtures/info.json" with { type: "json" };
import recorded from "../fixtures/recorded.json" with { type: "json" };
import { shownShapes } from "./shapes.js";

const FIXTURES = { ...recorded, info: { data: info } };

describe("shapes of answers and frames", () => {
  let shown: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    shown = await shownShapes();
  });
  afterAll(() => {
    // Every recorded shape was asked for: a new fixture without its counterpart fails here.
    expect(Object.keys(shown).sort()).toEqual(Object.keys(FIXTURES).sort());
  });

  it.each(Object.entries(FIXTURES))("%s", (name, fixture) => {
    expect(shapeProblems(fixture, shown[name])).toEqual([]);
  });
});
