import { describe, expect, it } from "vitest";
import { type ReportPart, renderReport } from "./report.js";

const part = (title: string, ours: number): ReportPart => ({
  title,
  command: `npm run bench -- ${title}`,
  result: {
    rows: [
      {
        what: `row of ${title}`,
        ours,
        peer: null,
        peerName: "",
        unit: "ms",
        ratio: ours,
        goal: null,
        runCount: 1,
        detail: "",
      },
    ],
    profile: [],
  },
});

describe("the report of the bench", () => {
  it("keeps a comparison of two commits below what the scenarios write", () => {
    const before = `${renderReport([part("one", 1)], "2026-01-01")}\n## Before and after: a move\n\nfigures\n`;
    const after = renderReport([part("one", 2)], "2026-02-02", before, ["one"]);
    expect(after.trimEnd().endsWith("## Before and after: a move\n\nfigures")).toBe(true);
    expect(after.match(/^## /gm)).toHaveLength(2);
  });

  it("replaces the sections that were measured again, and keeps the others", () => {
    const before = renderReport([part("one", 1), part("two", 2)], "2026-01-01");
    const after = renderReport([part("two", 3)], "2026-02-02", before, ["one", "two", "three"]);
    const sections = after.split(/^## /m);
    expect(sections).toHaveLength(3);
    expect(sections[1]).toMatch(/^one\n.*2026-01-01.*1\.000 ms/s);
    expect(sections[2]).toMatch(/^two\n.*2026-02-02.*3\.000 ms/s);
    expect(renderReport([], "2026-03-03", after, ["one", "two", "three"])).toBe(after);
    expect(renderReport([], "2026-03-03", after, ["two"])).not.toContain("## one");
  });
});
