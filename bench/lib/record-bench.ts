/** The record as the gateway puts it together: embedded store in its sidecar, the store's port, recorders on it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { systemRandom } from "../../engine/domain/random.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { createRecorder, type Recorder } from "../../engine/recorder/recorder.js";
import { createClickHouseStore } from "../../engine/storage/records/clickhouse-store.js";
import type { RecordsBatch, RecordsStore } from "../../engine/storage/records/records-store.js";
import { cryptoRandomIds } from "../../engine/storage/server-secret.js";
import { startStorageSidecar } from "../../gateway/app/storage-sidecar.js";

const DATABASE = "unwind";
const FLUSH_MS = 30_000;

export interface RecordBench {
  readonly endpoint: { readonly url: string; readonly username: string; readonly password: string };
  readonly database: string;
  readonly recorder: Recorder;
  /** While set, hears of each batch that the recorder sends. */
  onBatch: ((batch: RecordsBatch) => void) | null;
  /** Everything accepted so far is in the store; throws when it is not within a bound. */
  settled(): Promise<void>;
  tickCount(): Promise<number>;
  stop(): Promise<void>;
}

export async function startRecordBench(): Promise<RecordBench> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-record-"));
  const clock = createSystemClock();
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
  const heard: RecordsStore = {
    start: () => store.start(),
    insert(batch) {
      bench.onBatch?.(batch);
      return store.insert(batch);
    },
    query: (...args) => store.query(...args),
    queryStream: (...args) => store.queryStream(...args),
    state: () => store.state(),
    close: () => store.close(),
  };
  const recorder = createRecorder({
    store: heard,
    stateStore,
    spoolDirectory: join(folder, "spool"),
    clock,
    random: systemRandom,
    randomIds: cryptoRandomIds,
    logger: silentLogger,
    nodeId: "bench",
  });
  const bench: RecordBench = {
    endpoint,
    database: DATABASE,
    recorder,
    onBatch: null,
    async settled() {
      if (!(await recorder.flush(FLUSH_MS))) throw new Error(`the record was not stored within ${FLUSH_MS} ms`);
    },
    async tickCount() {
      const bounds = { timeoutMs: 10_000, rowsMax: 1, bytesMax: 10_000 };
      const result = await store.query("SELECT count() AS rows FROM ticks", {}, bounds);
      if (!result.ok) throw new Error(`the store does not count: ${result.text}`);
      return Number(result.rows[0]?.rows);
    },
    async stop() {
      await recorder.stop(5_000);
      await store.close();
      await sidecar.stop();
      await stateStore.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await recorder.start();
  return bench;
}
