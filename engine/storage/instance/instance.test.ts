/** What a start makes of the store's count and of the file beside it. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { decodeJson, encodeJson } from "../state-store.js";
import { createMemoryStore } from "../test/memory-store.js";
import { Instance } from "./instance.js";
import { type CountFile, countFileAt } from "./instance-file.js";
import { readMark } from "./instance-mark.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unwind-instance-"));
  path = join(folder, "data.instance");
});
afterEach(async () => {
  // A write of the file may be under way.
  for (const instance of living.splice(0)) await instance.stop();
  rmSync(folder, { recursive: true, force: true });
});

const clock = new VirtualClock(1_800_000_000_000);
let serial = 0;
const newId = () => (++serial).toString(16).padStart(32, "0");
const living: Instance[] = [];
async function opened(store = createMemoryStore(), file: CountFile = countFileAt(path)): Promise<Instance> {
  const instance = await Instance.open({ store, file, clock, newId, logger: silentLogger });
  living.push(instance);
  return instance;
}
const fileCount = () => (JSON.parse(readFileSync(path, "utf8")) as { readonly count: number }).count;
const ROW = ["instance", "count"] as const;

describe("the count of a store", () => {
  it("grows at each start, in the store and in a file that its owner alone may read", async () => {
    const store = createMemoryStore();
    for (const count of [2, 3, 4]) {
      const instance = await opened(store);
      expect([instance.restored, instance.current.count, fileCount()]).toEqual([null, count, count]);
      await instance.stop();
    }
    expect(readdirSync(folder)).toEqual(["data.instance"]);
    expect(readMark(decodeJson((await store.get(...ROW)) ?? new Uint8Array()))).toMatchObject({ hasFile: true });
  });

  it("is behind where the folder was emptied and the file was not", async () => {
    await opened();
    expect((await opened()).restored).toMatchObject({ reason: "FILE_AHEAD", storeAtMs: null });
  });

  it("is not believed where its file is gone, or says nothing", async () => {
    for (const [reason, spoil] of [
      ["FILE_MISSING", () => rmSync(path)],
      ["FILE_UNREADABLE", () => writeFileSync(path, "{}")],
      ["FILE_UNREADABLE", () => writeFileSync(path, "")],
      ["FILE_UNREADABLE", () => writeFileSync(path, `{"format":2,"id":"${newId()}","count":3}`)],
    ] as const) {
      const store = createMemoryStore();
      rmSync(path, { force: true });
      await opened(store);
      spoil();
      expect((await opened(store)).restored).toMatchObject({ reason });
    }
  });

  it("is another one where it has come as far with another id", async () => {
    const store = createMemoryStore();
    const { current } = await opened(store);
    writeFileSync(path, JSON.stringify({ format: 1, ...current, id: "f".repeat(32) }));
    expect((await opened(store)).restored).toMatchObject({ reason: "OTHER_INSTANCE" });
  });

  it("lets a start go on where the file cannot be written, and nothing of money leave", async () => {
    const store = createMemoryStore();
    chmodSync(folder, 0o500);
    const isRoot = process.getuid?.() === 0;
    const closed: CountFile = {
      read: async () => ({ kind: "missing" }),
      write: () => Promise.reject(new Error("EROFS")),
    };
    const instance = await opened(store, isRoot ? closed : countFileAt(path));
    expect(instance.restored).toBe(null);
    await expect(instance.outside()).rejects.toMatchObject({ context: { reason: "INSTANCE_FILE" } });
    // Nothing was ever outside, so nothing is missing there.
    chmodSync(folder, 0o700);
    const next = await opened(store);
    expect(next.restored).toBe(null);
    await next.outside();
  });

  it("misses no file that was never written, however long the store counts without it", async () => {
    const store = createMemoryStore();
    const closed: CountFile = {
      read: async () => ({ kind: "missing" }),
      write: () => Promise.reject(new Error("EROFS")),
    };
    const instance = await opened(store, closed);
    await store.put("other", "row", new Uint8Array(1));
    await clock.advanceAsync(60_000);
    await instance.stop();
    expect((await opened(store)).restored).toBe(null);
  });

  it("is not released where its file cannot be written, and is open for good where it was released", async () => {
    const store = createMemoryStore();
    await opened(store);
    rmSync(path);
    const file = countFileAt(path);
    let isBroken = true;
    const failing: CountFile = {
      read: () => file.read(),
      write: (count) => (isBroken ? Promise.reject(new Error("ENOSPC")) : file.write(count)),
    };
    const instance = await opened(store, failing);
    await expect(instance.release([])).rejects.toMatchObject({ context: { reason: "INSTANCE_FILE" } });
    expect(instance.restored).toMatchObject({ reason: "FILE_MISSING" });
    isBroken = false;
    await instance.release([]);
    expect([instance.restored, (await opened(store)).restored]).toEqual([null, null]);
  });

  it("is released for good by a commit, also where nothing comes after it", async () => {
    const store = createMemoryStore();
    await opened(store);
    rmSync(path);
    const instance = await opened(store);
    const atCommit: (string | null)[] = [];
    const { commit } = store;
    store.commit = async (batch) => {
      const isDone = await commit(batch);
      // What the next start finds where this is the last act of the process.
      atCommit.push((await opened({ ...store, commit })).restored?.reason ?? null);
      return isDone;
    };
    await instance.release([]);
    expect(atCommit).toEqual([null]);
  });

  it("is another one where the file is that of another installation, which has not come as far", async () => {
    const other = createMemoryStore();
    await opened(other);
    const file = readFileSync(path);
    rmSync(path);
    const store = createMemoryStore();
    for (let start = 0; start < 3; start++) await opened(store);
    writeFileSync(path, file);
    expect((await opened(store)).restored).toMatchObject({ reason: "OTHER_INSTANCE" });
  });

  it("goes on by itself while the store is written to, and rests while it is not", async () => {
    const store = createMemoryStore();
    const instance = await opened(store);
    await clock.advanceAsync(60_000);
    expect(instance.current.count).toBe(2);
    await store.put("other", "row", new Uint8Array(1));
    await clock.advanceAsync(60_000);
    await instance.outside();
    expect([instance.current.count, fileCount()]).toEqual([3, 3]);
    await instance.stop();
  });

  it("waits for the co-signer with what is signed, and takes a higher count of its for a proof", async () => {
    const instance = await opened();
    await instance.witnessed();
    const told: number[] = [];
    instance.bindWitness(() => void told.push(instance.toTell.count));
    // Not what this run has counted before the two met: the co-signer would not see that it was put back.
    expect(instance.toTell.count).toBe(0);
    const waiting = instance.witnessed();
    waiting.catch(() => {});
    const away = instance.vouched().catch((error: unknown) => error);
    await clock.advanceAsync(5_000);
    expect(await away).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    await expect(waiting).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    const again = instance.witnessed();
    instance.heard(instance.toTell);
    await clock.advanceAsync(0);
    expect(told).toEqual([3]);
    await instance.vouched();
    instance.heard(instance.toTell);
    await again;
    instance.met();
    const late = instance.witnessed().catch((error: unknown) => error);
    await clock.advanceAsync(5_000);
    expect(await late).toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    const refused = instance.witnessed().catch((error: unknown) => error);
    instance.heard({ ...instance.current, count: instance.current.count + 1 });
    expect(await refused).toMatchObject({ code: "RESTORED_STORE" });
    expect(() => instance.assertNotRestored()).toThrow(expect.objectContaining({ code: "RESTORED_STORE" }));
  });

  it("cannot be read from a row that this program did not write", async () => {
    const store = createMemoryStore();
    await store.put(...ROW, encodeJson({ id: "x", count: 1 }));
    await expect(opened(store)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
