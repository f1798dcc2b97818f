/** What the market stream keeps per contract, and the subscriptions of a contract with the liveness of each. */
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ProbeResult } from "../../shared/net/subscriptions.js";
import { BOOK_LIVENESS_MS, TOUCH_LIVENESS_MS } from "../rules/limits.js";
import { MarketApplier } from "./apply.js";
import type { Shard } from "./shard.js";
import { StreamSlot } from "./stream-slot.js";

/** History ids remembered per contract, for the overlap of two connections. Overflow forgets the oldest. */
const MAX_REMEMBERED_TRADES = 512;
/** The touch may lag the book by this without being dead. */
const TOUCH_LAG_MS = 2_000;

export class MarketEntry {
  readonly market: Market;
  readonly symbol: string;
  readonly applier: MarketApplier;
  readonly shard: Shard;
  readonly book: StreamSlot;
  readonly touch: StreamSlot;
  readonly trades: StreamSlot;
  /** Time of the newest trade seen, whose price is the last; 0 before the first. */
  lastTradeMs = 0;
  readonly #tradeIds = new Set<number>();

  constructor(market: Market, shard: Shard, probeBook: (entry: MarketEntry) => Promise<ProbeResult>) {
    const { socket } = shard;
    this.market = market;
    this.symbol = market.instrument.nativeSymbol;
    this.applier = new MarketApplier(market);
    this.shard = shard;
    this.book = new StreamSlot(socket, "book", this.symbol, {
      livenessMs: BOOK_LIVENESS_MS,
      probe: () => probeBook(this),
    });
    this.touch = new StreamSlot(socket, "bbo", this.symbol, {
      livenessMs: TOUCH_LIVENESS_MS,
      probe: () => probeTouch(market),
    });
    // No trades for hours says nothing.
    this.trades = new StreamSlot(socket, "trades", this.symbol, { livenessMs: 0, probe: null });
  }

  get slots(): readonly StreamSlot[] {
    return [this.book, this.touch, this.trades];
  }

  /** False for a trade seen before. */
  isNewTrade(historyId: number): boolean {
    if (this.#tradeIds.has(historyId)) return false;
    if (this.#tradeIds.size >= MAX_REMEMBERED_TRADES) {
      const oldest = this.#tradeIds.values().next();
      if (oldest.done !== true) this.#tradeIds.delete(oldest.value);
    }
    this.#tradeIds.add(historyId);
    return true;
  }
}

/** A touch that differs from a clearly newer book has missed changes; one that equals it had none to send. */
function probeTouch(market: Market): Promise<ProbeResult> {
  const { touch, book } = market;
  // A silent book is judged by its own stream: the touch alone does not show whether it is dead or quiet.
  if (book.state !== BOOK_LIVE || !touch.present) return Promise.resolve("quiet");
  const isSame = touch.bidTicks === (book.bidTicks(0) || 0) && touch.askTicks === (book.askTicks(0) || 0);
  return Promise.resolve(isSame || book.tsVenueMs - touch.tsVenueMs < TOUCH_LAG_MS ? "quiet" : "dead");
}
