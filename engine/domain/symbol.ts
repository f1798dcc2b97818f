/**
 * Canonical symbols: the upper-case base asset (`BTC`). There are two readers because they know different things. Venue
 * names are exact: `kPEPE` means a thousand PEPE, `KAVA` is KAVA. A caller types in any case, and only the list of
 * known symbols distinguishes `kava` from `kpepe`.
 */

/** Longer texts are refused. */
export const MAX_SYMBOL_CHARS = 40;

export interface ParsedSymbol {
  /** Canonical symbol. */
  readonly base: string;
  /** One contract is 10^n units of the base asset. */
  readonly multiplierExp10: number;
  /** Quote named by the text, "" if there is none. */
  readonly quote: string;
}

/** Recognised after a separator: `BTC-USD`, `BTC/USDT`, `BTC-PERP`. */
const SEPARATED_TAILS: ReadonlySet<string> = new Set(["USD", "USDT", "USDC", "USD1", "PERP"]);
/** Recognised without a separator. Plain `USD` is not: base assets end in it (FDUSD, RLUSD). */
const GLUED_QUOTES = ["USDT", "USDC", "USD1"] as const;
/** Venues list names in other scripts too. */
const BASE = /^[A-Z0-9\p{Script=Han}]{1,24}$/u;
const POWER_PREFIX = /^(10{3,})(?=[A-Z])/;

/** Reads a name in a venue's spelling. Returns null if it is no symbol. */
export function parseNativeSymbol(text: string): ParsedSymbol | null {
  if (text.length === 0 || text.length > MAX_SYMBOL_CHARS) return null;
  // `kPEPE`: a lower-case k before capitals is the only case where the letter case matters.
  const thousand = /^k[A-Z]/.test(text);
  const split = splitQuote((thousand ? text.slice(1) : text).toUpperCase());
  if (split === null) return null;
  if (thousand) return { base: split.base, multiplierExp10: 3, quote: split.quote };
  const stripped = stripMultiplier(split.base);
  return { base: stripped.base, multiplierExp10: stripped.exp10, quote: split.quote };
}

/**
 * Returns the canonical symbol of what a caller typed, or null if it cannot be one. It uses no list, so `kpepe` becomes
 * KPEPE; resolveSymbol does better.
 */
export function canonicalSymbol(text: string): string | null {
  return parseNativeSymbol(text)?.base ?? null;
}

/**
 * Returns the listed symbol that a caller means, or null. Readings are tried from the most literal to the most liberal,
 * so a listed KAVA or FDUSD is never shortened.
 */
export function resolveSymbol(text: string, isListed: (symbol: string) => boolean): string | null {
  if (text.length === 0 || text.length > MAX_SYMBOL_CHARS) return null;
  const upper = text.toUpperCase();
  if (isListed(upper)) return upper;
  const split = splitQuote(upper);
  if (split !== null && isListed(split.base)) return split.base;
  const native = canonicalSymbol(text);
  if (native === null) return null;
  if (isListed(native)) return native;
  const readings = [
    native.startsWith("K") ? native.slice(1) : "",
    native.endsWith("USD") ? native.slice(0, -3) : "",
    native.endsWith("PERP") ? native.slice(0, -4) : "",
  ];
  return readings.find((reading) => reading !== "" && isListed(reading)) ?? null;
}

/** Splits an upper-case text into base and quote. */
function splitQuote(upper: string): { base: string; quote: string } | null {
  const parts = upper.split(/[-/_]/);
  const head = parts[0] as string;
  if (!BASE.test(head)) return null;
  let quote = "";
  for (const tail of parts.slice(1)) {
    if (!SEPARATED_TAILS.has(tail)) return null;
    if (tail === "PERP") continue;
    // `BTC-USD-USDT` names two quotes.
    if (quote !== "") return null;
    quote = tail;
  }
  if (parts.length > 3) return null;
  if (quote !== "") return { base: head, quote };
  for (const glued of GLUED_QUOTES) {
    if (head.length > glued.length && head.endsWith(glued)) return { base: head.slice(0, -glued.length), quote: glued };
  }
  return { base: head, quote: "" };
}

/** `1000PEPE`, `1000000MOG`, `1MBABYDOGE`; not `1INCH`, nor a bare number. */
function stripMultiplier(base: string): { base: string; exp10: number } {
  const power = POWER_PREFIX.exec(base)?.[1];
  if (power !== undefined) return { base: base.slice(power.length), exp10: power.length - 1 };
  if (/^1M[A-Z]{3}/.test(base)) return { base: base.slice(2), exp10: 6 };
  return { base, exp10: 0 };
}
