/**
 * Restores of wallets in the process of one party (docs/mpc.md, section 13). The operator's command opens a backup with
 * the offline key and seals it again to a key that this process made for it; the plan is made here, where the store is.
 *
 * Invariants: a key is good for one restore of one wallet, within ten minutes; the private half and the opened share are
 * wiped, whatever comes of it.
 */
import { openBackupFile } from "../../engine/custody/provider/backup-file.js";
import { makeBackupPair } from "../../engine/custody/provider/backup-key.js";
import { type BackupName, TAG_PREFIX_BYTES } from "../../engine/custody/provider/backup-name.js";
import type { BackupOwner, OpenBackup } from "../../engine/custody/provider/open-backup.js";
import type { StoredParty } from "../../engine/custody/provider/party-store.js";
import { type RestoredParty, type RestoreProblem, restoredParty } from "../../engine/custody/provider/restore.js";
import {
  inventoryOf,
  planRestore,
  type RestorePlan,
  type RestoreRefusal,
  type WalletInventory,
} from "../../engine/custody/provider/restore-plan.js";
import { walletIdBytes } from "../../engine/custody/provider/wallet-names.js";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import type { RandomSource } from "../../engine/custody/mpc/base/random.js";
import type { Sealer } from "../../engine/custody/sealing/sealer.js";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { AdminRefusal } from "./protocol.js";
import type { BackupEpoch, RestoreOffer, WalletActReport, WalletAdmin } from "./wallet-admin.js";

const KEY_MS = 600_000;
/** Restores begun and not ended, of all wallets. */
const OPEN_MAX = 16;

export interface RestoreParts {
  readonly party: Party;
  readonly sealer: Pick<Sealer, "seal">;
  readonly random: RandomSource;
  readonly clock: Clock;
  /** What the store has of a wallet now. */
  stored(walletId: string): StoredParty | null;
  /** `owner`: of S's backup; null at C. */
  restore(restored: RestoredParty, owner: BackupOwner | null): Promise<void>;
}

interface OpenRestore {
  readonly plan: RestorePlan & { readonly kind: "restore" };
  readonly privateKey: Buffer;
  readonly timer: TimerHandle;
}

export class WalletRestores {
  readonly #parts: RestoreParts;
  readonly #open = new Map<string, OpenRestore>();

  constructor(parts: RestoreParts) {
    this.#parts = parts;
  }

  inventory(walletId: string, backups: readonly BackupEpoch[]): WalletInventory {
    const { party } = this.#parts;
    const bytes = bytesOf(walletId);
    const names: BackupName[] = backups.map(({ epoch, tag }) => ({ walletId: bytes, party, epoch, tag }));
    return inventoryOf(bytes, this.#parts.stored(walletId), names);
  }

  /** A second begin of a wallet takes the place of the first. Throws RESTORE_REFUSED. */
  begin(walletId: string, backups: readonly BackupEpoch[], peer: WalletInventory): RestoreOffer {
    const plan = planRestore(this.inventory(walletId, backups), peer);
    if (plan.kind === "refused") throw refused(plan.reason, PLAN_TEXTS[plan.reason]);
    if (plan.kind === "keep") return plan;
    this.#drop(walletId);
    if (this.#open.size >= OPEN_MAX) throw refused("TOO_MANY", "too many restores are under way: end them first");
    const { privateKey, publicKey } = makeBackupPair(this.#parts.random);
    const timer = this.#parts.clock.setTimer(() => this.#drop(walletId), KEY_MS);
    this.#open.set(walletId, { plan, privateKey, timer });
    const { epoch, tag } = plan;
    return { kind: "restore", epoch, tag, publicKey: publicKey.bytes.toString("hex") };
  }

  /** Uses the key of `begin` up. Rejects with RESTORE_REFUSED, or STORE_UNAVAILABLE. */
  async end(walletId: string, file: Uint8Array): Promise<WalletActReport> {
    const open = this.#open.get(walletId);
    if (open === undefined) throw refused("KEY_GONE", "the key of this restore is used up or older than ten minutes");
    let backup: OpenBackup | null = null;
    try {
      const { plan, privateKey } = open;
      backup = this.#opened(walletId, plan, file, privateKey);
      const { sealer, stored, restore } = this.#parts;
      const made = restoredParty(plan, stored(walletId), backup, sealer);
      if (!made.ok) throw refused(made.problem, PROBLEM_TEXTS[made.problem]);
      await worded(restore(made.restored, backup.owner));
      return { walletId, epoch: plan.epoch, state: "RESTORED" };
    } finally {
      backup?.wipe();
      this.#drop(walletId);
    }
  }

  close(): void {
    for (const walletId of [...this.#open.keys()]) this.#drop(walletId);
  }

  #opened(walletId: string, { epoch, tag }: OpenRestore["plan"], file: Uint8Array, privateKey: Buffer): OpenBackup {
    const prefix = Buffer.from(tag, "hex").subarray(0, TAG_PREFIX_BYTES);
    const name = { walletId: bytesOf(walletId), party: this.#parts.party, epoch, tag: prefix };
    const opened = openBackupFile(name, file, privateKey);
    if (!opened.ok) throw refused(opened.reason, "what was sent is not the backup that was asked for");
    return opened.backup;
  }

  #drop(walletId: string): void {
    const open = this.#open.get(walletId);
    if (open === undefined) return;
    this.#open.delete(walletId);
    this.#parts.clock.clearTimer(open.timer);
    open.privateKey.fill(0);
  }
}

/** The restores as the administration has them. */
export function restoreActs(restores: WalletRestores): Pick<WalletAdmin, "inventory" | "beginRestore" | "restore"> {
  return {
    inventory: async (walletId, backups) => restores.inventory(walletId, backups),
    beginRestore: async (walletId, backups, peer) => restores.begin(walletId, backups, peer),
    restore: (walletId, file) => restores.end(walletId, file),
  };
}

const PLAN_TEXTS: Readonly<Record<RestoreRefusal, string>> = {
  WALLET: "the inventory of the other side is of another wallet",
  NO_COMMON_EPOCH: "no epoch is known to both sides: the folder of backups or the inventory is not the right one",
  HIGHER_EPOCH: "this store holds a later epoch than the other side can come back to, and no row is replaced",
  PREPARED: "this store has prepared an epoch: let the two parties meet, they settle it by themselves",
};

const PROBLEM_TEXTS: Readonly<Record<RestoreProblem, string>> = {
  OTHER_BACKUP: "the backup is of another wallet or epoch than the plan",
  HIGHER_EPOCH: "the store has got this epoch or a later one meanwhile",
  CTR: "the inventory of the other side names a count of sessions that this epoch cannot have had",
};

/** What meets a session, or a row that came meanwhile, is refused in words. */
async function worded(act: Promise<void>): Promise<void> {
  try {
    await act;
  } catch (error) {
    const problem =
      error instanceof ServiceError && error.code === "INVALID_PARAMETERS" ? error.context["problem"] : "";
    throw typeof problem === "string" && problem !== "" ? refused("STATE", problem) : error;
  }
}

function refused(reason: string, why: string): AdminRefusal {
  return new AdminRefusal("RESTORE_REFUSED", `Nothing was restored: ${why}`, { reason });
}

function bytesOf(walletId: string): Buffer {
  const bytes = walletIdBytes(walletId);
  if (bytes === null) throw new ServiceError("INVALID_PARAMETERS", { problem: "not the UUID of a wallet" });
  return bytes;
}
