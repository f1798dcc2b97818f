/**
 * The recorder: brings everything that is kept of markets and closes into the record store.
 *
 *   market.signal → taps → rings → drain → batches → shipper ⇄ spool → store      (may lose rows, counts them;
 *                                                                  sheds where room is short: shedding.ts)
 *   conclusion of a close → outbox in the state store → store                      (never loses)
 *
 * Invariants: nothing that trades waits for the store; accepted + recovered = stored + dropped + pending for every
 * table at every moment. A kill -9 loses at most this market data: the rings, the open batches and the batches in
 * memory. That is `drainMs` of data under load and `quietMs` without, while the store answers, and AWAY_BATCH_AGE_MS
 * while it is away or behind.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { Random } from "../domain/random.js";
import type { Market } from "../market/market.js";
import type { DecisionEvent } from "../orders/conclude/decision-event.js";
import type { ConcludedTrade, RecordSink } from "../orders/conclude/record-sink.js";
import { Deadline, within } from "../domain/deadline.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import type { RecordsState, RecordsStore } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import { RECORD_TABLES, recordTable } from "../storage/records/schema.js";
import type { StateStore, StateWrite } from "../storage/state-store.js";
import { createTokenSource } from "./batch.js";
import { Batcher } from "./batcher.js";
import { BufferPool } from "./buffer-pool.js";
import { CloseRows, monthOf } from "./close-rows.js";
import { createCounts, droppedRows, type TableCounts } from "./counters.js";
import { LatencySamples } from "./latency-samples.js";
import { MarketDrain, type MarketTable } from "./market-drain.js";
import { MAX_ROW_BYTES, Outbox } from "./outbox.js";
import { DEFAULT_RECORDER_SETTINGS, type RecorderSettings } from "./recorder-settings.js";
import { type Shed, Shedding } from "./shedding.js";
import { Shipper } from "./shipper.js";
import { Spool } from "./spool.js";

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
  /** See SpoolOptions. */
  readonly writeFile?: (path: string, parts: readonly Uint8Array[]) => Promise<void>;
}

export interface TableStatus extends TableCounts {
  /** Rows in rings, open batches, memory, spool or outbox. */
  readonly pending: number;
  readonly droppedTotal: number;
  /** Figures that lost some of their digits, being finer than their column. */
  readonly cut: number;
}

export interface RecorderStatus {
  readonly store: RecordsState;
  readonly tables: Readonly<Record<RecordTableName, TableStatus>>;
  readonly marketCount: number;
  readonly repeatedTrades: number;
  readonly spool: { readonly files: number; readonly bytes: number; readonly tornFiles: number };
  /** `backlogged`: the service reports not ready, RECORDS_BACKLOG. */
  readonly outbox: { readonly rows: number; readonly bytes: number; readonly backlogged: boolean };
  /** What is not recorded for lack of room. */
  readonly shed: Shed;
  /** Size of the embedded store's tables on disk; null if not known, or for a server of the operator's. */
  readonly storeBytes: number | null;
}

export interface Recorder {
  /** Adopts what an earlier start left, then drains until stopped. Call before the first close and the first watch. */
  start(): Promise<void>;
  /** Returns the function that ends the watch. */
  watch(market: Market): () => void;
  /** Watches these markets and no others from now on; ends in `stop`. */
  watchAll(markets: Iterable<Market>): void;
  /** For the close service. */
  readonly closes: RecordSink;
  /** Takes a snapshot of what a decision sees; call before routing. */
  beforeRoute(market: Market): void;
  latency(stage: string, venue: string, us: number): void;
  status(): RecorderStatus;
  /** Sends everything present now; returns false if it did not finish in time. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Ends everything within the time; what is not stored by then is in the spool and the outbox. */
  stop(timeoutMs: number): Promise<void>;
}

/**
 * While the store is away or behind, batches wait this long to grow. That makes fewer files, and inserts that grow with
 * the wait, so a slow store catches up instead of receiving small ones faster than it takes them.
 */
const AWAY_BATCH_AGE_MS = 5_000;
const DISK_STOP_MS = 1_000;
const IDLE_BUFFERS = 32;
/** Largest row of any table, used to close a batch before it is full. */
const ROW_BYTES_MAX = 8_192;

/** Tables whose rows are collected in memory; the durable lane makes its own batches. */
type BatchedTable = MarketTable | "routing_decisions" | "latency_samples";

export function createRecorder(options: RecorderOptions): Recorder {
  return new TableRecorder(options);
}

class TableRecorder implements Recorder {
  readonly closes: RecordSink;
  readonly #options: RecorderOptions;
  readonly #settings: RecorderSettings;
  readonly #counts = createCounts();
  readonly #markets: MarketDrain;
  readonly #spool: Spool;
  readonly #shipper: Shipper;
  readonly #outbox: Outbox;
  readonly #rows: CloseRows;
  readonly #latency: LatencySamples;
  readonly #shedding: Shedding;
  readonly #batchers: Readonly<Record<BatchedTable, Batcher>>;
  #timer: TimerHandle | null = null;
  #sliceTimer: TimerHandle | null = null;
  #closeAfterSlice = false;
  #oldestOpenNs = -1;
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
    this.#latencyDoneNs = clock.monoNs();
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
    const { stateStore } = options;
    this.#shedding = new Shedding({ store, stateStore, clock, logger, storeBytesMax: settings.storeBytes });
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
    this.#batchers = {
      ticks: batcher("ticks"),
      trades: batcher("trades"),
      book_snapshots: batcher("book_snapshots"),
      routing_decisions: batcher("routing_decisions", MAX_ROW_BYTES),
      latency_samples: batcher("latency_samples"),
    };
    const batchers = this.#batchers;
    this.#markets = new MarketDrain({ settings, clock, store, counts, batchers, wake: () => this.#scheduleSlice() });
    this.#latency = new LatencySamples(batchers.latency_samples, counts.latency_samples);
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
    return this.#markets.watch(market);
  }

  watchAll(markets: Iterable<Market>): void {
    this.#markets.watchOnly(markets);
  }

  beforeRoute(market: Market): void {
    this.#markets.beforeRoute(market);
  }

  latency(stage: string, venue: string, us: number): void {
    this.#latency.record(stage, venue, us);
  }

  status(): RecorderStatus {
    const tables = Object.fromEntries(
      RECORD_TABLES.map(({ name }) => {
        const counts = this.#counts[name];
        const ring = isMarketTable(name) ? this.#markets.ringCounts(name) : null;
        const dropped = { ...counts.dropped, ring: ring?.dropped ?? 0 };
        const pending =
          (ring?.size ?? 0) +
          (isBatched(name) ? this.#batchers[name].openRows : 0) +
          this.#shipper.pendingRows(name) +
          this.#spool.pendingRows(name) +
          this.#outbox.pendingRows(name);
        const cut = (isBatched(name) ? this.#batchers[name].cutCount : 0) + this.#rows.cutCount(name);
        const status = { ...counts, accepted: ring?.accepted ?? counts.accepted, dropped, pending, cut };
        return [name, { ...status, droppedTotal: droppedRows(status) }];
      }),
    ) as Record<RecordTableName, TableStatus>;
    return {
      store: this.#options.store.state(),
      tables,
      marketCount: this.#markets.marketCount,
      repeatedTrades: this.#markets.repeatedTrades,
      spool: { files: this.#spool.fileCount, bytes: this.#spool.byteCount, tornFiles: this.#spool.tornFiles },
      outbox: this.#outbox.backlog(),
      shed: this.#shedding.now,
      storeBytes: this.#shedding.storeBytes,
    };
  }

  async flush(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = new Deadline(clock, timeoutMs);
    while (this.#drainSlice()) {
      // Continues slice after slice, since a flush has the time.
    }
    this.#closeBatches();
    await within(clock, this.#shipper.idle(), deadline.leftMs());
    await within(clock, this.#decideHeld(), Math.max(0, deadline.leftMs()));
    this.#closeBatches();
    const idle = await within(clock, this.#shipper.idle(), Math.max(0, deadline.leftMs()));
    const drained = await within(clock, this.#outbox.flush(), Math.max(0, deadline.leftMs()));
    const onDisk = await within(clock, this.#spool.settled(), Math.max(0, deadline.leftMs()));
    const isEmpty = this.#spool.fileCount === 0 && !this.#markets.holdsTrades;
    return idle.done && drained.done && drained.value && onDisk.done && isEmpty;
  }

  async stop(timeoutMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    const { clock } = this.#options;
    if (this.#timer !== null) clock.clearTimer(this.#timer);
    if (this.#sliceTimer !== null) clock.clearTimer(this.#sliceTimer);
    this.#markets.endAll();
    this.#latency.emit(clock.wallMs(), this.#isOff());
    const deadline = new Deadline(clock, timeoutMs);
    await this.flush(timeoutMs);
    this.#markets.dropHeld();
    this.#shipper.stop();
    await within(clock, this.#outbox.stop(), Math.max(0, deadline.leftMs()));
    // The disk has its own time limit: without it the rows in memory would be lost.
    await within(clock, this.#spool.settled(), Math.max(DISK_STOP_MS, deadline.leftMs()));
    await within(clock, this.#shipper.settled(), Math.max(DISK_STOP_MS, deadline.leftMs()));
  }

  // -------------------------------------------------------------- closes

  #decisionWrites(concluded: ConcludedTrade): readonly StateWrite[] {
    return this.#unlessOff(this.#rows.decision(concluded));
  }

  /** With recording off, rows in the outbox would never be removed. */
  #unlessOff(writes: readonly StateWrite[]): readonly StateWrite[] {
    if (!this.#isOff()) return writes;
    for (const { key } of writes) {
      const counts = this.#counts[key.slice(0, key.indexOf("|")) as RecordTableName];
      counts.accepted += 1;
      counts.dropped.off += 1;
    }
    return [];
  }

  #note(event: DecisionEvent): void {
    const counts = this.#counts.routing_decisions;
    counts.accepted += 1;
    if (this.#isOff()) {
      counts.dropped.off += 1;
      return;
    }
    this.#noteCount += 1;
    const row = this.#rows.noted(event, `${this.#noteId}:${this.#noteCount}`);
    const batcher = this.#batchers.routing_decisions;
    const writer = batcher.writerFor(monthOf(event.tsMs));
    writer.reserve(row.length);
    writer.raw(row);
    batcher.added();
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

  /** Encodes everything once per `drainMs`, in slices, and closes the batches that are due. */
  #onTime(): void {
    const { clock } = this.#options;
    const nowNs = clock.monoNs();
    this.#shedding.look();
    this.#spool.noteVolume(this.#shedding.isVolumeShort);
    this.#markets.checkClock(nowNs);
    this.#markets.takeSnapshots(nowNs);
    if (nowNs - this.#latencyDoneNs >= this.#settings.latencyMs * 1e6) {
      this.#latencyDoneNs = nowNs;
      this.#latency.emit(clock.wallMs(), this.#isOff());
    }
    void this.#decideHeld();
    this.#closeAfterSlice = true;
    if (this.#sliceTimer === null) this.#slice();
  }

  /** Decides held trades as far as the store can answer. No insert of an earlier run may still be pending. */
  async #decideHeld(): Promise<void> {
    while (this.#mayAsk() && (await this.#markets.askForHeld())) {
      // Continues query after query.
    }
  }

  #mayAsk(): boolean {
    const isOn = this.#markets.holdsTrades && this.#options.store.state().state === "on";
    return isOn && this.#spool.pendingRows("trades") === 0;
  }

  #slice(): void {
    if (this.#drainSlice()) {
      this.#scheduleSlice();
      return;
    }
    if (!this.#closeAfterSlice) return;
    this.#closeAfterSlice = false;
    const isBehind = this.#shipper.behind;
    // Rows of closes and openings never wait for market rows.
    if (!isBehind) this.#batchers.routing_decisions.closeAll();
    if (!this.#mayClose(isBehind)) return;
    this.#closeBatches();
  }

  /** Reports whether the open batches are old enough, or full enough. */
  #mayClose(isBehind: boolean): boolean {
    const { quietMs, busyRows, drainMs } = this.#settings;
    const nowNs = this.#options.clock.monoNs();
    if (this.#oldestOpenNs < 0) {
      if (this.#openRows() === 0) return false;
      // Those rows may be as old as the previous drain.
      this.#oldestOpenNs = nowNs - drainMs * 1e6;
    }
    const ageMs = (nowNs - this.#oldestOpenNs) / 1e6;
    if (isBehind) return ageMs >= AWAY_BATCH_AGE_MS;
    // Chooses the drain nearest to the full time: timers are slightly late, and one drain less means a third more
    // batches.
    return ageMs + drainMs / 2 > quietMs || this.#openRows() >= busyRows;
  }

  #openRows(): number {
    let count = 0;
    for (const batcher of Object.values(this.#batchers)) count += batcher.openRows;
    return count;
  }

  #closeBatches(): void {
    this.#oldestOpenNs = -1;
    for (const batcher of Object.values(this.#batchers)) batcher.closeAll();
  }

  /** Returns true when there is more. */
  #drainSlice(): boolean {
    const shed = this.#shedding.now;
    const isOff = this.#isOff();
    if (isOff || shed === "MARKET") {
      this.#markets.dropAll(isOff ? "off" : "room");
      return false;
    }
    if (shed === "TICKS") this.#markets.dropTicks("room");
    return this.#markets.drainSlice();
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

function isMarketTable(table: RecordTableName): table is MarketTable {
  return table === "ticks" || table === "trades" || table === "book_snapshots";
}

function isBatched(table: RecordTableName): table is BatchedTable {
  return isMarketTable(table) || table === "routing_decisions" || table === "latency_samples";
}
