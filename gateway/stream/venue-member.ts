/**
 * One venue's place in a key: the market that it lists now, and its tap. A room may replace a market or stop listing
 * it; the member follows.
 */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { MarketView } from "../api/market-view.js";
import type { MarkDirty } from "./feed.js";
import type { MarketTap, MarketTaps } from "./market-tap.js";

export interface MemberSources {
  readonly view: MarketView;
  readonly taps: MarketTaps;
}

export class VenueMember {
  readonly venue: RoutableVenue;
  readonly #symbol: string;
  readonly #sources: MemberSources;
  readonly #mark: MarkDirty;
  readonly #part: "ticker" | "book";
  /** Null while the venue does not list the symbol. */
  tap: MarketTap | null = null;

  constructor(sources: MemberSources, venue: RoutableVenue, symbol: string, part: "ticker" | "book", mark: MarkDirty) {
    this.venue = venue;
    this.#symbol = symbol;
    this.#sources = sources;
    this.#mark = mark;
    this.#part = part;
    this.follow();
  }

  /** Whether the tap is on another market than the one listed now. */
  get isMoved(): boolean {
    return this.#sources.view.market(this.venue, this.#symbol) !== (this.tap?.market ?? null);
  }

  /** Switches to the market that is listed now. */
  follow(): void {
    const { view, taps } = this.#sources;
    const market = view.market(this.venue, this.#symbol);
    if (market === (this.tap?.market ?? null)) return;
    this.close();
    if (market === null) return;
    const tap = taps.open(market);
    if (this.#part === "ticker") tap.readTicker(this.#mark);
    else tap.readBook(this.#mark);
    this.tap = tap;
  }

  close(): void {
    if (this.tap !== null) this.#sources.taps.leave(this.tap, this.#mark);
    this.tap = null;
  }
}
