/** Faults of the sidecar: killed, doubled, orphaned, out of disk, out of memory, not installed. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { InsertOutcome, RecordsBatch, RecordsStore } from "../../../engine/storage/records/records-store.js";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import type { StorageSidecar } from "../../app/storage-sidecar.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "./sidecar.js";

const BOUNDS = { timeoutMs: 20_000, rowsMax: 1_000, bytesMax: 1_000_000 };
const ROWS = 2_000;

let bench: SidecarBench;

beforeAll(() => {
  bench = new SidecarBench();
});
afterAll(async () => {
  await bench.dispose();
});

describe.skipIf(CHDB_MISSING)(`the storage sidecar under faults ${NEEDS_CHDB}`, () => {
  it("has every batch exactly once after repeated kills in mid-insert and retries with the same token", async () => {
    const sidecar = await bench.sidecar("killed");
    const store = bench.store(sidecar);
    await store.start();
    const random = createSeededRandom(11);
    const firstPort = portOf(sidecar);
    const outcomes: InsertOutcome["outcome"][] = [];
    let batchCount = 0;
    for (let kill = 0; kill < 4; kill++) {
      const processId = sidecar.state().processId as number;
      const killAfterMs = random.next() * 40;
      // A random moment: before, in or after the engine's work on a batch.
      const wait = setTimeout(() => process.kill(processId, "SIGKILL"), killAfterMs);
      // Sends until the kill hits one batch, then repeats that one until it is stored.
      for (let struck = false; !struck; batchCount++) {
        const batch = tradeBatch(batchCount, random);
        let outcome = await store.insert(batch);
        outcomes.push(outcome.outcome);
        for (let attempt = 0; outcome.outcome !== "stored" && attempt < 400; attempt++) {
          struck = true;
          await sidecar.settled();
          outcome = await store.insert(batch);
        }
        expect(outcome).toEqual({ outcome: "stored" });
        struck ||= sidecar.state().startCount > kill + 1;
      }
      clearTimeout(wait);
    }
    expect(outcomes).toContain("away");
    expect(sidecar.state().startCount).toBe(5);
    // Unless another program took the port while the sidecar was away.
    expect(portOf(sidecar) === firstPort || (await isTaken(firstPort))).toBe(true);
    const counts = await rows(
      store,
      "SELECT count() AS n, uniqExact(trade_id) AS ids, (SELECT sum(n) FROM ohlcv_1m) AS candles FROM trades",
    );
    const n = String(batchCount * ROWS);
    expect(counts).toEqual([{ n, ids: n, candles: n }]);
  }, 240_000);

  it("keeps a second process out of its directory, names the owner, and lets it in when the directory is free", async () => {
    const first = await bench.sidecar("shared");
    const second = await bench.sidecar("shared");
    expect(second.state()).toMatchObject({
      state: "waiting",
      reason: "another process has the record's data directory open",
    });
    const store = bench.store(second);
    expect(await store.start()).toMatchObject({
      state: "away",
      reason: "another process has the record's data directory open",
    });
    await first.stop();
    expect(first.endpoint()).toMatchObject({ url: null, isFinal: true });
    await second.settled();
    expect((await store.start()).state).toBe("on");
    await second.stop();
  }, 240_000);

  it("ends when its parent is killed, so that the directory is free for the next", async () => {
    const folder = join(bench.directory, "orphan");
    const parent = compileChild(
      "gateway/children/test/orphan-parent.child.ts",
      join(bench.directory, "compiled-parent"),
    );
    compileChild("gateway/children/storage.child.ts", join(bench.directory, "compiled-orphan"));
    // The supervisor looks for the child beside itself.
    mergeCompiled(join(bench.directory, "compiled-orphan"), join(bench.directory, "compiled-parent"));
    const gateway = spawn(process.execPath, [parent, folder], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(createInterface({ input: gateway.stdout }), "line")) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    await once(socket, "connect");
    // A dying process resets its connections or ends them: `once` of node:events would reject at a reset.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    socket.resume();
    gateway.kill("SIGKILL");
    await closed;
    const next = await bench.sidecar("orphan");
    await next.settled();
    expect(next.state().state).toBe("ready");
    await next.stop();
  }, 240_000);

  it("refuses without space and reports that as temporary, loses nothing, and stores the same batch once there is space", async () => {
    const sidecar = await bench.sidecar("full");
    const store = bench.store(sidecar);
    await store.start();
    const random = createSeededRandom(5);
    const kept = tradeBatch(0, random);
    expect(await store.insert(kept)).toEqual({ outcome: "stored" });
    const processId = sidecar.state().processId as number;
    // A file-size limit simulates the full disk: writes beyond it fail with EFBIG.
    limitFileSize(processId, "2000");
    const batch = tradeBatch(1, random);
    const outcome = await store.insert(batch);
    expect(outcome.outcome).toBe("away");
    expect(await store.insert(batch)).toMatchObject({ outcome: "away" });
    limitFileSize(processId, "unlimited");
    await sidecar.settled();
    for (let attempt = 0; attempt < 3; attempt++) expect(await store.insert(batch)).toEqual({ outcome: "stored" });
    expect(await rows(store, "SELECT count() AS n, uniqExact(trade_id) AS ids FROM trades")).toEqual([
      { n: String(2 * ROWS), ids: String(2 * ROWS) },
    ]);
    await sidecar.stop();
  }, 240_000);

  it("stays within its memory limit: a query that needs more fails, and the next one works", async () => {
    const sidecar = await bench.sidecar("small", { memoryBytes: 400 * 1024 * 1024 });
    const store = bench.store(sidecar);
    await store.start();
    const greedy = await store.query("SELECT length(groupArray(number)) FROM numbers(200000000)", {}, BOUNDS);
    expect(greedy).toMatchObject({ ok: false, reason: "away", code: 241 });
    expect(await rows(store, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    const { processId } = sidecar.state();
    await sidecar.stop();
    expect(() => process.kill(processId as number, 0)).toThrow();
  }, 240_000);
});

describe("the storage sidecar without its engine", () => {
  it("reports that the optional package is not installed, is not started again, and the store is off", async () => {
    const folder = join(bench.directory, "no-packages");
    mkdirSync(folder);
    const childPath = compileChild("gateway/children/storage.child.ts", folder);
    rmSync(join(folder, "node_modules"));
    const sidecar = await bench.sidecar("nothing", { childPath });
    expect(sidecar.state()).toMatchObject({
      state: "off",
      reason: "the optional package chdb is not installed",
      startCount: 1,
    });
    const store = bench.store(sidecar);
    const off = { state: "off", reason: "the optional package chdb is not installed", version: null };
    expect(await store.start()).toEqual(off);
    expect(store.state()).toEqual(off);
    expect(await store.insert(tradeBatch(1, createSeededRandom(1)))).toMatchObject({ outcome: "away" });
    expect(await store.query("SELECT 1", {}, BOUNDS)).toMatchObject({ ok: false, reason: "away" });
  });
});

async function rows(store: RecordsStore, sql: string) {
  const result = await store.query(sql, {}, BOUNDS);
  if (!result.ok) throw new Error(`${result.reason}: ${result.text}`);
  return result.rows;
}

function portOf(sidecar: StorageSidecar): string {
  const endpoint = sidecar.endpoint();
  return endpoint.url === null ? "" : new URL(endpoint.url).port;
}

async function isTaken(port: string): Promise<boolean> {
  const socket = connect(Number(port), "127.0.0.1");
  const answered = new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
  const isListenedOn = await answered;
  socket.destroy();
  return isListenedOn;
}

function limitFileSize(processId: number, bytes: string): void {
  execFileSync("prlimit", ["--pid", String(processId), `--fsize=${bytes}:unlimited`]);
}

/** Copies by path: both trees were compiled from the same sources. */
function mergeCompiled(from: string, into: string): void {
  execFileSync("cp", ["-r", join(from, "gateway"), into]);
}

/** All rows are of one minute, so of one partition; sizes and prices do not compress well. */
function tradeBatch(batchIndex: number, random: { next(): number }): RecordsBatch {
  const nowMs = BigInt(Math.floor(Date.now() / 86_400_000) * 86_400_000);
  const bytes = Buffer.alloc(ROWS * 64);
  let at = 0;
  for (let row = 0; row < ROWS; row++) {
    at = bytes.writeBigInt64LE(nowMs + BigInt(batchIndex), at);
    for (const word of ["venueone", "BTC", `${batchIndex}-${row}`]) {
      at = bytes.writeUInt8(word.length, at);
      at += bytes.write(word, at);
    }
    at = bytes.writeBigInt64LE(BigInt(Math.floor(random.next() * 1e15)), at);
  }
  return {
    table: "trades",
    columns: ["ex", "venue", "symbol", "trade_id", "px"],
    bytes: bytes.subarray(0, at),
    rowCount: ROWS,
    token: `test:${batchIndex}`,
  };
}
