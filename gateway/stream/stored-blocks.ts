/** The credentials of a frame: those that it carries, then those of the server wallet that it names, as `x-wallet-id` does. */
import { ServiceError } from "../../engine/domain/errors.js";

export type Blocks = Readonly<Partial<Record<string, unknown>>>;

/** A wallet of the owner, with the blocks of the keys that are registered for it; null: it has no such wallet. */
export type StoredWallets = (
  walletId: string,
  ownerId: string | null,
) => { readonly address: string; readonly blocks: Blocks } | null;

interface Wish {
  readonly walletId: string | undefined;
  readonly credentials: Blocks | undefined;
  /** Where the frame names it. */
  readonly walletAddress: string | null;
  readonly ownerId: string | null;
}

/** Throws WALLET_NOT_FOUND, and INVALID_WALLET_ID where the frame names the address of another. */
export function blocksOfFrame(wallets: StoredWallets | null, wish: Wish): Blocks {
  const { walletId, credentials = {}, walletAddress, ownerId } = wish;
  if (walletId === undefined) return credentials;
  const wallet = wallets?.(walletId, ownerId) ?? null;
  if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
  if (walletAddress !== null && wallet.address.toLowerCase() !== walletAddress.toLowerCase())
    throw new ServiceError("INVALID_WALLET_ID");
  return { ...wallet.blocks, ...credentials };
}
