/**
 * The port of everything that must survive the process: idempotency records, intents, nonce marks, executions. Two
 * adapters implement it and pass one contract test (test/state-store.contract.ts).
 *
 * Invariant: when a write's promise resolves, the write survives a crash of process and machine (fsync per group
 * commit). When it rejects, nothing may rely on it: it was not acknowledged, but it may still be found after a restart.
 *
 * Keys and namespaces are text, values bytes. Rows of a namespace are ordered by the bytes of their UTF-8 key. The port
 * is independent of the engine below: every call is asynchronous, conditions compare whole values, and no transaction
 * spans an await of the caller.
 */
import { ServiceError } from "../domain/errors.js";

export const MAX_NAMESPACE_BYTES = 32;
export const MAX_KEY_BYTES = 512;
export const MAX_VALUE_BYTES = 1 << 20;
/** Writes and conditions of one atomic batch. */
export const MAX_BATCH_ROWS = 256;
export const MAX_SCAN_ROWS = 1_000;

export interface StateRow {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Holds when the row's value equals `expected`; null: when there is no row. */
export interface StateCondition {
  readonly namespace: string;
  readonly key: string;
  readonly expected: Uint8Array | null;
}

/** `value` null removes the row; removing a missing row is no error. */
export interface StateWrite {
  readonly namespace: string;
  readonly key: string;
  readonly value: Uint8Array | null;
}

export interface StateBatch {
  readonly conditions?: readonly StateCondition[];
  readonly writes: readonly StateWrite[];
}

export interface ScanOptions {
  /** Only keys that start with it; "" for all. */
  readonly prefix: string;
  /** Exclusive start, for the next page. */
  readonly after?: string;
  /** 1 to MAX_SCAN_ROWS. */
  readonly limit: number;
}

export interface StoreStatus {
  /** false once a commit failed or the store was closed: every later write is refused. */
  readonly writable: boolean;
  readonly problem: StoreProblem | null;
  /** Batches that wait or are being committed. */
  readonly pendingBatchCount: number;
  /** Group commits so far; fewer than batches when callers share an fsync. */
  readonly commitCount: number;
  readonly batchCount: number;
  readonly space: Space;
  /** Free bytes of the volume; null if they could not be read, or there is no volume. */
  readonly freeBytes: number | null;
  /** At least this much can still be written where the volume is full. */
  readonly reserveBytes: number;
}

/**
 * Space of the volume. AMPLE: everything runs. TIGHT: ticks are no longer recorded. LOW: no market data is recorded,
 * and nothing is opened. FULL: nothing can be written.
 */
export type Space = "AMPLE" | "TIGHT" | "LOW" | "FULL";

/** `reason` of a STORE_UNAVAILABLE. */
export type StoreProblem =
  | "LOCKED"
  | "NOT_WRITABLE"
  /** A newer program wrote the folder. */
  | "NEWER_FORMAT"
  | "MIGRATION_FAILED"
  /** Nothing can be written. */
  | "DISK_FULL"
  /** The rest is kept for exits: nothing is opened. */
  | "DISK_LOW"
  | "QUEUE_FULL"
  | "COMMIT_FAILED"
  | "READ_FAILED"
  | "CLOSED"
  | "TIMEOUT";

/** What an adapter must implement; `completeStore` adds the rest. */
export interface StateStoreCore {
  get(namespace: string, key: string): Promise<Uint8Array | null>;
  scan(namespace: string, options: ScanOptions): Promise<StateRow[]>;
  /**
   * Writes all rows or none. Returns false when a condition did not hold and nothing was written. Rejects with
   * STORE_UNAVAILABLE.
   */
  commit(batch: StateBatch): Promise<boolean>;
  status(): StoreStatus;
  /** Waits for commits under way. Idempotent. */
  close(): Promise<void>;
}

export interface StateStore extends StateStoreCore {
  put(namespace: string, key: string, value: Uint8Array): Promise<void>;
  /** Returns false when a row existed already, which is kept. */
  putIfAbsent(namespace: string, key: string, value: Uint8Array): Promise<boolean>;
  /** Returns false when the row was not as expected (null: absent); it is then unchanged. `value` null removes it. */
  compareAndSet(
    namespace: string,
    key: string,
    expected: Uint8Array | null,
    value: Uint8Array | null,
  ): Promise<boolean>;
  remove(namespace: string, key: string): Promise<void>;
}

/** Adds the single-row forms, and the checks of names and sizes, to an adapter. */
export function completeStore(core: StateStoreCore): StateStore {
  const commit = async (batch: StateBatch): Promise<boolean> => {
    assertBatch(batch);
    return core.commit(batch);
  };
  return {
    async get(namespace, key) {
      assertRowName(namespace, key);
      return core.get(namespace, key);
    },
    async scan(namespace, options) {
      assertRowName(namespace, options.prefix === "" ? "-" : options.prefix);
      if (!Number.isInteger(options.limit) || options.limit < 1 || options.limit > MAX_SCAN_ROWS)
        throw misuse("SCAN_LIMIT");
      return core.scan(namespace, options);
    },
    commit,
    status: () => core.status(),
    close: () => core.close(),
    async put(namespace, key, value) {
      await commit({ writes: [{ namespace, key, value }] });
    },
    putIfAbsent: (namespace, key, value) =>
      commit({ conditions: [{ namespace, key, expected: null }], writes: [{ namespace, key, value }] }),
    compareAndSet: (namespace, key, expected, value) =>
      commit({ conditions: [{ namespace, key, expected }], writes: [{ namespace, key, value }] }),
    async remove(namespace, key) {
      await commit({ writes: [{ namespace, key, value: null }] });
    },
  };
}

export function storeUnavailable(reason: StoreProblem, cause?: unknown): ServiceError {
  return new ServiceError("STORE_UNAVAILABLE", { reason }, cause === undefined ? {} : { cause });
}

export interface AllRowsOptions {
  /** Default: all keys. */
  readonly prefix?: string;
  /** Of one look; fewer where rows are large. Default: MAX_SCAN_ROWS. */
  readonly pageRows?: number;
}

/** In the order of their keys, page by page. Rows that are added meanwhile may be missing. */
export async function* allRows(
  store: Pick<StateStoreCore, "scan">,
  namespace: string,
  { prefix = "", pageRows = MAX_SCAN_ROWS }: AllRowsOptions = {},
): AsyncGenerator<StateRow> {
  for (let after: string | undefined; ; ) {
    const page: StateRow[] = await store.scan(namespace, {
      ...{ prefix, limit: pageRows },
      ...(after === undefined ? {} : { after }),
    });
    yield* page;
    after = page.at(-1)?.key;
    if (after === undefined || page.length < pageRows) return;
  }
}

export function encodeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value), "utf8");
}

/** For rows this program wrote itself; a row that is no JSON is corrupt and throws. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
}

export function sameBytes(left: Uint8Array | null, right: Uint8Array | null): boolean {
  if (left === null || right === null) return left === right;
  return Buffer.compare(left, right) === 0;
}

function assertBatch(batch: StateBatch): void {
  const conditions = batch.conditions ?? [];
  if (batch.writes.length === 0) throw misuse("EMPTY_BATCH");
  if (batch.writes.length + conditions.length > MAX_BATCH_ROWS) throw misuse("BATCH_TOO_LARGE");
  for (const condition of conditions) assertRowName(condition.namespace, condition.key);
  for (const write of batch.writes) {
    assertRowName(write.namespace, write.key);
    if (write.value !== null && write.value.byteLength > MAX_VALUE_BYTES) throw misuse("VALUE_TOO_LARGE");
  }
}

const NAMESPACE_PATTERN = /^[a-z0-9-]+$/;
/** With the u flag a surrogate class matches lone surrogates only; they have no UTF-8 form. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

function assertRowName(namespace: string, key: string): void {
  if (!NAMESPACE_PATTERN.test(namespace) || namespace.length > MAX_NAMESPACE_BYTES) throw misuse("NAMESPACE");
  if (key === "" || key.includes("\0") || LONE_SURROGATE.test(key)) throw misuse("KEY");
  if (Buffer.byteLength(key, "utf8") > MAX_KEY_BYTES) throw misuse("KEY_TOO_LARGE");
}

/** A caller inside this program broke the bounds: our bug, not a state of the store. */
function misuse(problem: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `state store: ${problem}` });
}
