/** A party's rows in memory, for tests: commits whole, may fail, hang or be put back, and asks before and after each. */
import {
  type ScanOptions,
  type StateRow as StoreRow,
  type StateStore,
  type StateWrite,
  storeUnavailable,
} from "../../../storage/state-store.js";
import { decodeStateRow, encodeStateRow } from "../../mpc/state/state-row.js";
import { walletIdText } from "../wallet-names.js";
import type { BackupFolder, PartyCommit, PartyStore, StoredParty, StoredShare } from "../party-store.js";

interface Rows {
  readonly row: Buffer;
  readonly shares: ReadonlyMap<number, StoredShare>;
}

export interface MemoryRows {
  readonly wallets: Map<string, Rows>;
  readonly beside: Map<string, Uint8Array>;
  readonly backups: string[];
}

export function emptyRows(): MemoryRows {
  return { wallets: new Map(), beside: new Map(), backups: [] };
}

export function copyOfRows({ wallets, beside, backups }: MemoryRows): MemoryRows {
  return { wallets: new Map(wallets), beside: new Map(beside), backups: [...backups] };
}

/** One start of a party over its rows; a killed one writes and answers nothing more. */
export class MemoryParty implements PartyStore, BackupFolder, Pick<StateStore, "scan"> {
  readonly rows: MemoryRows;
  isDead = false;
  isFailing = false;
  isBackupFailing = false;
  /** Commits wait for it, and take effect then; null: they do not wait. */
  hang: Promise<void> | null = null;
  isReadHanging = false;
  /** The thread of the sessions ended: its calls reject. */
  isThreadGone = false;
  commitCount = 0;
  /** Before (true) and after a durable effect; it may kill this party. */
  onDurable: (before: boolean, isBackup: boolean) => void = () => {};

  constructor(rows: MemoryRows) {
    this.rows = rows;
  }

  async load(): Promise<readonly StoredParty[]> {
    return [...this.rows.wallets].map(([hex, { row, shares }]) => {
      const decoded = decodeStateRow(row);
      if (decoded === null) throw new Error("row");
      return { walletId: Buffer.from(hex, "hex"), row: decoded, epochs: [...shares.values()] };
    });
  }

  async commit(commit: PartyCommit): Promise<void> {
    if (this.hang !== null) await this.hang;
    await this.#durable(false, () => {
      if (this.isFailing) throw storeUnavailable("COMMIT_FAILED");
      this.#apply(commit);
      this.commitCount++;
    });
  }

  async share(walletId: Uint8Array, epoch: number): Promise<StoredShare | null> {
    if (this.isReadHanging) await new Promise(() => {});
    return this.rows.wallets.get(Buffer.from(walletId).toString("hex"))?.shares.get(epoch) ?? null;
  }

  async write(name: { walletId: Uint8Array; epoch: number; tag: Uint8Array }): Promise<void> {
    await this.#durable(true, () => {
      if (this.isBackupFailing) throw new Error("folder");
      const [walletId, tag] = [name.walletId, name.tag].map((bytes) => Buffer.from(bytes).toString("hex"));
      const file = `${walletId}.${name.epoch}.${tag}`;
      if (this.rows.backups.includes(file)) throw new Error("never overwritten");
      this.rows.backups.push(file);
    });
  }

  async backedUp(): Promise<readonly string[]> {
    return this.rows.backups.map((file) => walletIdText(Buffer.from(file.split(".")[0] ?? "", "hex")));
  }

  async scan(namespace: string, { after, limit }: ScanOptions): Promise<StoreRow[]> {
    const first = `${namespace}/${after ?? ""}`;
    const keys = [...this.rows.beside.keys()].filter((key) => key.startsWith(`${namespace}/`) && key > first).sort();
    return keys.slice(0, limit).map((key) => ({
      key: key.slice(namespace.length + 1),
      value: this.rows.beside.get(key) ?? Buffer.alloc(0),
    }));
  }

  async #durable(isBackup: boolean, run: () => void): Promise<void> {
    if (!this.isDead) this.onDurable(true, isBackup);
    if (!this.isDead) {
      run();
      this.onDurable(false, isBackup);
    }
    // Nobody is there any more to hear of it.
    if (this.isDead) await new Promise(() => {});
  }

  #apply({ walletId, row, put, erase, beside }: PartyCommit): void {
    const key = Buffer.from(walletId).toString("hex");
    const shares = new Map(this.rows.wallets.get(key)?.shares);
    for (const epoch of erase) shares.delete(epoch);
    if (put !== null) shares.set(put.epoch, { ...put, record: Buffer.from(put.record) });
    // As the durable store, which writes no row that a start would refuse.
    const named =
      row === null ? [] : [row.activeEpoch, row.preparedEpoch, row.keptEpoch].filter((epoch) => epoch !== 0);
    if (row !== null && [...shares.keys()].sort().join() !== named.sort().join())
      throw new Error("epochs without shares");
    if (row === null) this.rows.wallets.delete(key);
    else this.rows.wallets.set(key, { row: encodeStateRow(row), shares });
    for (const write of beside) this.#beside(write);
  }

  #beside({ namespace, key, value }: StateWrite): void {
    if (value === null) this.rows.beside.delete(`${namespace}/${key}`);
    else this.rows.beside.set(`${namespace}/${key}`, value);
  }
}
