/**
 * Acts of an operator on the wallets of one signing party (docs/mpc.md, 9, 10, 13). At the service they are done; at the
 * co-signer they are allowed, ten minutes and once, and the service's act uses that up.
 */

export interface WalletLine {
  /** UUID. */
  readonly walletId: string;
  /** EIP-55. */
  readonly address: string;
  /** Null at the co-signer, which knows none. */
  readonly userId: string | null;
  readonly state: string;
  readonly epoch: number;
}

export interface WalletActReport {
  readonly walletId: string;
  /** That the act made, or will make. */
  readonly epoch: number;
  readonly state: string;
}

/** Rejects with AdminRefusal WALLET_UNKNOWN, or with the ServiceError of the act. */
export interface WalletAdmin {
  list(): Promise<readonly WalletLine[]>;
  /** New shares of the same address; after a restore too. */
  refresh(walletId: string): Promise<WalletActReport>;
  /** The way out of a freeze: a refresh with a test signature. */
  unfreeze(walletId: string): Promise<WalletActReport>;
}
