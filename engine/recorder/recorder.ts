/**
 * The recorder: brings everything that is kept of markets and closes into the record store.
 *
 *   market.signal → taps → rings → drain → batches → shipper ⇄ spool → store      (may lose rows, counts them;
 *                                                                  sheds where room is short: shedding.ts)
 *   conclusion of a close, change of a transfer → outbox in the state store → store        (never loses)
 *
 * Invariants: nothing that trades waits for the store; accepted + recovered = stored + dropped + pending for every
 * table at every moment. A kill -9 loses at most this market data: the rings, the open batches and the batches in
 * memory. That is `drainMs` of data under load and `quietMs` without, while the store answers, and some seconds while it
 * is away or behind (open-batches.ts).
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { Random } from "../domain/random.js";
import type { Market } from "../market/market.js";
import type { RecordSink } from "../orders/conclude/record-sink.js";
import { Deadline, within } from "../domain/deadline.js";
import type { RandomIds } from "../storage/keyed-hash.js";
import type { RecordsState, RecordsStore } from "../storage/records/records-store.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import { RECORD_TABLES } from "../storage/records/schema.js";
import type { StateStore } from "../storage/state-store.js";
import type { TransferRecord } from "../transfers/transfer-record.js";
import { createTokenSource } from "./batch.js";
import { BufferPool } from "./buffer-pool.js";
import { CloseRows } from "./close-rows.js";
import { CloseSink } from "./close-sink.js";
import { createCounts, droppedRows, type TableCounts } from "./counters.js";
import { LatencySamples } from "./latency-samples.js";
import { MarketDrain } from "./market-drain.js";
import { isMarketTable, OpenBatches } from "./open-batches.js";
import { Outbox } from "./outbox.js";
import { DEFAULT_RECORDER_SETTINGS, type RecorderSettings } from "./recorder-settings.js";
import { type Shed, Shedding } from "./shedding.js";
import { Shipper } from "./shipper.js";
import { Spool } from "./spool.js";
import { TransferRows } from "./transfer-rows.js";

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
  /** For the ledger of transfers. */
  readonly transfers: TransferRecord;
  /** Takes a snapshot of what a decision sees; call before routing. */
  beforeRoute(market: Market): void;
  latency(stage: string, venue: string, us: number): void;
  status(): RecorderStatus;
  /** Sends everything present now; returns false if it did not finish in time. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Ends everything within the time; what is not stored by then is in the spool and the outbox. */
  stop(timeoutMs: number): Promise<void>;
}

const DISK_STOP_MS = 1_000;
const IDLE_BUFFERS = 32;

export function createRecorder(options: RecorderOptions): Recorder {
  return new TableRecorder(options);
}

class TableRecorder implements Recorder {
  readonly closes: RecordSink;
  readonly transfers: TransferRows;
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
  readonly #open: OpenBatches;
  readonly #isOff: () => boolean;
  #timer: TimerHandle | null = null;
  #sliceTimer: TimerHandle | null = null;
  #closeAfterSlice = false;
  #latencyDoneNs: number;
  #stopped = false;

  constructor(options: RecorderOptions) {
    const settings = { ...DEFAULT_RECORDER_SETTINGS, ...options.settings };
    const { clock, logger, random, store, stateStore } = options;
    const counts = this.#counts;
    const token = createTokenSource(options.nodeId, options.randomIds);
    const noteId = options.randomIds.randomHex128();
    this.#options = options;
    this.#settings = settings;
    this.#latencyDoneNs = clock.monoNs();
    this.#isOff = recordingOff(store, logger);
    this.#spool = createSpool(options, settings, counts);
    this.#shedding = new Shedding({ store, stateStore, clock, logger, storeBytesMax: settings.storeBytes });
    const spool = this.#spool;
    const pool = new BufferPool(settings.batchBytes, IDLE_BUFFERS);
    const queueBytesMax = settings.queueBytes;
    this.#shipper = new Shipper({ store, spool, pool, counts, clock, random, logger, queueBytesMax });
    this.#outbox = new Outbox({
      ...{ stateStore, store, counts, token, clock, random, logger },
      rowsMax: settings.backlogRows,
      bytesMax: settings.backlogBytes,
    });
    this.#rows = new CloseRows(logger);
    this.#open = new OpenBatches({ settings, clock, pool, token, onBatch: (batch) => this.#shipper.offer(batch) });
    const { batchers } = this.#open;
    this.#markets = new MarketDrain({ settings, clock, store, counts, batchers, wake: () => this.#scheduleSlice() });
    this.#latency = new LatencySamples(batchers.latency_samples, counts.latency_samples);
    this.closes = new CloseSink({
      ...{ rows: this.#rows, outbox: this.#outbox, counts, noteId },
      batcher: batchers.routing_decisions,
      isOff: this.#isOff,
    });
    this.transfers = new TransferRows({
      ...{ outbox: this.#outbox, counts: counts.transfers, isOff: this.#isOff, logger },
    });
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
    const tables = Object.fromEntries(RECORD_TABLES.map(({ name }) => [name, this.#tableStatus(name)]));
    return {
      store: this.#options.store.state(),
      tables: tables as Record<RecordTableName, TableStatus>,
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
    this.#open.closeAll();
    await within(clock, this.#shipper.idle(), deadline.leftMs());
    await within(clock, this.#decideHeld(), Math.max(0, deadline.leftMs()));
    this.#open.closeAll();
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

  #tableStatus(table: RecordTableName): TableStatus {
    const counts = this.#counts[table];
    const ring = isMarketTable(table) ? this.#markets.ringCounts(table) : null;
    const { openRows, cutCount } = this.#open.countsOf(table);
    const dropped = { ...counts.dropped, ring: ring?.dropped ?? 0 };
    const pending =
      (ring?.size ?? 0) +
      openRows +
      this.#shipper.pendingRows(table) +
      this.#spool.pendingRows(table) +
      this.#outbox.pendingRows(table);
    const cut = cutCount + this.#rows.cutCount(table) + this.transfers.cutCount(table);
    const status = { ...counts, accepted: ring?.accepted ?? counts.accepted, dropped, pending, cut };
    return { ...status, droppedTotal: droppedRows(status) };
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

  /** No insert of an earlier run may still be pending when the store is queried. */
  #decideHeld(): Promise<void> {
    return this.#markets.decideHeld(() => this.#spool.pendingRows("trades") === 0);
  }

  #slice(): void {
    if (this.#drainSlice()) {
      this.#scheduleSlice();
      return;
    }
    if (!this.#closeAfterSlice) return;
    this.#closeAfterSlice = false;
    this.#open.closeDue(this.#shipper.behind);
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
}

function createSpool(
  { spoolDirectory, logger, writeFile }: RecorderOptions,
  settings: RecorderSettings,
  counts: Readonly<Record<RecordTableName, TableCounts>>,
): Spool {
  return new Spool({
    ...{ directory: spoolDirectory, counts, logger },
    bytesMax: settings.spoolBytes,
    memoryBytesMax: settings.spoolMemoryBytes,
    ...(writeFile === undefined ? {} : { writeFile }),
  });
}

/** Returns whether recording is off, and logs it the first time. */
function recordingOff(store: RecordsStore, logger: Logger): () => boolean {
  let isLogged = false;
  return () => {
    const { state, reason } = store.state();
    if (state !== "off") return false;
    if (!isLogged) logger.warn("recording_off", { reason });
    isLogged = true;
    return true;
  };
}
