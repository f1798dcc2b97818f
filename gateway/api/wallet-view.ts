/** A wallet as callers see it. */
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import type { WalletRow } from "../../schemas/wallets.js";

export function walletRow({ userId, address, walletId, publicKey, createdAt, state, epoch }: Wallet): WalletRow {
  // No API key can be registered for a wallet of the provider yet.
  return { userId, address, walletId, publicKey, createdAt, state, epoch, exchanges: [] };
}
