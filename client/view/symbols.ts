/** The order of the symbol list: the majors, then those that most venues list, then by name. */

/** These come first, where listed. */
const MAJORS = ["BTC", "ETH", "SOL"];

export interface ListedInstrument {
  readonly symbol: string;
  readonly exchange: string;
}

/** Returns each symbol once. */
export function symbolsOf(instruments: readonly ListedInstrument[]): string[] {
  const venueCount = new Map<string, number>();
  for (const { symbol } of instruments) venueCount.set(symbol, (venueCount.get(symbol) ?? 0) + 1);
  const place = (symbol: string) => (MAJORS.includes(symbol) ? MAJORS.indexOf(symbol) : MAJORS.length);
  return [...venueCount.keys()].sort(
    (a, b) =>
      place(a) - place(b) || (venueCount.get(b) ?? 0) - (venueCount.get(a) ?? 0) || (a < b ? -1 : a > b ? 1 : 0),
  );
}
