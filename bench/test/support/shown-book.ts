/** Compares a book as the API shows it with the venue's true book: for judges outside the service's process. */
import type { Json } from "../../../gateway/test/client.js";
import type { SimInstrument, SimLevel } from "../../sim/core/types.js";
import { priceText, qtyText } from "../../sim/core/fixed.js";
import { type LocalPair, nativeOf, type PairVenue } from "./local-pair.js";

interface ShownBook {
  readonly state: string;
  readonly bids: readonly (readonly [string, string])[];
  readonly asks: readonly (readonly [string, string])[];
  readonly venueSeq: string | null;
  readonly venueTimestamp: number | null;
}

/** Null when equal, or not LIVE and so not to be used. */
export function shownBookDifference(pair: LocalPair, venue: PairVenue, symbol: string, body: Json): string | null {
  const shown = (body as unknown as { readonly data: ShownBook }).data;
  if (shown.state !== "LIVE") return null;
  const { exchange } = pair[venue];
  const native = nativeOf(venue, symbol);
  const instrument = exchange.instruments.get(native) as SimInstrument;
  const depth = Math.max(shown.bids.length, shown.asks.length);
  const truth =
    venue === "venueone"
      ? exchange.trueBookAtTime(native, shown.venueTimestamp ?? 0, depth)
      : exchange.trueBook(native, Number(shown.venueSeq), depth);
  const at = `${venue} ${symbol} seq ${shown.venueSeq ?? "none"} time ${shown.venueTimestamp ?? "none"}`;
  if (truth === null) return `${at}: the venue knows no such book`;
  const problem = sideDifference(instrument, shown.bids, truth.bids) ?? sideDifference(instrument, shown.asks, truth.asks);
  return problem === null ? null : `${at}: ${problem}`;
}

function sideDifference(instrument: SimInstrument, shown: ShownBook["bids"], truth: readonly SimLevel[]): string | null {
  if (shown.length !== truth.length) return `${shown.length} levels, truth ${truth.length}`;
  for (const [index, level] of truth.entries()) {
    const [price, size] = shown[index] ?? ["", ""];
    const [truePrice, trueSize] = [priceText(instrument, level.priceTicks), qtyText(instrument, level.qtyLots)];
    if (Number(price) !== Number(truePrice) || Number(size) !== Number(trueSize)) return `level ${index} is ${price} × ${size}, truth ${truePrice} × ${trueSize}`;
  }
  return null;
}
