/** The record, wired as in the gateway: the embedded store in its sidecar, the port of the store, a recorder on it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { systemRandom } from "../../engine/domain/random.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { createRecorder, type Recorder } from "../../engine/recorder/recorder.js";
import type { RecordsEndpoint } from "../../engine/storage/records/clickhouse-client.js";
import { createClickHouseStore } from "../../engine/storage/records/clickhouse-store.js";
import type { RecordsBatch, RecordsStore } from "../../engine/storage/records/records-store.js";
import { cryptoRandomIds } from "../../engine/storage/server-secret.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { startStorageSidecar, type StorageSidecar } from "../../gateway/app/storage-sidecar.js";

const DATABASE = "unwind";
const FLUSH_MS = 30_000;

type StoreAddress = Extract<RecordsEndpoint, { readonly url: string }>;

/** The stores that a recorder writes to, all in the folder of the run. */
interface Storage {
  readonly sidecar: StorageSidecar;
  readonly endpoint: StoreAddress;
  readonly store: RecordsStore;
  readonly stateStore: StateStore;
}

export class RecordBench {
  readonly endpoint: StoreAddress;
  readonly database = DATABASE;
  readonly recorder: Recorder;
  /** While set, receives each batch that the recorder sends. */
  onBatch: ((batch: RecordsBatch) => void) | null = null;
  readonly #folder: string;
  readonly #storage: Storage;

  constructor(folder: string, clock: Clock, storage: Storage) {
    this.#folder = folder;
    this.#storage = storage;
    this.endpoint = storage.endpoint;
    this.recorder = createRecorder({
      store: watchedInserts(storage.store, (batch) => this.onBatch?.(batch)),
      stateStore: storage.stateStore,
      spoolDirectory: join(folder, "spool"),
      clock,
      random: systemRandom,
      randomIds: cryptoRandomIds,
      logger: silentLogger,
      nodeId: "bench",
    });
  }

  /** Resolves once everything accepted so far is in the store; rejects after `FLUSH_MS`. */
  async settled(): Promise<void> {
    if (!(await this.recorder.flush(FLUSH_MS))) throw new Error(`the record was not stored within ${FLUSH_MS} ms`);
  }

  async tickCount(): Promise<number> {
    const bounds = { timeoutMs: 10_000, rowsMax: 1, bytesMax: 10_000 };
    const result = await this.#storage.store.query("SELECT count() AS rows FROM ticks", {}, bounds);
    if (!result.ok) throw new Error(`the store does not count: ${result.text}`);
    return Number(result.rows[0]?.rows);
  }

  async stop(): Promise<void> {
    const { store, sidecar, stateStore } = this.#storage;
    await this.recorder.stop(5_000);
    await store.close();
    await sidecar.stop();
    await stateStore.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function startRecordBench(): Promise<RecordBench> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-record-"));
  const clock = createSystemClock();
  const bench = new RecordBench(folder, clock, await openStorage(folder, clock));
  await bench.recorder.start();
  return bench;
}

async function openStorage(folder: string, clock: Clock): Promise<Storage> {
  const sidecar = startStorageSidecar({
    directory: join(folder, "records"),
    clock,
    random: systemRandom,
    logger: silentLogger,
  });
  await sidecar.settled();
  const endpoint = sidecar.endpoint();
  if (endpoint.url === null) throw new Error(`no embedded store: ${endpoint.reason}`);
  const store = createClickHouseStore({
    endpoint: () => sidecar.endpoint(),
    target: { database: DATABASE, cluster: null },
    clock,
  });
  const started = await store.start();
  if (started.state !== "on") throw new Error(`the store is ${started.state}: ${started.reason}`);
  const stateStore = openLmdbStore({ directory: join(folder, "state"), clock });
  return { sidecar, endpoint, store, stateStore };
}

/** The store, with each batch shown to `onInsert` before it is inserted. */
function watchedInserts(store: RecordsStore, onInsert: (batch: RecordsBatch) => void): RecordsStore {
  return {
    start: () => store.start(),
    insert(batch) {
      onInsert(batch);
      return store.insert(batch);
    },
    query: (...args) => store.query(...args),
    queryStream: (...args) => store.queryStream(...args),
    state: () => store.state(),
    close: () => store.close(),
  };
}
