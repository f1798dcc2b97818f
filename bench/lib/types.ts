/** What a scenario hands to the report: rows with both sides of one run, so that only ratios need trusting. */

export interface BenchRow {
  /** What was measured, with its load. */
  readonly what: string;
  readonly unit: string;
  /** Median of the runs, ours. */
  readonly ours: number;
  readonly peerName: string;
  /** Median of the runs, peer; null for an absolute goal. */
  readonly peer: number | null;
  /** The figure judged: ours/peer, or ours itself for an absolute goal. */
  readonly ratio: number;
  /** `atLeast` 0.9 means met when ratio ≥ 0.9; null: reported without a goal. */
  readonly goal: { readonly kind: "atLeast" | "atMost"; readonly value: number } | null;
  readonly runCount: number;
  /** Percentiles, spreads, sizes: anything a reader needs to judge the row. */
  readonly detail: string;
}

export interface ScenarioResult {
  readonly rows: readonly BenchRow[];
  /** Top self-time functions of our side, taken when a goal was missed. */
  readonly profile: readonly string[];
}

export interface ScenarioContext {
  /** Short run that only proves that the scenario works; its figures are not published. */
  readonly smoke: boolean;
  /** Folder of the recordings, or null when this machine has none. */
  readonly dataFolder: string | null;
  log(line: string): void;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  run(context: ScenarioContext): Promise<ScenarioResult>;
}

/** Goal of a row met? Rows without a goal are neither. */
export function verdict(row: BenchRow): "met" | "missed" | "-" {
  if (row.goal === null) return "-";
  const isMet = row.goal.kind === "atLeast" ? row.ratio >= row.goal.value : row.ratio <= row.goal.value;
  return isMet ? "met" : "missed";
}
