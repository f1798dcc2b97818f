import { describe, expect, it } from "vitest";
import { SCRUBBED, scrub } from "./scrub.js";

const SECRET = `sk_${"A0z".repeat(14)}b`;

describe("a text for a log line or a reply", () => {
  it("shows no secret of an API key, alone or among other words", () => {
    expect(SECRET).toHaveLength(46);
    expect(scrub(SECRET)).toBe(SCRUBBED);
    expect(scrub(`{"secret":"${SECRET}","id":"pk_${"a".repeat(22)}"}`)).toBe(
      `{"secret":"${SCRUBBED}","id":"pk_${"a".repeat(22)}"}`,
    );
    expect(scrub(`${SECRET}${SECRET} ${SECRET}`)).not.toContain("A0zA0z");
  });

  it("keeps what only looks like the beginning of one", () => {
    for (const text of ["sk_", `risk_${"a".repeat(20)}`, `${"x".repeat(30)} sk_short ${"y".repeat(30)}`])
      expect(scrub(text)).toBe(text);
  });

  it("shows no run of 64 letters and digits", () => {
    expect(scrub(`key ${"ab".repeat(32)}`)).toBe(`key ${SCRUBBED}`);
    expect(scrub("a".repeat(63))).toBe("a".repeat(63));
  });
});
