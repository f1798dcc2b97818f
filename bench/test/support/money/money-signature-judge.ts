/** What was signed: one payload for an intent and for a nonce, to the receiver that was asked for. */
import type { Hex } from "viem";
import type { WorldChainId } from "../../../sim/chain/world-plan.js";
import { type Intent, nameOf, type WithdrawalIntent } from "./money-intents.js";
import { callOf, lower } from "./money-evidence.js";
import type { Find, Judged } from "./money-findings.js";

/** One payload for an intent and for a nonce; the same again only where one may have been lost. */
export function judgeSignatures({ intents, signed, spareSignatures }: Judged, find: Find): void {
  const payloads = new Map<string, Set<string>>();
  const allowed = new Map<string, number>();
  const times = new Map<string, number>();
  const note = (key: string, payload: string): void => {
    payloads.set(key, (payloads.get(key) ?? new Set()).add(payload));
  };
  for (const { walletId, request } of signed) {
    let exact: string;
    if (request.kind === "transaction" && request.transaction.type === "eip1559") {
      const { chainId, nonce, to, data, value, gasLimit, maxFeePerGas } = request.transaction;
      const input: Hex = `0x${Buffer.from(data).toString("hex")}`;
      const payload = `${lower(to)} ${value} ${input} ${gasLimit}`;
      note(`${walletId} nonce ${nonce} on ${chainId}`, payload);
      const { name, args } = callOf(Number(chainId) as WorldChainId, to, input);
      // Setting an allowance to zero is the same call for each deposit.
      if (!(name === "approve" && args[1] === 0n)) note(`${walletId} ${chainId} ${input}`, `${nonce} ${payload}`);
      exact = `${walletId} ${chainId} ${nonce} ${payload} ${maxFeePerGas}`;
    } else if (request.kind === "typedData") {
      const { message } = JSON.parse(request.text) as { readonly message: Readonly<Record<string, unknown>> };
      const key = `${walletId} withdrawal of ${String(message["amount"])}`;
      note(key, request.text);
      allowed.set(key, judgeMessage(intents, walletId, message, find));
      exact = request.text;
    } else continue;
    times.set(exact, (times.get(exact) ?? 0) + 1);
  }
  for (const [key, own] of payloads)
    if (own.size > (allowed.get(key) ?? 1)) find("signed", `${own.size} things were signed for ${key}`);
  const again = [...times.values()].reduce((count, one) => count + one - 1, 0);
  if (again > spareSignatures) find("again", `${again} signatures were given again, and ${spareSignatures} were lost`);
}

/** Returns how many intents it may be of. */
function judgeMessage(
  intents: readonly Intent[],
  walletId: string,
  message: Readonly<Record<string, unknown>>,
  find: Find,
): number {
  const amount = String(message["amount"]);
  const isOf = (intent: Intent): intent is WithdrawalIntent =>
    intent.kind === "withdrawal" && intent.wallet.walletId === walletId && Number(intent.amount) === Number(amount);
  const own = intents.filter(isOf);
  const [intent] = own;
  if (intent === undefined) find("stranger", `nobody asked for a withdrawal of ${amount}`);
  else if (lower(message["destination"]) !== lower(intent.receiver))
    find("receiver", `${nameOf(intent)} was signed for ${String(message["destination"])}`);
  return own.length;
}
