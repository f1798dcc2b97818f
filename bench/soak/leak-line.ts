/**
 * Judges whether memory grows for ever. It fits a straight line by least squares to the samples after forced
 * collections, once the service is warm. A leak is a line that surely rises faster than a bound, and that rises in each
 * third of the time: memory that fills up and levels off is no leak.
 */

export interface MemorySample {
  /** Time since the start of the run. */
  readonly atMs: number;
  readonly bytes: number;
}

export interface LeakBound {
  /** MiB a minute. A slower rise is lost in noise, or does no harm for days. */
  readonly mibPerMinute: number;
  /** Share of the time before memory counts as warm. */
  readonly warmShare: number;
  /** With fewer samples, or less time after the warm-up, there is no verdict. */
  readonly samplesMin: number;
  readonly spanMinMs: number;
}

export type LeakVerdict =
  | { readonly kind: "short" }
  | {
      readonly kind: "flat" | "leak";
      /** The slope in MiB a minute, and its standard error. */
      readonly slope: number;
      readonly error: number;
      /** Slope in each third of the time. */
      readonly parts: readonly number[];
    };

const MIB = 2 ** 20;
const MINUTE_MS = 60_000;
/** Standard errors by which a slope must exceed the bound: one line in forty does by chance. */
const SURE_ERRORS = 2;
/** A single step falls into two of the thirds at most. */
const PARTS = 3;
/** Share of the bound by which each third must rise. */
const PART_SHARE = 0.4;

export function judgeLine(samples: readonly MemorySample[], bound: LeakBound): LeakVerdict {
  const endMs = samples.at(-1)?.atMs ?? 0;
  const warm = samples.filter(({ atMs }) => atMs >= endMs * bound.warmShare);
  const [first] = warm;
  if (first === undefined || warm.length < bound.samplesMin || endMs - first.atMs < bound.spanMinMs)
    return { kind: "short" };
  const { slope, error } = lineThrough(warm);
  const partMs = (endMs - first.atMs) / PARTS;
  const parts = Array.from({ length: PARTS }, (_, part) => {
    const fromMs = first.atMs + part * partMs;
    return lineThrough(warm.filter(({ atMs }) => atMs >= fromMs && atMs <= fromMs + partMs)).slope;
  });
  const isSteady = parts.every((part) => part > bound.mibPerMinute * PART_SHARE);
  const isSure = slope - SURE_ERRORS * error > bound.mibPerMinute;
  return { kind: isSure && isSteady ? "leak" : "flat", slope, error, parts };
}

/** MiB a minute. The error follows from the scatter about the line; it is unknown for two points or fewer. */
export function lineThrough(samples: readonly MemorySample[]): { readonly slope: number; readonly error: number } {
  const count = samples.length;
  const xs = samples.map(({ atMs }) => atMs / MINUTE_MS);
  const ys = samples.map(({ bytes }) => bytes / MIB);
  const meanX = sum(xs) / count;
  const meanY = sum(ys) / count;
  const spread = sum(xs.map((x) => (x - meanX) ** 2));
  if (!(spread > 0)) return { slope: 0, error: Number.POSITIVE_INFINITY };
  const slope = sum(xs.map((x, index) => (x - meanX) * ((ys[index] as number) - meanY))) / spread;
  const rest = sum(xs.map((x, index) => ((ys[index] as number) - meanY - slope * (x - meanX)) ** 2));
  return { slope, error: count > 2 ? Math.sqrt(rest / (count - 2) / spread) : Number.POSITIVE_INFINITY };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export function verdictText(verdict: LeakVerdict): string {
  if (verdict.kind === "short") return "too short to judge";
  const { kind, slope, error, parts } = verdict;
  const text = `${signed(slope)} ± ${error.toFixed(2)} MiB/min (thirds ${parts.map(signed).join(", ")})`;
  return kind === "leak" ? `LEAK ${text}` : text;
}

function signed(number: number): string {
  return `${number >= 0 ? "+" : ""}${number.toFixed(2)}`;
}
