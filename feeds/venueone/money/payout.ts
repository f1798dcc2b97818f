/**
 * How the chain shows that the bridge paid a withdrawal (sheet section 10.2): `FinalizedWithdrawal`, after the venue's
 * dispute period. Its nonce is that of the wallet's action, as in the venue's ledger; that the real bridge keeps it so is
 * not verified. Where it does not, a withdrawal stays under way, and is never taken for another one.
 */
import type { ChainLog } from "../../../engine/chain.js";
import type { PayoutEvent } from "../../../engine/venue-money.js";
import { addressTopic, isEvent, uintWord } from "../../shared/sign/contract-log.js";
import type { WithdrawRequest } from "./withdraw-act.js";

/** FinalizedWithdrawal(address indexed user,address destination,uint64 usd,uint64 nonce,bytes32 message) */
const FINALIZED_TOPIC = "0xe5c7fe3a4ffca1590f26d74c8ba8b0db69557f7f4607a2a43f82e93041611978";
const DATA_BYTES = 4 * 32;
/** The time of the action is by the venue's clock, which may be ahead of the chain's. */
const DATED_WITHIN_MS = 600_000;

/** What it may have paid, in the token's smallest unit. */
interface PaidBounds {
  readonly exact: readonly bigint[];
  /** Else between these. */
  readonly least: bigint;
  readonly most: bigint;
}

/** `sentAtMs`: on the venue's clock; an act's time is ahead of it where the wallet has used later ones. */
export function bridgePayout(
  bridge: string,
  { account, action }: WithdrawRequest,
  { exact, least, most }: PaidBounds,
  sentAtMs: number,
): PayoutEvent {
  const topics = [FINALIZED_TOPIC, addressTopic(account)];
  return {
    contract: bridge,
    topics,
    sinceMs: Math.min(action.time, sentAtMs) - DATED_WITHIN_MS,
    paid(log: ChainLog): bigint | null {
      if (!isEvent(log, bridge, topics) || log.data.length !== DATA_BYTES) return null;
      const [destination, usd, nonce] = [0, 1, 2].map((index) => uintWord(log.data, index));
      if (destination !== BigInt(action.destination) || nonce !== BigInt(action.time)) return null;
      if (usd === undefined || usd === null || usd <= 0n) return null;
      return exact.includes(usd) || (usd >= least && usd <= most) ? usd : null;
    },
  };
}
