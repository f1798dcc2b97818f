/**
 * Texts for people, made from exact decimal texts. Prices and sizes keep every digit the venue printed; rounded figures
 * (percentages, rates, volumes) are rounded to the nearest and never used in further computation.
 */
import {
  compareDecimal,
  divideDecimal,
  multiplyDecimal,
  parseDecimal,
  printDecimal,
  roundDecimal,
} from "../decimal.js";

/** Shown where a value is unknown. */
export const UNKNOWN_TEXT = "–";
const MINUS = "−";
const HUNDRED = { units: 100n, places: 0 };
const HOURS_PER_YEAR = { units: 8_760n, places: 0 };

/** `"97421.50"` → `"97,421.50"`: grouped, otherwise unchanged. */
export function groupDigits(text: string | null): string {
  if (text === null || parseDecimal(text) === null) return UNKNOWN_TEXT;
  const negative = text.startsWith("-");
  const [whole = "", fraction] = (negative ? text.slice(1) : text).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${negative ? MINUS : ""}${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** Returns the decimals of the finest of these texts. */
export function placesOf(texts: readonly string[]): number {
  return texts.reduce((places, text) => Math.max(places, text.split(".")[1]?.length ?? 0), 0);
}

/** Returns the same value with at least `places` decimals, so that a column of figures aligns on the decimal point. */
export function padPlaces(text: string, places: number): string {
  const [whole = "", fraction = ""] = text.split(".");
  return places === 0 ? text : `${whole}.${fraction.padEnd(places, "0")}`;
}

/** Fixed number of decimals, nearest, with a sign if requested: `"1.4792"`, 2 → `"+1.48"`. */
export function fixedText(text: string | null, places: number, signed = false): string {
  const value = parseDecimal(text);
  if (value === null) return UNKNOWN_TEXT;
  const rounded = roundDecimal(value, places);
  const negative = rounded.units < 0n;
  const digits = (negative ? -rounded.units : rounded.units).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places).replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = negative ? MINUS : signed && rounded.units > 0n ? "+" : "";
  return `${sign}${whole}${places === 0 ? "" : `.${digits.slice(-places)}`}`;
}

/**
 * The nearest multiple of the market's tick, with the tick's decimals, because venues compute marks finer than any
 * tradable price. Unchanged where the tick is unknown.
 */
export function tickText(text: string | null, tick: string | null): string | null {
  const value = parseDecimal(text);
  const step = parseDecimal(tick);
  if (value === null || step === null || step.units <= 0n) return text;
  const count = divideDecimal(value, step, 0);
  if (count === null) return text;
  return padPlaces(printDecimal(multiplyDecimal(count, step)), step.places);
}

/** -1, 0 or 1 for colour and arrow; 0 for unknown. */
export function signOf(text: string | null): -1 | 0 | 1 {
  const value = parseDecimal(text);
  if (value === null || value.units === 0n) return 0;
  return value.units < 0n ? -1 : 1;
}

export interface FundingTexts {
  /** Percent per hour: rates of venues with different intervals can be compared only this way. */
  readonly perHour: string;
  /** Percent per year, simple. */
  readonly apr: string;
  /** The venue's own interval. */
  readonly interval: string;
}

const NO_FUNDING: FundingTexts = { perHour: UNKNOWN_TEXT, apr: UNKNOWN_TEXT, interval: "" };

/** `hours` is the venue's funding interval; without it a rate has no meaning. */
export function fundingTexts(rate: string | null, hours: number | null): FundingTexts {
  const perInterval = parseDecimal(rate);
  const interval = hours === null || !(hours > 0) ? null : parseDecimal(String(hours));
  if (perInterval === null || interval === null) return NO_FUNDING;
  const percent = multiplyDecimal(perInterval, HUNDRED);
  const perHour = divideDecimal(percent, interval, 6);
  const apr = divideDecimal(multiplyDecimal(percent, HOURS_PER_YEAR), interval, 2);
  if (perHour === null || apr === null) return NO_FUNDING;
  return {
    perHour: `${fixedText(printDecimal(perHour), 5, true)} %`,
    apr: `${fixedText(printDecimal(apr), 2, true)} %`,
    interval: `${hours} h`,
  };
}

const SCALES = [
  { zeros: 12, letter: "T" },
  { zeros: 9, letter: "B" },
  { zeros: 6, letter: "M" },
  { zeros: 3, letter: "K" },
] as const;

/** `"1234567890.12"` → `"1.23B"`: three digits are enough for a volume. */
export function compactText(text: string | null): string {
  const value = parseDecimal(text);
  if (value === null) return UNKNOWN_TEXT;
  for (const { zeros, letter } of SCALES) {
    const size = { units: value.units < 0n ? -value.units : value.units, places: value.places + zeros };
    // From 999.5 of the smaller scale on, rounding would print 1,000 of it.
    if (compareDecimal(size, { units: 9_995n, places: 4 }) < 0) continue;
    const scaled = { units: value.units, places: value.places + zeros };
    const places =
      compareDecimal(size, { units: 9_995n, places: 2 }) >= 0
        ? 0
        : compareDecimal(size, { units: 9_995n, places: 3 }) >= 0
          ? 1
          : 2;
    return `${fixedText(printDecimal(scaled), places)}${letter}`;
  }
  return fixedText(text, 2);
}

/** A round size on a button: `0.1`, `5,000`, `20K`, `100M`. */
export function sizeLabel(size: string): string {
  return (size.split(".")[0] ?? "").length > 4 ? compactText(size).replace(/\.0+(?=[KMBT])/, "") : groupDigits(size);
}

/** `40 ms`, `1.2 s`, `47 s`, `3 min`, `2 h`; negative ages count as now. */
export function ageText(ageMs: number | null): string {
  if (ageMs === null) return UNKNOWN_TEXT;
  if (ageMs < 1_000) return `${Math.max(0, Math.round(ageMs))} ms`;
  if (ageMs < 10_000) return `${(Math.floor(ageMs / 100) / 10).toFixed(1)} s`;
  if (ageMs < 120_000) return `${Math.floor(ageMs / 1_000)} s`;
  if (ageMs < 7_200_000) return `${Math.floor(ageMs / 60_000)} min`;
  return `${Math.floor(ageMs / 3_600_000)} h`;
}

/** Local wall time of a Unix time: `14:03:07`. */
export function clockText(epochMs: number): string {
  const at = new Date(epochMs);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
