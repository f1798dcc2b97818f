/**
 * The ledger: rows that are not over in memory as they are in the store, the others in the store alone.
 *
 * Invariants: a change is in memory once it is durable, and not before. A row changes in the turn of its lane alone. What
 * belongs together (the row, its mark as open, its place in the wallet's list, the name that it claims, its row of the
 * record) changes in one commit.
 *
 * Bounds: as many rows are open as requests and their lanes let begin.
 */
import { ServiceError } from "../domain/errors.js";
import type { Instance } from "../storage/instance/instance.js";
import {
  allRows,
  decodeJson,
  encodeJson,
  MAX_SCAN_ROWS,
  type StateStore,
  type StateWrite,
} from "../storage/state-store.js";
import { type OpenRow, OpenRows } from "./open-rows.js";
import { decodeTransfer, encodeTransfer } from "./row-decoder.js";
import { NO_TRANSFER_RECORD, type TransferRecord } from "./transfer-record.js";
import { type InternalRow, isEnded, isOpen, type TransferKind, type TransferRow } from "./transfer-row.js";

export const TRANSFER_NAMESPACE = "transfer";
/** Keys of rows that are not over, each with the number of its last change. */
const OPEN_NAMESPACE = "transfer-open";
/** Wallet, then the newest first. */
const LIST_NAMESPACE = "transfer-list";
/** Names that callers gave to transfers between a venue's accounts. */
const NAME_NAMESPACE = "transfer-name";
/** The venue's ids of what its rows are, by venue, kind and account: what one row is, another one is not. */
const CLAIM_NAMESPACE = "transfer-claim";
/** Chain and account: a nonce below this one is used for good. */
const NONCE_NAMESPACE = "transfer-nonce";
const MARK = encodeJson(1);
/** Rows of before were marked with the same number, whatever had changed of them. */
const FIRST_CHANGE = 1;
const TIME_DIGITS = 16;

export interface TransferPage {
  /** Newest first. */
  readonly rows: readonly TransferRow[];
  /** For the next page; null at the end. */
  readonly next: string | null;
}

/** Of the rows that are open, and of those that were followed to their end since the start. */
export interface TransferCount {
  readonly venue: TransferRow["venue"];
  readonly kind: TransferKind;
  readonly state: TransferRow["state"];
  readonly count: number;
}

/** Where a transfer is in the list of its wallet. */
export interface ListedTransfer {
  readonly transferId: string;
  readonly createdAtMs: number;
}

type ClaimOwner = Pick<TransferRow, "venue" | "kind" | "account" | "transferId">;

/** `before`: the row as it was; null: it is new. */
export type HearTransfer = (row: TransferRow, before: TransferRow | null) => void;

export class TransferBook {
  readonly #store: StateStore;
  readonly #record: TransferRecord;
  readonly #open = new OpenRows();
  readonly #nonces = new Map<string, number>();
  readonly #listeners = new Set<HearTransfer>();
  readonly #ended = new Map<string, number>();
  readonly #instance: Pick<Instance, "counted"> | null;

  /** `instance`: counts each change of a row in its commit; null: of a store that nobody backs up. */
  constructor(
    store: StateStore,
    record: TransferRecord = NO_TRANSFER_RECORD,
    instance: Pick<Instance, "counted"> | null = null,
  ) {
    this.#store = store;
    this.#record = record;
    this.#instance = instance;
  }

  /** Rejects with STORE_UNAVAILABLE, or LEDGER_BROKEN for a row that cannot be read. */
  async load(): Promise<void> {
    for await (const { key, value: mark } of allRows(this.#store, OPEN_NAMESPACE)) {
      const value = await this.#store.get(TRANSFER_NAMESPACE, key);
      if (value === null) throw new ServiceError("LEDGER_BROKEN", { row: key, problem: "marked as open, and missing" });
      const row = decodeTransfer(key, value);
      if (!isOpen(row)) throw new ServiceError("LEDGER_BROKEN", { row: key, problem: "marked as open, and over" });
      const change = decodeJson(mark);
      if (!Number.isSafeInteger(change)) throw new ServiceError("LEDGER_BROKEN", { row: key, problem: "change" });
      this.#open.set({ row, value, change: change as number });
    }
    for await (const { key, value } of allRows(this.#store, NONCE_NAMESPACE)) {
      const nonce = decodeJson(value);
      if (!Number.isSafeInteger(nonce)) throw new ServiceError("LEDGER_BROKEN", { row: key, problem: "nonce" });
      this.#nonces.set(key, nonce as number);
    }
  }

  /** `account`: of all, where none is named. */
  *open(account: string | null = null): Generator<TransferRow> {
    for (const { row } of account === null ? this.#open.all() : this.#open.of(account)) yield row;
  }

  /** As it is in memory; undefined: over, or none. */
  current(transferId: string): TransferRow | undefined {
    return this.#open.get(transferId)?.row;
  }

  /** Null: there is none. Rejects with STORE_UNAVAILABLE and LEDGER_BROKEN. */
  async find(transferId: string): Promise<TransferRow | null> {
    const held = this.#open.get(transferId);
    if (held !== undefined) return held.row;
    const value = transferId === "" ? null : await this.#store.get(TRANSFER_NAMESPACE, transferId);
    return value === null ? null : decodeTransfer(transferId, value);
  }

  /** `after`: `next` of the page before. */
  async page(walletId: string, after: string | null, limit: number): Promise<TransferPage> {
    const prefix = `${walletId}/`;
    const marks = await this.#store.scan(LIST_NAMESPACE, {
      ...{ prefix, limit },
      ...(after === null ? {} : { after: `${prefix}${after}` }),
    });
    const rows: TransferRow[] = [];
    for (const { key } of marks) {
      const transferId = key.slice(key.lastIndexOf("/") + 1);
      const row = await this.find(transferId);
      if (row === null) throw new ServiceError("LEDGER_BROKEN", { row: transferId, problem: "listed, and missing" });
      rows.push(row);
    }
    return { rows, next: marks.length < limit ? null : (marks.at(-1)?.key.slice(prefix.length) ?? null) };
  }

  /** The newest of the wallet, newest first, without their rows. */
  async newest(walletId: string, limit: number): Promise<readonly ListedTransfer[]> {
    const prefix = `${walletId}/`;
    const marks = await this.#store.scan(LIST_NAMESPACE, { prefix, limit: Math.min(limit, MAX_SCAN_ROWS) });
    return marks.map(({ key }) => {
      const [newestFirst = "", transferId = ""] = key.slice(prefix.length).split("/");
      return { transferId, createdAtMs: Number.MAX_SAFE_INTEGER - Number(newestFirst) };
    });
  }

  /** The row that has the name; null: none. */
  async named(row: Pick<InternalRow, "venue" | "account" | "clientTranId">): Promise<TransferRow | null> {
    const value = await this.#store.get(NAME_NAMESPACE, nameKey(row));
    return value === null ? null : this.find(decodeJson(value) as string);
  }

  /** Those of the venue's ids that no other row has. Rejects with STORE_UNAVAILABLE. */
  async unclaimed(row: ClaimOwner, venueIds: readonly string[]): Promise<readonly string[]> {
    const free: string[] = [];
    for (const venueId of venueIds) {
      const owner = await this.#store.get(CLAIM_NAMESPACE, claimKey(row, venueId));
      if (owner === null || decodeJson(owner) === row.transferId) free.push(venueId);
    }
    return free;
  }

  /**
   * Durable when it resolves. False: there is such a row already, or one of this name. Rejects with STORE_UNAVAILABLE,
   * context `transferId`: then the row may be found after a restart, and goes on. `alongside`: in the same commit.
   */
  async create(row: TransferRow, alongside: readonly StateWrite[]): Promise<boolean> {
    const { transferId } = row;
    const value = encodeTransfer(row);
    const named = row.kind === "internal" ? nameKey(row) : null;
    const absent = (namespace: string, key: string) => ({ namespace, key, expected: null });
    const mark = (namespace: string, key: string) => ({ namespace, key, value: MARK });
    const recorded = this.#record.changed(row, FIRST_CHANGE);
    const counted = this.#instance?.counted() ?? null;
    try {
      const isMade = await this.#store.commit({
        conditions: [
          absent(TRANSFER_NAMESPACE, transferId),
          ...(named === null ? [] : [absent(NAME_NAMESPACE, named)]),
        ],
        writes: [
          { namespace: TRANSFER_NAMESPACE, key: transferId, value },
          { namespace: OPEN_NAMESPACE, key: transferId, value: encodeJson(FIRST_CHANGE) },
          mark(LIST_NAMESPACE, listKey(row)),
          ...(named === null ? [] : [{ namespace: NAME_NAMESPACE, key: named, value: encodeJson(transferId) }]),
          ...alongside,
          ...recorded.writes,
          ...(counted === null ? [] : [counted.write]),
        ],
      });
      if (isMade) {
        counted?.done();
        recorded.committed();
        this.#hold({ row, value, change: FIRST_CHANGE }, null);
      }
      return isMade;
    } catch (error) {
      throw withId(error, transferId);
    }
  }

  /**
   * Durable when it resolves; returns the new row. Rejects with STORE_UNAVAILABLE, context `transferId`: then the change may
   * be found after a restart. A change that returns the row itself writes nothing. `usedNonce`: of a transaction that is final.
   */
  async update<Row extends TransferRow>(
    row: Row,
    change: (row: Row) => Row,
    usedNonce: { readonly chainId: number; readonly nonce: number } | null = null,
  ): Promise<Row> {
    const { transferId } = row;
    const held = this.#open.get(transferId);
    if (held?.row !== row) throw new ServiceError("INTERNAL", { problem: "transfers: STALE_ROW" });
    const next = change(row);
    if (next === row) return row;
    const value = encodeTransfer(next);
    const number = held.change + 1;
    const recorded = this.#record.changed(next, number);
    const nonceRow = usedNonce === null ? null : nonceKey(usedNonce.chainId, row.account);
    const after =
      usedNonce === null ? 0 : Math.max(usedNonce.nonce + 1, this.nonceAfter(usedNonce.chainId, row.account));
    const counted = this.#instance?.counted() ?? null;
    const conditions = [{ namespace: TRANSFER_NAMESPACE, key: transferId, expected: held.value }];
    const writes: StateWrite[] = [
      { namespace: TRANSFER_NAMESPACE, key: transferId, value },
      { namespace: OPEN_NAMESPACE, key: transferId, value: isOpen(next) ? encodeJson(number) : null },
      ...(nonceRow === null ? [] : [{ namespace: NONCE_NAMESPACE, key: nonceRow, value: encodeJson(after) }]),
      ...recorded.writes,
      ...claimOf(row, next),
      ...(counted === null ? [] : [counted.write]),
    ];
    const isDone = await this.#store.commit({ conditions, writes }).catch((error: unknown) => {
      throw withId(error, transferId);
    });
    // Nobody else writes rows: another process works on this store.
    if (!isDone) throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED", transferId });
    counted?.done();
    recorded.committed();
    if (nonceRow !== null) this.#nonces.set(nonceRow, after);
    if (isCounted(next) && !isCounted(row)) {
      const name = `${next.venue}/${next.kind}/${next.state}`;
      this.#ended.set(name, (this.#ended.get(name) ?? 0) + 1);
    }
    this.#hold({ row: next, value, change: number }, row);
    return next;
  }

  /** The lowest nonce of the account that may still be free. */
  nonceAfter(chainId: number, account: string): number {
    return this.#nonces.get(nonceKey(chainId, account)) ?? 0;
  }

  /** All below are used for good. Durable when it resolves. */
  async raiseNonce(chainId: number, account: string, nonce: number): Promise<void> {
    if (nonce <= this.nonceAfter(chainId, account)) return;
    const key = nonceKey(chainId, account);
    await this.#store.put(NONCE_NAMESPACE, key, encodeJson(nonce));
    this.#nonces.set(key, nonce);
  }

  /** Called after each change is durable; must not throw. Call the result to end it. */
  listen(hear: HearTransfer): () => void {
    this.#listeners.add(hear);
    return () => void this.#listeners.delete(hear);
  }

  counts(): readonly TransferCount[] {
    const counts = new Map(this.#ended);
    for (const { venue, kind, state } of this.open()) {
      if (state === "confirmed") continue;
      const name = `${venue}/${kind}/${state}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts].map(([name, count]) => {
      const [venue, kind, state] = name.split("/") as [TransferRow["venue"], TransferKind, TransferRow["state"]];
      return { venue, kind, state, count };
    });
  }

  #hold(held: OpenRow, before: TransferRow | null): void {
    const { row } = held;
    this.#open.set(held);
    for (const hear of [...this.#listeners]) hear(row, before);
  }
}

/** Among those that ended: nothing of its state changes any more. */
function isCounted(row: TransferRow): boolean {
  return isEnded(row) || !isOpen(row);
}

/** What is not known to be written may go on, so a caller has to know its name. */
function withId(error: unknown, transferId: string): unknown {
  if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") return error;
  return new ServiceError("STORE_UNAVAILABLE", { ...error.context, transferId }, { cause: error });
}

function listKey({ walletId, createdAtMs, transferId }: TransferRow): string {
  const newestFirst = (Number.MAX_SAFE_INTEGER - createdAtMs).toString().padStart(TIME_DIGITS, "0");
  return `${walletId}/${newestFirst}/${transferId}`;
}

/** Of `next` of a page. */
export function isPlace(text: string): boolean {
  return /^[0-9]{16}\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function nameKey({ venue, account, clientTranId }: Pick<InternalRow, "venue" | "account" | "clientTranId">): string {
  return `${venue}/${account}/${clientTranId}`;
}

/**
 * Without a condition: rows that look for a free id change in one lane (deposits found by amount are of one chain), and the
 * id in the venue's own answer is right, whoever had it.
 */
function claimOf(before: TransferRow, { venueId, ...row }: TransferRow): StateWrite[] {
  if (venueId === null || venueId === before.venueId) return [];
  return [{ namespace: CLAIM_NAMESPACE, key: claimKey(row, venueId), value: encodeJson(row.transferId) }];
}

function claimKey({ venue, kind, account }: ClaimOwner, venueId: string): string {
  return `${venue}/${kind}/${account}/${venueId}`;
}

function nonceKey(chainId: number, account: string): string {
  return `${chainId}/${account}`;
}
