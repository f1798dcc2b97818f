/**
 * The durable rows of a party (docs/mpc.md, 5.4): share records, sealed in place, state rows, and what belongs into the
 * same commit. Invariant: a commit is durable (fsync) when it resolves, and all of it or nothing is.
 */
import type { StateWrite } from "../../storage/state-store.js";
import type { StateRow } from "../mpc/state/state-row.js";

/** What is known of an epoch without opening its record. */
export interface EpochName {
  readonly epoch: number;
  readonly tag: Uint8Array;
  /** P, 33 bytes. */
  readonly publicKey: Uint8Array;
}

export interface StoredShare extends EpochName {
  /** Sealed. */
  readonly record: Uint8Array;
}

export interface StoredParty {
  readonly walletId: Uint8Array;
  readonly row: StateRow;
  /** Epochs that have a share record. That of a restored wallet has no OT state: it is good for a refresh alone. */
  readonly epochs: readonly EpochName[];
}

export interface PartyCommit {
  readonly walletId: Uint8Array;
  /** Null: the row goes, and with it every share record. */
  readonly row: StateRow | null;
  readonly put: StoredShare | null;
  readonly erase: readonly number[];
  /** S: the wallet's own row (owner, user id). C: the amounts of the day. In the same commit. */
  readonly beside: readonly StateWrite[];
}

export interface PartyStore {
  /** All wallets, at the start. A row that cannot be read rejects: a party that forgets a freeze must not run. */
  load(): Promise<readonly StoredParty[]>;
  /** Rejects with STORE_UNAVAILABLE. */
  commit(commit: PartyCommit): Promise<void>;
  /** The sealed record of an epoch; null: there is none. Not while a commit of the same wallet is under way. */
  share(walletId: Uint8Array, epoch: number): Promise<StoredShare | null>;
}

/** The backup folder of a party. The file is durable, and so is its name, when this resolves. Never overwrites. */
export interface BackupFolder {
  write(name: { walletId: Uint8Array; epoch: number; tag: Uint8Array }, file: Uint8Array): Promise<void>;
}
