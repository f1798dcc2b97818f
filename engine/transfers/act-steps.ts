/**
 * What the rows of withdrawals and of transfers between a venue's accounts become by what was sent and seen: pure
 * functions.
 *
 * Invariants: an act is signed once. Before anything is sent a second time the venue's history is read, and only where it
 * does not show the first is the same act sent again. A row fails only where the act did not take effect and cannot later.
 */
import type { MoneyOutcome, PastWithdrawal, WithdrawalStanding } from "../venue-money.js";
import { askOf } from "./transfer-parts.js";
import { type InternalRow, isEnded, type TransferReason, type WithdrawalRow } from "./transfer-row.js";

/** A request that has not arrived by then never does: connections are given up long before. */
export const RESEND_MS = 60_000;
/** An act that the venue takes for no longer than this is not sent any more. */
export const SEND_MARGIN_MS = 2_000;
/** Names of transfers are unique for seven days at the venue; nothing is sent again under one that is older than this. */
export const NAME_LIFE_MS = 6 * 86_400_000;

export function actSigned(row: WithdrawalRow, signature: string, nowMs: number): WithdrawalRow {
  const act = { ...row.act, signature };
  return { ...row, act, state: "signed", sentAtMs: nowMs, lastSentAtMs: nowMs, updatedAtMs: nowMs };
}

/** Durable before each send after the first: it says from when on the history may show it. */
export function sentAgain<Row extends WithdrawalRow | InternalRow>(row: Row, nowMs: number): Row {
  return { ...row, lastSentAtMs: nowMs, updatedAtMs: nowMs };
}

/** Durable before the first send. */
export function sendBegun(row: InternalRow, nowMs: number): InternalRow {
  return { ...row, state: "signed", sentAtMs: nowMs, lastSentAtMs: nowMs, updatedAtMs: nowMs };
}

/** `isFirst`: the act cannot have been sent before, in this life or another. */
export function withdrawalSent(
  row: WithdrawalRow,
  outcome: MoneyOutcome,
  isFirst: boolean,
  nowMs: number,
): WithdrawalRow {
  if (outcome.kind === "done")
    return {
      ...row,
      ...{ state: "broadcast", reason: null, reasonText: "", isAccepted: true, updatedAtMs: nowMs },
      venueId: outcome.venueId ?? row.venueId,
    };
  if (isFirst && outcome.kind === "refused") return failedAct(row, refusalReason(outcome), outcome.venueText, nowMs);
  if (isFirst && outcome.kind === "notSent") return failedAct(row, "VENUE_UNREACHED", outcome.problem, nowMs);
  return { ...row, state: row.isAccepted ? row.state : "unknown", updatedAtMs: nowMs };
}

/** By what the venue's history finds it. */
export function searchedFor(row: WithdrawalRow): Omit<PastWithdrawal, "isOthers"> {
  const { act, createdAtMs, fee, sentAtMs, venueId } = row;
  return { ask: askOf(row), fee: BigInt(fee), request: act.request, sentAtMs: sentAtMs ?? createdAtMs, venueId };
}

export interface WithdrawalLook {
  readonly standing: WithdrawalStanding;
  /** When the venue was asked, before its answer. */
  readonly lookedAtMs: number;
  /** Of the venue's history. */
  readonly lagMs: number;
  /** Since the last send, or since this life of the program first looked: by the clock that nobody sets. */
  readonly watchedMs: number;
  /** What is shown is this one, by a number, and not one like it. */
  readonly isByNumber: boolean;
}

export function withdrawalLooked(row: WithdrawalRow, look: WithdrawalLook, nowMs: number): WithdrawalRow {
  const { standing } = look;
  if (isEnded(row)) return row;
  switch (standing.kind) {
    case "absent":
      return absentWithdrawal(row, look, nowMs);
    case "failed":
      // Of several alike one may be older, and this one not be listed yet.
      if (!look.isByNumber && !isPast(row, look)) return absentWithdrawal(row, look, nowMs);
      return { ...failedAct(row, "VENUE_FAILED", "", nowMs), venueId: standing.venueId, payout: "failed" };
    default: {
      const isDone = standing.kind === "completed";
      const { venueId } = standing;
      const hash = hashIn(standing.hash) ?? row.hash;
      const paid = standing.paid?.toString() ?? row.paid;
      const fee = standing.fee?.toString() ?? row.fee;
      const isSamePayout = row.payout === standing.kind && row.venueId === venueId && row.hash === hash;
      if (isSamePayout && row.paid === paid && row.fee === fee && row.state === "broadcast") return row;
      return {
        ...row,
        ...{ state: isDone ? "confirmed" : "broadcast", reason: null, reasonText: "", isAccepted: true },
        ...{ payout: standing.kind, venueId, hash, paid, fee, updatedAtMs: nowMs },
      };
    }
  }
}

/** The chain has the payment, and for good. */
export function payoutFound(
  row: WithdrawalRow,
  { hash, paid }: { readonly hash: string; readonly paid: bigint },
  nowMs: number,
): WithdrawalRow {
  if (isEnded(row)) return row;
  return {
    ...row,
    ...{ state: "confirmed", reason: null, reasonText: "", isAccepted: true },
    ...{ payout: "completed", hash, paid: paid.toString(), updatedAtMs: nowMs },
  };
}

/** Its payment has not come for so long that nobody looks for it any more: it may have come all the same. */
export function payoutUnfound(row: WithdrawalRow, nowMs: number): WithdrawalRow {
  if (!isPayoutAwaited(row) || isPayoutUnfound(row)) return row;
  return { ...row, reason: "NOT_SHOWN", reasonText: "", updatedAtMs: nowMs };
}

export function isPayoutUnfound(row: WithdrawalRow): boolean {
  return isPayoutAwaited(row) && row.reason === "NOT_SHOWN";
}

export function isPayoutAwaited(row: WithdrawalRow): boolean {
  return row.payout === "pending" && !isEnded(row);
}

/** After a look that showed nothing: the same bytes may go once more. */
export function maySendAgain(row: WithdrawalRow, { standing, lookedAtMs, lagMs }: WithdrawalLook): boolean {
  if (standing.kind !== "absent" || isEnded(row) || row.isAccepted || row.lastSentAtMs === null) return false;
  const isLate = lookedAtMs >= row.lastSentAtMs + Math.max(lagMs, RESEND_MS);
  return isLate && !isOver(row, lookedAtMs + SEND_MARGIN_MS);
}

/** The venue takes the act at that time no more. */
export function isOver({ act }: WithdrawalRow, atMs: number): boolean {
  return atMs > act.validUntilMs;
}

export function failedAct<Row extends WithdrawalRow | InternalRow>(
  row: Row,
  reason: TransferReason,
  text: string,
  nowMs: number,
): Row {
  return { ...row, state: "failed", reason, reasonText: text, updatedAtMs: nowMs };
}

export function transferSent(row: InternalRow, outcome: MoneyOutcome, isFirst: boolean, nowMs: number): InternalRow {
  switch (outcome.kind) {
    case "done":
      return transferFound(row, outcome.venueId, nowMs);
    case "refused":
      if (isFirst) return failedAct(row, refusalReason(outcome), outcome.venueText, nowMs);
      return { ...row, state: "unknown", isRefusedAgain: true, reasonText: outcome.venueText, updatedAtMs: nowMs };
    case "notSent":
      if (isFirst) return failedAct(row, "VENUE_UNREACHED", outcome.problem, nowMs);
      return { ...row, state: "unknown", updatedAtMs: nowMs };
    default:
      return { ...row, state: "unknown", isRefusedAgain: false, updatedAtMs: nowMs };
  }
}

export function transferFound(row: InternalRow, venueId: string | null, nowMs: number): InternalRow {
  return { ...row, state: "confirmed", reason: null, reasonText: "", venueId, updatedAtMs: nowMs };
}

/** `lookedAtMs`: when the venue was asked. `mayBeListed`: the list has some like it, each of which may be another one. */
export function transferAbsent(
  row: InternalRow,
  { lookedAtMs, mayBeListed }: { readonly lookedAtMs: number; readonly mayBeListed: boolean },
  nowMs: number,
): InternalRow {
  if (isEnded(row) || row.lastSentAtMs === null) return row;
  // Refused, and what was sent before has not arrived either.
  if (row.isRefusedAgain && !mayBeListed && lookedAtMs >= row.lastSentAtMs + RESEND_MS)
    return failedAct(row, "VENUE_REFUSED", row.reasonText, nowMs);
  return row.state === "unknown" ? row : { ...row, state: "unknown", updatedAtMs: nowMs };
}

/** Of a store that was put back: nobody sends it any more, and what was sent before has arrived or never does. */
export function absentPutBack(row: InternalRow, lookedAtMs: number, nowMs: number): InternalRow {
  return lookedAtMs >= row.updatedAtMs + RESEND_MS ? failedAct(row, "NEVER_ARRIVED", "", nowMs) : row;
}

/** After a look that showed nothing. */
export function mayNameAgain(row: InternalRow, lookedAtMs: number): boolean {
  if (isEnded(row) || row.isRefusedAgain || row.sentAtMs === null || row.lastSentAtMs === null) return false;
  return lookedAtMs >= row.lastSentAtMs + RESEND_MS && lookedAtMs <= row.sentAtMs + NAME_LIFE_MS;
}

function absentWithdrawal(row: WithdrawalRow, look: WithdrawalLook, nowMs: number): WithdrawalRow {
  const isGone = isPast(row, look);
  if (row.isAccepted) {
    if (!isGone || row.reason === "NOT_LISTED") return row;
    return { ...row, state: "unknown", reason: "NOT_LISTED", updatedAtMs: nowMs };
  }
  if (isGone) return failedAct(row, "NEVER_ARRIVED", "", nowMs);
  return row.state === "unknown" ? row : { ...row, state: "unknown", updatedAtMs: nowMs };
}

/** What was sent has arrived or never will, and would be in the history. A clock that jumps does not make it so. */
function isPast(row: WithdrawalRow, { lookedAtMs, lagMs, watchedMs }: WithdrawalLook): boolean {
  const graceMs = Math.max(lagMs, RESEND_MS);
  return watchedMs >= graceMs && isOver(row, lookedAtMs - graceMs);
}

/** Venues have texts there too, for what they move among themselves. */
function hashIn(text: string | null): string | null {
  const lower = text?.toLowerCase() ?? "";
  return /^0x[0-9a-f]{64}$/.test(lower) ? lower : null;
}

function refusalReason({ reason }: Extract<MoneyOutcome, { readonly kind: "refused" }>): TransferReason {
  if (reason === "BALANCE") return "VENUE_BALANCE";
  return reason === "RATE_LIMITED" ? "VENUE_RATE_LIMITED" : "VENUE_REFUSED";
}
