/** Order statistics of a run. Floats are allowed here: nothing in this folder reaches an order. */

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Nearest-rank percentile; NaN for no values. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((left, right) => left - right);
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1));
  return sorted[rank] ?? Number.NaN;
}

/** `50/90/99/99.9/max` of a latency sample, in the sample's own unit. */
export function latencyText(values: readonly number[], digits = 2): string {
  const cells = [50, 90, 99, 99.9, 100].map((percent) => percentile(values, percent).toFixed(digits));
  return `p50/90/99/99.9/max ${cells.join("/")}`;
}
