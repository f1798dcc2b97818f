/** For tests: the real sidecar with the real engine, compiled from the sources, under its real supervisor. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@clickhouse/client";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createClickHouseStore } from "../../../engine/storage/records/clickhouse-store.js";
import type { Migration } from "../../../engine/storage/records/migrations.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { type SidecarOptions, type StorageSidecar, startStorageSidecar } from "../../app/storage-sidecar.js";

/** Skips by name where the optional package is missing; on CI a missing package is a failure. */
export const CHDB_MISSING = process.env.CI !== "true" && !isInstalled();
export const NEEDS_CHDB = "(needs the optional package chdb)";

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve("chdb");
    return true;
  } catch {
    return false;
  }
}

/** A folder of its own with the compiled child, and everything that was started; `dispose` removes all of it. */
export class SidecarBench {
  readonly directory = mkdtempSync(join(tmpdir(), "unwind-records-"));
  readonly clock = createSystemClock();
  readonly childPath: string;
  readonly #sidecars: StorageSidecar[] = [];
  readonly #stores: RecordsStore[] = [];

  constructor() {
    this.childPath = compileChild("gateway/children/storage.child.ts", join(this.directory, "compiled"));
  }

  async sidecar(name = "data", options: Partial<SidecarOptions> = {}): Promise<StorageSidecar> {
    const sidecar = startStorageSidecar({
      directory: join(this.directory, name),
      clock: this.clock,
      random: createSeededRandom(1),
      logger: silentLogger,
      childPath: this.childPath,
      ...options,
    });
    this.#sidecars.push(sidecar);
    await sidecar.started();
    return sidecar;
  }

  store(sidecar: StorageSidecar, database = "unwind", migrations?: readonly Migration[]): RecordsStore {
    const store = createClickHouseStore({
      endpoint: () => sidecar.endpoint(),
      target: { database, cluster: null },
      clock: this.clock,
      ...(migrations === undefined ? {} : { migrations }),
    });
    this.#stores.push(store);
    return store;
  }

  /** Runs a statement that the store does not know of. */
  async command(sidecar: StorageSidecar, query: string): Promise<void> {
    const endpoint = sidecar.endpoint();
    if (endpoint.url === null) throw new Error(endpoint.reason);
    const client = createClient(endpoint);
    await client.command({ query });
    await client.close();
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#sidecars.map((sidecar) => sidecar.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
