/**
 * The path of a tick without I/O: recorded frames into one venue's book, a fixed book of another venue beside it, the
 * exit decided again.
 */
import { createMarket, type Market } from "../../engine/market/market.js";
import { decideRoute } from "../../engine/routing/decide.js";
import { setSizeText } from "../../engine/routing/route-input.js";
import { Decision, RouteInput } from "../../engine/routing/route-types.js";
import { DRIVEN_BTC, STANDING_BTC } from "../lib/instruments.js";
import type { RecordedFrame } from "../lib/recording.js";
import { CHAINED_DIFFS } from "./table.js";

const CLOSE_SIZE = "0.25";

/** Two markets: the driven one, and a fixed one with a book around the same price. */
export class Desk {
  readonly driven: Market = createMarket(DRIVEN_BTC, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  readonly standing: Market = createMarket(STANDING_BTC, { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 });
  readonly #input = new RouteInput();
  readonly #decision = new Decision();
  readonly #reader = CHAINED_DIFFS.openReader(this.driven);

  take(recorded: RecordedFrame, nowNs: number): void {
    const bidTicks = this.#reader.take(recorded, nowNs);
    if (bidTicks >= 0) this.stand(bidTicks, nowNs);
  }

  /** Fills the other venue's book: twenty levels a side, whole dollars, around the driven venue's price. */
  stand(bidTicks: number, nowNs: number): void {
    const bid = Math.floor(bidTicks / 100) * 10;
    for (const book of [this.standing.book, this.standing.deep]) {
      if (book === null) continue;
      book.beginSnapshot();
      for (let level = 0; level < 20; level++) {
        book.applyBid(bid - 10 * level, 50_000);
        book.applyAsk(bid + 10 + 10 * level, 50_000);
      }
      book.commit(0, 1, nowNs);
    }
  }

  decide(nowNs: number): void {
    const input = this.#input;
    input.reset("CLOSE_MARKET", "SELL", nowNs);
    setSizeText(input, CLOSE_SIZE);
    for (const market of [this.driven, this.standing]) {
      const candidate = input.addCandidate(market.instrument.venue, market);
      candidate.hasCredentials = true;
      candidate.positionKnown = true;
      candidate.longLots = market === this.driven ? 1_000 : 100_000;
      candidate.latencyMsP90 = 200;
    }
    decideRoute(input, this.#decision);
  }

  get isDecided(): boolean {
    return this.#decision.selected >= 0;
  }
}
