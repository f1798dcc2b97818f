/**
 * The market side of the recorder: the markets it listens to, the rings they fill, and the slices in which the rings
 * become batches.
 *
 * Bounds: MAX_MARKETS contracts; a slice encodes at most SLICE_ROWS of each ring, about 0.3 ms of the event loop.
 */
import type { Clock } from "../domain/clock.js";
import type { Market } from "../market/market.js";
import type { RecordsStore } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { Batcher } from "./batcher.js";
import type { TableCounts } from "./counters.js";
import { EarlierTrades } from "./earlier-trades.js";
import { drainSnapshots, drainTicks, drainTrades, MarketRowHead } from "./market-rows.js";
import { MarketTap, type TapRings } from "./market-tap.js";
import type { RecorderSettings } from "./recorder-settings.js";
import { SnapshotRing } from "./snapshot-ring.js";
import { TickRing } from "./tick-ring.js";
import { SeenTrades, TradeRing } from "./trade-ring.js";
import { WallAnchor } from "./wall-anchor.js";

/** Ring indices are 16 bits. */
const MAX_MARKETS = 65_536;
const SLICE_ROWS = 512;
const SLICE_SNAPSHOTS = 32;
const WALL_CHECK_MS = 10_000;

export type MarketTable = "ticks" | "trades" | "book_snapshots";

export interface MarketDrainOptions {
  readonly settings: RecorderSettings;
  readonly clock: Clock;
  /** Queried for trades of earlier runs. */
  readonly store: RecordsStore;
  readonly counts: Readonly<Record<RecordTableName, TableCounts>>;
  readonly batchers: Readonly<Record<MarketTable, Batcher>>;
  /** Called when enough rows wait for a batch. */
  readonly wake: () => void;
}

export class MarketDrain {
  readonly #options: MarketDrainOptions;
  readonly #rings: TapRings;
  readonly #heads: MarketRowHead[] = [];
  readonly #headIndex = new Map<string, number>();
  readonly #taps = new Map<Market, { readonly tap: MarketTap; readonly end: () => void }>();
  readonly #wall: WallAnchor;
  readonly #earlier: EarlierTrades;
  /** By venue and symbol; a new market of the symbol receives its last trades again. */
  readonly #seenTrades = new Map<string, SeenTrades>();
  #snapshotCursor: Iterator<{ readonly tap: MarketTap }> | null = null;
  #snapshotsDue = 0;
  #wallCheckedNs = 0;

  constructor(options: MarketDrainOptions) {
    const { settings, clock, store } = options;
    this.#options = options;
    this.#wall = new WallAnchor(clock);
    this.#rings = {
      ticks: new TickRing(settings.tickRows),
      trades: new TradeRing(settings.tradeRows),
      snapshots: new SnapshotRing(settings.snapshotRows, settings.snapshotDepth),
      wakeRows: Math.min(settings.batchRows, settings.tickRows / 2),
      seenTrades: settings.seenTrades,
      repeatedTrades: 0,
      wake: options.wake,
    };
    this.#earlier = new EarlierTrades({
      ...{ store, clock, rowsMax: settings.tradeRows, heads: this.#heads },
      release: (ring, sieve, count) => {
        const { counts, batchers } = this.#options;
        const { forgottenCount: forgottenBefore, knownCount: knownBefore } = this.#earlier;
        counts.trades.dropped.range += drainTrades(ring, this.#heads, this.#wall, batchers.trades, count, sieve);
        // The store has them already, from an earlier run.
        counts.trades.stored += this.#earlier.knownCount - knownBefore;
        counts.trades.dropped.unasked += this.#earlier.forgottenCount - forgottenBefore;
      },
    });
  }

  get marketCount(): number {
    return this.#taps.size;
  }

  get repeatedTrades(): number {
    return this.#rings.repeatedTrades + this.#earlier.knownCount;
  }

  /** Rows accepted, rows lost to a full ring, and rows waiting in it. */
  ringCounts(table: MarketTable): { readonly accepted: number; readonly dropped: number; readonly size: number } {
    const { ticks, trades, snapshots } = this.#rings;
    if (table === "trades") {
      const held = this.#earlier.ring;
      return { accepted: trades.head, dropped: trades.dropped + held.dropped, size: trades.size + held.size };
    }
    const ring = table === "ticks" ? ticks : snapshots;
    return { accepted: ring.head, dropped: ring.dropped, size: ring.size };
  }

  watch(market: Market): () => void {
    const known = this.#taps.get(market);
    if (known !== undefined) return known.end;
    const tap = new MarketTap(market, this.#indexOf(market), this.#rings, this.#seenOf(market));
    const unlisten = market.signal.listen(tap);
    const end = (): void => {
      unlisten();
      this.#taps.delete(market);
    };
    this.#taps.set(market, { tap, end });
    return end;
  }

  /** Watches these markets and no others: a room that lists a contract again creates a new market for it. */
  watchOnly(markets: Iterable<Market>): void {
    const listed = new Set(markets);
    for (const [market, { end }] of [...this.#taps]) if (!listed.has(market)) end();
    for (const market of listed) this.watch(market);
  }

  beforeRoute(market: Market): void {
    this.#taps.get(market)?.tap.takePreRoute(this.#options.clock.monoNs());
  }

  endAll(): void {
    for (const { end } of [...this.#taps.values()]) end();
  }

  /** Call at intervals: follows steps of the wall clock. */
  checkClock(nowNs: number): void {
    if (nowNs - this.#wallCheckedNs < WALL_CHECK_MS * 1e6) return;
    this.#wallCheckedNs = nowNs;
    this.#wall.check();
  }

  /** Drops and counts everything in the rings. */
  dropAll(reason: "off" | "room"): void {
    const { trades, snapshots } = this.#rings;
    const { counts } = this.#options;
    this.dropTicks(reason);
    counts.trades.dropped[reason] += trades.size + this.#earlier.ring.size;
    this.#earlier.ring.tail = this.#earlier.ring.head;
    trades.tail = trades.head;
    counts.book_snapshots.dropped[reason] += snapshots.size;
    snapshots.tail = snapshots.head;
  }

  dropTicks(reason: "off" | "room"): void {
    const { ticks } = this.#rings;
    this.#options.counts.ticks.dropped[reason] += ticks.size;
    ticks.tail = ticks.head;
  }

  /** Encodes a slice of each ring; returns true when there is more. */
  drainSlice(): boolean {
    const { ticks, trades, snapshots } = this.#rings;
    const { counts, batchers } = this.#options;
    counts.ticks.dropped.range += drainTicks(ticks, this.#heads, this.#wall, batchers.ticks, SLICE_ROWS);
    counts.trades.dropped.range += drainTrades(
      trades,
      this.#heads,
      this.#wall,
      batchers.trades,
      SLICE_ROWS,
      this.#earlier,
    );
    counts.book_snapshots.dropped.range += drainSnapshots(
      snapshots,
      this.#heads,
      this.#wall,
      batchers.book_snapshots,
      SLICE_SNAPSHOTS,
    );
    return ticks.size > 0 || trades.size > 0 || snapshots.size > 0;
  }

  /** Whether trades wait for a reply of the store. */
  get holdsTrades(): boolean {
    return this.#earlier.ring.size > 0;
  }

  /** Decides held trades as far as the store can answer, query after query, while `mayQuery` holds. */
  async decideHeld(mayQuery: () => boolean): Promise<void> {
    const { store } = this.#options;
    const canQuery = (): boolean => this.holdsTrades && store.state().state === "on" && mayQuery();
    while (canQuery() && (await this.#earlier.query())) {
      // EarlierTrades.query decides some of them.
    }
  }

  /** At the end: these trades will not be queried any more. */
  dropHeld(): void {
    const { ring } = this.#earlier;
    this.#options.counts.trades.dropped.unasked += ring.size;
    ring.tail = ring.head;
  }

  /**
   * Takes the snapshots that are due. Markets take turns, so that each has one per `snapshotMs` and they never all come
   * at once.
   */
  takeSnapshots(nowNs: number): void {
    const { drainMs, snapshotMs, snapshotRows } = this.#options.settings;
    this.#snapshotsDue += (this.#taps.size * drainMs) / snapshotMs;
    // One pass takes at most half the ring, and after a pause no market gets more than one.
    this.#snapshotsDue = Math.min(this.#snapshotsDue, this.#taps.size, snapshotRows / 2);
    for (; this.#snapshotsDue >= 1; this.#snapshotsDue -= 1) {
      this.#snapshotCursor ??= this.#taps.values();
      const next = this.#snapshotCursor.next();
      if (next.done === true) {
        this.#snapshotCursor = null;
        continue;
      }
      next.value.tap.takePeriodic(nowNs);
    }
  }

  #seenOf({ instrument }: Market): SeenTrades {
    const key = `${instrument.venue}|${instrument.symbol}`;
    const known = this.#seenTrades.get(key);
    if (known !== undefined) return known;
    const seen = new SeenTrades(this.#options.settings.seenTrades);
    this.#seenTrades.set(key, seen);
    return seen;
  }

  #indexOf(market: Market): number {
    const { instrument } = market;
    const head = new MarketRowHead(market);
    const key = [instrument.venue, instrument.symbol, head.priceDecimals, head.qtyDecimals, head.multiplierExp10].join(
      "|",
    );
    const known = this.#headIndex.get(key);
    if (known !== undefined) return known;
    if (this.#heads.length >= MAX_MARKETS) throw new RangeError("too many markets for one recorder");
    const index = this.#heads.push(head) - 1;
    this.#headIndex.set(key, index);
    return index;
  }
}
