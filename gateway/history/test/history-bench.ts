/**
 * The real server with the real embedded engine in its real sidecar: one per test file, a database per call of `fresh`.
 */
import { createClient } from "@clickhouse/client";
import { createClickHouseStore } from "../../../engine/storage/records/clickhouse-store.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import type { RecordTableName } from "../../../engine/storage/records/record-table.js";
import { SidecarBench } from "../../children/test/sidecar.js";
import type { HistoryOptions } from "../../api/routes/history.js";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { type HistoryServer, startHistoryServer } from "./history-server.js";
import { rowBinary, type TestRow } from "./row-binary.js";

/** 2026-11-21 04:00 UTC: a whole day's quarter, hour and minute. */
export const BASE_MS = 1_795_233_600_000;

export interface HistoryFixture {
  readonly store: RecordsStore;
  readonly server: HistoryServer;
  insert(table: RecordTableName, rows: readonly TestRow[]): Promise<void>;
  /** Runs a statement that the port has no method for, in the fixture's database. */
  command(sql: string): Promise<void>;
  stop(): Promise<void>;
}

export class HistoryBench {
  readonly #bench = new SidecarBench();
  #sidecar: StorageSidecar | null = null;
  #databases = 0;
  readonly #fixtures: HistoryFixture[] = [];

  async fresh(options: Partial<HistoryOptions> = {}): Promise<HistoryFixture> {
    this.#sidecar ??= await this.#bench.sidecar();
    const sidecar = this.#sidecar;
    const database = `history_${this.#databases++}`;
    const store = createClickHouseStore({
      endpoint: () => sidecar.endpoint(),
      // Keeps rows of any age: the test's times are fixed.
      target: { database, cluster: null, expires: false },
      clock: this.#bench.clock,
    });
    const state = await store.start();
    if (state.state !== "on") throw new Error(`the store is ${state.state}: ${state.reason}`);
    const server = await startHistoryServer(store, options);
    let batches = 0;
    const fixture: HistoryFixture = {
      store,
      server,
      async insert(table, rows) {
        if (rows.length === 0) return;
        const token = `${table}-${batches++}`;
        const outcome = await store.insert({ table, bytes: rowBinary(table, rows), rowCount: rows.length, token });
        if (outcome.outcome !== "stored") throw new Error(JSON.stringify(outcome));
      },
      async command(sql) {
        const endpoint = sidecar.endpoint();
        if (endpoint.url === null) throw new Error(endpoint.reason);
        const client = createClient({ ...endpoint, database });
        await client.command({ query: sql });
        await client.close();
      },
      async stop() {
        await server.stop();
        await store.close();
      },
    };
    this.#fixtures.push(fixture);
    return fixture;
  }

  async dispose(): Promise<void> {
    for (const fixture of this.#fixtures) await fixture.stop();
    await this.#bench.dispose();
  }
}
