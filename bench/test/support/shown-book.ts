/** Compares a book as the API shows it with the venue's true book: for judges outside the service's process. */
import type { Json } from "../../../gateway/test/client.js";
import type { SimInstrument, SimLevel, SimSide } from "../../sim/core/model/types.js";
import { priceText, qtyText } from "../../sim/core/model/fixed.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import { PAIR_VENUES, type PairVenue } from "./local-pair.js";
import { nativeName } from "./local-venues.js";

interface ShownBook {
  readonly state: string;
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
  readonly venueSeq: string | null;
  readonly venueTimestamp: number | null;
}

type JudgedPair = Readonly<Record<PairVenue, { readonly exchange: SimExchange }>>;

/**
 * Keeps the best bid and ask of every moment, newest TOUCHES_KEPT per symbol and side: the API lays a newer touch over
 * a book of slightly older depth, and shows the depth's sequence.
 */
export class ShownBookJudge {
  readonly #pair: JudgedPair;
  readonly #touches = new Map<string, Set<string>>();

  constructor(pair: JudgedPair, symbols: readonly string[]) {
    this.#pair = pair;
    for (const venue of PAIR_VENUES) {
      const { exchange } = pair[venue];
      const remember = (symbol: string): void => this.#remember(venue, symbol);
      for (const symbol of symbols) remember(nativeName(venue, symbol));
      exchange.addListener({ onLevel: remember });
    }
  }

  /** Returns null when the book is true, or not LIVE and so not for use. */
  difference(venue: PairVenue, symbol: string, body: Json): string | null {
    const shown = (body as unknown as { readonly data: ShownBook }).data;
    if (shown.state !== "LIVE") return null;
    const { exchange } = this.#pair[venue];
    const native = nativeName(venue, symbol);
    const instrument = exchange.instruments.get(native) as SimInstrument;
    const truth =
      venue === "venueone"
        ? exchange.market.trueBookAtTime(native, shown.venueTimestamp ?? 0, FAST_LEVELS)
        : exchange.market.trueBook(native, Number(shown.venueSeq));
    const at = `${venue} ${symbol} seq ${shown.venueSeq ?? "none"} time ${shown.venueTimestamp ?? "none"}`;
    if (truth === null) return `${at}: the venue knows no such book`;
    const problem =
      this.#sideProblem(venue, instrument, "BUY", shown.bids, truth.bids) ??
      this.#sideProblem(venue, instrument, "SELL", shown.asks, truth.asks);
    return problem === null ? null : `${at}: ${problem}`;
  }

  #sideProblem(
    venue: PairVenue,
    instrument: SimInstrument,
    side: SimSide,
    shown: ShownBook["bids"],
    truth: readonly SimLevel[],
  ): string | null {
    const texts = truth.map((level) => levelText(instrument, level));
    const [best, ...rest] = shown.map(([price, size]) => `${Number(price)} x ${Number(size)}`);
    if (best === undefined) return null;
    // Either the depth unchanged, or a touch that was true at some moment over the depth behind it.
    const beyond =
      best === texts[0]
        ? texts.slice(1)
        : truth
            .filter((level) => isWorse(instrument, side, level, Number(shown[0]?.[0])))
            .map((level) => levelText(instrument, level));
    if (best !== texts[0] && this.#touches.get(`${venue} ${instrument.symbol} ${side}`)?.has(best) !== true)
      return `best ${side} ${best} was never true; the depth begins with ${texts[0] ?? "nothing"}`;
    for (const [index, level] of rest.entries())
      if (level !== beyond[index]) return `${side} level ${index + 1} is ${level}, truth ${beyond[index] ?? "nothing"}`;
    return null;
  }

  #remember(venue: PairVenue, native: string): void {
    const { exchange } = this.#pair[venue];
    const instrument = exchange.instruments.get(native) as SimInstrument;
    for (const [side, level] of [
      ["BUY", exchange.market.bestBid(native)],
      ["SELL", exchange.market.bestAsk(native)],
    ] as const) {
      if (level === null) continue;
      const key = `${venue} ${native} ${side}`;
      const touches = this.#touches.get(key) ?? new Set<string>();
      this.#touches.set(key, touches);
      const text = levelText(instrument, level);
      // Moves the entry to the end, so that the oldest goes first.
      touches.delete(text);
      touches.add(text);
      if (touches.size <= TOUCHES_KEPT) continue;
      const oldest = touches.values().next();
      if (oldest.done === false) touches.delete(oldest.value);
    }
  }
}

/** Levels of venueone's main tier. */
const FAST_LEVELS = 5;
const TOUCHES_KEPT = 20_000;

function levelText(instrument: SimInstrument, level: SimLevel): string {
  return `${Number(priceText(instrument, level.priceTicks))} x ${Number(qtyText(instrument, level.qtyLots))}`;
}

function isWorse(instrument: SimInstrument, side: SimSide, level: SimLevel, price: number): boolean {
  const own = Number(priceText(instrument, level.priceTicks));
  return side === "BUY" ? own < price : own > price;
}
