/**
 * The wallets of the provider as the routes of accounts and orders find them, beside wallets that are configured with
 * their credentials. The provider's have those keys that are registered for them (interface spec 4.2).
 */
import type { CredentialSource, WalletCredentials } from "../../engine/custody/credential-source.js";
import type { KeyBlocks } from "../../engine/custody/registration/key-blocks.js";
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";

/** `configured` goes first: a name that both have is that of the wallet with credentials. */
export function joinedWallets(
  configured: CredentialSource,
  provider: Pick<WalletProvider, "find"> | null,
  keys: Pick<KeyBlocks, "opened"> | null,
): CredentialSource {
  if (provider === null) return configured;
  return {
    async find(name, ownerId): Promise<WalletCredentials | null> {
      const found = await configured.find(name, ownerId);
      if (found !== null) return found;
      const wallet = provider.find(name, ownerId);
      if (wallet === null) return null;
      const { walletId, userId, address } = wallet;
      const credentials = (await keys?.opened(walletId)) ?? {};
      return { ownerId: wallet.ownerId, walletId, userId, address: address.toLowerCase(), credentials };
    },
  };
}
