/** The vectors of venuethree through its own code; apart from the others, as curve arithmetic takes seconds. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runVectors } from "./run-vectors.js";

const file = join(
  dirname(fileURLToPath(import.meta.url)),
  "..",
  "..",
  "..",
  "shared",
  "vectors",
  "venuethree-signing.json",
);
const ENTRIES = 531;

describe.skipIf(!existsSync(file))("signing vectors of venuethree (needs ../shared)", () => {
  it("every entry passes", () => {
    const report = runVectors(readFileSync(file, "utf8"));
    expect(report.failures).toEqual([]);
    expect(report).toMatchObject({ passed: ENTRIES, total: ENTRIES });
  });
});
