/**
 * The recorder: everything that is kept of markets and closes on its way into the record store.
 *
 *   market.signal → taps → rings → drain → batches → shipper ⇄ spool → store      (may lose, counts what it loses)
 *   conclusion of a close → outbox in the state store → store                      (never loses)
 *
 * Invariants: nothing that trades waits for the store; accepted + recovered = stored + dropped + pending for every
 * table at every moment. What a kill -9 costs at most of market data: the rings, the open batches and the batches in
 * memory, which is `drainMs` of data while the store answers and AWAY_BATCH_AGE_MS more while it is away.
 */
import type { Clock, TimerHandle } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { Random } from "../../domain/random.js";
import type { Market } from "../../market/market.js";
import type { CloseDecisionEvent } from "../../orders/decision-event.js";
import type { ConcludedClose, RecordSink } from "../../orders/record-sink.js";
import { Deadline, within } from "../../orders/deadline.js";
import type { RandomIds } from "../keyed-hash.js";
import type { RecordsState, RecordsStore } from "../records/records-store.js";
import { RECORD_TABLES, recordTable, type RecordTableName } from "../records/schema.js";
import type { StateStore, StateWrite } from "../state-store.js";
import { createTokenSource } from "./batch.js";
import { Batcher } from "./batcher.js";
import { BufferPool } from "./buffer-pool.js";
import { CloseRows, monthOf } from "./close-rows.js";
import { createCounts, droppedRows, type TableCounts } from "./counters.js";
import { LatencySamples } from "./latency-samples.js";
import { drainSnapshots, drainTicks, drainTrades, MarketRowHead } from "./market-rows.js";
import { MarketTap, type TapRings } from "./market-tap.js";
import { MAX_ROW_BYTES, Outbox } from "./outbox.js";
import { Shipper } from "./shipper.js";
import { SnapshotRing } from "./snapshot-ring.js";
import { Spool } from "./spool.js";
import { TickRing } from "./tick-ring.js";
import { TradeRing } from "./trade-ring.js";
import { WallAnchor } from "./wall-anchor.js";

export interface RecorderSettings {
  readonly tickRows: number;
  readonly tradeRows: number;
  readonly snapshotRows: number;
  /** Levels per side of a snapshot. */
  readonly snapshotDepth: number;
  /** Each market once in this time. */
  readonly snapshotMs: number;
  readonly drainMs: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  /** Trade ids remembered per market. */
  readonly seenTrades: number;
  readonly latencyMs: number;
  readonly spoolBytes: number;
  readonly spoolMemoryBytes: number;
  readonly queueBytes: number;
  readonly backlogRows: number;
  readonly backlogBytes: number;
}

export const DEFAULT_RECORDER_SETTINGS: RecorderSettings = {
  tickRows: 1 << 17,
  tradeRows: 1 << 15,
  snapshotRows: 1 << 10,
  snapshotDepth: 20,
  snapshotMs: 60_000,
  drainMs: 250,
  batchRows: 8_192,
  batchBytes: 1 << 20,
  seenTrades: 2_048,
  latencyMs: 60_000,
  spoolBytes: 1 << 30,
  spoolMemoryBytes: 64 << 20,
  queueBytes: 64 << 20,
  backlogRows: 1_000_000,
  backlogBytes: 512 << 20,
};

export interface RecorderOptions {
  readonly store: RecordsStore;
  readonly stateStore: StateStore;
  readonly spoolDirectory: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly randomIds: RandomIds;
  readonly logger: Logger;
  /** Part of every batch's token. */
  readonly nodeId: string;
  readonly settings?: Partial<RecorderSettings>;
  /** As in SpoolOptions. */
  readonly writeFile?: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
}

export interface TableStatus extends TableCounts {
  /** Rows in rings, open batches, memory, spool or outbox. */
  readonly pending: number;
  readonly droppedTotal: number;
}

export interface RecorderStatus {
  readonly store: RecordsState;
  readonly tables: Readonly<Record<RecordTableName, TableStatus>>;
  readonly marketCount: number;
  readonly repeatedTrades: number;
  readonly spool: { readonly files: number; readonly bytes: number; readonly tornFiles: number };
  /** `backlogged`: the service says not ready, RECORDS_BACKLOG. */
  readonly outbox: { readonly rows: number; readonly bytes: number; readonly backlogged: boolean };
}

export interface Recorder {
  /** Takes over what an earlier start left, then drains for ever. Before the first close and the first watch. */
  start(): Promise<void>;
  /** Returns the function that ends it. */
  watch(market: Market): () => void;
  /** Ends in `stop`. */
  watchAll(markets: Iterable<Market>): void;
  /** For the close service. */
  readonly closes: RecordSink;
  /** Snapshots of what a decision sees; call before routing. */
  beforeRoute(market: Market): void;
  latency(stage: string, venue: string, us: number): void;
  status(): RecorderStatus;
  /** Brings out what is there now; false: not all of it in time. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Ends everything within the time; what is not stored by then is in the spool and the outbox. */
  stop(timeoutMs: number): Promise<void>;
}

/** Ring indices are 16 bits. */
const MAX_MARKETS = 65_536;
/** Rows encoded in one go: about 0.2 ms of the event loop. */
const SLICE_ROWS = 512;
const SLICE_SNAPSHOTS = 32;
/** While the store is away batches wait this long for company: fewer files. */
const AWAY_BATCH_AGE_MS = 5_000;
const IDLE_BUFFERS = 32;
const WALL_CHECK_MS = 10_000;
/** Of one row of any table, to close a batch before it is full. */
const ROW_BYTES_MAX = 8_192;

export function createRecorder(options: RecorderOptions): Recorder {
  return new TableRecorder(options);
}

class TableRecorder implements Recorder {
  readonly closes: RecordSink;
  readonly #options: RecorderOptions;
  readonly #settings: RecorderSettings;
  readonly #counts = createCounts();
  readonly #rings: TapRings;
  readonly #heads: MarketRowHead[] = [];
  readonly #headIndex = new Map<string, number>();
  readonly #taps = new Map<Market, { readonly tap: MarketTap; readonly end: () => void }>();
  readonly #wall: WallAnchor;
  readonly #spool: Spool;
  readonly #shipper: Shipper;
  readonly #outbox: Outbox;
  readonly #rows: CloseRows;
  readonly #latency: LatencySamples;
  readonly #ticks: Batcher;
  readonly #trades: Batcher;
  readonly #snapshots: Batcher;
  readonly #decisions: Batcher;
  readonly #samples: Batcher;
  #timer: TimerHandle | null = null;
  #sliceTimer: TimerHandle | null = null;
  #closeAfterSlice = false;
  #snapshotCursor: Iterator<{ readonly tap: MarketTap }> | null = null;
  #snapshotsDue = 0;
  #oldestOpenNs = -1;
  #wallCheckedNs = 0;
  #latencyDoneNs: number;
  #saidOff = false;
  #noteCount = 0;
  readonly #noteId: string;
  #stopped = false;

  constructor(options: RecorderOptions) {
    const settings = { ...DEFAULT_RECORDER_SETTINGS, ...options.settings };
    const { clock, logger, random, store } = options;
    this.#options = options;
    this.#settings = settings;
    const token = createTokenSource(options.nodeId, options.randomIds);
    this.#noteId = options.randomIds.randomHex128();
    this.#wall = new WallAnchor(clock);
    this.#latencyDoneNs = clock.monoNs();
    this.#rings = {
      ticks: new TickRing(settings.tickRows),
      trades: new TradeRing(settings.tradeRows),
      snapshots: new SnapshotRing(settings.snapshotRows, settings.snapshotDepth),
      wakeRows: Math.min(settings.batchRows, settings.tickRows / 2),
      seenTrades: settings.seenTrades,
      repeatedTrades: 0,
      wake: () => this.#scheduleSlice(),
    };
    const counts = this.#counts;
    const pool = new BufferPool(settings.batchBytes, IDLE_BUFFERS);
    this.#spool = new Spool({
      directory: options.spoolDirectory,
      counts,
      logger,
      bytesMax: settings.spoolBytes,
      memoryBytesMax: settings.spoolMemoryBytes,
      ...(options.writeFile === undefined ? {} : { writeFile: options.writeFile }),
    });
    const queueBytesMax = settings.queueBytes;
    const spool = this.#spool;
    this.#shipper = new Shipper({ store, spool, pool, counts, clock, random, logger, queueBytesMax });
    this.#outbox = new Outbox({
      ...{ stateStore: options.stateStore, store, counts, token, clock, random, logger },
      rowsMax: settings.backlogRows,
      bytesMax: settings.backlogBytes,
    });
    this.#rows = new CloseRows(logger);
    const batcher = (name: RecordTableName, rowBytesMax = ROW_BYTES_MAX): Batcher =>
      new Batcher({
        table: recordTable(name),
        rowsMax: settings.batchRows,
        rowBytesMax,
        pool,
        token,
        onBatch: (batch) => this.#shipper.offer(batch),
      });
    this.#ticks = batcher("ticks");
    this.#trades = batcher("trades");
    this.#snapshots = batcher("book_snapshots");
    this.#decisions = batcher("routing_decisions", MAX_ROW_BYTES);
    this.#samples = batcher("latency_samples");
    this.#latency = new LatencySamples(this.#samples, counts.latency_samples);
    this.closes = {
      decisionWrites: (concluded) => this.#decisionWrites(concluded),
      eventWrites: (run, events) => this.#unlessOff(this.#rows.events(run, events)),
      committed: (writes) => this.#outbox.committed(writes),
      note: (event) => this.#note(event),
    };
  }

  async start(): Promise<void> {
    this.#spool.openSync();
    await this.#outbox.start();
    this.#shipper.start();
    this.#scheduleDrain();
  }

  watch(market: Market): () => void {
    const known = this.#taps.get(market);
    if (known !== undefined) return known.end;
    const tap = new MarketTap(market, this.#indexOf(market), this.#rings);
    const unlisten = market.signal.listen(tap);
    const end = (): void => {
      unlisten();
      this.#taps.delete(market);
    };
    this.#taps.set(market, { tap, end });
    return end;
  }

  watchAll(markets: Iterable<Market>): void {
    for (const market of markets) this.watch(market);
  }

  beforeRoute(market: Market): void {
    this.#taps.get(market)?.tap.takePreRoute(this.#options.clock.monoNs());
  }

  latency(stage: string, venue: string, us: number): void {
    this.#latency.record(stage, venue, us);
  }

  status(): RecorderStatus {
    const { ticks, trades, snapshots, repeatedTrades } = this.#rings;
    const ring = { ticks, trades, book_snapshots: snapshots };
    const open: Partial<Record<RecordTableName, Batcher>> = {
      ticks: this.#ticks,
      trades: this.#trades,
      book_snapshots: this.#snapshots,
      routing_decisions: this.#decisions,
      latency_samples: this.#samples,
    };
    const tables = Object.fromEntries(
      RECORD_TABLES.map(({ name }) => {
        const counts = this.#counts[name];
        const own = name === "ticks" || name === "trades" || name === "book_snapshots" ? ring[name] : null;
        const dropped = { ...counts.dropped, ring: own?.dropped ?? 0 };
        const pending =
          (own?.size ?? 0) +
          (open[name]?.openRows ?? 0) +
          this.#shipper.pendingRows(name) +
          this.#spool.pendingRows(name) +
          this.#outbox.pendingRows(name);
        const status = { ...counts, accepted: own?.head ?? counts.accepted, dropped, pending };
        return [name, { ...status, droppedTotal: droppedRows(status) }];
      }),
    ) as Record<RecordTableName, TableStatus>;
    return {
      store: this.#options.store.state(),
      tables,
      marketCount: this.#taps.size,
      repeatedTrades,
      spool: { files: this.#spool.fileCount, bytes: this.#spool.byteCount, tornFiles: this.#spool.tornFiles },
      outbox: this.#outbox.backlog(),
    };
  }

  async flush(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = new Deadline(clock, timeoutMs);
    while (this.#drainSlice()) {
      // Slice after slice: a flush has the time.
    }
    this.#closeBatches();
    const idle = await within(clock, this.#shipper.idle(), deadline.leftMs());
    const drained = await within(clock, this.#outbox.flush(), Math.max(0, deadline.leftMs()));
    const onDisk = await within(clock, this.#spool.settled(), Math.max(0, deadline.leftMs()));
    return idle.done && drained.done && drained.value && onDisk.done && this.#spool.fileCount === 0;
  }

  async stop(timeoutMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const { clock } = this.#options;
    if (this.#timer !== null) clock.clearTimer(this.#timer);
    if (this.#sliceTimer !== null) clock.clearTimer(this.#sliceTimer);
    for (const { end } of [...this.#taps.values()]) end();
    this.#latency.emit(clock.wallMs(), this.#isOff());
    const deadline = new Deadline(clock, timeoutMs);
    await this.flush(timeoutMs);
    this.#shipper.stop();
    await within(clock, this.#outbox.stop(), Math.max(0, deadline.leftMs()));
    // The disk has its own time: without it the rows in memory would be lost.
    await within(clock, this.#spool.settled(), Math.max(1_000, deadline.leftMs()));
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

  // -------------------------------------------------------------- closes

  #decisionWrites(concluded: ConcludedClose): readonly StateWrite[] {
    return this.#unlessOff(this.#rows.decision(concluded));
  }

  /** With recording off nothing would ever take the rows out again. */
  #unlessOff(writes: readonly StateWrite[]): readonly StateWrite[] {
    if (!this.#isOff()) return writes;
    for (const { key } of writes) {
      const counts = this.#counts[key.slice(0, key.indexOf("|")) as RecordTableName];
      counts.accepted += 1;
      counts.dropped.off += 1;
    }
    return [];
  }

  #note(event: CloseDecisionEvent): void {
    const counts = this.#counts.routing_decisions;
    counts.accepted += 1;
    if (this.#isOff()) {
      counts.dropped.off += 1;
      return;
    }
    this.#noteCount += 1;
    const row = this.#rows.noted(event, `${this.#noteId}:${this.#noteCount}`);
    const writer = this.#decisions.writerFor(monthOf(event.tsMs));
    writer.reserve(row.length);
    writer.raw(row);
    this.#decisions.added();
  }

  // -------------------------------------------------------------- drain

  #scheduleDrain(): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#scheduleDrain();
      this.#onTime();
    }, this.#settings.drainMs);
  }

  #scheduleSlice(): void {
    if (this.#stopped || this.#sliceTimer !== null) return;
    this.#sliceTimer = this.#options.clock.setTimer(() => {
      this.#sliceTimer = null;
      this.#slice();
    }, 0);
  }

  /** Everything is encoded and every batch closed once per `drainMs`, in slices. */
  #onTime(): void {
    const { clock } = this.#options;
    const nowNs = clock.monoNs();
    if (nowNs - this.#wallCheckedNs >= WALL_CHECK_MS * 1e6) {
      this.#wallCheckedNs = nowNs;
      this.#wall.check();
    }
    this.#takeSnapshots(nowNs);
    if (nowNs - this.#latencyDoneNs >= this.#settings.latencyMs * 1e6) {
      this.#latencyDoneNs = nowNs;
      this.#latency.emit(clock.wallMs(), this.#isOff());
    }
    this.#closeAfterSlice = true;
    if (this.#sliceTimer === null) this.#slice();
  }

  #slice(): void {
    if (this.#drainSlice()) {
      this.#scheduleSlice();
      return;
    }
    if (!this.#closeAfterSlice) return;
    this.#closeAfterSlice = false;
    if (this.#shipper.away && !this.#isOldEnough()) return;
    this.#closeBatches();
  }

  #isOldEnough(): boolean {
    const nowNs = this.#options.clock.monoNs();
    if (this.#oldestOpenNs < 0) this.#oldestOpenNs = nowNs;
    return nowNs - this.#oldestOpenNs >= AWAY_BATCH_AGE_MS * 1e6;
  }

  #closeBatches(): void {
    this.#oldestOpenNs = -1;
    for (const batcher of [this.#ticks, this.#trades, this.#snapshots, this.#decisions, this.#samples])
      batcher.closeAll();
  }

  /** true: there is more. */
  #drainSlice(): boolean {
    const { ticks, trades, snapshots } = this.#rings;
    const counts = this.#counts;
    if (this.#isOff()) {
      counts.ticks.dropped.off += ticks.size;
      ticks.tail = ticks.head;
      counts.trades.dropped.off += trades.size;
      trades.tail = trades.head;
      counts.book_snapshots.dropped.off += snapshots.size;
      snapshots.tail = snapshots.head;
      return false;
    }
    counts.ticks.dropped.range += drainTicks(ticks, this.#heads, this.#wall, this.#ticks, SLICE_ROWS);
    counts.trades.dropped.range += drainTrades(trades, this.#heads, this.#wall, this.#trades, SLICE_ROWS);
    counts.book_snapshots.dropped.range += drainSnapshots(
      snapshots,
      this.#heads,
      this.#wall,
      this.#snapshots,
      SLICE_SNAPSHOTS,
    );
    return ticks.size > 0 || trades.size > 0 || snapshots.size > 0;
  }

  /** Markets take turns, so that each has one snapshot per `snapshotMs` and no moment has them all. */
  #takeSnapshots(nowNs: number): void {
    const { drainMs, snapshotMs, snapshotRows } = this.#settings;
    this.#snapshotsDue += (this.#taps.size * drainMs) / snapshotMs;
    // One pass takes at most half the ring, and after a pause nobody is owed more than one.
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

  #isOff(): boolean {
    const { state, reason } = this.#options.store.state();
    if (state !== "off") return false;
    if (!this.#saidOff) {
      this.#saidOff = true;
      this.#options.logger.warn("recording_off", { reason });
    }
    return true;
  }
}
