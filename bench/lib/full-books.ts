/** Books as deep as those of a busy venue, for measurements of memory. */
import type { Random } from "../../engine/domain/random.js";
import { Book } from "../../engine/market/book.js";

/** Levels of each side. */
export const FULL_BOOK_LEVELS = 1_000;

export function fillFullBooks(count: number, random: Random): Book[] {
  return Array.from({ length: count }, () => fill(new Book(1), random));
}

/** Levels thin out with distance, as real books do: half of them lie within 1 000 steps, the last some 20 000 away. */
function distance(random: Random, index: number): number {
  return index < FULL_BOOK_LEVELS / 2
    ? index * 2
    : FULL_BOOK_LEVELS + Math.floor(random.next() * 20 * FULL_BOOK_LEVELS);
}

function fill(book: Book, random: Random): Book {
  book.beginSync();
  book.beginSnapshot();
  const mid = 1_000_000;
  for (let index = 0; index < FULL_BOOK_LEVELS; index++) {
    book.applyBid(mid - 1 - distance(random, index), 1 + index);
    book.applyAsk(mid + 1 + distance(random, index), 1 + index);
  }
  book.commit(1, 1, 1);
  return book;
}
