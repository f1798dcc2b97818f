/** Renders bench/RESULTS.md: ratios first, each row with both sides, load and verdict. */
import { cpus } from "node:os";
import { verdict, type BenchRow, type ScenarioResult } from "./types.js";

export interface ReportPart {
  readonly title: string;
  readonly command: string;
  readonly result: ScenarioResult;
}

/** How the title of a section begins that compares two commits: written by hand, and kept below the others. */
const COMPARISON = "Before and after";

/**
 * Renders the whole report. `parts` replace their sections; all other sections of `before` stay, with their dates. The
 * order is that of `titles`; a section without a title there is dropped, unless it compares two commits.
 */
export function renderReport(
  parts: readonly ReportPart[],
  dateText: string,
  before = "",
  titles: readonly string[] = parts.map(({ title }) => title),
): string {
  const kept = new Map(
    before
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")), `## ${section.trimEnd()}`] as const),
  );
  const fresh = new Map(parts.map((part) => [part.title, renderPart(part, dateText)]));
  const compared = [...kept].filter(([title]) => title.startsWith(COMPARISON)).map(([, text]) => text);
  const sections = titles.map((title) => fresh.get(title) ?? kept.get(title) ?? "").filter((text) => text !== "");
  return `${[HEAD.join("\n"), ...sections, ...compared].join("\n\n")}\n`;
}

function renderPart(part: ReportPart, dateText: string): string {
  const lines = [
    `## ${part.title}`,
    "",
    `\`${part.command}\` (${dateText}, ${cpus()[0]?.model.trim() ?? ""}, ${cpus().length} cores, Node ${process.versions.node})`,
    "",
    "| ratio | goal | verdict | what | ours | peer | runs |",
    "|---|---|---|---|---|---|---|",
    ...part.result.rows.map(renderRow),
    "",
  ];
  const details = part.result.rows.filter((row) => row.detail !== "");
  for (const row of details) lines.push(`- ${row.what}: ${row.detail}`);
  if (details.length > 0) lines.push("");
  if (part.result.profile.length > 0)
    lines.push(
      "Where our side spends its time (self time, sampled):",
      "",
      ...part.result.profile.map((entry) => `- ${entry}`),
    );
  return lines.join("\n").trimEnd();
}

const HEAD = [
  "# Benchmark results",
  "",
  "Both sides of a row ran in the same run. The machine is shared and noisy: trust the ratios, not the absolute figures. A",
  "row is the median of its runs.",
];

function renderRow(row: BenchRow): string {
  const goal = row.goal === null ? "-" : `${row.goal.kind === "atLeast" ? "≥" : "≤"} ${row.goal.value}`;
  const ratio = row.peer === null ? figure(row.ratio) : `${figure(row.ratio)}×`;
  const peer = row.peer === null ? "-" : `${figure(row.peer)} ${row.unit} (${row.peerName})`;
  return `| ${ratio} | ${goal} | ${verdict(row)} | ${row.what} | ${figure(row.ours)} ${row.unit} | ${peer} | ${row.runCount} |`;
}

function figure(value: number): string {
  if (!Number.isFinite(value)) return "n/a";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}
