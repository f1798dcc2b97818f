/**
 * Memory of 2 000 books of 1 000 levels a side, as four venues with 500 contracts would fill them, updated around a
 * moving price. Resident memory before and after, in this process; the bound is the design's.
 */
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import type { Book } from "../../engine/market/book.js";
import { fillFullBooks } from "../lib/full-books.js";
import type { BenchRow, Scenario } from "../lib/types.js";

const BOOK_COUNT = 2_000;
/** Changes to each book after its first fill. */
const CHANGES = 2_000;
const GOAL_MIB = 1_536;
const MIB = 1_048_576;

export const memory: Scenario = {
  name: "memory",
  title: "Memory: 2 000 books of 1 000 levels a side",
  async run({ smoke }) {
    const bookCount = smoke ? 50 : BOOK_COUNT;
    globalThis.gc?.();
    const beforeBytes = process.memoryUsage().rss;
    const random = createSeededRandom(7);
    const books = fillFullBooks(bookCount, random);
    globalThis.gc?.();
    const filledBytes = process.memoryUsage().rss;
    for (const book of books) churn(book, random);
    globalThis.gc?.();
    const churnedBytes = process.memoryUsage().rss;
    const levelCount = books.reduce((sum, book) => sum + book.bidCount + book.askCount, 0);
    const row = (what: string, bytes: number, detail: string): BenchRow => ({
      what,
      unit: "MiB",
      ours: (bytes - beforeBytes) / MIB,
      peerName: "",
      peer: null,
      ratio: (bytes - beforeBytes) / MIB,
      goal: { kind: "atMost", value: GOAL_MIB },
      runCount: 1,
      detail,
    });
    return {
      rows: [
        row(
          `${bookCount} books filled`,
          filledBytes,
          `${((filledBytes - beforeBytes) / bookCount / 1024).toFixed(0)} KiB a book`,
        ),
        row(
          `the same after ${CHANGES} changes each`,
          churnedBytes,
          `${((churnedBytes - beforeBytes) / levelCount).toFixed(0)} bytes a level, ${levelCount} levels`,
        ),
      ],
      profile: [],
    };
  },
};

function churn(book: Book, random: Random): void {
  for (let change = 0; change < CHANGES; change++) {
    const qtyLots = random.next() < 0.5 ? 0 : 1 + Math.floor(random.next() * 1_000);
    const offset = 2 + Math.floor(random.next() * 2_000);
    if (random.next() < 0.5) book.applyBid(1_000_000 - offset, qtyLots);
    else book.applyAsk(1_000_000 + offset, qtyLots);
    if (change % 8 === 7) book.commit(change, 1, 1);
  }
  book.commit(CHANGES, 1, 1);
}
