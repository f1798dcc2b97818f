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
 * could need more pages than the file has (page-reserve.ts). A batch without enough pages is refused, DISK_FULL, and
 * accepted again once there is space. The volume's free space is read beside the commits, never by them.
 */
import { randomUUID } from "node:crypto";
import { accessSync, constants, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { RootDatabase } from "lmdb";
import type { Clock, TimerHandle } from "../domain/clock.js";
import { ServiceError } from "../domain/errors.js";
import { isOutOfSpace, openPrivately } from "./lmdb-file.js";
import { isOwnerAlive, ownOwnerRow, parseOwnerRow } from "./lmdb-owner.js";
import { FORMAT_STEPS, type FormatRows, type FormatStep, planFormat } from "./state-format.js";
import { GROWTH_BYTES, PageReserve, pageUseOf } from "./page-reserve.js";
import {
  completeStore,
  sameBytes,
  storeUnavailable,
  type ScanOptions,
  type Space,
  type StateBatch,
  type StateRow,
  type StateStore,
  type StoreProblem,
  type StoreStatus,
} from "./state-store.js";
import { readVolume, reserveBytes, spaceOf, volumeNow, type VolumeState } from "./volume.js";

/** Batches that may wait for their commit; beyond it writes are refused. */
export const MAX_PENDING_BATCHES = 10_000;
/** Batches per transaction: bounds how long one write transaction holds the event loop. */
export const MAX_GROUP_BATCHES = 1_000;
const VOLUME_ASK_MS = 1_000;
/** While the reserve grows, one piece is added in this time. */
const GROWTH_MS = 100;
/** The commits of one close may take half of it. */
const FULL_BYTES = 2 * GROWTH_BYTES;
/** A group grows the file itself by at most this much; beyond it, the group is made smaller. */
const GROUP_GROWTH_BYTES = 4 << 20;

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
  readonly #clock: Clock;
  readonly #readVolume: () => Promise<VolumeState>;
  readonly #reserve: PageReserve;
  readonly #onFailure: (cause: unknown) => void;
  #pending: PendingBatch[] = [];
  #pump: Promise<void> | null = null;
  #problem: StoreProblem | null = null;
  #closing: Promise<void> | null = null;
  #commitCount = 0;
  #batchCount = 0;
  #committingCount = 0;
  /** Null when it could not be read; the space is then unchanged. */
  #volume: VolumeState | null = null;
  #space: Space = "AMPLE";
  /** The volume granted the last growth. */
  #grows = true;
  /** Bytes that the reserve should have after the next commit. */
  #growTo = 0;
  #timer: TimerHandle | null = null;

  constructor(database: RootDatabase<Buffer, Buffer>, owner: string, options: LmdbStoreOptions, directory: string) {
    this.#database = database;
    this.#owner = owner;
    this.#clock = options.clock;
    this.#readVolume = options.volume ?? (() => readVolume(directory));
    this.#onFailure = options.onFailure ?? (() => {});
    this.#reserve = new PageReserve(join(directory, "data.mdb"), () => pageUseOf(database.getStats()));
    if (options.volume === undefined) this.#noteVolume(volumeNow(directory));
    this.#scheduleWatch(GROWTH_MS);
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
    const space = this.#isFull() ? "FULL" : this.#space;
    const problem = this.#problem ?? (this.#closing !== null ? "CLOSED" : space === "FULL" ? "DISK_FULL" : null);
    return {
      writable: problem === null,
      problem,
      pendingBatchCount: this.#pending.length + this.#committingCount,
      commitCount: this.#commitCount,
      batchCount: this.#batchCount,
      space,
      freeBytes: this.#volume?.freeBytes ?? null,
      reserveBytes: Math.max(0, this.#reserve.leftBytes),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
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
    while (this.#pending.length > 0 || this.#growTo > 0) {
      // Also the turn in which batches of the same tick join the group.
      await this.#grow();
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
    let fitting = this.#fitting(wanted);
    if (fitting.count < wanted) {
      this.#reserve.look();
      fitting = this.#fitting(wanted);
    }
    // A group may be smaller than possible and still hold many batches.
    if (fitting.count < wanted && fitting.nextBytes < GROUP_GROWTH_BYTES) {
      this.#grows = await this.#reserve.growTo(GROUP_GROWTH_BYTES);
      fitting = this.#fitting(wanted);
    }
    if (fitting.count === 0) {
      this.#grows = await this.#reserve.growTo(fitting.nextBytes);
      fitting = this.#fitting(1);
    }
    if (fitting.count === 0 || this.#space === "FULL") {
      this.#pending.shift()?.fail(storeUnavailable("DISK_FULL"));
      return [];
    }
    this.#reserve.took(fitting.bytes);
    return this.#pending.splice(0, fitting.count);
  }

  /** Counts how many of the first `wanted` batches fit the pages there are, what they take, and what one more would. */
  #fitting(wanted: number): { readonly count: number; readonly bytes: number; readonly nextBytes: number } {
    const left = this.#reserve.leftBytes;
    const fitting = { count: 0, bytes: 0, nextBytes: 0 };
    let rows = 0;
    let largePages = 0;
    for (let index = 0; index < wanted; index++) {
      const { writes } = (this.#pending[index] as PendingBatch).batch;
      rows += writes.length;
      for (const { value } of writes) if (value !== null) largePages += this.#reserve.largePagesOf(value.byteLength);
      fitting.nextBytes = this.#reserve.bytesFor(rows, largePages);
      if (fitting.nextBytes > left) return fitting;
      fitting.count++;
      fitting.bytes = fitting.nextBytes;
    }
    return fitting;
  }

  async #grow(): Promise<void> {
    const bytes = this.#growTo;
    this.#growTo = 0;
    if (bytes > 0) this.#grows = await this.#reserve.growTo(bytes);
  }

  /** Whether the rest may be too little for the rows of a close, and cannot grow. */
  #isFull(): boolean {
    return !this.#grows && this.#reserve.leftWhenSeenBytes < FULL_BYTES;
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
    // Writes are counted at their most, so a few could seem to use up all that is left.
    if (this.#reserve.leftBytes < FULL_BYTES) this.#reserve.look();
    for (const [index, entry] of group.entries()) entry.settle(committed[index] === true);
  }

  #scheduleWatch(delayMs: number): void {
    this.#timer = this.#clock.setTimer(() => {
      void this.#watch();
    }, delayMs);
  }

  /** Runs beside the commits: reads the free space and brings the reserve one piece closer to its target. */
  async #watch(): Promise<void> {
    try {
      this.#noteVolume(await this.#readVolume());
    } catch {
      this.#noteVolume(null);
    }
    if (this.#closing !== null || this.#problem !== null) return;
    if (this.#pump === null) this.#reserve.look();
    const left = this.#reserve.leftBytes;
    const isShort = this.#volume !== null && left < reserveBytes(this.#volume);
    if (isShort || this.#isFull()) {
      this.#growTo = left + GROWTH_BYTES;
      this.#pump ??= this.#commitPending();
    }
    const hasRoom = this.#volume !== null && this.#volume.freeBytes > GROWTH_BYTES;
    this.#scheduleWatch(isShort && hasRoom ? GROWTH_MS : VOLUME_ASK_MS);
  }

  #noteVolume(volume: VolumeState | null): void {
    this.#volume = volume;
    // A failed read leaves the last value: openings must not come back because of it.
    if (volume !== null) this.#space = spaceOf(volume, this.#space);
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
const OWNER_KEY = Buffer.from("\0owner", "utf8");

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
