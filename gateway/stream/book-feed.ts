/**
 * The `book` topic: the best levels of one symbol, per venue, as REST shows them. A book that is not LIVE shows no
 * levels; a book that was not proven current for too long keeps them and is called STALE.
 */
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../engine/domain/instrument.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { isTouchNewer } from "../../engine/market/touch.js";
import { needsDeep, readLevels } from "../api/book-levels.js";
import { sameLevels, VenueBookImage } from "./book-image.js";
import type { Feed, Image, MarkDirty } from "./feed.js";
import type { MarketTap } from "./market-tap.js";
import { type MemberSources, VenueMember } from "./venue-member.js";

class BookImage implements Image {
  readonly #symbol: string;
  readonly #venues: readonly RoutableVenue[];
  readonly books: readonly VenueBookImage[];

  constructor(symbol: string, venues: readonly RoutableVenue[], books: readonly VenueBookImage[]) {
    this.#symbol = symbol;
    this.#venues = venues;
    this.books = books;
  }

  snapshotText(): string {
    let text = `{"symbol":${JSON.stringify(this.#symbol)}`;
    for (const [index, venue] of this.#venues.entries())
      text += `,"${venue}":${(this.books[index] as VenueBookImage).snapshotText()}`;
    return `${text}}`;
  }

  updateText(from: BookImage): string {
    let text = "";
    for (const [index, venue] of this.#venues.entries()) {
      const book = this.books[index] as VenueBookImage;
      const before = from.books[index] as VenueBookImage;
      if (book !== before) text += `${text === "" ? "" : ","}"${venue}":${book.updateText(before)}`;
    }
    return `{${text}}`;
  }
}

/** What was shown of one venue, and the tap state it was made from. */
interface Shown {
  readonly tap: MarketTap | null;
  readonly version: number;
  /** Whether the touch was the newer one. A proof of the book alone ends that, and nothing signals it. */
  readonly usesTouch: boolean;
  readonly book: VenueBookImage;
}

export class BookFeed implements Feed {
  readonly #symbol: string;
  readonly #venues: readonly RoutableVenue[];
  readonly #depth: number;
  readonly #members: readonly VenueMember[];
  readonly #shown: Shown[] = [];
  #image: BookImage | null = null;

  constructor(
    sources: MemberSources,
    symbol: string,
    venues: readonly RoutableVenue[],
    depth: number,
    mark: MarkDirty,
  ) {
    this.#symbol = symbol;
    this.#venues = venues;
    this.#depth = depth;
    this.#members = venues.map((venue) => new VenueMember(sources, venue, symbol, "book", mark));
  }

  look(nowNs: number): Image {
    let changed = this.#image === null;
    for (const [index, member] of this.#members.entries()) {
      member.follow();
      const before = this.#shown[index] ?? null;
      const after = this.#lookAt(member.tap, before, nowNs);
      this.#shown[index] = after;
      if (after.book !== before?.book) changed = true;
    }
    if (this.#image === null || changed) {
      const books = this.#shown.map((shown) => shown.book);
      this.#image = new BookImage(this.#symbol, this.#venues, books);
    }
    return this.#image;
  }

  drifted(nowNs: number): boolean {
    for (let index = 0; index < this.#members.length; index++) {
      const member = this.#members[index] as VenueMember;
      if (member.isMoved) return true;
      const shown = this.#shown[index];
      if (member.tap === null || shown === undefined) continue;
      if (member.tap.bookFeedState(nowNs) !== shown.book.state) return true;
      const { market } = member.tap;
      if (needsDeep(market, this.#depth, nowNs) !== shown.book.usesDeep) return true;
      if (isTouchNewer(market.touch, market.book) !== shown.usesTouch) return true;
    }
    return false;
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  #lookAt(tap: MarketTap | null, before: Shown | null, nowNs: number): Shown {
    if (tap === null) {
      if (before !== null && before.tap === null) return before;
      const changeCount = before === null ? 0 : before.book.changeCount + 1;
      const book = new VenueBookImage("DOWN", [], [], 0, false, changeCount, 0, 0);
      return { tap, version: 0, usesTouch: false, book };
    }
    const { market, bookVersion: version } = tap;
    const state = tap.bookFeedState(nowNs);
    const usesDeep = needsDeep(market, this.#depth, nowNs);
    const known = before !== null && before.tap === tap ? before.book : null;
    const sameView = known !== null && known.state === state && known.usesDeep === usesDeep;
    const usesTouch = isTouchNewer(market.touch, market.book);
    if (before !== null && sameView && before.version === version && before.usesTouch === usesTouch) return before;
    const bids = readLevels(market, "bids", this.#depth, usesDeep);
    const asks = readLevels(market, "asks", this.#depth, usesDeep);
    // The venue's sequence alone moves with every change beyond the depth, which is not sent.
    if (known !== null && sameView && sameLevels(known.bids, bids) && sameLevels(known.asks, asks))
      return { tap, version, usesTouch, book: known };
    const book = new VenueBookImage(
      state,
      bids,
      asks,
      market.book.seq,
      usesDeep,
      before === null ? 0 : before.book.changeCount + 1,
      canonicalPriceDecimals(market.instrument),
      canonicalQtyDecimals(market.instrument),
    );
    return { tap, version, usesTouch, book };
  }
}
