/** Debug lines of books that left LIVE: whose, which tier, and the reason; nothing is installed while debug is off. */
import type { Logger } from "../../../engine/domain/logger.js";
import type { BookLost } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";

/** From now on each loss of a book of the market is a line. */
export function logResyncs(logger: Logger, market: Market): void {
  if (logger.debug === null) return;
  market.book.onLost = lineOf(logger, market, "book");
  if (market.deep !== null) market.deep.onLost = lineOf(logger, market, "deep");
}

function lineOf(logger: Logger, { instrument }: Market, tier: "book" | "deep"): BookLost {
  const { symbol, venue } = instrument;
  return { lost: (reason) => logger.debug?.("book.resync", { venue, symbol, tier, reason }) };
}
