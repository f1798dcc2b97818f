import { describe, expect, it } from "vitest";
import { parseRetryAfterMs } from "./retry-after.js";

const NOW_MS = Date.UTC(2026, 10, 1, 12, 0, 0);

describe("parseRetryAfterMs", () => {
  it.each([
    ["0", 0],
    ["7", 7_000],
    [" 12 ", 12_000],
    ["1.5", 1_500],
    ["Sun, 01 Nov 2026 12:00:30 GMT", 30_000],
    ["Sun, 01 Nov 2026 11:59:00 GMT", 0],
  ])("reads %j as %d ms", (text, waitMs) => {
    expect(parseRetryAfterMs(text, NOW_MS)).toBe(waitMs);
  });

  it.each([undefined, "", "soon", "-5", "-5x"])("returns null for %j", (text) => {
    expect(parseRetryAfterMs(text, NOW_MS)).toBeNull();
  });
});
