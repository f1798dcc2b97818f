/**
 * Money of server wallets as rows for people, and what the three forms send. Amounts are decimal text as typed and as
 * answered; nothing here is a number with a fraction.
 */
import type { FundRoute } from "../../schemas/page-facts.js";
import type {
  DepositData,
  InternalTransferData,
  TransferView,
  WalletBalancesData,
  WithdrawData,
} from "../../schemas/transfers.js";
import { isZeroText, parseDecimal } from "../decimal.js";
import { plainWords } from "./account.js";
import { clockText, groupDigits, UNKNOWN_TEXT } from "./format.js";
import { VENUES } from "./venues.js";

const [, NATIVE] = VENUES;

export type Act = "deposit" | "transfer" | "withdraw";

/** Ways that an act may take, each with what a person reads of it. */
export interface Choice {
  readonly text: string;
  readonly route: FundRoute;
  /** Of a withdrawal from a venue with several accounts. */
  readonly accountType: "spot" | "perp" | null;
  /** Of a transfer between accounts. */
  readonly kindType: "SPOT_FUTURE" | "FUTURE_SPOT" | null;
}

export function choicesOf(act: Act, routes: readonly FundRoute[]): Choice[] {
  if (act === "transfer") {
    const assets = new Map(routes.filter((one) => one.hasAccounts).map((one) => [`${one.exchange} ${one.asset}`, one]));
    return [...assets].flatMap(([name, route]) => [
      { text: `${name} from spot to perp`, route, accountType: null, kindType: "SPOT_FUTURE" as const },
      { text: `${name} from perp to spot`, route, accountType: null, kindType: "FUTURE_SPOT" as const },
    ]);
  }
  return routes.flatMap((route): Choice[] => {
    const { exchange, asset, network, hasAccounts, paysOut } = route;
    if (act === "deposit")
      return [{ text: `${asset} on ${network} to ${exchange}`, route, accountType: null, kindType: null }];
    if (!paysOut) return [];
    if (!hasAccounts)
      return [{ text: `${asset} from ${exchange} to ${network}`, route, accountType: null, kindType: null }];
    return (["spot", "perp"] as const).map((accountType) => ({
      ...{ text: `${asset} from ${exchange} ${accountType} to ${network}`, route, accountType, kindType: null },
    }));
  });
}

/** What is wrong with a typed amount; "" where nothing is. */
export function amountProblem(text: string, { asset, decimals }: FundRoute): string {
  if (text === "") return "Enter an amount.";
  const value = parseDecimal(text);
  if (value === null) return "An amount is a number such as 25.5.";
  if (value.units <= 0n) return "The amount must be above 0.";
  if (value.places > decimals) return `${asset} has at most ${decimals} decimal places.`;
  return "";
}

/** In the token's smallest unit. The amount has passed `amountProblem`. */
export function rawAmount(text: string, decimals: number): string {
  const value = parseDecimal(text) ?? { units: 0n, places: 0 };
  return String(value.units * 10n ** BigInt(decimals - value.places));
}

export interface FundWallet {
  readonly walletId: string;
  readonly address: string;
}

/** What a form asks for, as it is sent. Money goes to the wallet itself and nowhere else. */
export function orderOf(act: Act, { walletId, address }: FundWallet, choice: Choice, amount: string) {
  const { route, accountType, kindType } = choice;
  const { exchange, asset, chainId, network, decimals } = route;
  if (act === "deposit") {
    const body = { walletIdOrAddress: walletId, tokenSymbol: asset, amount, network };
    return { act, exchange, body } as const;
  }
  if (act === "transfer")
    return { act, body: { walletId, amount, asset, kindType: kindType ?? "SPOT_FUTURE" } } as const;
  if (exchange === NATIVE) {
    const to = {
      walletAddress: address,
      receiver: address,
      chainId,
      asset,
      accountType: accountType ?? "spot",
    } as const;
    return { act, isNative: true, body: { ...to, amount: rawAmount(amount, decimals) } } as const;
  }
  const body = { walletIdOrAddress: walletId, destination: address, amount, chainId };
  return { act, isNative: false, walletId, body } as const;
}
export type FundOrder = ReturnType<typeof orderOf>;

export interface Line {
  readonly name: string;
  readonly text: string;
}

/** What a dry run says. */
export function checkLines(data: DepositData | InternalTransferData | WithdrawData, asset: string): Line[] {
  const { check } = data;
  if (check === undefined) return [];
  const lines: Line[] = [];
  const add = (name: string, text: string) => lines.push({ name, text });
  if ("fee" in data) add("Venue's fee", `${data.fee} ${asset}, ${data.feeIsInside ? "out of the amount" : "on top"}`);
  if ("gas" in check) {
    add("Gas, at most", `${check.gas.needed} coins of ${groupDigits(check.gas.available)}`);
    add("Transactions", check.steps.join(", "));
  }
  if ("minimum" in check) add("Minimum", `${check.minimum} ${asset}`);
  add("Available", `${check.available} ${asset}`);
  return lines;
}

export interface FundRow {
  readonly transferId: string;
  readonly title: string;
  readonly amount: string;
  readonly network: string;
  readonly state: TransferView["state"];
  readonly stateText: string;
  /** Why, and what is awaited; "" for nothing. */
  readonly note: string;
  readonly confirmations: string;
  readonly hash: string;
  /** Of an explorer; "" without one. */
  readonly hashUrl: string;
  readonly time: string;
  /** It may yet change. */
  readonly isOpen: boolean;
}

const KINDS: Readonly<Record<TransferView["kind"], string>> = {
  deposit: "Deposit to",
  withdrawal: "Withdrawal from",
  internal: "Transfer at",
};

export function fundRow(one: TransferView): FundRow {
  const { kind, kindType, accountType, state } = one;
  const way = kindType === null ? (accountType ?? "") : kindType === "SPOT_FUTURE" ? "spot to perp" : "perp to spot";
  return {
    transferId: one.transferId,
    title: `${KINDS[kind]} ${one.exchange}${way === "" ? "" : `, ${way}`}`,
    amount: `${groupDigits(one.amount)} ${one.asset}`,
    network: one.network ?? UNKNOWN_TEXT,
    state,
    stateText: state.toUpperCase(),
    note: noteOf(one),
    confirmations: confirmationsOf(one),
    hash: one.txHash ?? "",
    hashUrl: /^https?:\/\//.test(one.txUrl) ? one.txUrl : "",
    time: clockText(one.createdAt),
    isOpen: (state !== "confirmed" && state !== "failed") || one.isCreditAwaited,
  };
}

function noteOf({ reason, reasonText, isCreditAwaited, payout, fee, asset }: TransferView): string {
  const parts = [
    ...(reason === null ? [] : [plainWords(reason)]),
    ...(reasonText === "" ? [] : [reasonText]),
    ...(isCreditAwaited ? ["final on chain, not shown by the venue yet"] : []),
    ...(payout === null ? [] : [`payout ${payout}`]),
    ...(fee === null ? [] : [`fee ${fee} ${asset}`]),
  ];
  return parts.join(" · ");
}

/** Of the newest transaction. */
function confirmationsOf({ steps }: TransferView): string {
  const last = steps.at(-1);
  if (last === undefined) return UNKNOWN_TEXT;
  return last.isFinal ? "final" : String(last.confirmations);
}

export interface HeldRow {
  readonly place: string;
  readonly asset: string;
  readonly amount: string;
  /** This part is not known now, and why. */
  readonly problem: string;
}

export function heldRows({ chains, venues }: WalletBalancesData): HeldRow[] {
  const ofChains = chains.flatMap(({ network, native, tokens, error }): HeldRow[] => [
    ...(native === null ? [] : [{ place: network, asset: "gas", amount: groupDigits(native), problem: "" }]),
    ...tokens.map(({ symbol, amount }) => ({
      place: network,
      asset: symbol,
      amount: groupDigits(amount),
      problem: "",
    })),
    ...unknownPart(network, error),
  ]);
  const ofVenues = venues.flatMap(({ exchange, balances, error }): HeldRow[] => [
    ...balances.map(({ accountType, asset, free }) => ({
      ...{
        place: `${exchange} ${accountType}`,
        asset,
        amount: groupDigits(isZeroText(free) ? "0" : free),
        problem: "",
      },
    })),
    ...(balances.length === 0 && error === undefined
      ? [{ place: exchange, asset: "", amount: UNKNOWN_TEXT, problem: "Nothing there." }]
      : []),
    ...unknownPart(exchange, error),
  ]);
  return [...ofChains, ...ofVenues];
}

function unknownPart(place: string, error: { readonly code: string; readonly message: string } | undefined): HeldRow[] {
  if (error === undefined) return [];
  const problem =
    error.code === "API_KEY_NOT_FOUND" ? "Not known without a key of the wallet there." : `${error.message}.`;
  return [{ place, asset: "", amount: UNKNOWN_TEXT, problem }];
}
