/**
 * Acts of an operator on the wallets of one signing party (docs/mpc.md, 9, 10, 13). At the service they are done; at the
 * co-signer they are allowed, ten minutes and once, and the service's act uses that up.
 */
import type { BackupName } from "../../engine/custody/provider/backup-name.js";
import type { WalletInventory } from "../../engine/custody/provider/restore-plan.js";

/** A backup of the party, by what its file name says beside the wallet. */
export type BackupEpoch = Pick<BackupName, "epoch" | "tag">;

export interface WalletLine {
  /** UUID. */
  readonly walletId: string;
  /** EIP-55; null: of a wallet that this side lost. */
  readonly address: string | null;
  /** Null: made without an API key; at the co-signer, which knows no owner and no user; of a wallet that is lost. */
  readonly ownerId: string | null;
  readonly userId: string | null;
  /** `LOST`: the other side, or a backup of this one, has it, and this store has not. */
  readonly state: string;
  /** 0: of a wallet that is lost. */
  readonly epoch: number;
}

export interface WalletActReport {
  readonly walletId: string;
  /** That the act made, or will make. */
  readonly epoch: number;
  readonly state: string;
}

export type RestoreOffer =
  | {
      readonly kind: "restore";
      /** The backup that is to be sealed again. */
      readonly epoch: number;
      /** 64 hex digits, or the first 16. */
      readonly tag: string;
      /** X25519, 64 hex digits: of this process, for one restore of this wallet within ten minutes. */
      readonly publicKey: string;
    }
  /** This side has what it needs. */
  | { readonly kind: "keep"; readonly epoch: number };

/** Rejects with AdminRefusal WALLET_UNKNOWN, or with the ServiceError of the act. */
export interface WalletAdmin {
  list(): Promise<readonly WalletLine[]>;
  /** New shares of the same address. `afterRestore`: of a side that this one does not know to be restored. */
  refresh(walletId: string, afterRestore: boolean): Promise<WalletActReport>;
  /** The way out of a freeze: a refresh with a test signature. */
  unfreeze(walletId: string): Promise<WalletActReport>;
  /** What this side has, for the operator of the other. Public. */
  inventory(walletId: string, backups: readonly BackupEpoch[]): Promise<WalletInventory>;
  /** Rejects with AdminRefusal RESTORE_REFUSED, as the next. */
  beginRestore(walletId: string, backups: readonly BackupEpoch[], peer: WalletInventory): Promise<RestoreOffer>;
  /** `file`: the backup that was offered, sealed to the key of the offer. */
  restore(walletId: string, file: Uint8Array): Promise<WalletActReport>;
}
