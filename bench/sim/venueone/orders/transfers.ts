/**
 * Money and permissions: sends, withdrawals, class transfers, agents, builder approvals, sub-accounts. Each returns
 * null on success or the text that refuses the action. Invariant: cash is taken from one place before it appears in
 * another, and every movement writes its ledger rows.
 */
import type { L1Action } from "../wire/actions.js";
import { parseWireDecimalE8 } from "../wire/decimals.js";
import { REFUSED } from "../wire/texts.js";
import type { UserAction } from "../wire/user-actions.js";
import type { SimRequestDraft } from "../../core/server/request-log.js";
import { type AgentRefusal, ZERO_ADDRESS } from "../records/agents.js";
import { USDC_TOKEN_ID } from "../records/universe.js";
import { E12_PER_USD, usdText, type Venue, type VenueAccount } from "../records/venue.js";

/** Charged to the sender when the receiver has no account yet. */
const ACTIVATION_FEE_E12 = E12_PER_USD;
const USD_DECIMALS = 6;
const E8_TO_E12 = 10_000n;
/** One percent is 100 bps, one bp ten tenths. */
const TENTHS_BPS_PER_PERCENT = 1_000;
const SUB_ACCOUNT_AMOUNT = /^(\S+) subaccount:(0x[0-9a-f]{40})$/i;
const ABSTRACTIONS = ["unifiedAccount", "portfolioMargin", "disabled", "default"];

/** Executes a user-signed action for the account that signed it. */
export function executeUserAction(venue: Venue, account: VenueAccount, action: UserAction): string | null {
  switch (action.type) {
    case "usdSend":
      return sendUsd(venue, account, action.destination, action.amount);
    case "withdraw3":
      return withdraw(venue, account, action);
    case "spotSend":
      return sendAsset(venue, account, {
        ...action,
        sourceDex: "spot",
        destinationDex: "spot",
        nonce: action.innerNonce,
      });
    case "usdClassTransfer":
      return transferClass(venue, account, action.amount, action.toPerp);
    case "sendAsset":
      return sendAsset(venue, account, { ...action, nonce: action.innerNonce });
    case "approveAgent":
      return approveAgent(venue, account, action);
    case "approveBuilderFee":
      return approveBuilder(account, action.builder, action.maxFeeRate);
    case "userSetAbstraction":
      if (!ABSTRACTIONS.includes(action.abstraction)) return REFUSED.abstractionInvalid;
      account.abstraction = action.abstraction;
      return null;
  }
}

type Amount = { readonly ok: true; readonly e12: bigint } | { readonly ok: false; readonly text: string };

/** USDC of the perp side has 6 decimals; more were answered with `Invalid send`. */
function parseUsd(text: string): Amount {
  const e8 = parseWireDecimalE8(text);
  if (e8 === null) return { ok: false, text: REFUSED.invalidDecimal };
  if (e8 === 0n) return { ok: false, text: REFUSED.sendZero };
  if (e8 % 10n ** BigInt(8 - USD_DECIMALS) !== 0n) return { ok: false, text: REFUSED.invalidSend };
  return { ok: true, e12: e8 * E8_TO_E12 };
}

function sendUsd(venue: Venue, from: VenueAccount, destination: string, amountText: string): string | null {
  const amount = parseUsd(amountText);
  if (!amount.ok) return amount.text;
  if (destination === from.address) return REFUSED.invalidSend;
  const known = venue.account(destination);
  const feeE12 = known === null ? ACTIVATION_FEE_E12 : 0n;
  if (!venue.moveCash(from, -(amount.e12 + feeE12), "WITHDRAW")) return REFUSED.transferBalance;
  const to = known ?? venue.openAccount(destination, "0", "0");
  venue.moveCash(to, amount.e12, "DEPOSIT");
  const delta = {
    type: "internalTransfer",
    usdc: usdText(amount.e12),
    user: from.address,
    destination,
    fee: usdText(feeE12),
  };
  venue.addLedgerRow(from, delta);
  venue.addLedgerRow(to, delta);
  return null;
}

type WithdrawAction = Extract<UserAction, { type: "usdSend" | "withdraw3" }>;

function withdraw(
  venue: Venue,
  account: VenueAccount,
  { amount, destination, innerNonce: nonce }: WithdrawAction,
): string | null {
  const { address } = account;
  const index = venue.log.received({
    ...{ action: "withdraw", signer: address, accountId: address, qty: amount, nonce: String(nonce) },
  });
  const taken = takeWithdrawal(venue, account, amount);
  if (!taken.ok) {
    venue.log.refused(index, "WITHDRAW", taken.text);
    return taken.text;
  }
  venue.log.executed(index, null);
  const feeE12 = venue.withdrawFeeE12;
  const row = { type: "withdraw", usdc: usdText(taken.e12), nonce, fee: usdText(feeE12) };
  venue.addLedgerRow(account, row);
  venue.payouts?.pay(account, { destination, amountE12: taken.e12, feeE12, nonce });
  return null;
}

/** Takes the whole amount from the account. Returns what is left of it after the fee. */
function takeWithdrawal(venue: Venue, account: VenueAccount, text: string): Amount {
  const amount = parseUsd(text);
  if (!amount.ok) return amount;
  const isTaken = amount.e12 > venue.withdrawFeeE12 && venue.moveCash(account, -amount.e12, "WITHDRAW");
  if (!isTaken) return { ok: false, text: REFUSED.withdrawBalance };
  return { ok: true, e12: amount.e12 - venue.withdrawFeeE12 };
}

function transferClass(venue: Venue, signer: VenueAccount, amountText: string, toPerp: boolean): string | null {
  const ofSub = SUB_ACCOUNT_AMOUNT.exec(amountText);
  const subAddress = ofSub?.[2]?.toLowerCase();
  if (subAddress !== undefined && !signer.subAccounts.includes(subAddress))
    return REFUSED.subAccountUnknown(subAddress);
  const account = subAddress === undefined ? signer : venue.account(subAddress);
  if (account === null) return REFUSED.subAccountUnknown(subAddress ?? "");
  const isUnified = account.abstraction === "unifiedAccount" || account.abstraction === "portfolioMargin";
  if (isUnified) return REFUSED.unifiedActive;
  const amount = parseUsd(ofSub?.[1] ?? amountText);
  if (!amount.ok) return amount.text;
  const moved = venue.exchange.desk.transferSpot(account.address, amount.e12, toPerp ? "toPerp" : "toSpot");
  if (!moved.ok) return REFUSED.transferBalance;
  venue.addLedgerRow(account, { type: "accountClassTransfer", usdc: usdText(amount.e12), toPerp });
  return null;
}

interface AssetSend {
  readonly destination: string;
  readonly sourceDex: string;
  readonly destinationDex: string;
  readonly token: string;
  readonly amount: string;
  readonly fromSubAccount?: string;
  readonly nonce: number;
}

/** `""` is the perp side of the first dex, `"spot"` the spot side; only USDC exists here. */
function sendAsset(venue: Venue, signer: VenueAccount, send: AssetSend): string | null {
  if (send.token !== "USDC" && send.token !== `USDC:${USDC_TOKEN_ID}`) return REFUSED.unknownToken(send.token);
  for (const dex of [send.sourceDex, send.destinationDex]) if (dex !== "" && dex !== "spot") return REFUSED.invalidDex;
  const sub =
    send.fromSubAccount === undefined || send.fromSubAccount === "" ? null : send.fromSubAccount.toLowerCase();
  if (sub !== null && !signer.subAccounts.includes(sub)) return REFUSED.subAccountUnknown(sub);
  const from = sub === null ? signer : venue.account(sub);
  if (from === null) return REFUSED.invalidSend;
  const amount = parseUsd(send.amount);
  if (!amount.ok) return amount.text;
  const isSelf = send.destination === from.address;
  if (isSelf && send.sourceDex === send.destinationDex) return REFUSED.invalidSend;
  const known = venue.account(send.destination);
  const feeE12 = known === null ? ACTIVATION_FEE_E12 : 0n;
  const takenE12 = amount.e12 + feeE12;
  const { exchange } = venue;
  if (send.sourceDex === "spot" && !exchange.desk.transferSpot(from.address, takenE12, "toPerp").ok)
    return REFUSED.transferBalance;
  if (!venue.moveCash(from, -takenE12, "WITHDRAW")) return REFUSED.transferBalance;
  const to = known ?? venue.openAccount(send.destination, "0", "0");
  venue.moveCash(to, amount.e12, "DEPOSIT");
  if (send.destinationDex === "spot") exchange.desk.transferSpot(to.address, amount.e12, "toSpot");
  const delta = {
    type: "send",
    user: from.address,
    destination: send.destination,
    sourceDex: send.sourceDex,
    destinationDex: send.destinationDex,
    token: "USDC",
    amount: usdText(amount.e12),
    usdcValue: usdText(amount.e12),
    fee: usdText(feeE12),
    nativeTokenFee: "0.0",
    nonce: send.nonce,
    feeToken: "USDC",
  };
  venue.addLedgerRow(from, delta);
  if (!isSelf) venue.addLedgerRow(to, delta);
  return null;
}

type AgentSendAction = Extract<L1Action, { type: "agentSendAsset" }>;

/** An agent may move assets of its own principal only: between its dexes and its sub-accounts. */
export function executeAgentSend(venue: Venue, account: VenueAccount, action: AgentSendAction): string | null {
  const own = action.destination === account.address || account.subAccounts.includes(action.destination);
  return own ? sendAsset(venue, account, { ...action, nonce: action.innerNonce }) : REFUSED.agentThirdParty;
}

type ApproveAgentAction = Extract<UserAction, { type: "approveAgent" }>;

export function approvalRecord(
  { address }: VenueAccount,
  { agentAddress, innerNonce }: ApproveAgentAction,
): SimRequestDraft {
  const action = agentAddress === ZERO_ADDRESS ? "revokeAgent" : "approveAgent";
  return { action, signer: address, accountId: address, nonce: String(innerNonce), agent: agentAddress };
}

function approveAgent(venue: Venue, account: VenueAccount, action: ApproveAgentAction): string | null {
  const index = venue.log.received(approvalRecord(account, action));
  const refusal = venue.agents.approve({
    accountId: account.address,
    agentAddress: action.agentAddress,
    agentName: action.agentName,
    subAccountCount: account.subAccounts.length,
    nowMs: venue.exchange.nowMs(),
  });
  if (refusal === null) {
    venue.log.executed(index, null);
    return null;
  }
  const text = agentRefusalText(refusal);
  venue.log.refused(index, "AGENT", text);
  return text;
}

function agentRefusalText(refusal: AgentRefusal): string {
  switch (refusal.kind) {
    case "expired":
      return REFUSED.agentExpired;
    case "used":
      return REFUSED.agentUsed;
    case "removalPending":
      return REFUSED.agentRemovalPending;
    case "tooMany":
      return REFUSED.agentTooMany(refusal.limit);
    case "name":
      return REFUSED.agentName;
  }
}

/** `0.001%` is a tenth of a basis point. */
function approveBuilder(account: VenueAccount, builder: string, maxFeeRate: string): string | null {
  const percent = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(maxFeeRate)?.[1];
  if (percent === undefined) return REFUSED.builderFeeInvalid;
  account.builderFees.set(builder, Math.round(Number(percent) * TENTHS_BPS_PER_PERCENT));
  return null;
}

type SubTransferAction = Extract<L1Action, { type: "subAccountTransfer" }>;

export function executeSubAccountTransfer(
  venue: Venue,
  master: VenueAccount,
  action: SubTransferAction,
): string | null {
  const sub = master.subAccounts.includes(action.subAccountUser) ? venue.account(action.subAccountUser) : null;
  if (sub === null) return REFUSED.subAccountUnknown(action.subAccountUser);
  const amountE12 = BigInt(action.usdE6) * 1_000_000n;
  const [from, to] = action.isDeposit ? [master, sub] : [sub, master];
  if (amountE12 === 0n) return REFUSED.sendZero;
  if (!venue.moveCash(from, -amountE12, "WITHDRAW")) return REFUSED.transferBalance;
  venue.moveCash(to, amountE12, "DEPOSIT");
  const delta = { type: "subAccountTransfer", usdc: usdText(amountE12), user: from.address, destination: to.address };
  venue.addLedgerRow(from, delta);
  venue.addLedgerRow(to, delta);
  return null;
}
