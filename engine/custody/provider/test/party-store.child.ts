/**
 * Child program of party-store-crash.test.ts: opens the store in argv[2] and commits the lives of eight wallets side by
 * side without end, wallet numbers from argv[3] on; prints `wallet count` once a commit is acknowledged. The test kills
 * it.
 */
import { writeSync } from "node:fs";
import { createSystemClock } from "../../../domain/clock.js";
import { openLmdbStore } from "../../../storage/lmdb-store.js";
import { DurablePartyStore } from "../durable-party-store.js";
import { lifeOf, walletIdOf } from "./party-rows.js";

const [, , directory = "", firstText = "0"] = process.argv;
const store = new DurablePartyStore(openLmdbStore({ directory, clock: createSystemClock() }));

async function live(index: number): Promise<void> {
  let count = 0;
  for (const commit of lifeOf(walletIdOf(index), index % 2 === 0 ? 0 : 1)) {
    await store.commit(commit);
    writeSync(1, `${index} ${++count}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, index) => live(Number(firstText) + index)));
