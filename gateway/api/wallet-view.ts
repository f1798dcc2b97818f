/** A wallet as callers see it. */
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import type { KeyView } from "../../engine/custody/registration/key-views.js";
import type { WalletRow } from "../../schemas/wallets.js";
import { exchangeRow } from "./venue-key-view.js";

export function walletRow(
  { userId, address, walletId, publicKey, createdAt, state, epoch }: Wallet,
  keys: readonly KeyView[],
): WalletRow {
  return { userId, address, walletId, publicKey, createdAt, state, epoch, exchanges: keys.map(exchangeRow) };
}
