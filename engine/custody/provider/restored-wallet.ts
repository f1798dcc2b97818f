/**
 * A wallet that an operator restored from its backup (docs/mpc.md, section 13): it has a share and no OT state, refuses
 * sessions, and is refreshed by mode 2.
 */
import { ServiceError } from "../../domain/errors.js";
import type { StateWrite } from "../../storage/state-store.js";
import type { StateRow } from "../mpc/state/state-row.js";
import type { PartyHost } from "./party-host.js";
import type { StoredShare } from "./party-store.js";

export interface RestoredWallet {
  readonly walletId: Uint8Array;
  readonly row: StateRow;
  readonly share: StoredShare;
}

/**
 * Rejects with STORE_UNAVAILABLE where the store does not take it: then it is owed, and done once the store works.
 * Rejects with INVALID_PARAMETERS for what would replace a row of the same or a higher epoch, or meets a session.
 */
export async function restoreWallet<Request>(
  host: PartyHost<Request>,
  { walletId, row, share }: RestoredWallet,
  beside: readonly StateWrite[],
): Promise<void> {
  if (row.status !== "restored" || row.stage !== "none" || row.activeEpoch !== share.epoch)
    throw new ServiceError("INTERNAL", { problem: "custody: not a restored row" });
  const wallet = host.rows.get(walletId) ?? host.rows.attempt(walletId);
  await wallet.inTurn(async () => {
    if (wallet.session !== null) throw new ServiceError("INVALID_PARAMETERS", { problem: "a session is under way" });
    if (wallet.row !== null && Math.max(wallet.row.activeEpoch, wallet.row.preparedEpoch) >= row.activeEpoch)
      throw new ServiceError("INVALID_PARAMETERS", { problem: "the store has this epoch or a later one" });
    const erase = [...wallet.epochs.keys()].filter((epoch) => epoch !== share.epoch);
    wallet.owesRestore = !(await host.rows.write(wallet, { row, put: share, erase, beside, owesShare: true }));
    if (wallet.owesRestore) throw new ServiceError("STORE_UNAVAILABLE", { reason: "COMMIT_FAILED" });
  });
  host.reports.restored(wallet, true);
  host.exchange.ask(wallet);
}
