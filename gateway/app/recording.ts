/**
 * The record of the service: the store (a server of the operator's, or the embedded engine in its own process) and the
 * recorder that feeds it. No close and no tick waits for it.
 *
 * Invariant: a store that is away, slow or missing changes only the replies of the history routes; a server that can
 * never hold the record (too old, no ClickHouse) is refused at the start, by name.
 */
import { join } from "node:path";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import type { Random } from "../../engine/domain/random.js";
import { within } from "../../engine/domain/deadline.js";
import { NO_OBSERVER, type RouteObserver } from "../../engine/orders/decide/route-observer.js";
import { NO_RECORDS, type RecordSink } from "../../engine/orders/conclude/record-sink.js";
import type { MarketRoom } from "../../engine/ports.js";
import type { KeyedHash, RandomIds } from "../../engine/storage/keyed-hash.js";
import { createRecorder, type Recorder } from "../../engine/recorder/recorder.js";
import { START_WORD_MS } from "../../engine/storage/records/clickhouse-server.js";
import { createClickHouseStore } from "../../engine/storage/records/clickhouse-store.js";
import { createOffStore, type RecordsState, type RecordsStore } from "../../engine/storage/records/records-store.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { NO_TRANSFER_RECORD, type TransferRecord } from "../../engine/transfers/transfer-record.js";
import type { RecordingConfig } from "./config.js";
import type { ServiceLogger } from "./log.js";
import { StartError } from "../children/start-error.js";
import { startStorageSidecar, type StorageSidecar } from "./storage-sidecar.js";

/** Markets that are listed later are watched within this time. */
const WATCH_EVERY_MS = 5_000;
/** Time for the last rows to reach the store at the end; the others are on disk, and the next start sends them. */
const STOP_FLUSH_MS = 5_000;

export interface RecordingOptions {
  readonly config: RecordingConfig;
  readonly dataDir: string;
  readonly stateStore: StateStore;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ServiceLogger;
}

export interface Recording {
  /** For reading; off where there is no record. */
  readonly store: RecordsStore;
  /** Null when recording is off by choice. */
  readonly recorder: Recorder | null;
  /** For the services that send orders. */
  readonly closes: RecordSink;
  /** For the ledger of transfers. */
  readonly transfers: TransferRecord;
  /** For the trade service: records what a decision sees and how long its stages take. */
  readonly observer: RouteObserver;
  /** Adopts what an earlier start left. Rejects with StartError. */
  start(): Promise<void>;
  /** Watches every market that the rooms list, now and later. */
  watch(rooms: readonly MarketRoom[]): void;
  /** Ends within a time limit. */
  stop(): Promise<void>;
}

export function createRecording(options: RecordingOptions): Recording {
  if (!options.config.enabled) {
    const store = createOffStore("RECORDING is false");
    return {
      store,
      recorder: null,
      closes: NO_RECORDS,
      transfers: NO_TRANSFER_RECORD,
      observer: NO_OBSERVER,
      start: async () => {},
      watch() {},
      stop: () => store.close(),
    };
  }
  return new StoredRecording(options);
}

class StoredRecording implements Recording {
  readonly store: RecordsStore;
  readonly recorder: Recorder;
  readonly #options: RecordingOptions;
  readonly #sidecar: StorageSidecar | null;
  #watchTimer: TimerHandle | null = null;
  #stopped = false;

  constructor(options: RecordingOptions) {
    const { config, dataDir, clock, random, logger, stateStore, hash, randomIds } = options;
    const { server, cluster } = config;
    this.#options = options;
    this.#sidecar =
      server === null
        ? startStorageSidecar({
            directory: join(dataDir, "records"),
            clock,
            random,
            logger,
            memoryBytes: config.embeddedMemoryBytesMax,
          })
        : null;
    const endpoint =
      server === null
        ? () => (this.#sidecar as StorageSidecar).endpoint()
        : () => ({ url: server.url, username: server.user, password: server.password });
    this.store = createClickHouseStore({ endpoint, target: { database: config.database, cluster }, clock });
    this.recorder = createRecorder({
      store: this.store,
      stateStore,
      spoolDirectory: join(dataDir, "spool"),
      clock,
      random,
      randomIds,
      logger,
      nodeId: hash.hmacHex("recorder-node", ["1"]).slice(0, 12),
      settings: { spoolBytes: config.spoolBytesMax, storeBytes: server === null ? config.embeddedBytesMax : null },
    });
  }

  get closes(): RecordSink {
    return this.recorder.closes;
  }

  get transfers(): TransferRecord {
    return this.recorder.transfers;
  }

  get observer(): RouteObserver {
    return this.recorder;
  }

  async start(): Promise<void> {
    const { config, clock, logger } = this.#options;
    const word = this.#firstWord();
    if (config.server !== null) {
      const first = await within(clock, word, START_WORD_MS);
      // A store still unknown after that time is away: it may come later.
      if (first.done && first.value.state === "off") throw new StartError([`CLICKHOUSE_URL: ${first.value.reason}`]);
    }
    await this.recorder.start();
    void word.then(({ state, reason, version }) => {
      if (!this.#stopped) logger.info("recording.store", { state, reason, ...(version === null ? {} : { version }) });
    });
  }

  watch(rooms: readonly MarketRoom[]): void {
    if (this.#stopped) return;
    this.recorder.watchAll(rooms.flatMap((room) => [...room.markets.values()]));
    this.#watchTimer = this.#options.clock.setTimer(() => this.watch(rooms), WATCH_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#watchTimer !== null) this.#options.clock.clearTimer(this.#watchTimer);
    await this.recorder.stop(STOP_FLUSH_MS);
    await this.store.close();
    await this.#sidecar?.stop();
  }

  async #firstWord(): Promise<RecordsState> {
    await this.#sidecar?.started();
    return this.store.start();
  }
}
