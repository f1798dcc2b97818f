/** The operator's acts on wallets at the service's side: they begin what the co-signer's operator has allowed. */
import type { RefreshMode } from "../../engine/custody/mpc/state/state-row.js";
import type { EmbeddedProvider } from "../../engine/custody/provider/embedded-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { WalletAdmin } from "../admin/wallet-admin.js";
import { restoreActs, type WalletRestores } from "../admin/wallet-restores.js";

export function serviceWallets(provider: EmbeddedProvider, restores: WalletRestores): WalletAdmin {
  const stateOf = (walletId: string) => provider.all().find((wallet) => wallet.walletId === walletId)?.state ?? null;
  const act = async (walletId: string, modeOf: (state: string) => RefreshMode) => {
    const before = stateOf(walletId);
    if (before === null)
      throw new AdminRefusal(
        "WALLET_UNKNOWN",
        "No such wallet here. Where this side's store was lost: `unwind wallets restore`",
      );
    const mode = modeOf(before);
    try {
      const epoch = await provider.refresh(walletId, mode);
      return { walletId, epoch, state: stateOf(walletId) ?? "UNKNOWN" };
    } catch (error) {
      const now = { walletId, state: stateOf(walletId) ?? before, isMet: provider.status().problem === null };
      throw error instanceof ServiceError ? worded(error, mode, now) : error;
    }
  };
  return {
    list: async () => [
      ...provider.all().map(({ walletId, address, ownerId, userId, state, epoch }) => ({
        ...{ walletId, address, ownerId, userId, state, epoch },
      })),
      ...provider.lost().map((walletId) => ({ walletId, ...LOST })),
    ],
    refresh: (walletId, afterRestore) => act(walletId, (state) => (afterRestore || state === "RESTORED" ? 2 : 0)),
    unfreeze: (walletId) => act(walletId, () => 1),
    ...restoreActs(restores),
  };
}

/** Nothing is known of it but its id. */
const LOST = { address: null, ownerId: null, userId: null, state: "LOST", epoch: 0 };

interface Now {
  readonly walletId: string;
  readonly state: string;
  /** The co-signer is there. */
  readonly isMet: boolean;
}

/** What the operator has to do next; other errors stay what they are. */
function worded(error: ServiceError, mode: RefreshMode, now: Now): Error {
  switch (error.code) {
    case "WALLET_FROZEN":
      return new AdminRefusal(
        error.code,
        "The wallet is frozen: find the cause, then `unwind wallets unfreeze` at the co-signer (--cosigner), then here",
      );
    case "RESTORED_STORE":
      return new AdminRefusal(
        error.code,
        "The two sides hold different epochs, or one of them lost the wallet: restore the side that is behind (`unwind wallets restore`)",
      );
    case "INVALID_PARAMETERS":
      return new AdminRefusal("WALLET_STATE", `The wallet is ${now.state}, which does not allow this`, {
        state: now.state,
      });
    case "SIGNER_UNAVAILABLE":
      return partFailure(error) ?? unavailable(mode, now);
    default:
      return error;
  }
}

/** A store or a folder that failed, here or at the co-signer. Null: it is none of them. */
function partFailure({ context: { reason } }: ServiceError): AdminRefusal | null {
  if (reason === "COSIGNER_FAILED")
    return new AdminRefusal(
      "SIGNER_UNAVAILABLE",
      "The co-signer met a fault, such as a store or a backup folder that takes nothing: its log says which. Look at `unwind wallets list` once it is mended",
      { reason },
    );
  if (reason === "BACKUP_FAILED")
    return new AdminRefusal("SIGNER_UNAVAILABLE", "The backup folder of this side takes nothing: nothing was made", {
      reason,
    });
  if (reason !== "STORE_FAILED") return null;
  return new AdminRefusal(
    "SIGNER_UNAVAILABLE",
    "The store of this side takes nothing. Look at `unwind wallets list` once it does",
    { reason },
  );
}

function unavailable(mode: RefreshMode, { walletId, isMet }: Now): AdminRefusal {
  if (!isMet) return new AdminRefusal("SIGNER_UNAVAILABLE", "The co-signer is not there: nothing was begun");
  if (mode === 0)
    return new AdminRefusal(
      "SIGNER_UNAVAILABLE",
      "The co-signer refused or did not answer. Where its wallet was restored: `unwind wallets refresh` there (--cosigner), then here with --after-restore. Look at `unwind wallets list` before you repeat it",
    );
  const what = mode === 1 ? "unfreeze" : "refresh";
  return new AdminRefusal(
    "APPROVAL_NEEDED",
    `The co-signer did not agree. Its operator allows this first, ten minutes and once: \`unwind wallets ${what} ${walletId} --cosigner <folder>\``,
  );
}
