/** The operator's acts on wallets at the service's side: they begin what the co-signer's operator has allowed. */
import type { EmbeddedProvider } from "../../engine/custody/provider/embedded-provider.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { WalletAdmin } from "../admin/wallet-admin.js";

export function serviceWallets(provider: EmbeddedProvider): WalletAdmin {
  const stateOf = (walletId: string) => provider.all().find((wallet) => wallet.walletId === walletId) ?? null;
  const act = async (walletId: string, modeOf: (state: string) => 0 | 1 | 2) => {
    const before = stateOf(walletId);
    if (before === null) throw new AdminRefusal("WALLET_UNKNOWN", "No such wallet");
    const epoch = await provider.refresh(walletId, modeOf(before.state));
    return { walletId, epoch, state: stateOf(walletId)?.state ?? "UNKNOWN" };
  };
  return {
    list: async () =>
      provider
        .all()
        .map(({ walletId, address, userId, state, epoch }) => ({ walletId, address, userId, state, epoch })),
    refresh: (walletId) => act(walletId, (state) => (state === "RESTORED" ? 2 : 0)),
    unfreeze: (walletId) => act(walletId, () => 1),
  };
}
