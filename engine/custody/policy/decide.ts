/** The co-signer's whole answer to one intent: the rules, then the day's amounts. */
import { utf8ToBytes } from "@noble/hashes/utils";
import { keccak256, toHex } from "../digest/bytes.js";
import type { SignIntent } from "../digest/intent.js";
import { highestGasCost } from "../digest/transaction.js";
import { gasAsset } from "./amounts.js";
import { type DayState, type Payload, type ReserveOutcome, reserveAmounts } from "./daily-amounts.js";
import type { Rulebook } from "./policy.js";
import { judgeIntent } from "./rules.js";

/** Lower case; as the wallet's row has it, never as a message says it. */
export interface SigningWallet {
  readonly address: string;
  readonly day: DayState;
}

/** `digest`: the intent's own, computed here. The state of the outcome is written in the commit of `ctr`, before anything is answered. */
export function decidePolicy(
  book: Rulebook,
  { intent, digest }: { readonly intent: SignIntent; readonly digest: Uint8Array },
  wallet: SigningWallet,
  nowMs: number,
): ReserveOutcome {
  const verdict = judgeIntent(book, intent, wallet.address);
  if (!verdict.ok) return verdict;
  return reserveAmounts(wallet.day, toHex(digest), verdict.amounts, nowMs, payloadOf(intent));
}

/** A chain takes one transaction of a nonce. Null: none. */
function payloadOf(intent: SignIntent): Payload | null {
  if (intent.kind !== "transaction") return null;
  const { chainId, nonce, to, value, data } = intent.transaction;
  const text = [chainId, nonce, to, value, toHex(data)].join("/");
  const gas = highestGasCost(intent.transaction);
  return { key: toHex(keccak256(utf8ToBytes(text))), gasAsset: gasAsset(chainId), gas };
}
