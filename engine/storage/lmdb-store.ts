/**
 * StateStore over lmdb: the embedded default.
 *
 * Group commit: one transaction at a time; batches that arrive while it is being flushed wait and share
 * the next one, so a thousand concurrent commits cost a few fsyncs. `overlappingSync` is off, which makes
 * a resolved transaction a flushed one (one fdatasync per commit, seen by strace). Conditions are
 * checked inside the write transaction.
 *
 * A failed commit ends writing for good: after one, the state of the file's pages and of the native
 * binding is not to be trusted (lmdb 3.5.6 corrupted its heap when used on after a refused page write),
 * so the store refuses all later writes and the process is to be restarted; acknowledged rows are safe.
 * The common cause is foreseen instead: below `minFreeBytes` on the volume writes are refused, and
 * accepted again once there is space.
 */
import { randomUUID } from "node:crypto";
import { accessSync, chmodSync, constants, mkdirSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { open, type RootDatabase, type RootDatabaseOptions } from "lmdb";
import type { Clock } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import { isOwnerAlive, ownOwnerRow, parseOwnerRow } from "./lmdb-owner.js";
import {
  completeStore,
  sameBytes,
  storeUnavailable,
  type ScanOptions,
  type StateBatch,
  type StateRow,
  type StateStore,
  type StoreProblem,
} from "./state-store.js";

/** Batches waiting for their commit; beyond it writes are refused. */
export const MAX_PENDING_BATCHES = 10_000;
/** Batches per transaction: bounds how long one write transaction holds the event loop. */
export const MAX_GROUP_BATCHES = 1_000;
const DEFAULT_MIN_FREE_BYTES = 64 << 20;
const FREE_SPACE_CHECK_INTERVAL_MS = 1_000;

/** How the file is opened, by the service and by whoever looks at it before. */
export const STATE_FILE_OPTIONS = {
  keyEncoding: "binary",
  encoding: "binary",
  overlappingSync: false,
  cache: false,
  // Its hidden per-turn promise would reject unhandled after a failed commit.
  eventTurnBatching: false,
  maxDbs: 1,
} as const satisfies RootDatabaseOptions;

export interface LmdbStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly minFreeBytes?: number;
  /** Free bytes of the volume; a test passes its own. */
  readonly freeBytes?: () => Promise<number>;
  /** Called once when a commit failed: log it and restart the process. */
  readonly onFailure?: (cause: unknown) => void;
}

interface PendingBatch {
  readonly batch: StateBatch;
  readonly settle: (committed: boolean) => void;
  readonly fail: (error: ServiceError) => void;
}

/** Throws STORE_UNAVAILABLE with `reason` LOCKED or NOT_WRITABLE and the directory, for the operator. */
export function openLmdbStore(options: LmdbStoreOptions): StateStore {
  const directory = resolve(options.directory);
  let database: RootDatabase<Buffer, Buffer>;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    database = open<Buffer, Buffer>({ path: directory, noSubdir: false, ...STATE_FILE_OPTIONS });
    makePrivate(directory);
  } catch (cause) {
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "NOT_WRITABLE", directory }, { cause });
  }
  const owner = JSON.stringify(ownOwnerRow(randomUUID()));
  let taken: boolean;
  try {
    taken = takeOwnership(database, owner);
  } catch (cause) {
    void database.close();
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "NOT_WRITABLE", directory }, { cause });
  }
  if (!taken) {
    void database.close();
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "LOCKED", directory });
  }
  const store = new LmdbStore(database, owner, options, directory);
  return completeStore(store);
}

/**
 * SECURITY.md: the installation's secret lies here. A folder that belongs to somebody else, who lets us use it, keeps its
 * mode: then the files are what nobody else may read. Throws where those cannot be closed to others.
 */
function makePrivate(directory: string): void {
  try {
    chmodSync(directory, 0o700);
  } catch {
    // Not ours.
  }
  for (const name of ["data.mdb", "lock.mdb"]) chmodSync(join(directory, name), 0o600);
}

class LmdbStore {
  readonly #database: RootDatabase<Buffer, Buffer>;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #freeBytes: () => Promise<number>;
  readonly #minFreeBytes: number;
  readonly #onFailure: (cause: unknown) => void;
  #pending: PendingBatch[] = [];
  #pump: Promise<void> | null = null;
  #problem: StoreProblem | null = null;
  #closing: Promise<void> | null = null;
  #commitCount = 0;
  #batchCount = 0;
  #committingCount = 0;
  #diskFull = false;
  #spaceCheckedNs = Number.NEGATIVE_INFINITY;

  constructor(database: RootDatabase<Buffer, Buffer>, owner: string, options: LmdbStoreOptions, directory: string) {
    this.#database = database;
    this.#owner = owner;
    this.#clock = options.clock;
    this.#freeBytes = options.freeBytes ?? (() => volumeFreeBytes(directory));
    this.#minFreeBytes = options.minFreeBytes ?? DEFAULT_MIN_FREE_BYTES;
    this.#onFailure = options.onFailure ?? (() => {});
  }

  async get(namespace: string, key: string): Promise<Uint8Array | null> {
    this.#assertReadable();
    try {
      return this.#database.get(rowKey(namespace, key)) ?? null;
    } catch (cause) {
      throw storeUnavailable("READ_FAILED", cause);
    }
  }

  async scan(namespace: string, options: ScanOptions): Promise<StateRow[]> {
    this.#assertReadable();
    const prefix = rowKey(namespace, options.prefix);
    const after = options.after === undefined ? null : rowKey(namespace, options.after);
    const start = after !== null && Buffer.compare(after, prefix) > 0 ? after : prefix;
    const rows: StateRow[] = [];
    try {
      for (const { key, value } of this.#database.getRange({ start })) {
        if (key.length < prefix.length || key.compare(prefix, 0, prefix.length, 0, prefix.length) !== 0) break;
        if (after !== null && key.equals(after)) continue;
        rows.push({ key: key.toString("utf8", namespace.length + 1), value: Buffer.from(value) });
        if (rows.length === options.limit) break;
      }
    } catch (cause) {
      throw storeUnavailable("READ_FAILED", cause);
    }
    return rows;
  }

  commit(batch: StateBatch): Promise<boolean> {
    return new Promise((settle, fail) => {
      if (this.#problem !== null) return fail(storeUnavailable(this.#problem));
      if (this.#closing !== null) return fail(storeUnavailable("CLOSED"));
      if (this.#pending.length >= MAX_PENDING_BATCHES) return fail(storeUnavailable("QUEUE_FULL"));
      this.#pending.push({ batch, settle, fail });
      this.#pump ??= this.#commitPending();
    });
  }

  status() {
    const problem = this.#problem ?? (this.#closing !== null ? "CLOSED" : this.#diskFull ? "DISK_FULL" : null);
    return {
      writable: problem === null,
      problem,
      pendingBatchCount: this.#pending.length + this.#committingCount,
      commitCount: this.#commitCount,
      batchCount: this.#batchCount,
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    while (this.#pump !== null) await this.#pump;
    // After a failed commit the binding is left alone; the owner row of this process goes stale with it.
    if (this.#problem !== null) return;
    this.#problem = "CLOSED";
    const owner = this.#owner;
    const database = this.#database;
    database.transactionSync(() => {
      if (database.get(OWNER_KEY)?.toString("utf8") === owner) database.removeSync(OWNER_KEY);
    });
    await database.close();
  }

  async #commitPending(): Promise<void> {
    while (this.#pending.length > 0) {
      // Also the turn in which batches of the same tick join the group.
      const full = await this.#isDiskFull();
      const group = this.#pending.splice(0, MAX_GROUP_BATCHES);
      if (full || this.#problem !== null) {
        for (const entry of group) entry.fail(storeUnavailable(this.#problem ?? "DISK_FULL"));
        continue;
      }
      await this.#commitGroup(group);
    }
    // In the same turn as the last look at the queue: a batch pushed later starts a new pump.
    this.#pump = null;
  }

  async #commitGroup(group: readonly PendingBatch[]): Promise<void> {
    const database = this.#database;
    const committed: boolean[] = [];
    this.#committingCount = group.length;
    let callbackError: unknown = null;
    try {
      await database.transaction(() => {
        try {
          for (const { batch } of group) committed.push(applyBatch(database, batch));
        } catch (error) {
          // Thrown out of an asynchronous transaction, lmdb would still commit what was written before it.
          callbackError = error;
        }
      });
      if (callbackError !== null) throw callbackError;
    } catch (cause) {
      observeCommitError(cause);
      this.#problem = "COMMIT_FAILED";
      for (const entry of group) entry.fail(storeUnavailable("COMMIT_FAILED", cause));
      this.#onFailure(cause);
      return;
    } finally {
      this.#committingCount = 0;
    }
    this.#commitCount += 1;
    this.#batchCount += group.length;
    for (const [index, entry] of group.entries()) entry.settle(committed[index] === true);
  }

  async #isDiskFull(): Promise<boolean> {
    const nowNs = this.#clock.monoNs();
    if (nowNs - this.#spaceCheckedNs < FREE_SPACE_CHECK_INTERVAL_MS * 1e6 && !this.#diskFull) return false;
    this.#spaceCheckedNs = nowNs;
    try {
      this.#diskFull = (await this.#freeBytes()) < this.#minFreeBytes;
    } catch {
      // A volume that cannot be asked is judged by its writes.
      this.#diskFull = false;
    }
    return this.#diskFull;
  }

  #assertReadable(): void {
    if (this.#problem === "CLOSED" || this.#closing !== null) throw storeUnavailable("CLOSED");
  }
}

/** Inside a write transaction, where reads see the writes before them. */
function applyBatch(database: RootDatabase<Buffer, Buffer>, batch: StateBatch): boolean {
  for (const { namespace, key, expected } of batch.conditions ?? []) {
    if (!sameBytes(database.get(rowKey(namespace, key)) ?? null, expected)) return false;
  }
  for (const { namespace, key, value } of batch.writes) {
    const name = rowKey(namespace, key);
    if (value === null) database.removeSync(name);
    else database.putSync(name, Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  }
  return true;
}

/** Namespace and key cannot hold a NUL, so the pair is unambiguous and a namespace is one key range. */
function rowKey(namespace: string, key: string): Buffer {
  return Buffer.from(`${namespace}\0${key}`, "utf8");
}

/** No namespace is empty, so no row of a caller can have this key. */
const OWNER_KEY = Buffer.from("\0owner", "utf8");

function takeOwnership(database: RootDatabase<Buffer, Buffer>, owner: string): boolean {
  return database.transactionSync(() => {
    const row = database.get(OWNER_KEY);
    const holder = row === undefined ? null : parseOwnerRow(row.toString("utf8"));
    if (holder !== null && isOwnerAlive(holder)) return false;
    database.putSync(OWNER_KEY, Buffer.from(owner, "utf8"));
    return true;
  });
}

/** lmdb hangs the cause on the error as a promise of its own; unobserved it would end the process. */
function observeCommitError(cause: unknown): void {
  if (typeof cause !== "object" || cause === null || !("commitError" in cause)) return;
  const { commitError } = cause;
  if (commitError instanceof Promise) commitError.catch(() => {});
}

async function volumeFreeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
