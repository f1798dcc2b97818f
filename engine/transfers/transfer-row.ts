/**
 * Money that moves, one row for each deposit, withdrawal and transfer between a venue's accounts. A row holds what was
 * decided and what was signed, so that the next start of the program goes on where this one ends.
 *
 * Invariants: what is signed is in the row before it is sent. A row that has ended as confirmed or failed changes in
 * `venueId` and `isCreditAwaited` alone. Amounts are integers in the token's smallest unit, as decimal text.
 */
import type { WalletText } from "../key-registrar.js";
import type { RoutableVenue } from "../domain/venue.js";

/**
 * created: nothing is signed. signed: it may be sent at any moment. broadcast: a chain or a venue has it. confirmed: it
 * took effect, and for good. failed: it did not, and never will. unknown: it may have been sent, and nothing is known.
 */
export type TransferState = "created" | "signed" | "broadcast" | "confirmed" | "failed" | "unknown";

/** Why a row failed, or why nothing can be said of it now. */
export type TransferReason =
  /** Nothing was signed. */
  | "NOT_SIGNED"
  | "EXPIRED_UNSENT"
  | "LANE_BUSY"
  | "CHAIN_UNAVAILABLE"
  /** The chain would undo the call; nothing of it was sent. */
  | "WOULD_REVERT"
  | "BROADCAST_REFUSED"
  /** The chain undid it. */
  | "REVERTED"
  /** Another transaction of the wallet took its nonce. */
  | "NONCE_USED"
  /** Mined, but the logs do not show that the venue took it; of a withdrawal, its payment has not been seen for a week. */
  | "NOT_SHOWN"
  | "VENUE_REFUSED"
  | "VENUE_BALANCE"
  | "VENUE_RATE_LIMITED"
  | "VENUE_UNREACHED"
  /** The venue took it and gave it back. */
  | "VENUE_FAILED"
  /** Its time is over, and the venue's history does not show it. */
  | "NEVER_ARRIVED"
  /** The venue said that it had it, and its history does not show it. */
  | "NOT_LISTED"
  /** The store was put back while it was open: it is looked at, and nothing of it is signed or sent any more. */
  | "RESTORED";

export interface StoredToken {
  readonly symbol: string;
  readonly address: string;
  readonly decimals: number;
  readonly resetsAllowance: boolean;
}

interface RowBase {
  /** UUID, lower case. */
  readonly transferId: string;
  readonly ownerId: string | null;
  /** UUID, lower case. */
  readonly walletId: string;
  /** The wallet's address, lower case. */
  readonly account: string;
  readonly venue: RoutableVenue;
  readonly requestId: string;
  /** Unix epoch, integer ms. */
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly state: TransferState;
  readonly reason: TransferReason | null;
  /** Text of a chain or a venue to `reason`, cleaned for replies; "" without one. */
  readonly reasonText: string;
  /** The venue's own id of it. */
  readonly venueId: string | null;
}

export type StepName = "reset" | "approve" | "deposit";

/** The same nonce, receiver, value and data at another price of gas. */
export interface StoredVersion {
  /** Wei for each unit of gas. */
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  /** 65 bytes r ‖ s ‖ v, `0x` hex; null: not signed yet. With the fields of the step it is the signed transaction. */
  readonly signature: string | null;
  /** Of the signed transaction. */
  readonly hash: string | null;
  readonly signedAtMs: number | null;
  /** An endpoint said that it has it. */
  readonly isTaken: boolean;
}

export interface StoredMined {
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly confirmations: number;
  readonly isFinal: boolean;
  readonly succeeded: boolean;
  /** Wei. */
  readonly gasCost: string;
  /** What the venue's contract took; null: nothing, as far as its logs show. */
  readonly taken: string | null;
}

export interface StoredStep {
  readonly name: StepName;
  readonly to: string;
  /** `0x` hex. */
  readonly data: string;
  readonly nonce: number;
  readonly gasLimit: string;
  /** Each dearer than the one before; at least one. */
  readonly versions: readonly StoredVersion[];
  /** As seen last; a reorg takes it away again while it is not final. */
  readonly mined: StoredMined | null;
  /** Its nonce went to another transaction. */
  readonly isReplaced: boolean;
  /** The chain would not take it when it was sent first, so no endpoint has it. */
  readonly isRefused: boolean;
}

export interface DepositRow extends RowBase {
  readonly kind: "deposit";
  readonly chainId: number;
  /** As the caller named it. */
  readonly network: string;
  readonly token: StoredToken;
  readonly amount: string;
  readonly broker: number | null;
  /** Null: the token is sent, and nothing is approved. */
  readonly spender: string | null;
  /** The call that deposits. */
  readonly to: string;
  readonly data: string;
  /** Decided from the allowance when the first step begins; empty before. */
  readonly plan: readonly StepName[];
  readonly steps: readonly StoredStep[];
  /** Since when the chain says that the next step would revert; null: it does not. */
  readonly revertsSinceMs: number | null;
  /** Confirmed on the chain, and not seen at the venue yet. */
  readonly isCreditAwaited: boolean;
}

/** What the venue has of a withdrawal. left: it has left the account, and the venue never shows more of it. */
export type PayoutState = "pending" | "left" | "completed" | "failed";

export interface StoredWithdrawalAct {
  readonly toSign: WalletText;
  readonly request: string;
  readonly validUntilMs: number;
  /** `0x` hex; null: not signed yet. */
  readonly signature: string | null;
}

export interface WithdrawalRow extends RowBase {
  readonly kind: "withdrawal";
  readonly chainId: number;
  readonly network: string;
  readonly token: StoredToken;
  readonly amount: string;
  readonly receiver: string;
  readonly accountType: "spot" | "perp" | null;
  /** As the venue named it before the act was made, or as its history does. */
  readonly fee: string;
  readonly feeIsInside: boolean;
  readonly act: StoredWithdrawalAct;
  /** Before the first send, and before the last one; null: not signed yet. */
  readonly sentAtMs: number | null;
  readonly lastSentAtMs: number | null;
  /** The venue said that it has it. */
  readonly isAccepted: boolean;
  readonly payout: PayoutState | null;
  /** The chain's transaction that pays, where the venue says. */
  readonly hash: string | null;
  readonly paid: string | null;
}

export interface InternalRow extends RowBase {
  readonly kind: "internal";
  readonly asset: string;
  /** Decimal text in token units. */
  readonly amount: string;
  readonly kindType: "SPOT_FUTURE" | "FUTURE_SPOT";
  readonly clientTranId: string;
  readonly sentAtMs: number | null;
  readonly lastSentAtMs: number | null;
  /** The last send was refused, after one that may have arrived. */
  readonly isRefusedAgain: boolean;
}

export type TransferRow = DepositRow | WithdrawalRow | InternalRow;
export type TransferKind = TransferRow["kind"];

export function isEnded({ state }: Pick<TransferRow, "state">): boolean {
  return state === "confirmed" || state === "failed";
}

/** Of a store that was put back. */
export function isPutBack({ reason }: Pick<TransferRow, "reason">): boolean {
  return reason === "RESTORED";
}

/** There is still something to do or to look at. */
export function isOpen(row: TransferRow): boolean {
  if (row.kind === "withdrawal" && row.payout === "left") return false;
  return !isEnded(row) || (row.kind === "deposit" && row.isCreditAwaited);
}

export function depositStep(row: DepositRow): StoredStep | null {
  return row.steps.find(({ name }) => name === "deposit") ?? null;
}

/** Of the version that was mined, or of the newest that is signed; null: none is. */
export function hashOf({ mined, versions }: StoredStep): string | null {
  return mined?.hash ?? versions.findLast(({ hash }) => hash !== null)?.hash ?? null;
}
