/** What an index of a pair means here: the interface spec's map, or the operator's. */

export interface PairMap {
  /** By index. */
  readonly symbols: ReadonlyMap<number, string>;
}

export type ParsedPairs =
  | { readonly ok: true; readonly map: PairMap }
  /** One sentence; it quotes what is wrong. */
  | { readonly ok: false; readonly problem: string };

/** Of the chain's own numbers; a larger one is a slip of the pen. */
const INDEX_MAX = 9_999;
const ENTRY = /^([A-Za-z0-9][A-Za-z0-9._-]{0,31})=(0|[1-9]\d{0,3})$/;

export function pairMapOf(symbols: readonly string[]): PairMap {
  return { symbols: new Map(symbols.map((symbol, index) => [index, symbol])) };
}

/** Of entries like `ETH=0`. Every symbol and every index is there once. */
export function parsePairs(entries: readonly string[]): ParsedPairs {
  const symbols = new Map<number, string>();
  const seen = new Set<string>();
  for (const entry of entries) {
    const [, symbol = "", digits = ""] = ENTRY.exec(entry.trim()) ?? [];
    const index = Number(digits);
    if (symbol === "" || index > INDEX_MAX) return problem(`${quoted(entry)} is not like ETH=0`);
    if (seen.has(symbol.toUpperCase())) return problem(`${symbol} is there twice`);
    if (symbols.has(index)) return problem(`index ${index} is there twice`);
    seen.add(symbol.toUpperCase());
    symbols.set(index, symbol.toUpperCase());
  }
  return symbols.size === 0 ? problem("no pair is named") : { ok: true, map: { symbols } };
}

export function symbolOf({ symbols }: PairMap, index: number): string {
  return symbols.get(index) ?? `PAIR_${index}`;
}

function problem(text: string): ParsedPairs {
  return { ok: false, problem: text };
}

function quoted(entry: string): string {
  return JSON.stringify(entry.length > 40 ? `${entry.slice(0, 40)}…` : entry);
}
