import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runVectors } from "./run-vectors.js";

const repoRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const vectorsDir = join(repoRoot, "..", "shared", "vectors");

describe.skipIf(!existsSync(vectorsDir))("signing vectors (needs ../shared)", () => {
  it.each([
    ["venueone-signing.json", 95],
    ["venuetwo-signing.json", 31],
    ["venuefour-signing.json", 77],
    ["venuefive-calldata.json", 47],
  ])("every entry of %s passes", (file, total) => {
    const report = runVectors(readFileSync(join(vectorsDir, file), "utf8"));
    expect(report.failures).toEqual([]);
    expect(report.passed).toBe(total);
    expect(report.total).toBe(total);
  });
});
