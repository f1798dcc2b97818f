/**
 * What the answers to a broadcast mean: pure. An answer is read as a refusal only for reasons that no endpoint could take
 * the transaction by, and only where as many refuse it as must agree and no other may have it.
 */
import type { BroadcastOutcome } from "../../../engine/chain.js";
import { cleanText } from "./revert-reason.js";
import type { RpcResult } from "./rpc-endpoint.js";

/** It is, or was, in a pool or a block: its own or another of its nonce. Looked for first. */
const MAY_BE_THERE =
  /already (?:known|imported|exists|in|submitted)|known transaction|alreadyknown|already_exists|nonce(?: is)? too (?:low|high)|invalid nonce|old nonce|underpriced|replacement|mempool|pool is full|fee cap|base fee/i;

/** The same for every endpoint: what the transaction says itself, or that its sender cannot pay for it. */
const REFUSALS: readonly RegExp[] = [
  /insufficient (?:funds|balance)/i,
  /intrinsic gas/i,
  /exceeds (?:the )?block gas limit|gas limit (?:is )?too (?:high|large)/i,
  /invalid (?:sender|signature|chain ?id|transaction)|incorrect chain ?id|chain ?id mismatch/i,
  /\brlp\b|decod|malformed|unmarshal|invalid (?:hex|argument)/i,
  /oversized data|transaction too large/i,
  /transaction type not supported|unsupported transaction type/i,
  /priority fee per gas (?:is )?higher than|tip higher than fee/i,
];

export type Sent = RpcResult<true>;

export function broadcastOutcome(answers: readonly Sent[], agreement: number): BroadcastOutcome {
  if (answers.some(({ kind }) => kind === "value")) return { kind: "taken" };
  const refusals: string[] = [];
  for (const answer of answers) {
    if (answer.kind === "error" && isRefusal(answer.error.message)) refusals.push(answer.error.message);
    // A call that was not sent now has not put it into that pool; whether an earlier one has is asked of the chain.
    else if (answer.kind !== "failed" || answer.isSent) return { kind: "unknown" };
  }
  const [reason] = refusals;
  if (reason === undefined || refusals.length < agreement) return { kind: "unknown" };
  return { kind: "refused", reason: cleanText(reason) };
}

function isRefusal(text: string): boolean {
  return !MAY_BE_THERE.test(text) && REFUSALS.some((refusal) => refusal.test(text));
}
