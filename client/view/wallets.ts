/** Server wallets as rows for people, and what became of a call about one. */
import type { DataOf } from "../api/operations.js";
import { isLocalCode } from "../api/reply.js";

export type ListedWallet = DataOf<"walletList">["wallets"][number];

export interface WalletRow {
  readonly walletId: string;
  readonly user: string;
  readonly address: string;
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
  return wallets.map(({ walletId, userId, address, state }) => ({
    walletId,
    user: userId,
    address,
    state,
    stateText: STATES[state],
    problem: state === "FROZEN" ? "Frozen: an operator must act" : "",
  }));
}

interface Refused {
  readonly code: string;
  readonly error: string;
  readonly outcome: "refused" | "unknown";
  readonly details: Readonly<Record<string, unknown>>;
}

/** What a person reads of a refusal: the problem of a field where it names one. */
export function refusalText({ code, error, outcome, details }: Refused): string {
  if (outcome === "unknown") return `${isLocalCode(code) ? "No answer" : error}: it may have been done. Try again.`;
  const { fields } = details;
  const [first] = Array.isArray(fields) ? (fields as readonly { path?: unknown; problem?: unknown }[]) : [];
  if (typeof first?.problem === "string" && typeof first.path === "string") return `${first.path} ${first.problem}.`;
  return error.endsWith(".") ? error : `${error}.`;
}
