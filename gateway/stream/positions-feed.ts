/**
 * The `positions` topic: the accounts of one wallet, as the portfolio holds them, valued at the marks of our own feeds.
 * A change of size goes out at once; what only the mark moves waits for the interval of the key.
 *
 * Invariant: not known is not flat. For a venue that has not answered since the key was retained, or where the wallet has
 * no key any more, the last positions shown are kept, with their time, and the coverage reports that they are old.
 */
import type { Venue } from "../../engine/domain/venue.js";
import type { AccountWatch } from "../../engine/portfolio/account-watch.js";
import type { ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import type { AccountChange, Coverage } from "../../engine/portfolio/portfolio-types.js";
import { type PositionEvent, positionKey } from "../../engine/portfolio/position-changes.js";
import type { AggregatedPosition } from "../../schemas/positions.js";
import { accountAddress } from "../accounts/account-reads.js";
import { aggregatedPosition } from "../accounts/position-views.js";
import {
  AccountMembers,
  type AccountSources,
  type AccountWish,
  coverageMark,
  coverageText,
} from "./account-members.js";
import { ChainMember } from "./chain-member.js";
import type { Feed, Image, MarkDirty } from "./feed.js";
import { type CoverageRow, isSameRow, type PositionRow, PositionsImage } from "./positions-image.js";
import { VenueMember } from "./venue-member.js";

/** How often changes without a signal are sent: when accounts were last read, marks that grew old. */
const REFRESH_MS = 5_000;
/**
 * Most ends remembered, so that a slow reader still receives their kind; beyond it a position is shown simply as
 * closed.
 */
const ENDINGS_MAX = 1_024;

export class PositionsFeed implements Feed {
  readonly #sources: AccountSources;
  readonly #walletAddress: string;
  readonly #markDirty: MarkDirty;
  readonly #members: AccountMembers;
  /** Null: not asked for, or not configured here; the members then say so. */
  readonly #chain: ChainMember | null;
  /** Marks of the contracts held, by venue and symbol. */
  readonly #taps = new Map<string, VenueMember>();
  readonly #endings = new Map<string, PositionEvent>();
  readonly #liquidationCounts = new Map<string, number>();
  #image: PositionsImage | null = null;
  #isDirty = true;
  #refreshedNs = 0;

  /** `shown`: what the key showed before it was retained. */
  constructor(sources: AccountSources, wish: AccountWish, mark: MarkDirty, shown: Image | null) {
    this.#sources = sources;
    this.#walletAddress = wish.walletAddress;
    this.#markDirty = mark;
    this.#image = shown instanceof PositionsImage ? shown : null;
    const { chain, venues } = chainAmong(sources, wish);
    this.#members = new AccountMembers(
      sources,
      { ...wish, venues },
      {
        wantsOrders: false,
        hear: (watch, change) => this.#hear(watch, change),
        isSettled: (watch) => watch.isSettled,
        onMoved: () => this.#moved(),
      },
    );
    this.#chain = chain === null ? null : this.#openChain(chain, wish);
  }

  isReady(nowNs: number): boolean {
    return this.#members.isReady(nowNs, () => this.#chain?.isSettled ?? true);
  }

  look(nowNs: number): Image {
    const shown = this.#image;
    if (shown !== null && !this.#isDirty) return shown;
    this.#isDirty = false;
    const isRefresh = nowNs - this.#refreshedNs >= REFRESH_MS * 1e6;
    if (isRefresh) this.#refreshedNs = nowNs;
    const rows = this.#rows(nowNs, shown?.rows ?? new Map());
    const coverage = this.#coverage(isRefresh, shown?.coverage ?? new Map());
    if (shown !== null && isSameMap(rows, shown.rows) && isSameMap(coverage, shown.coverage)) return shown;
    this.#image = new PositionsImage(rows, coverage, new Map(this.#endings), this.#sources.clock);
    return this.#image;
  }

  drifted(nowNs: number): boolean {
    this.#members.follow();
    if (nowNs - this.#refreshedNs >= REFRESH_MS * 1e6) this.#isDirty = true;
    for (const tap of this.#taps.values()) if (tap.isMoved) this.#isDirty = true;
    return this.#isDirty;
  }

  close(): void {
    this.#members.close();
    this.#chain?.close();
    for (const tap of this.#taps.values()) tap.close();
    this.#taps.clear();
  }

  /** Opened completely or not at all. */
  #openChain(chain: ChainPortfolio, { walletAddress, payer }: AccountWish): ChainMember {
    try {
      return new ChainMember(chain, walletAddress, payer, () => {
        for (const key of this.#chain?.heldKeys() ?? []) this.#endings.delete(key);
        for (const key of this.#chain?.liquidatedKeys() ?? []) this.#note(key, "liquidated", 0);
        this.#moved();
      });
    } catch (error) {
      this.#members.close();
      throw error;
    }
  }

  #moved(): void {
    this.#isDirty = true;
    this.#markDirty(true);
  }

  #hear(watch: AccountWatch, change: AccountChange): void {
    switch (change.kind) {
      case "positions": {
        let isHeld = false;
        for (const { event, position, isHeld: isHolding } of change.changes) {
          isHeld ||= isHolding;
          this.#note(`${watch.venue}|${positionKey(position.symbol, position.direction)}`, event, position.qtyLots);
        }
        this.#isDirty = true;
        this.#markDirty(isHeld);
        return;
      }
      case "coverage":
        this.#moved();
        return;
      default:
        // Orders belong to another topic.
        return;
    }
  }

  #note(key: string, event: PositionEvent, qtyLots: number): void {
    if (event === "liquidated" && qtyLots > 0)
      this.#liquidationCounts.set(key, (this.#liquidationCounts.get(key) ?? 0) + 1);
    if (qtyLots > 0) return;
    this.#liquidationCounts.delete(key);
    this.#endings.delete(key);
    this.#endings.set(key, event);
    if (this.#endings.size <= ENDINGS_MAX) return;
    const oldest = this.#endings.keys().next();
    if (oldest.done !== true) this.#endings.delete(oldest.value);
  }

  /** Unchanged rows stay the same objects. */
  #rows(nowNs: number, shown: ReadonlyMap<string, PositionRow>): Map<string, PositionRow> {
    const rows = new Map<string, PositionRow>();
    const tapped = new Set<string>();
    const now = { wallMs: this.#sources.clock.wallMs(), monoNs: nowNs };
    for (const { venue, handle, block } of this.#members.all) {
      const watch = handle?.watch;
      const { asOf = null, source = null } = watch?.coverage() ?? {};
      if (watch === undefined || asOf === null || source === null) {
        for (const [key, row] of shown) if (row.position.exchange === venue) rows.set(key, row);
        continue;
      }
      const walletAddress = accountAddress(watch.venue, { walletAddress: this.#walletAddress, block });
      for (const position of watch.positions ?? []) {
        const { markets, instruments } = watch.room;
        const market = markets.get(position.symbol) ?? null;
        const instrument = market?.instrument ?? instruments?.get(position.symbol);
        // A room always knows the contracts of its positions (venue ports).
        if (instrument === undefined) continue;
        // A contract that is not followed never gets a mark.
        if (market !== null) this.#tap(watch, position.symbol, tapped);
        const stamp = { asOfMs: asOf, source: "stream" } as const;
        const view = aggregatedPosition(position, { instrument, market }, walletAddress, stamp, now);
        const key = `${watch.venue}|${positionKey(position.symbol, position.direction)}`;
        const row = rowOf({ ...view, source }, this.#liquidationCounts.get(key) ?? 0);
        const before = shown.get(key);
        rows.set(key, before !== undefined && isSameRow(before, row) ? before : row);
      }
    }
    this.#chain?.addRows(rows, shown, now.wallMs);
    for (const [name, tap] of this.#taps) {
      if (tapped.has(name)) continue;
      tap.close();
      this.#taps.delete(name);
    }
    return rows;
  }

  /** Listens to the contract's mark from now on. */
  #tap(watch: AccountWatch, symbol: string, tapped: Set<string>): void {
    const name = `${watch.venue}|${symbol}`;
    tapped.add(name);
    const known = this.#taps.get(name);
    if (known !== undefined) {
      known.follow();
      return;
    }
    // A mark that grows old, or a book that leaves LIVE, changes only figures: it is not urgent.
    const mark: MarkDirty = () => {
      this.#isDirty = true;
      this.#markDirty(false);
    };
    this.#taps.set(name, new VenueMember(this.#sources, watch.venue, symbol, "ticker", mark));
  }

  #coverage(isRefresh: boolean, shown: ReadonlyMap<Venue, CoverageRow>): Map<Venue, CoverageRow> {
    const rows = new Map<Venue, CoverageRow>();
    const add = (venue: Venue, coverage: Coverage | null) => {
      if (coverage === null) return;
      const row: CoverageRow = { mark: coverageMark(coverage), text: coverageText(coverage) };
      const before = shown.get(venue);
      const isSame = before !== undefined && (isRefresh ? before.text === row.text : before.mark === row.mark);
      rows.set(venue, isSame ? before : row);
    };
    for (const { venue, handle, fixed } of this.#members.all) add(venue, handle?.watch.coverage() ?? fixed);
    if (this.#chain !== null) add(this.#chain.venue, this.#chain.coverage());
    return rows;
  }
}

/** The client-signed venue is no account of the portfolio where it is configured. */
function chainAmong({ chain }: AccountSources, { venues }: AccountWish) {
  if (chain === null || !venues.includes(chain.room.venue)) return { chain: null, venues };
  return { chain, venues: venues.filter((venue) => venue !== chain.room.venue) };
}

function rowOf(position: AggregatedPosition, liquidationCount: number): PositionRow {
  const { asOf: _asOf, source: _source, ageMs: _ageMs, ...body } = position;
  return { position, body: JSON.stringify(body), liquidationCount };
}

function isSameMap<K, V>(left: ReadonlyMap<K, V>, right: ReadonlyMap<K, V>): boolean {
  if (left.size !== right.size) return false;
  for (const [key, value] of left) if (right.get(key) !== value) return false;
  return true;
}
