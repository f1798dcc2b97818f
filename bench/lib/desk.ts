/** The way of a tick without I/O: recorded frames into one venue's book, a standing venue beside it, the exit decided anew. */
import { createMarket, type Market } from "../../engine/market/market.js";
import { decideRoute } from "../../engine/routing/decide.js";
import { setSizeText } from "../../engine/routing/route-input.js";
import { Decision, RouteInput } from "../../engine/routing/route-types.js";
import { BookSync } from "../../feeds/venuetwo/market/sync.js";
import { VenuetwoDecoder } from "../../feeds/venuetwo/market/decode.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH } from "../../feeds/venuetwo/market/frame.js";
import { LISTED_BTC } from "../../engine/domain/test/instruments.js";
import type { RecordedFrame } from "./recording.js";

const CLOSE_SIZE = "0.25";

/** Two markets: the driven one and a standing one with a book around the same price. */
export class Desk {
  readonly driven: Market = createMarket(LISTED_BTC.venuetwo, {
    deepTier: false,
    maxBookAgeMs: 2_000,
    maxDeepAgeMs: 0,
  });
  readonly standing: Market = createMarket(LISTED_BTC.venueone, {
    deepTier: true,
    maxBookAgeMs: 2_000,
    maxDeepAgeMs: 7_000,
  });
  readonly #input = new RouteInput();
  readonly #decision = new Decision();
  readonly #decoder = new VenuetwoDecoder();
  readonly #sync = new BookSync(this.driven.book, () => {});
  readonly #slot = this.#decoder.register(
    LISTED_BTC.venuetwo.nativeSymbol,
    LISTED_BTC.venuetwo.priceDecimals,
    LISTED_BTC.venuetwo.qtyDecimals,
  );

  constructor() {
    this.#sync.begin();
  }

  take(recorded: RecordedFrame, nowNs: number): void {
    const { bytes } = recorded;
    const frame = this.#decoder.frame;
    if (recorded.kind === "snapshot") {
      this.#decoder.decodeSnapshot(bytes, 0, bytes.length, this.#slot);
      this.#sync.onSnapshot(frame, nowNs);
      this.stand(frame.bidTicks[0] ?? 0, nowNs);
      return;
    }
    const kind = this.#decoder.decodeFrame(bytes, 0, bytes.length);
    if (kind === FRAME_DEPTH) this.#sync.onDiff(frame, nowNs);
    else if (kind === FRAME_BOOK_TICKER) {
      this.driven.book.prove(nowNs);
      this.driven.touch.set(
        frame.touchBidTicks,
        frame.touchBidLots,
        frame.touchAskTicks,
        frame.touchAskLots,
        frame.lastId,
        frame.tsEventMs,
        nowNs,
      );
    }
  }

  /** The other venue: twenty levels a side, whole dollars, around the driven venue's price. */
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
