/**
 * One request body, one execution per Idempotency-Key, also across crashes.
 *
 * A record is RUNNING (written in the same batch as the first intent, so it exists exactly when an order may
 * exist) or DONE (the reply is stored). A request that ends before any order was sent leaves no record: a
 * retry runs again. A RUNNING record whose owner is not at work on it any more belongs to a crash: the
 * caller recovers it from the run inside, by looking the order up.
 *
 * Stored are keyed hashes only: of scope and key (the record's name) and of the raw body (its fingerprint).
 * Bounds: one in-memory guard per request in flight (the close service bounds those); records live RETENTION_MS.
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import {
  decodeJson,
  encodeJson,
  type StateBatch,
  type StateCondition,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import type { TradeResult } from "../types.js";
import { decodeRun, encodeRun, type TradeRun } from "../run.js";
import { expiringRemovals, expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "./expiring-rows.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";

const NAMESPACE = "idempotency";
export const RETENTION_MS = 24 * 3_600_000;

export interface IdempotencyScope {
  /** Distinguishes callers: "owner:<owner id>", or "accounts:<keyed hash>" without one. */
  readonly scope: string;
  readonly key: string;
}

/** What the record must know of the executions it remembers: plain data, JSON in, JSON out, without loss. */
export interface RunLike {
  readonly routeId: string;
  readonly attempts: readonly unknown[];
}

interface StoredRecord<Result> {
  readonly state: "RUNNING" | "DONE";
  readonly fingerprint: string;
  /** Which start of the service wrote it. */
  readonly bootId: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** encodeRun; the latest state of the run. */
  readonly run: string;
  /** DONE only. */
  readonly result: Result | null;
}

export type IdempotencyBegin<Run = TradeRun, Result = TradeResult> =
  | { readonly kind: "fresh"; readonly ticket: IdempotencyTicket<Run, Result> }
  /** The stored reply. `run` lets a reply of unknown outcome be brought up to date; `ticket` is null while another request still holds the key. */
  | {
      readonly kind: "replay";
      readonly ticket: IdempotencyTicket<Run, Result> | null;
      readonly result: Result;
      readonly run: Run;
    }
  | { readonly kind: "recover"; readonly ticket: IdempotencyTicket<Run, Result>; readonly run: Run }
  | { readonly kind: "refused"; readonly code: "IDEMPOTENCY_MISMATCH" | "IDEMPOTENCY_IN_PROGRESS" };

export interface IdempotencyOptions {
  readonly store: StateStore;
  readonly hash: KeyedHash;
  readonly clock: Clock;
  /** New at each start of the service. */
  readonly bootId: string;
  /**
   * Is the service that wrote a RUNNING record still at work? With a store of one owner only our own boot lives; with a
   * shared store the shell passes a real check.
   */
  readonly isBootAlive?: (bootId: string) => boolean;
  /** Namespace of the records; that of closes and opens where absent. Records of one namespace are of one kind of run. */
  readonly namespace?: string;
}

export class IdempotencyRecords<Run extends RunLike = TradeRun, Result = TradeResult> {
  readonly #namespace: string;
  readonly #store: StateStore;
  readonly #hash: KeyedHash;
  readonly #clock: Clock;
  readonly #lifetime: LifetimeClock;
  readonly #bootId: string;
  readonly #isBootAlive: (bootId: string) => boolean;
  readonly #running = new Map<string, IdempotencyTicket<Run, Result>>();
  /** Records whose order is being looked up beside any request. */
  readonly #held = new Set<string>();

  constructor(options: IdempotencyOptions) {
    this.#namespace = options.namespace ?? NAMESPACE;
    this.#store = options.store;
    this.#hash = options.hash;
    this.#clock = options.clock;
    this.#lifetime = new LifetimeClock(options.clock);
    this.#bootId = options.bootId;
    this.#isBootAlive = options.isBootAlive ?? (() => false);
  }

  /** Takes the key for this request, or says why not. A ticket must be ended by `release`, or by `complete`. Rejects with STORE_UNAVAILABLE. */
  async begin(scope: IdempotencyScope, rawBody: Uint8Array): Promise<IdempotencyBegin<Run, Result>> {
    const recordKey = this.#hash.hmacHex("idempotency-record", [scope.scope, scope.key]);
    const fingerprint = this.#hash.hmacHex("idempotency-body", [rawBody]);
    const other = this.#running.get(recordKey);
    if (other !== undefined) {
      if (other.fingerprint !== fingerprint) return { kind: "refused", code: "IDEMPOTENCY_MISMATCH" };
      const done = other.finished;
      if (done === null) return { kind: "refused", code: "IDEMPOTENCY_IN_PROGRESS" };
      return { kind: "replay", ticket: null, result: done.result, run: done.run };
    }
    if (this.#held.has(recordKey)) return { kind: "refused", code: "IDEMPOTENCY_IN_PROGRESS" };
    // Taken before the first await: the guard against a second request that arrives during the read below.
    const ticket = new IdempotencyTicket<Run, Result>(scope, recordKey, fingerprint, this.#clock.wallMs());
    this.#running.set(recordKey, ticket);
    let keep = false;
    try {
      const row = await this.#store.get(this.#namespace, recordKey);
      if (row === null) {
        keep = true;
        return { kind: "fresh", ticket };
      }
      const record = decodeRecord<Result>(row);
      if (record.expiresAtMs <= this.#lifetime.nowMs()) {
        ticket.replaces = { row, expiresAtMs: record.expiresAtMs };
        // Never the creation of the use before, whatever the wall clock says.
        ticket.createdAtMs = Math.max(ticket.createdAtMs, record.createdAtMs + 1);
        keep = true;
        return { kind: "fresh", ticket };
      }
      if (record.fingerprint !== fingerprint) return { kind: "refused", code: "IDEMPOTENCY_MISMATCH" };
      if (record.state === "RUNNING" && record.bootId !== this.#bootId && this.#isBootAlive(record.bootId)) {
        return { kind: "refused", code: "IDEMPOTENCY_IN_PROGRESS" };
      }
      keep = true;
      ticket.stored = { row, createdAtMs: record.createdAtMs, expiresAtMs: record.expiresAtMs };
      ticket.createdAtMs = record.createdAtMs;
      const run = decodeRun<Run>(record.run);
      if (record.state === "DONE" && record.result !== null)
        return { kind: "replay", ticket, result: record.result, run };
      return { kind: "recover", ticket, run };
    } finally {
      if (!keep) this.#running.delete(recordKey);
    }
  }

  /** Is a record of this name there? Takes nothing. Rejects with STORE_UNAVAILABLE. */
  async has(scope: IdempotencyScope): Promise<boolean> {
    const recordKey = this.#hash.hmacHex("idempotency-record", [scope.scope, scope.key]);
    if (this.#running.has(recordKey) || this.#held.has(recordKey)) return true;
    const row = await this.#store.get(this.#namespace, recordKey);
    return row !== null && decodeRecord<Result>(row).expiresAtMs > this.#lifetime.nowMs();
  }

  /**
   * The rows that make the run durable as RUNNING, to be committed in one batch with the intent. The condition fails
   * when another service took the key meanwhile. Call `committed` with the row once it is durable.
   */
  runningRows(
    ticket: IdempotencyTicket<Run, Result>,
    run: Run,
  ): { readonly batch: StateBatch; readonly row: StoredTicketRow } {
    const { createdAtMs } = ticket;
    const expiresAtMs = ticket.stored?.expiresAtMs ?? this.#clock.wallMs() + RETENTION_MS;
    ticket.mayBeStoredUntilMs = expiresAtMs;
    const row = this.#encode("RUNNING", ticket, run, null, createdAtMs, expiresAtMs);
    const replaced = ticket.replaces;
    const expected = ticket.stored?.row ?? replaced?.row ?? null;
    const writes: StateWrite[] = [
      // Before the put: the expired record's index row would otherwise take the new record with it.
      ...(replaced === null ? [] : expiringRemovals(this.#namespace, ticket.recordKey, replaced.expiresAtMs)),
      ...expiringWrites(this.#namespace, ticket.recordKey, row, expiresAtMs),
    ];
    return {
      batch: { conditions: [{ namespace: this.#namespace, key: ticket.recordKey, expected }], writes },
      row: { row, createdAtMs, expiresAtMs },
    };
  }

  /** The RUNNING rows are durable. */
  committed(ticket: IdempotencyTicket<Run, Result>, row: StoredTicketRow): void {
    ticket.stored = row;
    ticket.replaces = null;
  }

  /**
   * The reply is known: stores it and frees the key. Until it is durable a same request is answered from memory.
   * A failed write leaves the RUNNING record, from which the next request recovers. Never rejects for what the store
   * does; false: not stored. `commit` makes the writes durable, with others of the same conclusion, in one batch; it
   * builds them at the last moment, so that they hold the run as it is by then, and what is to be answered from then on.
   */
  async complete(
    ticket: IdempotencyTicket<Run, Result>,
    run: Run,
    result: Result,
    commit: (doneWrites: (latest?: Result) => StateWrite[]) => Promise<unknown>,
  ): Promise<boolean> {
    ticket.isEnding = true;
    const stored = ticket.stored;
    // No order of it was sent, so a retry may run again.
    if (stored === null) {
      this.release(ticket);
      await commit(() => []);
      return true;
    }
    ticket.finished = { run, result };
    try {
      // Unconditional: the key is ours, and a write of ours that timed out before may still be ahead in the queue.
      await commit((latest = result) => [
        {
          namespace: this.#namespace,
          key: ticket.recordKey,
          value: this.#encode("DONE", ticket, run, latest, stored.createdAtMs, stored.expiresAtMs),
        },
      ]);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "STORE_UNAVAILABLE") return false;
      throw error;
    } finally {
      this.release(ticket);
    }
  }

  /** Keeps requests with this key out until the returned function is called; null: one is at work. */
  hold(recordKey: string): (() => void) | null {
    if (this.#running.has(recordKey) || this.#held.has(recordKey)) return null;
    this.#held.add(recordKey);
    return () => this.#held.delete(recordKey);
  }

  /**
   * What brings a stored reply of unknown outcome up to date after its order was resolved: the condition that it is
   * still as read here, and the write, for one batch with what else tells of the end. A record that knows of more
   * orders than `run` is newer, and stays. That of another run is none of this one's: its order outlived the record, and
   * the key was used again.
   */
  async readForUpdate(recordKey: string, run: Run): Promise<RecordUpdate<Result>> {
    const row = await this.#store.get(this.#namespace, recordKey);
    if (row === null) return { kind: "gone" };
    const record = decodeRecord<Result>(row);
    const known = decodeRun<Run>(record.run);
    if (known.routeId !== run.routeId) return { kind: "gone" };
    if (known.attempts.length > run.attempts.length) return { kind: "newer" };
    return {
      kind: "update",
      condition: { namespace: this.#namespace, key: recordKey, expected: row },
      write: (result) => {
        const next: StoredRecord<Result> = { ...record, state: "DONE", run: encodeRun(run), result };
        return { namespace: this.#namespace, key: recordKey, value: encodeJson(next) };
      },
    };
  }

  /**
   * The first batch did not become durable in time, so nothing was sent: takes back what may land late. The writes
   * queue behind it. `extra`: rows of others that belong to it.
   */
  async abandon(ticket: IdempotencyTicket<Run, Result>, extra: readonly StateWrite[]): Promise<void> {
    ticket.isEnding = true;
    try {
      if (ticket.mayBeStoredUntilMs !== null && ticket.stored === null)
        await this.#store.commit({ writes: [...this.#removals(ticket), ...extra] });
    } finally {
      this.release(ticket);
    }
  }

  /** The record is durable, but none of its orders ever left this machine: a retry runs again. `commit` as in `complete`. */
  async discard(
    ticket: IdempotencyTicket<Run, Result>,
    commit: (writes: () => StateWrite[]) => Promise<unknown>,
  ): Promise<void> {
    ticket.isEnding = true;
    try {
      await commit(() => this.#removals(ticket));
    } finally {
      this.release(ticket);
    }
  }

  /** The run inside a record, for the listing at start; null if it is gone. */
  async readRun(recordKey: string): Promise<Run | null> {
    const row = await this.#store.get(this.#namespace, recordKey);
    return row === null ? null : decodeRun<Run>(decodeRecord<Result>(row).run);
  }

  /** Frees the key without storing a reply. */
  release(ticket: IdempotencyTicket<Run, Result>): void {
    if (this.#running.get(ticket.recordKey) === ticket) this.#running.delete(ticket.recordKey);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    return (await sweepExpired(this.#store, this.#namespace, this.#lifetime.nowMs())) === SWEEP_MAX_ROWS;
  }

  /** With its index row, which would otherwise take a later record of the key along; an expired one's that it replaces likewise. */
  #removals({ recordKey, mayBeStoredUntilMs, replaces }: IdempotencyTicket<Run, Result>): StateWrite[] {
    return [mayBeStoredUntilMs, replaces?.expiresAtMs ?? null].flatMap((expiresAtMs) =>
      expiresAtMs === null ? [] : expiringRemovals(this.#namespace, recordKey, expiresAtMs),
    );
  }

  #encode(
    state: StoredRecord<Result>["state"],
    ticket: IdempotencyTicket<Run, Result>,
    run: Run,
    result: Result | null,
    createdAtMs: number,
    expiresAtMs: number,
  ): Uint8Array {
    const record: StoredRecord<Result> = {
      state,
      fingerprint: ticket.fingerprint,
      bootId: this.#bootId,
      createdAtMs,
      expiresAtMs,
      run: encodeRun(run),
      result,
    };
    return encodeJson(record);
  }
}

export type RecordUpdate<Result = TradeResult> =
  /** The run has none, or none any more: what else tells of its end is stored without it. */
  | { readonly kind: "gone" }
  | { readonly kind: "newer" }
  /** `write` encodes the run as it is when called. */
  | {
      readonly kind: "update";
      readonly condition: StateCondition;
      readonly write: (result: Result) => StateWrite;
    };

export interface StoredTicketRow {
  readonly row: Uint8Array;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** One request's hold on its key. */
export class IdempotencyTicket<Run = TradeRun, Result = TradeResult> {
  readonly scope: IdempotencyScope;
  readonly recordKey: string;
  readonly fingerprint: string;
  /** Of the record, there or to be: the same for all orders of this use of the key. */
  createdAtMs: number;
  /** The record in the store; null while there is none. */
  stored: StoredTicketRow | null = null;
  /** Its last write is under way and frees the key when it ends. */
  isEnding = false;
  /** A batch with its rows, which expire then, was handed to the store, whatever its outcome; null: none was. */
  mayBeStoredUntilMs: number | null = null;
  /** An expired record that the new one takes the place of. */
  replaces: { readonly row: Uint8Array; readonly expiresAtMs: number } | null = null;
  /** Set when the reply is known and not durable yet. */
  finished: { readonly run: Run; readonly result: Result } | null = null;

  constructor(scope: IdempotencyScope, recordKey: string, fingerprint: string, createdAtMs: number) {
    this.scope = scope;
    this.recordKey = recordKey;
    this.fingerprint = fingerprint;
    this.createdAtMs = createdAtMs;
  }
}

function decodeRecord<Result>(row: Uint8Array): StoredRecord<Result> {
  return decodeJson(row) as StoredRecord<Result>;
}
