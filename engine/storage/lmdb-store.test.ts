import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { MAX_PENDING_BATCHES, openLmdbStore } from "./lmdb-store.js";
import { createKeyedHash, loadServerSecret } from "./server-secret.js";
import { describeStateStore } from "./test/state-store.contract.js";
import type { VolumeState } from "./volume.js";

const value = Buffer.from("v");
const MIB = 1 << 20;

describeStateStore("the lmdb store", async () => {
  const directory = mkdtempSync(join(tmpdir(), "unwind-store-"));
  const open = () => openLmdbStore({ directory, clock: new VirtualClock() });
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

describe("the lmdb store", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "unwind-store-"));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it("is private to its owner, also where folder and files already had wider modes", async () => {
    const modes = () =>
      [directory, join(directory, "data.mdb"), join(directory, "lock.mdb")].map((path) => statSync(path).mode & 0o777);
    chmodSync(directory, 0o755);
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    expect(modes()).toEqual([0o700, 0o600, 0o600]);
    await store.close();
    chmodSync(directory, 0o755);
    for (const name of ["data.mdb", "lock.mdb"]) chmodSync(join(directory, name), 0o664);
    const again = openLmdbStore({ directory, clock: new VirtualClock() });
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

  it("reports a path that it cannot use as not writable", () => {
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

  it("reports the volume's free space, read once a second and never by a commit", async () => {
    const clock = new VirtualClock();
    let asked = 0;
    let freeBytes = 200 * MIB;
    const volume = async (): Promise<VolumeState> => {
      asked += 1;
      return { freeBytes, totalBytes: 1024 * MIB, copiesOnWrite: false };
    };
    const store = openLmdbStore({ directory, clock, volume });
    for (let index = 0; index < 20; index++) await store.put("a", String(index), value);
    expect(asked).toBe(0);
    const spaces: string[] = [];
    for (const free of [200, 95, 63, 79, 81, 97, 0, 200]) {
      freeBytes = free * MIB;
      await comes(clock, () => store.status().freeBytes === freeBytes);
      spaces.push(store.status().space);
    }
    // Openings come back a quarter above the mark, so that a value that swings about the mark does not switch them.
    expect(spaces).toEqual(["AMPLE", "TIGHT", "LOW", "LOW", "TIGHT", "AMPLE", "LOW", "AMPLE"]);
    await store.put("a", "k", value);
    expect(store.status()).toMatchObject({ writable: true, problem: null });
    await store.close();
  });

  it("refuses writes on a volume that copies what is overwritten before it is full, still reads, and recovers", async () => {
    const clock = new VirtualClock();
    let freeBytes = 64 * MIB;
    const volume = async (): Promise<VolumeState> => ({ freeBytes, totalBytes: 1024 * MIB, copiesOnWrite: true });
    const store = openLmdbStore({ directory, clock, volume });
    await store.put("a", "k", value);
    freeBytes = 15 * MIB;
    await comes(clock, () => store.status().freeBytes === freeBytes);
    await expect(store.put("a", "k2", value)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      context: { reason: "DISK_FULL" },
    });
    expect(store.status()).toMatchObject({ writable: false, problem: "DISK_FULL", space: "FULL" });
    expect(await store.get("a", "k")).toEqual(value);
    freeBytes = 16 * MIB;
    await comes(clock, () => store.status().freeBytes === freeBytes);
    await store.put("a", "k2", value);
    expect(store.status()).toMatchObject({ writable: true, problem: null, space: "LOW" });
    await store.close();
  });

  it("keeps pages ahead of its writes, at most a share of a small volume", async () => {
    const clock = new VirtualClock();
    let totalBytes = 40 * MIB;
    const volume = async (): Promise<VolumeState> => ({ freeBytes: 30 * MIB, totalBytes, copiesOnWrite: false });
    const store = openLmdbStore({ directory, clock, volume });
    const reserve = () => store.status().reserveBytes;
    await comes(clock, () => reserve() >= 5 * MIB);
    for (let index = 0; index < 50; index++) await store.put("a", String(index), new Uint8Array(100_000));
    expect(reserve()).toBeLessThan(5 * MIB);
    await comes(clock, () => reserve() >= 5 * MIB);
    for (let step = 0; step < 100; step++) await comes(clock, () => true);
    expect(reserve()).toBeLessThan(6 * MIB);
    totalBytes = 100_000 * MIB;
    await comes(clock, () => reserve() >= 24 * MIB);
    for (let step = 0; step < 100; step++) await comes(clock, () => true);
    expect(reserve()).toBeLessThan(25 * MIB);
    await store.close();
    const again = openLmdbStore({ directory, clock: new VirtualClock() });
    expect(again.status().reserveBytes).toBeGreaterThanOrEqual(23 * MIB);
    expect(await again.get("a", "7")).toEqual(Buffer.alloc(100_000));
    await again.close();
  });

  it("is not full while it has pages, however many writes came since they were counted", async () => {
    const clock = new VirtualClock();
    const volume = async (): Promise<VolumeState> => ({ freeBytes: 0, totalBytes: 40 * MIB, copiesOnWrite: false });
    const store = openLmdbStore({ directory, clock, volume });
    await comes(clock, () => store.status().reserveBytes >= 5 * MIB);
    // From here on the file cannot grow.
    renameSync(join(directory, "data.mdb"), join(directory, "away.mdb"));
    await store.put("a", "k", new Uint8Array(100_000));
    for (let step = 0; step < 50; step++) await comes(clock, () => true);
    const said = new Set<string>();
    for (let index = 0; index < 200; index++) {
      await store.put("a", "k", value);
      const { space, writable } = store.status();
      said.add(`${space} ${writable}`);
    }
    expect([...said]).toEqual(["LOW true"]);
    await store.close();
  });

  it("still treats its volume as short after one failed read of its free space", async () => {
    const clock = new VirtualClock();
    let freeBytes: number | null = 10 * MIB;
    const volume = async (): Promise<VolumeState> => {
      if (freeBytes === null) throw new Error("statfs: interrupted");
      return { freeBytes, totalBytes: 1024 * MIB, copiesOnWrite: false };
    };
    const store = openLmdbStore({ directory, clock, volume });
    await comes(clock, () => store.status().space === "LOW");
    freeBytes = null;
    await comes(clock, () => store.status().freeBytes === null);
    expect(store.status()).toMatchObject({ space: "LOW", writable: true });
    // Above the mark and below the level at which openings come back.
    freeBytes = 70 * MIB;
    await comes(clock, () => store.status().freeBytes === freeBytes);
    expect(store.status().space).toBe("LOW");
    await store.close();
  });

  it("refuses the batch beyond the pending bound and commits the others", async () => {
    const store = openLmdbStore({ directory, clock: new VirtualClock() });
    const settled = await Promise.allSettled(
      Array.from({ length: MAX_PENDING_BATCHES + 5 }, (_, index) => store.put("a", String(index), value)),
    );
    const refused = settled.filter((entry) => entry.status === "rejected");
    expect(refused).toHaveLength(5);
    expect(refused[0]?.reason).toMatchObject({ code: "STORE_UNAVAILABLE", context: { reason: "QUEUE_FULL" } });
    expect(store.status().batchCount).toBe(MAX_PENDING_BATCHES);
    await store.close();
  });

  it("creates the server secret once and finds the same one after a reopen; a configured one takes precedence", async () => {
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

/** Advances time until the condition holds; what this wakes reads the real volume, and writes. */
async function comes(clock: VirtualClock, holds: () => boolean): Promise<void> {
  await vi.waitFor(
    () => {
      clock.advance(100);
      expect(holds()).toBe(true);
    },
    { timeout: 120_000, interval: 1 },
  );
}

function catchError(action: () => unknown): ServiceError | null {
  try {
    action();
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
