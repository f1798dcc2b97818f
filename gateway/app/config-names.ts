/**
 * Finds names in the environment that are no option but look like one of ours, because a misspelt setting has no effect
 * and no error. Names only; their values are never read. Pure.
 */
import { ALL_OPTIONS } from "./config-options.js";

export interface UnknownName {
  readonly name: string;
  /** The option that is probably meant; null when none is similar. */
  readonly meant: string | null;
}

/** Read from the environment only, in addition to the options. */
export const CONTROL_NAMES = ["UNWIND_CONFIG", "UNWIND_PROFILE"];

/** No other program's names begin like this. */
const OUR_PREFIX = /^(?:VENUE(?:ONE|TWO|THREE|FOUR|FIVE)|UNWIND|STREAM|RATE|RECORD)_/i;
/** Names that other programs read and that look like ours: OpenSSL's certificates of those it calls, not of this service. */
const OF_OTHERS = new Set(["SSL_CERT_FILE"]);
/** Largest number of slips in a name; a short name is too close to many unrelated words. */
const SLIPS_MAX = 2;
const ONE_SLIP_CHARS_MIN = 6;
const TWO_SLIPS_CHARS_MIN = 10;

/** In alphabetical order. */
export function unknownNames(names: readonly string[]): readonly UnknownName[] {
  const known = [...Object.keys(ALL_OPTIONS), ...CONTROL_NAMES];
  const isKnown = new Set(known);
  return names
    .filter((name) => !isKnown.has(name) && !OF_OTHERS.has(name))
    .map((name) => ({ name, meant: known.find((one) => isNear(name, one)) ?? null }))
    .filter(({ name, meant }) => meant !== null || OUR_PREFIX.test(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The same letters in another spelling, or one or two slips in a long name. */
function isNear(name: string, option: string): boolean {
  const [given, wanted] = [letters(name), letters(option)];
  if (given === wanted) return true;
  const chars = Math.min(given.length, wanted.length);
  const slipsMax = chars >= TWO_SLIPS_CHARS_MIN ? SLIPS_MAX : chars >= ONE_SLIP_CHARS_MIN ? 1 : 0;
  return Math.abs(given.length - wanted.length) <= slipsMax && slips(given, wanted) <= slipsMax;
}

/** Without case, underscores, and the prefix that names the program. */
function letters(name: string): string {
  return name
    .toUpperCase()
    .replace(/^UNWIND_(?!CONFIG|PROFILE)/, "")
    .replaceAll("_", "");
}

/** Counts letters to insert, remove, change or swap with their neighbour (optimal string alignment). */
function slips(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[right.length] ?? 0;
}
