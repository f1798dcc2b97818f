/** The credentials of a frame: those that it carries, then those of the server wallet that it names, as `x-wallet-id` does. */
import { ServiceError } from "../../engine/domain/errors.js";

export type Blocks = Readonly<Partial<Record<string, unknown>>>;

/** A server wallet that trades with keys that are registered for it. */
export interface StoredWallet {
  readonly walletId: string;
  readonly address: string;
  /** By the keys that trade now. */
  blocks(): Blocks;
  /** `hear`: the keys may have changed. Call the result to end it. */
  listen(hear: () => void): () => void;
}

/** A wallet of the owner; null: it has no such wallet. */
export type StoredWallets = (walletId: string, ownerId: string | null) => StoredWallet | null;

interface Wish {
  readonly walletId: string | undefined;
  /** Where the frame names it. */
  readonly walletAddress: string | null;
  readonly ownerId: string | null;
}

/**
 * Null: the frame names none. Throws WALLET_NOT_FOUND, and INVALID_WALLET_ID where the frame names the address of another.
 */
export function walletOfFrame(wallets: StoredWallets | null, wish: Wish): StoredWallet | null {
  const { walletId, walletAddress, ownerId } = wish;
  if (walletId === undefined) return null;
  const wallet = wallets?.(walletId, ownerId) ?? null;
  if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
  if (walletAddress !== null && wallet.address.toLowerCase() !== walletAddress.toLowerCase())
    throw new ServiceError("INVALID_WALLET_ID");
  return wallet;
}

/** As they are now. */
export function blocksOfFrame(wallets: StoredWallets | null, wish: Wish, carried: Blocks = {}): Blocks {
  return { ...walletOfFrame(wallets, wish)?.blocks(), ...carried };
}
