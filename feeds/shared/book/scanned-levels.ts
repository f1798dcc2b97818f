// hot path
/** The scanned levels of a whole book → ticks and lots → the book. For venues whose frames replace. */
import { pow10 } from "../../../engine/domain/decimal.js";
import type { Book } from "../../../engine/market/book.js";
import type { ScannedSide } from "./json-bytes.js";

/** Integer of digits × 10^-places at `decimals`; NaN when finer or too large. */
function toScaled(digits: number, places: number, decimals: number): number {
  if (places > decimals) return Number.NaN;
  const scaled = digits * pow10(decimals - places);
  return scaled <= Number.MAX_SAFE_INTEGER ? scaled : Number.NaN;
}

/** In place: digits become ticks and lots. False when one does not fit. */
export function scaleSide(side: ScannedSide, priceDecimals: number, qtyDecimals: number): boolean {
  for (let index = 0; index < side.count; index++) {
    const priceTicks = toScaled(side.priceDigits[index] as number, side.pricePlaces[index] as number, priceDecimals);
    const qtyLots = toScaled(side.qtyDigits[index] as number, side.qtyPlaces[index] as number, qtyDecimals);
    if (Number.isNaN(priceTicks) || Number.isNaN(qtyLots)) return false;
    side.priceDigits[index] = priceTicks;
    side.qtyDigits[index] = qtyLots;
  }
  return true;
}

/** A snapshot begun, of sides that were scaled; the caller commits it. */
export function applyLevels(book: Book, bids: ScannedSide, asks: ScannedSide): void {
  book.beginSnapshot();
  for (let index = 0; index < bids.count; index++) {
    book.applyBid(bids.priceDigits[index] as number, bids.qtyDigits[index] as number);
  }
  for (let index = 0; index < asks.count; index++) {
    book.applyAsk(asks.priceDigits[index] as number, asks.qtyDigits[index] as number);
  }
}
