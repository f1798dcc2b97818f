/**
 * StateStore in memory, for tests only: the second adapter of the contract, and the store of the simulations. `crash()`
 * drops commits that were not yet acknowledged, as a killed process would, and `gate` lets a test hold or fail commits.
 */
import {
  completeStore,
  MAX_SCAN_ROWS,
  sameBytes,
  storeUnavailable,
  type ScanOptions,
  type Space,
  type StateBatch,
  type StateRow,
  type StateStore,
  type StoreProblem,
} from "../state-store.js";

export interface MemoryStore extends StateStore {
  /** Awaited before each commit; a rejection fails that commit with STORE_UNAVAILABLE. */
  gate: (batch: StateBatch) => Promise<void>;
  /** Every value ever committed, as text: for tests that search for leaked secrets. */
  readonly writtenText: string[];
  rowCount(): number;
  /** The space of the volume that the store reports. */
  space: Space;
}

export function createMemoryStore(): MemoryStore {
  const rows = new Map<string, Uint8Array>();
  const writtenText: string[] = [];
  let problem: StoreProblem | null = null;
  let commitCount = 0;
  const rowName = (namespace: string, key: string): string => `${namespace}\0${key}`;
  const assertOpen = (): void => {
    if (problem !== null) throw storeUnavailable(problem);
  };
  const completed = completeStore({
    async get(namespace: string, key: string): Promise<Uint8Array | null> {
      assertOpen();
      const value = rows.get(rowName(namespace, key));
      return value === undefined ? null : Uint8Array.from(value);
    },
    async scan(namespace: string, options: ScanOptions): Promise<StateRow[]> {
      assertOpen();
      const found: StateRow[] = [];
      for (const [name, value] of rows) {
        const split = name.indexOf("\0");
        const key = name.slice(split + 1);
        if (name.slice(0, split) !== namespace || !key.startsWith(options.prefix)) continue;
        if (options.after !== undefined && Buffer.compare(Buffer.from(key), Buffer.from(options.after)) <= 0) continue;
        found.push({ key, value: Uint8Array.from(value) });
      }
      found.sort((left, right) => Buffer.compare(Buffer.from(left.key), Buffer.from(right.key)));
      return found.slice(0, Math.min(options.limit, MAX_SCAN_ROWS));
    },
    async commit(batch: StateBatch): Promise<boolean> {
      assertOpen();
      await store.gate(batch);
      assertOpen();
      for (const condition of batch.conditions ?? []) {
        if (!sameBytes(rows.get(rowName(condition.namespace, condition.key)) ?? null, condition.expected)) return false;
      }
      for (const write of batch.writes) {
        if (write.value === null) rows.delete(rowName(write.namespace, write.key));
        else {
          rows.set(rowName(write.namespace, write.key), Uint8Array.from(write.value));
          writtenText.push(`${write.namespace} ${write.key} ${Buffer.from(write.value).toString("utf8")}`);
        }
      }
      commitCount += 1;
      return true;
    },
    status: () => ({
      ...{ writable: problem === null, problem, pendingBatchCount: 0, commitCount, batchCount: commitCount },
      ...{ space: store.space, freeBytes: null, reserveBytes: 0 },
    }),
    async close(): Promise<void> {
      problem = "CLOSED";
    },
  });
  const store: MemoryStore = {
    ...completed,
    gate: async () => {},
    writtenText,
    rowCount: () => rows.size,
    space: "AMPLE",
  };
  return store;
}
