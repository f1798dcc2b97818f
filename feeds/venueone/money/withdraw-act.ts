/** A withdrawal at venueone (sheet sections 5.2 and 10.2): the action, and what the venue's refusals of it mean. Pure. */
import type { MoneyOutcome, WithdrawalAsk } from "../../../engine/venue-money.js";
import { REPEATED_ACT, refusedAct, spentAct } from "../../shared/orders/act-outcome.js";
import { tokenText } from "../../shared/room/money-text.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { isAddress } from "../../shared/sign/eip712.js";
import { classifyText, nonceProblem } from "../rules/errors.js";
import { OVER_BUDGET_INTERVAL_MS } from "./agent-act.js";
import { networkOf, type UserAct } from "./user-act.js";

/** Eight were answered with `Invalid send`. */
export const AMOUNT_PLACES = 6;
/** The bridge counts in 64 bits. */
const AMOUNT_MAX = (1n << 64n) - 1n;

export interface Withdraw extends UserAct {
  readonly type: "withdraw3";
  /** Lower case: the text is hashed as it is. */
  readonly destination: string;
  /** Decimal text in units of the coin. */
  readonly amount: string;
  /** The nonce, and the number of the withdrawal in the ledger. */
  readonly time: number;
}

/** What is stored of the act until it is sent. */
export interface WithdrawRequest {
  /** Lower case; whom a refusal has to name to be about this wallet. */
  readonly account: string;
  readonly action: Withdraw;
}

export type WithdrawDraft =
  | { readonly ok: true; readonly destination: string; readonly amount: string }
  | { readonly ok: false; readonly problem: string };

/** `problem`: what the venue's text cannot carry. */
export function draftOf({ amount, receiver, token }: WithdrawalAsk): WithdrawDraft {
  if (!isAddress(receiver)) return { ok: false, problem: "RECEIVER" };
  const text = amount > AMOUNT_MAX ? null : tokenText(amount, token.decimals, AMOUNT_PLACES);
  return text === null
    ? { ok: false, problem: "AMOUNT" }
    : { ok: true, destination: receiver.toLowerCase(), amount: text };
}

export function requestOf(
  account: string,
  { destination, amount }: Extract<WithdrawDraft, { ok: true }>,
  isMainnet: boolean,
  time: number,
): WithdrawRequest {
  return { account, action: { type: "withdraw3", ...networkOf(isMainnet), destination, amount, time } };
}

/** Null: another program wrote it. */
export function readRequest(text: string): WithdrawRequest | null {
  const stored = parseJsonExact(text);
  if (!isFields(stored) || !isFields(stored["action"])) return null;
  const { account, action } = stored;
  const { type, signatureChainId, hyperliquidChain, destination, amount, time } = action;
  if (typeof account !== "string" || typeof signatureChainId !== "string" || typeof amount !== "string") return null;
  if (type !== "withdraw3" || typeof time !== "number") return null;
  if (hyperliquidChain !== "Mainnet" && hyperliquidChain !== "Testnet") return null;
  if (typeof destination !== "string" || !isAddress(destination)) return null;
  return { account, action: { type, signatureChainId, hyperliquidChain, destination, amount, time } };
}

/** `{"status":"err"}`: as of approvals (agent-act.ts), what the venue refuses for the act itself has used up its nonce. */
export function outcomeOfRefusal({ account }: WithdrawRequest, text: string): MoneyOutcome {
  const nonce = nonceProblem(text)?.kind;
  // Every nonce of the window is remembered, and this is said before any other word: these very bytes came before.
  if (nonce === "duplicate") return REPEATED_ACT;
  if (nonce === "tooHigh") return refusedAct("OTHER", text);
  switch (classifyText(text).code) {
    case "insufficientBalance":
      return spentAct("BALANCE", text);
    case "noAccount":
      // A signature that the venue reads otherwise recovers to a stranger, whom the text then names.
      return text.toLowerCase().includes(`user: ${account}`) ? refusedAct("BALANCE", text) : spentAct("OTHER", text);
    case "addressBudget":
      return refusedAct("RATE_LIMITED", text, OVER_BUDGET_INTERVAL_MS);
    default:
      return spentAct("OTHER", text);
  }
}
