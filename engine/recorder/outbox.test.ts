import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../domain/random.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { recordTable, writtenColumns } from "../storage/records/schema.js";
import type { StateStore, StateWrite } from "../storage/state-store.js";
import { createMemoryStore } from "../storage/test/memory-store.js";
import { createTokenSource } from "./batch.js";
import { createCounts } from "./counters.js";
import { DURABLE_TABLES, Outbox, outboxWrite, type DurableTable } from "./outbox.js";
import { FakeStore } from "./test/fake-store.js";
import { listLogger, seededIds } from "./test/world.js";

const RETRY_MS = 30_000;

interface Life {
  readonly outbox: Outbox;
  readonly counts: ReturnType<typeof createCounts>;
  readonly logLines: string[];
}

async function start(
  stateStore: StateStore,
  store: FakeStore,
  clock: VirtualClock,
  seed = 1,
  bounds: { readonly rowsMax?: number } = {},
): Promise<Life> {
  const counts = createCounts();
  const logLines: string[] = [];
  const outbox = new Outbox({
    ...{ stateStore, store, counts, clock },
    token: createTokenSource("n", seededIds(seed)),
    random: createSeededRandom(seed),
    logger: listLogger(logLines),
    ...bounds,
  });
  await outbox.start();
  return { outbox, counts, logLines };
}

/** The content of each row is its name, so that the store's bytes show which rows it has. */
function rowOf(table: DurableTable, name: string, partition = 202611): StateWrite {
  return outboxWrite(table, partition, name, Buffer.from(`<${name}>`));
}

async function put(stateStore: StateStore, outbox: Outbox, writes: readonly StateWrite[]): Promise<void> {
  await stateStore.commit({ writes });
  outbox.committed(writes);
}

/** The names of the rows in the record, in any order, with repetitions. */
function stored(store: FakeStore): string[] {
  return [...store.batches.values()]
    .flatMap(({ bytes }) =>
      [
        ...Buffer.from(bytes)
          .toString()
          .matchAll(/<([^>]*)>/g),
      ].map((match) => match[1] as string),
    )
    .sort();
}

const names = (count: number, prefix = "r"): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`).sort();

describe("the rows of closes in the outbox", () => {
  it("are stored soon after their commit, in batches of one table and one month, and then removed", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox, counts } = await start(stateStore, store, clock);
    await put(stateStore, outbox, [
      rowOf("fills", "a"),
      rowOf("fills", "b", 202612),
      rowOf("order_events", "c"),
      rowOf("order_events", "d"),
      rowOf("routing_decisions", "e"),
    ]);
    expect(outbox.backlog().rows).toBe(5);
    await clock.advanceAsync(300);
    expect(stored(store)).toEqual(["a", "b", "c", "d", "e"]);
    expect([...store.batches.values()].map(({ rowCount }) => rowCount).sort()).toEqual([1, 1, 1, 2]);
    expect(stateStore.rowCount()).toBe(0);
    expect(counts.fills).toMatchObject({ accepted: 2, stored: 2 });
    expect(outbox.backlog()).toEqual({ rows: 0, bytes: 0, backlogged: false });
  });

  it("name the columns that they were written with", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox } = await start(stateStore, store, clock);
    const table = recordTable("fills");
    const columns = writtenColumns(table).map(({ name }) => name);
    // Written by a release that had one column less.
    const older = {
      namespace: "record-rows",
      key: `fills|${table.columns.length - 1}|202611|old`,
      value: Buffer.from("<old>"),
    };
    await put(stateStore, outbox, [older, rowOf("fills", "new")]);
    await clock.advanceAsync(300);
    const columnsByRow = new Map(
      [...store.batches.values()].map((batch) => [Buffer.from(batch.bytes).toString(), batch.columns]),
    );
    expect(columnsByRow.get("<old>")).toEqual(columns.slice(0, -1));
    expect(columnsByRow.get("<new>")).toEqual(columns);
  });

  it("wait as long as the store is away, and all arrive afterwards", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox } = await start(stateStore, store, clock);
    store.status = { ...store.status, state: "away" };
    for (const name of names(900)) await put(stateStore, outbox, [rowOf("order_events", name)]);
    await clock.advanceAsync(600_000);
    expect(stored(store)).toEqual([]);
    expect(store.insertCount).toBeLessThan(150);
    store.status = { ...store.status, state: "on" };
    await clock.advanceAsync(RETRY_MS);
    expect(stored(store)).toEqual(names(900));
  });

  it("are kept beyond the bound too, and the backlog's start and end are each reported once", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox, logLines } = await start(stateStore, store, clock, 1, { rowsMax: 10 });
    store.status = { ...store.status, state: "away" };
    for (const name of names(30)) await put(stateStore, outbox, [rowOf("fills", name)]);
    expect(outbox.backlog()).toMatchObject({ rows: 30, backlogged: true });
    store.status = { ...store.status, state: "on" };
    await clock.advanceAsync(RETRY_MS);
    expect(stored(store)).toEqual(names(30));
    expect(outbox.backlog().backlogged).toBe(false);
    expect(logLines.filter((line) => line.includes("records_backlog"))).toHaveLength(2);
  });

  it("include one that the server refuses: it is found among the others, set aside in the state store, and blocks nothing", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox, counts, logLines } = await start(stateStore, store, clock);
    store.fate = ({ bytes }) => (Buffer.from(bytes).includes("<r17>") ? "refuse" : "store");
    await put(
      stateStore,
      outbox,
      names(60).map((name) => rowOf("fills", name)),
    );
    await clock.advanceAsync(RETRY_MS);
    expect(stored(store)).toEqual(names(60).filter((name) => name !== "r17"));
    expect(counts.fills).toMatchObject({ stored: 59, dropped: { refused: 1 } });
    expect(await stateStore.scan("record-refused", { prefix: "", limit: 10 })).toHaveLength(1);
    expect(logLines.filter((line) => line.includes("records_batch_refused"))).toHaveLength(1);
    expect(outbox.backlog().rows).toBe(0);
  });

  it("are all stored but those that the server refuses in each table, however many splits that takes", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    const { outbox, counts, logLines } = await start(stateStore, store, clock);
    store.fate = ({ bytes }) => (/<\w+[05]>/.test(Buffer.from(bytes).toString()) ? "refuse" : "store");
    for (const table of DURABLE_TABLES)
      for (const prefix of ["a", "b", "c"])
        await put(
          stateStore,
          outbox,
          names(80, prefix).map((name) => rowOf(table, name)),
        );
    await clock.advanceAsync(RETRY_MS);
    for (const table of DURABLE_TABLES) {
      expect(counts[table]).toMatchObject({ accepted: 240, stored: 192, dropped: { refused: 48 } });
    }
    expect(logLines.filter((line) => line.includes("outbox_failed"))).toEqual([]);
    // Rows in the record are no longer in the state store; the refused rows are kept there.
    expect(await stateStore.scan("record-batches", { prefix: "", limit: 10 })).toEqual([]);
    expect(stateStore.rowCount()).toBe(DURABLE_TABLES.length * 48);
    expect(outbox.backlog()).toEqual({ rows: 0, bytes: 0, backlogged: false });
  });
});

describe("the outbox across crashes", () => {
  it("counts the bytes of batches that were claimed but not acknowledged as waiting", async () => {
    const clock = new VirtualClock();
    const stateStore = createMemoryStore();
    const store = new FakeStore();
    store.status = { ...store.status, state: "away" };
    const first = await start(stateStore, store, clock);
    await put(stateStore, first.outbox, [rowOf("fills", "claimed")]);
    await clock.advanceAsync(300);
    await first.outbox.stop();
    await put(stateStore, first.outbox, [rowOf("fills", "waiting")]);
    const before = first.outbox.backlog();
    expect(before).toMatchObject({ rows: 2, bytes: "<claimed><waiting>".length });
    const second = await start(stateStore, store, clock, 2);
    expect(second.outbox.backlog()).toEqual(before);
  });

  /**
   * The state store as one process sees it: a call of a dead process never returns, and what it began may or may not be
   * written.
   */
  function mortal(disk: StateStore, life: { callsLeft: number; dead: boolean }, landed: () => boolean): StateStore {
    const gate = async <T>(call: () => Promise<T>): Promise<T> => {
      if (life.dead) return new Promise(() => {});
      life.callsLeft -= 1;
      if (life.callsLeft <= 0) {
        life.dead = true;
        if (landed()) await call();
        return new Promise(() => {});
      }
      return call();
    };
    return {
      ...disk,
      get: (...args) => gate(() => disk.get(...args)),
      scan: (...args) => gate(() => disk.scan(...args)),
      commit: (batch) => gate(() => disk.commit(batch)),
    };
  }

  it.each(Array.from({ length: 40 }, (_, index) => Number(process.env.FUZZ_SEED ?? index + 1)))(
    "stores each committed row exactly once (seed %d)",
    async (seed) => {
      const random = createSeededRandom(seed);
      const clock = new VirtualClock();
      const disk = createMemoryStore();
      const store = new FakeStore();
      const committed: string[] = [];
      let next = 0;
      for (let life = 0; life < 6; life++) {
        const last = life === 5;
        const mortality = {
          callsLeft: last ? Number.POSITIVE_INFINITY : 3 + Math.floor(random.next() * 30),
          dead: false,
        };
        const stateStore = mortal(disk, mortality, () => random.next() < 0.5);
        store.latency = () => new Promise((resolve) => clock.setTimer(resolve, random.next() * 40));
        store.fate = () => {
          const draw = last ? 1 : random.next();
          return draw < 0.1 ? "lose" : draw < 0.25 ? "storeWithoutReply" : "store";
        };
        const starting = start(stateStore, store, clock, seed * 100 + life);
        const begun = await Promise.race([starting, clock.advanceAsync(50).then(() => null)]);
        if (begun === null) continue;
        for (let step = 0; step < 12 && !mortality.dead; step++) {
          const table = DURABLE_TABLES[Math.floor(random.next() * DURABLE_TABLES.length)] as DurableTable;
          const fresh = Array.from({ length: 1 + Math.floor(random.next() * 90) }, () => `x${next++}`);
          // The conclusion of a close: it is durable when this resolves, even if the process then dies.
          const writes = fresh.map((name) => rowOf(table, name));
          await disk.commit({ writes });
          committed.push(...fresh);
          if (!mortality.dead) begun.outbox.committed(writes);
          await clock.advanceAsync(random.next() * 600);
        }
        if (!last) mortality.dead = true;
        if (last) {
          await clock.advanceAsync(RETRY_MS * 3);
          const { counts } = begun;
          for (const table of DURABLE_TABLES) {
            expect(counts[table].accepted + counts[table].recovered).toBe(counts[table].stored);
          }
          expect(begun.outbox.backlog().rows).toBe(0);
        }
      }
      expect(store.tokenClashes).toBe(0);
      expect(stored(store)).toEqual(committed.sort());
      expect(disk.rowCount()).toBe(0);
    },
  );
});
