/**
 * Rows of the ledger beside the entries of a venue's history: which have no counterpart. Pure.
 *
 * An entry that carries the id of a row, or the hash of its transaction, is that row's. Others are paired by kind, asset,
 * amount and time, one to one: good enough to say what is missing, and not to say that something has not left twice.
 */
import { compareDecimals, formatScaledBig } from "../../domain/decimal.js";
import type { VenueEntry } from "../../venue-money.js";
import { depositStep, type TransferRow } from "../transfer-row.js";

interface Compared {
  readonly unknownEntries: readonly VenueEntry[];
  readonly missingRows: readonly TransferRow[];
  /** Entries that no row carries the id or the hash of. */
  readonly unnamedEntries: readonly VenueEntry[];
}

interface CompareTimes {
  /** The history was read from here on. */
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** Clocks of ours and the venue's, and what a request takes. */
const BEFORE_MS = 60_000;
/** A withdrawal may be sent for a day, a deposit be credited after hours. */
const AFTER_MS = 26 * 3_600_000;
/** Younger ones may not be in the history yet: it lags, and a deposit waits for its blocks. */
const SETTLED_MS = 3_600_000;

export function compareEntries(
  rows: readonly TransferRow[],
  entries: readonly VenueEntry[],
  times: CompareTimes,
): Compared {
  const left = new Set(rows);
  const unnamedEntries: VenueEntry[] = [];
  for (const entry of entries) {
    const row = rows.find((one) => isNamed(one, entry));
    if (row === undefined) unnamedEntries.push(entry);
    else left.delete(row);
  }
  const unknownEntries = unnamedEntries.filter((entry) => {
    const row = [...left].find((one) => isLike(one, entry));
    if (row !== undefined) left.delete(row);
    return row === undefined && !entry.hasFailed;
  });
  return { unknownEntries, unnamedEntries, missingRows: [...left].filter((row) => isMissing(row, times)) };
}

function isNamed(row: TransferRow, { kind, venueId, hash }: VenueEntry): boolean {
  if (row.kind !== kind) return false;
  if (row.venueId !== null) return row.venueId === venueId;
  return row.kind === "deposit" && hash !== null && depositStep(row)?.mined?.hash === hash;
}

function isLike(row: TransferRow, entry: VenueEntry): boolean {
  // A venue may list a transfer between accounts under another id than it answered with.
  const mayHaveOtherId = row.venueId === null || row.kind === "internal";
  if (row.kind !== entry.kind || !mayHaveOtherId || !mayHaveLeft(row)) return false;
  if (assetOf(row) !== entry.asset) return false;
  if (row.kind !== "internal" && entry.chainId !== null && entry.chainId !== row.chainId) return false;
  if (row.kind === "internal" && entry.kindType !== row.kindType) return false;
  if (!entry.amounts.some((one) => isAmountOf(row, one, entry.isFeeOpen === true))) return false;
  return entry.atMs >= row.createdAtMs - BEFORE_MS && entry.atMs <= row.createdAtMs + AFTER_MS;
}

function isAmountOf(row: TransferRow, text: string, isFeeOpen: boolean): boolean {
  if (row.kind !== "withdrawal" || !isFeeOpen) return compareDecimals(text, amountOf(row)) === 0;
  const [amount, fee] = [BigInt(row.amount), BigInt(row.fee)];
  const [least, most] = [amount - fee, amount + fee].map((units) => formatScaledBig(units, row.token.decimals));
  return compareDecimals(text, least ?? "") >= 0 && compareDecimals(text, most ?? "") <= 0;
}

function mayHaveLeft({ state, reason }: TransferRow): boolean {
  return state !== "created" && (state !== "failed" || reason === "VENUE_FAILED");
}

/** The venue said that it has it, or credited it, and it was read from before it began. */
function isMissing(row: TransferRow, { sinceMs, nowMs }: CompareTimes): boolean {
  if (row.createdAtMs < sinceMs || nowMs - row.updatedAtMs < SETTLED_MS) return false;
  if (row.kind === "withdrawal") return row.isAccepted && row.state !== "failed";
  return row.state === "confirmed";
}

function assetOf(row: TransferRow): string {
  return row.kind === "internal" ? row.asset : row.token.symbol;
}

function amountOf(row: TransferRow): string {
  return row.kind === "internal" ? row.amount : formatScaledBig(BigInt(row.amount), row.token.decimals);
}
