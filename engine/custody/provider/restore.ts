/**
 * A wallet out of its backup (docs/mpc.md, section 13): the rows that a plan makes of an opened file.
 * Invariants: no row of the same or a higher epoch is replaced; what is restored can be refreshed and not sign.
 */
import { CTR_STEP_MAX } from "../mpc/state/abort-count.js";
import { shareContext } from "../mpc/state/share-record.js";
import type { StateRow } from "../mpc/state/state-row.js";
import type { Sealer } from "../sealing/sealer.js";
import type { OpenBackup } from "./open-backup.js";
import type { StoredParty, StoredShare } from "./party-store.js";
import { isSameEpoch, type RestorePlan, restoredRow } from "./restore-plan.js";

/**
 * Sessions of the epoch since its backup was made, twice over: the other side's ctr may be as far ahead. Further is no
 * ctr of this epoch, and a wallet that took it over would have fewer left.
 */
const CTR_AHEAD_MAX = 2n * CTR_STEP_MAX;

export type RestoreProblem =
  /** The opened file is of another wallet, epoch or tag than the plan. */
  | "OTHER_BACKUP"
  /** The store holds an epoch that is the same or higher, which it did not when the plan was made. */
  | "HIGHER_EPOCH"
  /** The inventory of the other side names a ctr that no session of this epoch had. */
  | "CTR";

/** What the store of the party gets; a running host takes it as it is. */
export interface RestoredParty {
  readonly walletId: Uint8Array;
  readonly row: StateRow;
  readonly share: StoredShare;
  /** Share rows of former epochs, which go in the same commit. */
  readonly erase: readonly number[];
}

export type Restored =
  | { readonly ok: true; readonly restored: RestoredParty }
  | { readonly ok: false; readonly problem: RestoreProblem };

/** `stored`: what the store of this side has of the wallet now. The backup stays the caller's to wipe. */
export function restoredParty(
  plan: RestorePlan & { readonly kind: "restore" },
  stored: StoredParty | null,
  backup: OpenBackup,
  sealer: Pick<Sealer, "seal">,
): Restored {
  const { walletId, party, epoch, publicKey, tag } = backup;
  const isOther = stored !== null && Buffer.compare(stored.walletId, walletId) !== 0;
  if (isOther || !isSameEpoch(plan, { epoch, tag: tag.toString("hex") })) return { ok: false, problem: "OTHER_BACKUP" };
  const former = stored?.row ?? null;
  if (former !== null && Math.max(former.activeEpoch, former.preparedEpoch) >= epoch)
    return { ok: false, problem: "HIGHER_EPOCH" };
  const own = former !== null && former.ctr > backup.ctr ? former.ctr : backup.ctr;
  if (plan.ctr > own + CTR_AHEAD_MAX) return { ok: false, problem: "CTR" };
  const row = restoredRow(epoch, plan.ctr > own ? plan.ctr : own, former);
  const share = backup.toShare();
  try {
    const record = share.sealedBy(sealer, shareContext({ walletId, party, epoch, publicKey }));
    const erase = (stored?.epochs ?? []).map((known) => known.epoch);
    return { ok: true, restored: { walletId, row, share: { epoch, tag, publicKey, record }, erase } };
  } finally {
    share.wipe();
  }
}
