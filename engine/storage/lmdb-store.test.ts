import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { MAX_PENDING_BATCHES, openLmdbStore } from "./lmdb-store.js";
import { createKeyedHash, loadServerSecret } from "./server-secret.js";
import { describeStateStore } from "./test/state-store.contract.js";

const value = Buffer.from("v");
const PLENTY = 1 << 30;

describeStateStore("the lmdb store", async () => {
  const directory = mkdtempSync(join(tmpdir(), "unwind-store-"));
  const open = () => openLmdbStore({ directory, clock: new VirtualClock(), freeBytes: async () => PLENTY });
  const store = open();
  return {
    store,
    async reopen() {
      await store.close();
      return open();
    },
    async dispose() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
});

describe("the lmdb store alone", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "unwind-store-"));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it("is its owner's alone, also where folder and files were there with wider modes", async () => {
    const modes = () =>
      [directory, join(directory, "data.mdb"), join(directory, "lock.mdb")].map((path) => statSync(path).mode & 0o777);
    chmodSync(directory, 0o755);
    const store = openLmdbStore({ directory, clock: new VirtualClock(), freeBytes: async () => PLENTY });
    expect(modes()).toEqual([0o700, 0o600, 0o600]);
    await store.close();
    chmodSync(directory, 0o755);
    for (const name of ["data.mdb", "lock.mdb"]) chmodSync(join(directory, name), 0o664);
    const again = openLmdbStore({ directory, clock: new VirtualClock(), freeBytes: async () => PLENTY });
    expect(modes()).toEqual([0o700, 0o600, 0o600]);
    await again.close();
  });

  it("lets a thousand concurrent commits share a few fsyncs", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    await Promise.all(Array.from({ length: 1000 }, (_, index) => store.put("a", String(index), value)));
    const { commitCount, batchCount } = store.status();
    expect(batchCount).toBe(1000);
    expect(commitCount).toBeLessThanOrEqual(3);
    await store.close();
  });

  it("acknowledges what was pending at close, and lets the next owner open at once", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    const puts = Array.from({ length: 20 }, (_, index) => store.put("a", String(index), value));
    await store.close();
    await Promise.all(puts);
    const next = openLmdbStore({ directory, clock: new VirtualClock() });
    expect(await next.scan("a", { prefix: "", limit: 100 })).toHaveLength(20);
    await next.close();
  });

  it("refuses a second owner of the directory and leaves the first one working", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    expect(catchError(() => openLmdbStore({ directory, clock: new VirtualClock() }))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      context: { reason: "LOCKED", directory },
    });
    await store.put("a", "k", value);
    expect(await store.get("a", "k")).toEqual(value);
    await store.close();
  });

  it("says that a path it cannot use is not writable", () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(catchError(() => openLmdbStore({ directory: file, clock: new VirtualClock() }))).toMatchObject({
      context: { reason: "NOT_WRITABLE" },
    });
    expect(
      catchError(() => openLmdbStore({ directory: join(file, "below"), clock: new VirtualClock() })),
    ).toMatchObject({ context: { reason: "NOT_WRITABLE" } });
    mkdirSync(join(directory, "odd", "data.mdb"), { recursive: true });
    expect(
      catchError(() => openLmdbStore({ directory: join(directory, "odd"), clock: new VirtualClock() })),
    ).toMatchObject({
      code: "STORE_UNAVAILABLE",
      context: { reason: "NOT_WRITABLE" },
    });
  });

  it("refuses writes while the volume is short of space, still reads, and recovers", async () => {
    const clock = new VirtualClock();
    let freeBytes = PLENTY;
    const store = openLmdbStore({ directory, clock, minFreeBytes: 1000, freeBytes: async () => freeBytes });
    await store.put("a", "k", value);
    freeBytes = 999;
    clock.advance(1_000);
    await expect(store.put("a", "k2", value)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      context: { reason: "DISK_FULL" },
    });
    expect(store.status()).toMatchObject({ writable: false, problem: "DISK_FULL" });
    expect(await store.get("a", "k")).toEqual(value);
    freeBytes = 1000;
    await store.put("a", "k2", value);
    expect(store.status()).toMatchObject({ writable: true, problem: null });
    await store.close();
  });

  it("asks for the free space at most once a second", async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const freeBytes = async () => {
      asked += 1;
      return PLENTY;
    };
    const store = openLmdbStore({ directory, clock, freeBytes });
    for (let index = 0; index < 20; index++) await store.put("a", String(index), value);
    expect(asked).toBe(1);
    clock.advance(1_000);
    await store.put("a", "k", value);
    expect(asked).toBe(2);
    await store.close();
  });

  it("refuses the batch past the pending bound and commits the others", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock(), freeBytes: async () => PLENTY });
    const settled = await Promise.allSettled(
      Array.from({ length: MAX_PENDING_BATCHES + 5 }, (_, index) => store.put("a", String(index), value)),
    );
    const refused = settled.filter((entry) => entry.status === "rejected");
    expect(refused).toHaveLength(5);
    expect(refused[0]?.reason).toMatchObject({ code: "STORE_UNAVAILABLE", context: { reason: "QUEUE_FULL" } });
    expect(store.status().batchCount).toBe(MAX_PENDING_BATCHES);
    await store.close();
  });

  it("creates the server secret once and finds the same one after a reopen; a configured one wins", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    const secret = await loadServerSecret(store, null);
    await store.close();
    const next = openLmdbStore({ directory, clock: new VirtualClock() });
    expect(Buffer.from(await loadServerSecret(next, null))).toEqual(Buffer.from(secret));
    const configured = new Uint8Array(32).fill(7);
    expect(await loadServerSecret(next, configured)).toBe(configured);
    await expect(loadServerSecret(next, new Uint8Array(31))).rejects.toMatchObject({ code: "INTERNAL" });
    await next.close();
  });

  it("hashes lists of parts without ambiguity and by purpose", () => {
    const hash = createKeyedHash(new Uint8Array(32).fill(1));
    const digests = [
      hash.hmacHex("p", ["ab", "c"]),
      hash.hmacHex("p", ["a", "bc"]),
      hash.hmacHex("p", ["abc"]),
      hash.hmacHex("pabc", []),
      hash.hmacHex("p", ["ab", "c", ""]),
      createKeyedHash(new Uint8Array(32).fill(2)).hmacHex("p", ["ab", "c"]),
    ];
    expect(new Set(digests).size).toBe(digests.length);
    expect(hash.hmacHex("p", ["ab", Buffer.from("c")])).toBe(digests[0]);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  });
});

function catchError(action: () => unknown): ServiceError | null {
  try {
    action();
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
