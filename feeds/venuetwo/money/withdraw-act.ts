/**
 * A withdrawal at venuetwo (sheet section 9.3): what the wallet signs of it, and what is sent with a key of the account.
 * Pure.
 *
 * Whether the venue takes the wallet's signature once or as often as it comes within its hour is not known. So nothing
 * here counts on "once": the same bytes must not be sent again.
 */
import type { WalletText } from "../../../engine/key-registrar.js";
import type { WithdrawalAsk } from "../../../engine/venue-money.js";
import { tokenText } from "../../shared/room/money-text.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { typedDataText } from "../../shared/sign/typed-text.js";
import type { VenuetwoIdentity } from "../account/session.js";
import type { FormParams } from "../sign/sign.js";
import { WITHDRAW_CHAINS, withdrawTypedData } from "../sign/sign-wallet.js";

/** The wallet's nonce may differ by this from that of the request, which has a window of its own. */
export const WALLET_NONCE_WINDOW_MS = 3_600_000;
/** Places of the venue's own balances. A finer amount might be listed shorter than it was asked for, and not be found. */
export const AMOUNT_PLACES = 8;

/** What is stored of the act until it is sent. */
export interface WithdrawRequest {
  /** Lower case; who signs, and who receives. */
  readonly account: string;
  readonly accountType: "spot" | "perp";
  readonly chainId: number;
  readonly asset: string;
  /** Decimal text in token units, as it is signed and sent. */
  readonly amount: string;
  readonly fee: string;
  /** Microseconds. */
  readonly nonce: string;
}

export type WithdrawDraft =
  | { readonly ok: true; readonly request: Omit<WithdrawRequest, "nonce"> }
  | { readonly ok: false; readonly problem: string };

/** Everything but the nonce. `problem`: what the venue would not do, or could not carry. */
export function draftOf(ask: WithdrawalAsk, fee: bigint): WithdrawDraft {
  const { accountType, token } = ask;
  const account = ask.account.toLowerCase();
  if (ask.receiver.toLowerCase() !== account) return { ok: false, problem: "RECEIVER" };
  if (accountType === null) return { ok: false, problem: "ACCOUNT_TYPE" };
  if (WITHDRAW_CHAINS[token.chainId] === undefined) return { ok: false, problem: "CHAIN" };
  const amount = tokenText(ask.amount, token.decimals, AMOUNT_PLACES);
  if (amount === null) return { ok: false, problem: "AMOUNT" };
  const feeText = fee === 0n ? "0" : tokenText(fee, token.decimals, AMOUNT_PLACES);
  if (feeText === null) return { ok: false, problem: "FEE" };
  const { chainId, symbol: asset } = token;
  return { ok: true, request: { account, accountType, chainId, asset, amount, fee: feeText } };
}

export function textToSign({ account, asset, ...rest }: WithdrawRequest): WalletText {
  const { domain, primaryType, fields, message } = withdrawTypedData({ ...rest, asset, receiver: account });
  return { kind: "typedData", text: typedDataText(domain, primaryType, fields, message) };
}

/** Null: another program wrote it. */
export function readRequest(text: string): WithdrawRequest | null {
  const stored = parseJsonExact(text);
  if (!isFields(stored)) return null;
  const { account, accountType, amount, asset, chainId, fee, nonce } = stored;
  if (typeof account !== "string" || typeof asset !== "string" || typeof chainId !== "number") return null;
  if (typeof amount !== "string" || typeof fee !== "string" || typeof nonce !== "string") return null;
  if (accountType !== "spot" && accountType !== "perp") return null;
  return { account, accountType, amount, asset, chainId, fee, nonce };
}

/** `nonce` is that of the request where the key is an agent's, so the wallet's has another name there. */
export function paramsOf(request: WithdrawRequest, signature: string, { kind }: VenuetwoIdentity): FormParams {
  const { account, amount, asset, chainId, fee, nonce } = request;
  return [
    ["chainId", String(chainId)],
    ["asset", asset],
    ["amount", amount],
    ["fee", fee],
    ["receiver", account],
    [kind === "v1" ? "nonce" : "userNonce", nonce],
    ["userSignature", signature],
  ];
}

/** What to offer for `gasCost` token units: an official demo offers one and a half times the estimate. */
export function feeToOffer(gasCost: bigint, decimals: number): bigint {
  const half = 3n * gasCost;
  return roundedUp(half / 2n + (half % 2n), decimals);
}

/** To the places that are sent: upward, because less than the estimate is refused. */
function roundedUp(fee: bigint, decimals: number): bigint {
  const step = 10n ** BigInt(Math.max(0, decimals - AMOUNT_PLACES));
  return ((fee + step - 1n) / step) * step;
}
