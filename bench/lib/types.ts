/** Result of a scenario: rows with both sides of one run, so that a reader only has to trust ratios. */

export interface BenchRow {
  /** Subject of the row, with its load. */
  readonly what: string;
  readonly unit: string;
  /** Median of our runs. */
  readonly ours: number;
  readonly peerName: string;
  /** Median of the peer's runs; null for an absolute goal. */
  readonly peer: number | null;
  /** The figure judged: ours/peer, or ours itself for an absolute goal. */
  readonly ratio: number;
  /** `atLeast` 0.9 is met when the ratio is ≥ 0.9. Null: the row has no goal. */
  readonly goal: { readonly kind: "atLeast" | "atMost"; readonly value: number } | null;
  readonly runCount: number;
  /** Percentiles, spreads, sizes: anything a reader needs to judge the row. */
  readonly detail: string;
}

export interface ScenarioResult {
  readonly rows: readonly BenchRow[];
  /** Top self-time functions of our side, when a goal is missed. */
  readonly profile: readonly string[];
}

export interface ScenarioContext {
  /** A short run that only proves that the scenario works; its figures are not published. */
  readonly smoke: boolean;
  /** Folder of the recordings; null when this machine has none. */
  readonly dataFolder: string | null;
  log(line: string): void;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  run(context: ScenarioContext): Promise<ScenarioResult>;
}

/** Says whether a row meets its goal; "-" without a goal. */
export function verdict(row: BenchRow): "met" | "missed" | "-" {
  if (row.goal === null) return "-";
  const isMet = row.goal.kind === "atLeast" ? row.ratio >= row.goal.value : row.ratio <= row.goal.value;
  return isMet ? "met" : "missed";
}
