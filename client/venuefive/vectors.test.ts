import { describe, expect, it } from "vitest";
import fixture from "./fixtures/calldata.json" with { type: "json" };
import { built, type Vector } from "../test/venuefive-vectors.js";

describe("the calldata of the library", () => {
  it.each((fixture.vectors as unknown as Vector[]).map((vector) => [vector.id, vector] as const))(
    "is that of the vector %s",
    (_, vector) => {
      const { to, data, valueWei } = vector.expected;
      expect(built(vector)).toEqual({ to, data, valueWei });
    },
  );
});
