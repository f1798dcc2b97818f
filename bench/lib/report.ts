/** Writes bench/RESULTS.md: ratios first, each row with both sides, load and verdict. */
import { cpus } from "node:os";
import { verdict, type BenchRow, type ScenarioResult } from "./types.js";

export interface ReportPart {
  readonly title: string;
  readonly command: string;
  readonly result: ScenarioResult;
}

export function renderReport(parts: readonly ReportPart[], dateText: string): string {
  const lines = [
    "# Benchmark results",
    "",
    `${dateText} · ${cpus().length} cores ${cpus()[0]?.model.trim() ?? ""} · Node ${process.versions.node} · both sides of a row ran in the same run.`,
    "The machine is shared and noisy: trust the ratios, not the absolute figures. A row is the median of its runs.",
    "",
  ];
  for (const part of parts) {
    lines.push(`## ${part.title}`, "", `\`${part.command}\``, "");
    lines.push("| ratio | goal | verdict | what | ours | peer | runs |", "|---|---|---|---|---|---|---|");
    for (const row of part.result.rows) lines.push(renderRow(row));
    lines.push("");
    const details = part.result.rows.filter((row) => row.detail !== "");
    for (const row of details) lines.push(`- ${row.what}: ${row.detail}`);
    if (details.length > 0) lines.push("");
    if (part.result.profile.length > 0) {
      lines.push("Where our side spends its time (self time, sampled):", "");
      for (const entry of part.result.profile) lines.push(`- ${entry}`);
      lines.push("");
    }
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

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
