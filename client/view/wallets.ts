/** Server wallets as rows for people. */
import type { WalletRow as ListedWallet } from "../../schemas/wallets.js";

export interface WalletRow {
  readonly walletId: string;
  readonly user: string;
  readonly address: string;
  /** Venues where it has a key, each with the key's state; "none yet" without one. */
  readonly keysText: string;
  readonly state: ListedWallet["state"];
  readonly stateText: string;
  /** Why it cannot sign; "" where it may. */
  readonly problem: string;
}

const STATES: Readonly<Record<ListedWallet["state"], string>> = {
  ACTIVE: "ACTIVE",
  FROZEN: "FROZEN",
  REFRESH_DUE: "REFRESH DUE",
  RESTORED: "RESTORED",
};

export function walletRows(wallets: readonly ListedWallet[]): WalletRow[] {
  return wallets.map(({ walletId, userId, address, exchanges, state }) => ({
    walletId,
    user: userId,
    address,
    keysText: exchanges.map(({ exchange, status }) => `${exchange} ${status}`).join(", ") || "none yet",
    state,
    stateText: STATES[state],
    problem: state === "FROZEN" ? "Frozen: an operator must act" : "",
  }));
}
