/**
 * The index over a chain that forks, endpoints that lag and refuse, and kills at every commit, held against what the winning
 * chain alone says. `FUZZ_RUNS=5000` runs more, `FUZZ_SEED` from another seed; a failure names its seed.
 */
import { describe, expect, it } from "vitest";
import { completeStore, type StateStore } from "../../../engine/storage/state-store.js";
import { decodeCursor, encodeCursor, hashAt } from "./cursor.js";
import { CURSOR_NAMESPACE, LIST_NAMESPACE } from "./row-keys.js";
import { KEYS, type Mutant, runHistory } from "./test/history-run.js";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 200);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const MUTANT_RUNS = 150;

/** The store with another `commit` or `get`. */
function changed(store: StateStore, changes: Partial<Pick<StateStore, "commit" | "get">>): StateStore {
  return completeStore({
    get: changes.get ?? ((namespace, key) => store.get(namespace, key)),
    scan: (namespace, options) => store.scan(namespace, options),
    commit: changes.commit ?? ((batch) => store.commit(batch)),
    status: () => store.status(),
    close: () => store.close(),
  });
}

async function cursorOf(store: StateStore) {
  const row = await store.get(CURSOR_NAMESPACE, KEYS.cursor);
  return row === null ? null : decodeCursor(row);
}

const MUTANTS: readonly (readonly [string, Mutant])[] = [
  [
    "the cursor is committed before the rows",
    {
      store: (store) =>
        changed(store, {
          async commit({ writes }) {
            const cursor = writes.filter(({ namespace }) => namespace === CURSOR_NAMESPACE);
            const rows = writes.filter(({ namespace }) => namespace !== CURSOR_NAMESPACE);
            if (cursor.length > 0) await store.commit({ writes: cursor });
            return rows.length === 0 || store.commit({ writes: rows });
          },
        }),
    },
  ],
  [
    "lists forget what is retracted",
    {
      store: (store) =>
        changed(store, {
          commit: ({ writes }) =>
            store.commit({
              writes: writes.filter(({ namespace, value }) => value !== null || namespace !== LIST_NAMESPACE),
            }),
        }),
    },
  ],
  [
    "it does not look whether a range follows what it has",
    {
      endpoint: (endpoint, _chain, store) => ({
        ...endpoint,
        async header(block, options) {
          const [answer, cursor] = [await endpoint.header(block, options), await cursorOf(store)];
          const hash = cursor === null ? null : hashAt(cursor);
          if (answer.kind !== "value" || answer.value === null || hash === null) return answer;
          if (cursor?.block === block) return { ...answer, value: { ...answer.value, hash } };
          return cursor?.block === block - 1 ? { ...answer, value: { ...answer.value, parentHash: hash } } : answer;
        },
      }),
    },
  ],
  [
    "ranges leave out the block between them",
    {
      endpoint: (endpoint) => ({
        ...endpoint,
        logs: (filter, options) =>
          endpoint.logs({ ...filter, fromBlock: Math.min(filter.fromBlock + 1, filter.toBlock) }, options),
      }),
    },
  ],
  [
    "a restart reads the last block again",
    {
      store(store) {
        let isFirst = true;
        return changed(store, {
          async get(namespace, key) {
            const row = await store.get(namespace, key);
            if (namespace !== CURSOR_NAMESPACE || row === null || !isFirst) return row;
            isFirst = false;
            const cursor = decodeCursor(row);
            return encodeCursor({ ...cursor, block: cursor.block - 1, checkpoints: cursor.checkpoints.slice(0, -1) });
          },
        });
      },
    },
  ],
  [
    "an endpoint is believed in blocks that it does not have",
    {
      endpoint: (endpoint) => ({
        ...endpoint,
        async logs(filter, options) {
          const answer = await endpoint.logs(filter, options);
          const isLagging = answer.kind === "failed" && answer.code === "LAGGING";
          return isLagging ? { kind: "value", value: [] } : answer;
        },
      }),
    },
  ],
  [
    "logs of a block that was left are taken for those of its height",
    {
      endpoint: (endpoint) => ({
        ...endpoint,
        async logs(filter, options) {
          const answer = await endpoint.logs(filter, options);
          if (answer.kind !== "value") return answer;
          const logs = answer.value.map(async (log) => {
            const header = await endpoint.header(log.block, options);
            const blockHash = header.kind === "value" && header.value !== null ? header.value.hash : log.blockHash;
            return { ...log, blockHash, isRemoved: false };
          });
          return { kind: "value", value: await Promise.all(logs) };
        },
      }),
    },
  ],
];

describe("the index of venuefive while the chain forks", () => {
  it(`has what the winning chain has, through kills, in ${RUNS} runs`, async () => {
    const sums = { reorgs: 0, deaths: 0, retracted: 0, events: 0 };
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const outcome = await runHistory(seed);
      expect(outcome.problem, `FUZZ_SEED=${seed} FUZZ_RUNS=1`).toBeNull();
      sums.reorgs += outcome.reorgCount;
      sums.deaths += outcome.deathCount;
      sums.retracted += outcome.retractedCount;
      sums.events += outcome.eventCount;
    }
    // None of it in vain.
    if (RUNS >= 50)
      expect([sums.reorgs > RUNS, sums.deaths > RUNS, sums.retracted > RUNS, sums.events > 20 * RUNS]).toEqual([
        ...[true, true, true, true],
      ]);
  });

  it.each(MUTANTS)("is found wrong where %s", async (_name, mutant) => {
    for (let seed = 1; seed <= MUTANT_RUNS; seed++) if ((await runHistory(seed, mutant)).problem !== null) return;
    throw new Error(`nothing was found in ${MUTANT_RUNS} runs`);
  });
});
