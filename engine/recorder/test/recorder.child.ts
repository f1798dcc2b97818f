/**
 * Child program of chdb.test.ts, which kills it: a recorder on a real lmdb and a real spool folder that receives ticks
 * and closes without end. Prints the number of each close on its own line once its conclusion is durable, and the count
 * of ticks in the store whenever it grew. argv: directory, file with the store's endpoint (it moves when the sidecar is
 * killed), number of the first close.
 */
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createSystemClock, delay } from "../../domain/clock.js";
import { silentLogger } from "../../domain/logger.js";
import { systemRandom } from "../../domain/random.js";
import { openLmdbStore } from "../../storage/lmdb-store.js";
import type { RecordsEndpoint } from "../../storage/records/clickhouse-client.js";
import { createClickHouseStore } from "../../storage/records/clickhouse-store.js";
import { createRecorder } from "../recorder.js";
import { madeUpConclusion } from "./made-up-close.js";
import { setBook, testMarket } from "./markets.js";
import { seededIds } from "./world.js";

const [, , directory = "", endpointFile = "", firstText = "0"] = process.argv;
const first = Number(firstText);
const clock = createSystemClock();
const stateStore = openLmdbStore({ directory: join(directory, "state"), clock });
const store = createClickHouseStore({
  endpoint: () => JSON.parse(readFileSync(endpointFile, "utf8")) as RecordsEndpoint,
  target: { database: "unwind", cluster: null },
  clock,
});
const recorder = createRecorder({
  ...{ store, stateStore, clock, random: systemRandom, logger: silentLogger },
  spoolDirectory: join(directory, "spool"),
  randomIds: seededIds(first + 1),
  nodeId: "node-1",
});

const market = testMarket();
let ticks = 0;
let storedTicks = 0;

async function closeForEver(): Promise<void> {
  for (let number = first; ; number++) {
    const writes = recorder.closes.decisionWrites(madeUpConclusion({ number, atMs: clock.wallMs() }));
    await stateStore.commit({ writes });
    recorder.closes.committed(writes);
    writeSync(1, `close ${number}\n`);
    for (let count = 0; count < 20; count++) {
      ticks += 1;
      setBook(market, [[1000 + (ticks % 2), 1]], [[2000, 1]], { seq: ticks, rxNs: clock.monoNs() });
    }
    const { stored } = recorder.status().tables.ticks;
    if (stored > storedTicks) {
      storedTicks = stored;
      writeSync(1, `stored ${stored}\n`);
    }
    await delay(clock, 2);
  }
}

// The clock's timers alone keep no process alive.
setInterval(() => {}, 60_000);
await recorder.start();
recorder.watch(market);
writeSync(1, "ready\n");
await closeForEver();
