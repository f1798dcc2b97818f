/** What C's operator may do over the admin socket of the co-signer: its wallets, its audit rows, its own key. */
import type { CosignerWallet } from "../../engine/custody/provider/cosigner-host.js";
import { AdminRefusal } from "../admin/protocol.js";
import type { AdminPorts } from "../admin/operations.js";
import type { WalletAdmin } from "../admin/wallet-admin.js";
import { VERSION } from "../app/version.js";
import type { KeyAdmin } from "../auth/key-admin.js";
import { restoreActs } from "../admin/wallet-restores.js";
import type { Cosigner } from "./cosigner.js";

/** `startedAtMs`: Unix epoch. */
export function cosignerPorts(cosigner: Cosigner, startedAtMs: number): AdminPorts {
  const { audit, sealRotation, url } = cosigner;
  return {
    keys: NO_KEYS,
    ...{ audit, sealRotation, tls: null, reconcile: null, wallets: cosignerWallets(cosigner) },
    status: () => ({
      ...{ running: true, version: VERSION, profile: "cosigner", authMode: "pinned", url },
      ...{ pid: process.pid, startedAtMs, kekId: cosigner.kekId, tls: null },
    }),
  };
}

/** An approval: the refresh itself is begun at the service. */
export function cosignerWallets({ host, restores }: Pick<Cosigner, "host" | "restores">): WalletAdmin {
  const approve = async (walletId: string, mode: 1 | 2) => {
    const report = host.approve(walletId, mode);
    if (report.ok) return { walletId, epoch: report.epoch, state: "APPROVED" };
    if (report.status === null) throw new AdminRefusal("WALLET_UNKNOWN", "No such wallet at the co-signer");
    const state = STATES[report.status];
    const why = `The wallet is ${state} at the co-signer, which does not allow this: nothing was approved`;
    throw new AdminRefusal("WALLET_STATE", why, { state });
  };
  return {
    list: async () =>
      host.wallets().map(({ walletId, address, status, epoch }) => ({
        ...{ walletId, address, ownerId: null, userId: null, state: STATES[status], epoch },
      })),
    refresh: (walletId) => approve(walletId, 2),
    unfreeze: (walletId) => approve(walletId, 1),
    ...restoreActs(restores),
  };
}

/** As the service names them. */
const STATES: Readonly<Record<CosignerWallet["status"], string>> = {
  ...{ new: "ACTIVE", active: "ACTIVE", frozen: "FROZEN", restored: "RESTORED", refreshDue: "REFRESH_DUE" },
};

const refuse = () => Promise.reject(new AdminRefusal("NOT_AVAILABLE", "Not available: a co-signer has no API keys"));
const NO_KEYS: KeyAdmin = { create: refuse, list: refuse, rotate: refuse, revoke: refuse };
