/** What every StateStore adapter must do; each adapter's test file runs it. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  decodeJson,
  encodeJson,
  MAX_BATCH_ROWS,
  MAX_KEY_BYTES,
  MAX_SCAN_ROWS,
  MAX_VALUE_BYTES,
  type StateStore,
} from "../state-store.js";

const bytes = (text: string): Uint8Array => Buffer.from(text, "utf8");
const text = (value: Uint8Array | null): string | null => (value === null ? null : Buffer.from(value).toString("utf8"));

/** `reopen` closes the store and opens it again on the same data; null for stores without a disk. */
export function describeStateStore(
  name: string,
  openStore: () => Promise<{
    store: StateStore;
    reopen: (() => Promise<StateStore>) | null;
    dispose: () => Promise<void>;
  }>,
): void {
  describe(`${name}, held to the StateStore contract,`, () => {
    let store: StateStore;
    let reopen: (() => Promise<StateStore>) | null;
    let dispose: () => Promise<void>;

    beforeEach(async () => {
      ({ store, reopen, dispose } = await openStore());
    });
    afterEach(async () => {
      await store.close();
      await dispose();
    });

    it("returns what was put, replaces it, and returns null for a missing row", async () => {
      expect(await store.get("a", "k")).toBeNull();
      await store.put("a", "k", bytes("one"));
      await store.put("a", "k", bytes("two"));
      expect(text(await store.get("a", "k"))).toBe("two");
      await store.remove("a", "k");
      await store.remove("a", "k");
      expect(await store.get("a", "k")).toBeNull();
    });

    it("keeps the value at the time of the call, not a view of the caller's buffer", async () => {
      const value = bytes("before");
      await store.put("a", "k", value);
      value.fill(0);
      const read = await store.get("a", "k");
      expect(text(read)).toBe("before");
      read?.fill(0);
      expect(text(await store.get("a", "k"))).toBe("before");
    });

    it("stores empty values, bytes of any kind, and JSON", async () => {
      await store.put("a", "empty", new Uint8Array(0));
      expect((await store.get("a", "empty"))?.byteLength).toBe(0);
      const all = Uint8Array.from({ length: 256 }, (_, index) => index);
      await store.put("a", "all", all);
      expect(Buffer.from((await store.get("a", "all")) ?? [])).toEqual(Buffer.from(all));
      await store.put("a", "json", encodeJson({ x: ["é", 1, null] }));
      const json = await store.get("a", "json");
      expect(json === null ? null : decodeJson(json)).toEqual({ x: ["é", 1, null] });
    });

    it("keeps namespaces apart, also where one name is the beginning of another", async () => {
      await store.put("ab", "k", bytes("1"));
      await store.put("abc", "k", bytes("2"));
      await store.put("ab", "ck", bytes("3"));
      expect((await store.scan("ab", { prefix: "", limit: 10 })).map((row) => row.key)).toEqual(["ck", "k"]);
      expect((await store.scan("abc", { prefix: "", limit: 10 })).map((row) => row.key)).toEqual(["k"]);
    });

    it("puts if absent exactly once among concurrent callers", async () => {
      const wins = await Promise.all(
        Array.from({ length: 50 }, (_, index) => store.putIfAbsent("a", "k", bytes(String(index)))),
      );
      expect(wins.filter(Boolean)).toHaveLength(1);
      expect(text(await store.get("a", "k"))).toBe(String(wins.indexOf(true)));
    });

    it("compares the whole value before it sets, from and to absent too", async () => {
      expect(await store.compareAndSet("a", "k", bytes("x"), bytes("y"))).toBe(false);
      expect(await store.compareAndSet("a", "k", null, bytes("1"))).toBe(true);
      expect(await store.compareAndSet("a", "k", bytes("11"), bytes("2"))).toBe(false);
      expect(await store.compareAndSet("a", "k", bytes("1"), bytes("2"))).toBe(true);
      expect(await store.compareAndSet("a", "k", bytes("2"), null)).toBe(true);
      expect(await store.get("a", "k")).toBeNull();
    });

    it("loses no increment of concurrent compare-and-set loops", async () => {
      await store.put("a", "n", bytes("0"));
      const increment = async (): Promise<void> => {
        for (;;) {
          const current = await store.get("a", "n");
          const next = bytes(String(Number(text(current)) + 1));
          if (await store.compareAndSet("a", "n", current, next)) return;
        }
      };
      await Promise.all(Array.from({ length: 20 }, increment));
      expect(text(await store.get("a", "n"))).toBe("20");
    });

    it("writes all rows of a batch or none", async () => {
      await store.put("a", "guard", bytes("1"));
      const writes = [
        { namespace: "a", key: "x", value: bytes("x") },
        { namespace: "b", key: "y", value: bytes("y") },
        { namespace: "a", key: "guard", value: null },
      ];
      expect(await store.commit({ conditions: [{ namespace: "a", key: "guard", expected: bytes("2") }], writes })).toBe(
        false,
      );
      expect(await store.get("a", "x")).toBeNull();
      expect(text(await store.get("a", "guard"))).toBe("1");
      expect(await store.commit({ conditions: [{ namespace: "a", key: "guard", expected: bytes("1") }], writes })).toBe(
        true,
      );
      expect(text(await store.get("b", "y"))).toBe("y");
      expect(await store.get("a", "guard")).toBeNull();
    });

    it("scans by prefix in byte order, page by page", async () => {
      const keys = ["p:1", "p:10", "p:2", "p:é", "p:\u{1f600}", "p:\uffee", "p", "q:1", "o:9"];
      await store.commit({ writes: keys.map((key) => ({ namespace: "a", key, value: bytes(key) })) });
      const expected = keys
        .filter((key) => key.startsWith("p:"))
        .sort((left, right) => Buffer.compare(bytes(left), bytes(right)));
      expect((await store.scan("a", { prefix: "p:", limit: 100 })).map((row) => row.key)).toEqual(expected);
      const paged: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await store.scan("a", { prefix: "p:", limit: 2, ...(after === undefined ? {} : { after }) });
        paged.push(...page.map((row) => row.key));
        if (page.length < 2) break;
        after = page.at(-1)?.key;
      }
      expect(paged).toEqual(expected);
      expect(await store.scan("a", { prefix: "zz", limit: 5 })).toEqual([]);
      expect((await store.scan("a", { prefix: "p:", after: "a", limit: 1 })).map((row) => row.key)).toEqual(
        expected.slice(0, 1),
      );
    });

    it("accepts sizes at the bounds and refuses one past them without writing", async () => {
      const key = "k".repeat(MAX_KEY_BYTES);
      const value = new Uint8Array(MAX_VALUE_BYTES);
      await store.put("n".repeat(32), key, value);
      expect((await store.get("n".repeat(32), key))?.byteLength).toBe(MAX_VALUE_BYTES);
      const tooMany = Array.from({ length: MAX_BATCH_ROWS + 1 }, (_, index) => ({
        namespace: "a",
        key: String(index),
        value: null,
      }));
      await expect(store.put("a", `${key}x`, value)).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(store.put("a", "é".repeat(MAX_KEY_BYTES / 2 + 1), value)).rejects.toMatchObject({
        code: "INTERNAL",
      });
      await expect(store.put("a", "v", new Uint8Array(MAX_VALUE_BYTES + 1))).rejects.toMatchObject({
        code: "INTERNAL",
      });
      await expect(store.commit({ writes: tooMany })).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(store.commit({ writes: [] })).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(store.scan("a", { prefix: "", limit: MAX_SCAN_ROWS + 1 })).rejects.toMatchObject({
        code: "INTERNAL",
      });
      expect(await store.get("a", "v")).toBeNull();
    });

    it.each([
      ["", "k"],
      ["A", "k"],
      ["a\0b", "k"],
      ["n".repeat(33), "k"],
      ["a", ""],
      ["a", "k\0"],
      ["a", "\ud800"],
    ])("refuses the row name %j %j", async (namespace, key) => {
      await expect(store.put(namespace, key, bytes("v"))).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(store.get(namespace, key)).rejects.toMatchObject({ code: "INTERNAL" });
    });

    it("equals a plain map after any sequence of batches", async () => {
      const key = fc.constantFrom("a", "ab", "b", "b1", "c");
      const value = fc.option(fc.constantFrom("1", "2", "3"), { nil: null });
      const batch = fc.record({
        conditions: fc.array(fc.tuple(key, value), { maxLength: 2 }),
        writes: fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 4 }),
      });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(batch, { maxLength: 12 }), async (batches) => {
          const namespace = `r${round++}`;
          const model = new Map<string, string>();
          for (const { conditions, writes } of batches) {
            const holds = conditions.every(([name, expected]) => (model.get(name) ?? null) === expected);
            const toBytes = (entry: string | null): Uint8Array | null => (entry === null ? null : bytes(entry));
            const committed = await store.commit({
              conditions: conditions.map(([name, expected]) => ({ namespace, key: name, expected: toBytes(expected) })),
              writes: writes.map(([name, entry]) => ({ namespace, key: name, value: toBytes(entry) })),
            });
            expect(committed).toBe(holds);
            if (!holds) continue;
            for (const [name, entry] of writes) {
              if (entry === null) model.delete(name);
              else model.set(name, entry);
            }
          }
          const rows = await store.scan(namespace, { prefix: "", limit: 100 });
          expect(rows.map((row) => [row.key, text(row.value)])).toEqual(
            [...model].sort(([left], [right]) => (left < right ? -1 : 1)),
          );
        }),
        { numRuns: 60, seed: 20_260_917 },
      );
    });

    it("refuses everything after close, with that reason", async () => {
      await store.put("a", "k", bytes("v"));
      await store.close();
      await store.close();
      await expect(store.put("a", "k", bytes("w"))).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
        context: { reason: "CLOSED" },
      });
      await expect(store.get("a", "k")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(store.status()).toMatchObject({ writable: false, problem: "CLOSED" });
    });

    it("finds its rows again after a reopen", async () => {
      if (reopen === null) {
        // A store without a disk keeps nothing over a reopen; it must refuse as closed instead.
        await store.close();
        expect(store.status().writable).toBe(false);
        return;
      }
      await store.put("a", "k", bytes("v"));
      store = await reopen();
      expect(text(await store.get("a", "k"))).toBe("v");
    });
  });
}
