/**
 * StateStore over lmdb: the embedded default.
 *
 * Group commit: one transaction at a time. Batches that arrive while it is being flushed wait and share the next one,
 * so a thousand concurrent commits cost a few fsyncs. `overlappingSync` is off, which makes a resolved transaction a
 * flushed one (one fdatasync per commit, seen by strace). Conditions are checked inside the write transaction.
 *
 * A failed commit ends writing for good. After one, neither the file's pages nor the native binding can be trusted
 * (lmdb 3.5.6 corrupted its heap when used after a refused page write). So the store refuses all later writes and the
 * process must be restarted; acknowledged rows are safe. The common cause is prevented: no transaction begins that
 * could need more pages than the file has (store-space.ts). A batch without enough pages is refused, DISK_FULL, and
 * accepted again once there is space.
 */
import { randomUUID } from "node:crypto";
import { accessSync, constants, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { RootDatabase } from "lmdb";
import type { Clock } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import { isOutOfSpace, openPrivately } from "./lmdb-file.js";
import { isOwnerAlive, OWNER_KEY, ownOwnerRow, parseOwnerRow } from "./lmdb-owner.js";
import { FORMAT_STEPS, type FormatRows, type FormatStep, planFormat } from "./state-format.js";
import { pageUseOf } from "./page-reserve.js";
import {
  completeStore,
  sameBytes,
  storeUnavailable,
  type ScanOptions,
  type StateBatch,
  type StateRow,
  type StateStore,
  type StoreProblem,
  type StoreStatus,
} from "./state-store.js";
import { StoreSpace } from "./store-space.js";
import type { VolumeState } from "./volume.js";

/** Batches that may wait for their commit; beyond it writes are refused. */
export const MAX_PENDING_BATCHES = 10_000;
/** Batches per transaction: bounds how long one write transaction holds the event loop. */
export const MAX_GROUP_BATCHES = 1_000;

export interface LmdbStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Reads the state of the volume; a test passes its own. */
  readonly volume?: () => Promise<VolumeState>;
  /** Called once when a commit failed: log it and restart the process. */
  readonly onFailure?: (cause: unknown) => void;
  /** A test passes its own. */
  readonly formatSteps?: readonly FormatStep[];
}

interface PendingBatch {
  readonly batch: StateBatch;
  readonly settle: (committed: boolean) => void;
  readonly fail: (error: ServiceError) => void;
}

/**
 * Throws STORE_UNAVAILABLE with the directory and a `reason`, for the operator: LOCKED, NOT_WRITABLE, DISK_FULL,
 * NEWER_FORMAT (with `found`, null where it is none of ours, and `known`) or MIGRATION_FAILED. Then nothing was changed.
 */
export function openLmdbStore(options: LmdbStoreOptions): StateStore {
  const directory = resolve(options.directory);
  let database: RootDatabase<Buffer, Buffer>;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    database = openPrivately(directory);
  } catch (cause) {
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "NOT_WRITABLE", directory }, { cause });
  }
  const owner = JSON.stringify(ownOwnerRow(randomUUID()));
  let refusal: Refusal | null;
  try {
    refusal = takeOver(database, owner, options.formatSteps ?? FORMAT_STEPS);
  } catch (cause) {
    void database.close();
    const isStep = cause instanceof StepFailure && !isOutOfSpace(cause.cause);
    const reason = isStep ? "MIGRATION_FAILED" : isOutOfSpace(causeOf(cause)) ? "DISK_FULL" : "NOT_WRITABLE";
    throw new ServiceError("STORE_UNAVAILABLE", { reason, directory }, { cause });
  }
  if (refusal !== null) {
    void database.close();
    throw new ServiceError("STORE_UNAVAILABLE", { ...refusal, directory });
  }
  const store = new LmdbStore(database, owner, options, directory);
  return completeStore(store);
}

class LmdbStore {
  readonly #database: RootDatabase<Buffer, Buffer>;
  readonly #owner: string;
  readonly #space: StoreSpace;
  readonly #onFailure: (cause: unknown) => void;
  #pending: PendingBatch[] = [];
  #pump: Promise<void> | null = null;
  #problem: StoreProblem | null = null;
  #closing: Promise<void> | null = null;
  #commitCount = 0;
  #batchCount = 0;
  #committingCount = 0;

  constructor(database: RootDatabase<Buffer, Buffer>, owner: string, options: LmdbStoreOptions, directory: string) {
    const { clock, volume, onFailure = () => {} } = options;
    this.#database = database;
    this.#owner = owner;
    this.#onFailure = onFailure;
    this.#space = new StoreSpace({
      ...{ directory, clock, ...(volume === undefined ? {} : { volume }) },
      pageUse: () => pageUseOf(database.getStats()),
      hasEnded: () => this.#closing !== null || this.#problem !== null,
      isIdle: () => this.#pump === null,
      onGrowth: () => {
        this.#pump ??= this.#commitPending();
      },
    });
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

  status(): StoreStatus {
    const room = this.#space.status();
    const problem = this.#problem ?? (this.#closing !== null ? "CLOSED" : room.space === "FULL" ? "DISK_FULL" : null);
    return {
      writable: problem === null,
      problem,
      pendingBatchCount: this.#pending.length + this.#committingCount,
      commitCount: this.#commitCount,
      batchCount: this.#batchCount,
      ...room,
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    this.#space.stop();
    while (this.#pump !== null) await this.#pump;
    // After a failed commit the binding is not used again; the owner row of this process becomes stale with it.
    if (this.#problem !== null) return;
    this.#problem = "CLOSED";
    const owner = this.#owner;
    const database = this.#database;
    try {
      database.transactionSync(() => {
        if (database.get(OWNER_KEY)?.toString("utf8") === owner) database.removeSync(OWNER_KEY);
      });
    } catch {
      // Without a page to write to, the row becomes stale with this process.
    }
    await database.close();
  }

  async #commitPending(): Promise<void> {
    while (this.#pending.length > 0 || this.#space.isGrowthPlanned) {
      // Also the turn in which batches of the same tick join the group.
      await this.#space.growAsPlanned();
      const problem = this.#problem;
      if (problem !== null) for (const { fail } of this.#pending.splice(0)) fail(storeUnavailable(problem));
      const group = await this.#nextGroup();
      if (group.length > 0) await this.#commitGroup(group);
    }
    // In the same turn as the last check of the queue: a batch pushed later starts a new pump.
    this.#pump = null;
  }

  /** Takes the batches for which there are pages; refuses the first where there are none for it. */
  async #nextGroup(): Promise<readonly PendingBatch[]> {
    const wanted = Math.min(this.#pending.length, MAX_GROUP_BATCHES);
    if (wanted === 0) return [];
    const count = await this.#space.makeRoom(wanted, (index) => (this.#pending[index] as PendingBatch).batch);
    if (count > 0) return this.#pending.splice(0, count);
    this.#pending.shift()?.fail(storeUnavailable("DISK_FULL"));
    return [];
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
          // If thrown out of an asynchronous transaction, lmdb would still commit what was written before it.
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
    this.#space.committed();
    for (const [index, entry] of group.entries()) entry.settle(committed[index] === true);
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

/** Namespace and key cannot contain NUL, so the pair is unambiguous and a namespace is one key range. */
function rowKey(namespace: string, key: string): Buffer {
  return Buffer.from(`${namespace}\0${key}`, "utf8");
}

/** No namespace is empty, so no row of a caller can have this key. */
const FORMAT_KEY = Buffer.from("\0format", "utf8");
/** Sorts before every row of a caller and after the store's own. */
const FIRST_KEY = Buffer.from([1]);

type Refusal =
  | { readonly reason: "LOCKED" }
  | { readonly reason: "NEWER_FORMAT"; readonly found: number | null; readonly known: number };

class StepFailure extends Error {}

/**
 * In one transaction, makes this process the owner and brings the store to the newest format, or changes nothing.
 * Returns null when done.
 */
function takeOver(database: RootDatabase<Buffer, Buffer>, owner: string, steps: readonly FormatStep[]): Refusal | null {
  return database.transactionSync(() => {
    const row = database.get(OWNER_KEY);
    const holder = row === undefined ? null : parseOwnerRow(row.toString("utf8"));
    if (holder !== null && isOwnerAlive(holder)) return { reason: "LOCKED" };
    const isEmpty = [...database.getKeys({ start: FIRST_KEY, limit: 1 })].length === 0;
    const found = database.get(FORMAT_KEY)?.toString("utf8") ?? null;
    const plan = planFormat(found, isEmpty, steps);
    if (plan.kind === "refused") return { reason: "NEWER_FORMAT", found: plan.found, known: plan.known };
    for (const step of plan.steps) {
      try {
        step.run(formatRows(database));
      } catch (cause) {
        // Rethrown, it rolls back the transaction with all steps before it.
        throw new StepFailure(`format ${step.format}`, { cause });
      }
    }
    const format = String(steps.at(-1)?.format ?? 0);
    if (found !== format) database.putSync(FORMAT_KEY, Buffer.from(format, "utf8"));
    database.putSync(OWNER_KEY, Buffer.from(owner, "utf8"));
    return null;
  });
}

function formatRows(database: RootDatabase<Buffer, Buffer>): FormatRows {
  return {
    *rows(namespace) {
      const start = rowKey(namespace, "");
      for (const { key, value } of database.getRange({ start })) {
        if (key.compare(start, 0, start.length, 0, start.length) !== 0) return;
        yield { key: key.toString("utf8", start.length), value: Buffer.from(value) };
      }
    },
    put: (namespace, key, value) => void database.putSync(rowKey(namespace, key), Buffer.from(value)),
    remove: (namespace, key) => void database.removeSync(rowKey(namespace, key)),
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof StepFailure ? error.cause : error;
}

/** lmdb attaches the cause to the error as a promise; unobserved it would end the process. */
function observeCommitError(cause: unknown): void {
  if (typeof cause !== "object" || cause === null || !("commitError" in cause)) return;
  const { commitError } = cause;
  if (commitError instanceof Promise) commitError.catch(() => {});
}
