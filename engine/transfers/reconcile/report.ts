/** What a comparison of the ledger with chains, venues and signing parties comes to. */
import type { Restored } from "../../storage/instance/instance-mark.js";
import type { TransferBlock } from "./blocks.js";

export type DifferenceKind =
  /** The venue's history has it, and no row of the ledger explains it. */
  | "UNKNOWN_ENTRY"
  /** The ledger says that it took effect, and the venue's history does not have it. */
  | "MISSING_ENTRY"
  /** The chain has used nonces of the wallet that the ledger knows nothing of. */
  | "UNKNOWN_TRANSACTIONS"
  /** The ledger holds a nonce to be used for good that the chain has free. */
  | "NONCE_BELOW"
  /** The ledger holds a transaction to be final, and the chain does not show it. */
  | "TRANSACTION_MISSING"
  /** The two signing parties hold different epochs of the wallet's shares. */
  | "EPOCHS"
  /** The co-signer, or a backup, has a wallet that the store lost. */
  | "WALLET_LOST";

export const DIFFERENCE_KINDS: readonly DifferenceKind[] = [
  ...(["UNKNOWN_ENTRY", "MISSING_ENTRY", "UNKNOWN_TRANSACTIONS", "NONCE_BELOW", "TRANSACTION_MISSING"] as const),
  ...(["EPOCHS", "WALLET_LOST"] as const),
];

export interface Difference {
  readonly kind: DifferenceKind;
  readonly walletId: string;
  /** A venue by its name, `chain 56`, `co-signer`. */
  readonly part: string;
  /** Of the ledger's row; null: there is none. */
  readonly transferId: string | null;
  /** For people. */
  readonly text: string;
  /** When it happened, wall ms; null where nobody says. */
  readonly atMs: number | null;
}

/** What could not be read is not compared, and never counts as the same. */
export interface UnreadPart {
  readonly part: string;
  /** Null: of no wallet. */
  readonly walletId: string | null;
  readonly code: string;
}

/** Final transactions of a wallet on a chain that were not asked for: the newest ones were. */
export interface UncomparedPart {
  readonly part: string;
  readonly walletId: string;
  readonly transactions: number;
}

export interface ReconcileReport {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Histories were read from here on. */
  readonly sinceMs: number;
  readonly wallets: number;
  /** Parts of wallets that were read and compared. */
  readonly compared: number;
  readonly restored: Restored | null;
  readonly differences: readonly Difference[];
  readonly differenceCounts: Readonly<Record<DifferenceKind, number>>;
  readonly unread: readonly UnreadPart[];
  readonly unreadCount: number;
  /** Each once. */
  readonly unreadParts: readonly string[];
  readonly uncompared: readonly UncomparedPart[];
  /** Transactions of all of them. */
  readonly uncomparedCount: number;
}

/** What a release writes down of a comparison. */
export interface ReconcileFindings {
  readonly blocks: readonly TransferBlock[];
  /** Nonces below `nonce` are used for good. */
  readonly nonces: readonly { readonly chainId: number; readonly account: string; readonly nonce: number }[];
}
