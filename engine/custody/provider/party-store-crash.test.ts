/** The rows of a party in a real process that is killed: each commit is there whole or not at all. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSystemClock } from "../../domain/clock.js";
import { createSeededRandom } from "../../domain/random.js";
import { openLmdbStore } from "../../storage/lmdb-store.js";
import { compileChild } from "../../storage/test/compile-child.js";
import { DurablePartyStore } from "./durable-party-store.js";
import { SHARE_NAMESPACE } from "./share-row.js";
import { BESIDE_NAMESPACE, walletIdOf } from "./test/party-rows.js";

const ROUNDS = Number(process.env["MPC_RUNS"] ?? 4);
let workDirectory: string;
let childProgram: string;

beforeAll(() => {
  workDirectory = mkdtempSync(join(tmpdir(), "unwind-party-"));
  const compiled = join(workDirectory, "compiled");
  mkdirSync(compiled);
  childProgram = compileChild("engine/custody/provider/test/party-store.child.ts", compiled);
});
afterAll(() => {
  rmSync(workDirectory, { recursive: true, force: true });
});

it("has every acknowledged commit after each of several kills, and none that is half done", async () => {
  const directory = join(workDirectory, "store");
  const random = createSeededRandom(15);
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const lines = await runUntilKilled(directory, round * 8, 20 + Math.floor(random.next() * 250));
    for (const line of lines) {
      const [index, count] = line.split(" ").map(Number);
      acknowledged.set(walletIdOf(index ?? -1).toString("hex"), count ?? 0);
    }
    const rows = openLmdbStore({ directory, clock: createSystemClock() });
    try {
      // An epoch row without its state row, or the other way round, is refused by the load; one without its share row,
      // or the other way round, where the share is read.
      const store = new DurablePartyStore(rows);
      const loaded = await store.load();
      let epochCount = 0;
      for (const { walletId, row, epochs } of loaded) {
        for (const { epoch, tag } of epochs) expect((await store.share(walletId, epoch))?.tag).toEqual(tag);
        epochCount += epochs.length;
        const key = Buffer.from(walletId).toString("hex");
        const beside = Buffer.from((await rows.get(BESIDE_NAMESPACE, key)) ?? new Uint8Array()).toString();
        const [count, ctr, activeEpoch] = beside.split(" ");
        expect([ctr, activeEpoch]).toEqual([String(row.ctr), String(row.activeEpoch)]);
        expect(Number(count)).toBeGreaterThanOrEqual(acknowledged.get(key) ?? 0);
        acknowledged.delete(key);
      }
      expect([...acknowledged.keys()]).toEqual([]);
      expect((await rows.scan(SHARE_NAMESPACE, { prefix: "", limit: 1_000 })).length).toBe(epochCount);
      expect((await rows.scan(BESIDE_NAMESPACE, { prefix: "", limit: 1_000 })).length).toBe(loaded.length);
    } finally {
      await rows.close();
    }
  }
}, 120_000);

async function runUntilKilled(directory: string, first: number, killAfter: number): Promise<string[]> {
  const child = spawn(process.execPath, [childProgram, directory, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const found: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    found.push(line);
    if (found.length === killAfter) child.kill("SIGKILL");
  });
  await Promise.all([exited, once(lines, "close")]);
  expect(child.signalCode).toBe("SIGKILL");
  // A line this short reaches a pipe completely or not at all.
  return found;
}
