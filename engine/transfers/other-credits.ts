/**
 * Which deposits of a wallet may have a credit that names no transaction: of one venue, chain, token and amount any of them
 * may.
 */
import { CREDIT_WAIT_MS, isSent } from "./deposit-steps.js";
import type { TransferBook, TransferPage } from "./transfer-book.js";
import { type DepositRow, depositStep, isOpen, type TransferRow } from "./transfer-row.js";

const PAGE_ROWS = 100;

/**
 * Whether there are as many other deposits as `count` that were sent, and that may have a credit of the same amount which
 * they do not have yet: also of those that nobody waits for any more, since the venue could not be asked for a day. Rejects
 * with STORE_UNAVAILABLE.
 */
export async function hasOthersLike(
  self: DepositRow,
  count: number,
  book: Pick<TransferBook, "page">,
): Promise<boolean> {
  let left = count;
  for (let after: string | null = null; ; ) {
    const { rows, next }: TransferPage = await book.page(self.walletId, after, PAGE_ROWS);
    left -= rows.filter((row) => mayHaveCreditOf(self, row)).length;
    if (left <= 0 || next === null) return left <= 0;
    after = next;
  }
}

/** What the venue credits of it. */
export function creditOf(row: DepositRow): bigint {
  return BigInt(depositStep(row)?.mined?.taken ?? row.amount);
}

function mayHaveCreditOf(self: DepositRow, row: TransferRow): boolean {
  if (row.kind !== "deposit" || row.transferId === self.transferId || row.venueId !== null) return false;
  if (row.venue !== self.venue || row.chainId !== self.chainId || row.token.symbol !== self.token.symbol) return false;
  const step = depositStep(row);
  if (row.state === "failed" || step === null || !isSent(step) || creditOf(row) !== creditOf(self)) return false;
  // What was given up long before is credited by then, or never is.
  return isOpen(row) || row.updatedAtMs >= self.createdAtMs - CREDIT_WAIT_MS;
}
