/**
 * Key texts of the public topics: `ticker:BTC:{venue},{venue}:100`, `book:BTC:{venue}:20:0`, `status`. Printing
 * and reading are inverse: a text that is not exactly what would be printed is no key. Exchanges are sorted by
 * alphabet, so that the same wish always has the same key.
 */
import { isRoutableVenue, type RoutableVenue } from "../../engine/domain/venue.js";
import { BOOK_DEPTH_BOUNDS } from "../../schemas/book.js";
import { INTERVALS_MS } from "../../schemas/stream-data.js";
import { MAX_KEY_CHARS } from "../../schemas/stream.js";

export type PublicKey =
  | {
      readonly topic: "ticker";
      readonly symbol: string;
      readonly exchanges: readonly RoutableVenue[];
      readonly intervalMs: number;
    }
  | {
      readonly topic: "book";
      readonly symbol: string;
      readonly exchanges: readonly RoutableVenue[];
      readonly depth: number;
      readonly intervalMs: number;
    }
  | { readonly topic: "status" };

export function keyText(key: PublicKey): string {
  if (key.topic === "status") return "status";
  const exchanges = [...new Set(key.exchanges)].sort().join(",");
  const shape = key.topic === "ticker" ? `${key.intervalMs}` : `${key.depth}:${key.intervalMs}`;
  return `${key.topic}:${key.symbol}:${exchanges}:${shape}`;
}

/**
 * Checks the shape only; the caller checks that the exchanges list the symbol. Returns null for a text that is no key.
 */
export function parseKeyText(text: string): PublicKey | null {
  if (text.length > MAX_KEY_CHARS) return null;
  const key = readParts(text.split(":", 6));
  return key !== null && keyText(key) === text ? key : null;
}

function readParts(parts: readonly string[]): PublicKey | null {
  const [topic, symbol = "", exchangeText = "", ...shape] = parts;
  if (topic === "status" && parts.length === 1) return { topic };
  const exchanges = exchangeText.split(",", 8);
  if (symbol === "" || !exchanges.every(isRoutableVenue)) return null;
  const intervalMs = wholeNumber(shape.at(-1));
  if (!(INTERVALS_MS as readonly number[]).includes(intervalMs)) return null;
  if (topic === "ticker" && shape.length === 1) return { topic, symbol, exchanges, intervalMs };
  const depth = wholeNumber(shape[0]);
  if (topic !== "book" || shape.length !== 2) return null;
  if (!(depth >= BOOK_DEPTH_BOUNDS.min && depth <= BOOK_DEPTH_BOUNDS.max)) return null;
  return { topic, symbol, exchanges, depth, intervalMs };
}

function wholeNumber(text: string | undefined): number {
  return text !== undefined && /^[0-9]{1,4}$/.test(text) ? Number(text) : Number.NaN;
}
