/** What a service says of a folder that an earlier program kept, started on a copy of it at the time it was written. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Clock, createSystemClock } from "../../engine/domain/clock.js";
import { IdempotencyRecords } from "../../engine/orders/durable/idempotency.js";
import { createKeyedHash, loadServerSecret } from "../../engine/storage/server-secret.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { readConfig } from "../app/config.js";
import { createService } from "../app/wiring.js";
import { TestClient } from "./client.js";
import { createFakeRoom, fakeMarket } from "./fake-room.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

/** Everything that a start reads of the folder, as the service shows it. */
export interface KeptState {
  readonly executions: Readonly<Record<string, unknown>>;
  /** Runs that Idempotency-Keys name, sorted. */
  readonly keyed: readonly string[];
  readonly killSwitch: unknown;
  readonly orders: { readonly unknown: number; readonly open: number; readonly followed: number };
  /** By table: rows taken over from the folder. */
  readonly recovered: Readonly<Record<string, number>>;
}

/** Of DATA_DIR, with `data.mdb` packed. */
export function unpackFolder(packed: string, directory: string): void {
  mkdirSync(directory);
  writeFileSync(join(directory, "data.mdb"), gunzipSync(readFileSync(join(packed, "data.mdb.gz"))));
  mkdirSync(join(directory, "spool"), { recursive: true });
  for (const name of readdirSync(join(packed, "spool")))
    cpSync(join(packed, "spool", name), join(directory, "spool", name));
}

/** `atMs`: wall clock at the start; what the folder keeps for a day would be gone long since. */
export async function readKept(directory: string, atMs: number, routeIds: readonly string[]): Promise<KeptState> {
  const system = createSystemClock();
  const behindMs = system.wallMs() - atMs;
  const clock: Clock = {
    wallMs: () => system.wallMs() - behindMs,
    monoNs: () => system.monoNs(),
    setTimer: (callback, delayMs) => system.setTimer(callback, delayMs),
    clearTimer: (handle) => system.clearTimer(handle),
  };
  const config = readConfig(
    // Nobody answers there: what waits for the store goes on waiting.
    { PORT: "0", DATA_DIR: directory, LOG_LEVEL: "silent", CLICKHOUSE_URL: "http://127.0.0.1:9" },
    () => null,
  );
  if (!config.ok) throw new Error(config.problems.join("; "));
  const rooms = (["venueone", "venuetwo"] as const).map((venue) =>
    createFakeRoom(
      venue,
      ["BTC", "ETH"].map((symbol) => fakeMarket(anInstrument({ venue, symbol }))),
      () => clock.wallMs(),
    ),
  );
  const service = await createService(config.config, { rooms, clock });
  const client = new TestClient(service.url);
  try {
    const executions: Record<string, unknown> = {};
    for (const routeId of routeIds) {
      const { body } = await client.send(`/api/trade/executions/${routeId}`);
      executions[routeId] = (body as { data: { execution: unknown } }).data.execution;
    }
    const killSwitch = ((await client.send("/api/trade/kill-switch")).body as { data: unknown }).data;
    const { data } = (await client.send("/api/status")).body as unknown as { data: StatusData };
    const { followedCount: followed, openOrders, recording, unknownOrders } = data;
    const keyed = await keyedRuns(service.store, clock);
    return {
      executions,
      keyed,
      killSwitch,
      orders: { unknown: unknownOrders.count, open: openOrders.count, followed },
      recovered: Object.fromEntries(recording.tables.map(({ recovered, table }) => [table, recovered])),
    };
  } finally {
    await client.stop();
    await service.stop();
  }
}

/** By the records alone: which caller a key belongs to takes its credentials. */
async function keyedRuns(store: StateStore, clock: Clock): Promise<readonly string[]> {
  const hash = createKeyedHash(await loadServerSecret(store, null));
  const records = new IdempotencyRecords({ store, hash, clock, bootId: "later" });
  const rows = await store.scan("idempotency", { prefix: "", limit: 100 });
  const runs = await Promise.all(rows.map(({ key }) => records.readRun(key)));
  return runs.map((run) => run?.routeId ?? "unreadable").sort();
}

interface StatusData {
  readonly followedCount: number;
  readonly unknownOrders: { readonly count: number };
  readonly openOrders: { readonly count: number };
  readonly recording: { readonly tables: readonly { readonly table: string; readonly recovered: number }[] };
}
