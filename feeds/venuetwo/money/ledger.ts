/**
 * The venue's list of deposits and withdrawals (sheet section 9.3), and which row of it is ours. A row has no number of
 * the wallet's: without the venue's id a withdrawal is found by account, chain, asset, amount and time alone. Whether the
 * list's amounts have the fee in them, and less than it where the chain cost less, is not stated: an amount that is off by
 * no more than the fee is like it, too.
 */
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { WithdrawalAsk, WithdrawalStanding } from "../../../engine/venue-money.js";
import { tokenUnits } from "../../shared/room/money-text.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { parseMoneyJson } from "../../shared/room/wire-fields.js";
import { moneyHistoryCall } from "../account/calls.js";
import type { VenuetwoRest } from "../account/rest.js";
import { NONCE_WINDOW_MS } from "../sign/nonces.js";
import { heldSession } from "./held-session.js";
import { decodeMoves, type VenuetwoWireMove } from "./wire.js";
import { WALLET_NONCE_WINDOW_MS } from "./withdraw-act.js";

/** Both are said of money that has arrived: one page's sample and another's. */
const ARRIVED: ReadonlySet<string> = new Set(["SUCCESS", "COMPLETED"]);
export const FAILED = "FAILED";
/** What a request was sent at and what the venue dated it differ by the window of its nonce at most. */
const DATED_WITHIN_MS = NONCE_WINDOW_MS;

export interface LikeWithdrawal {
  readonly ask: WithdrawalAsk;
  readonly fee: bigint;
  /** On the venue's clock, ms. */
  readonly sentAtVenueMs: number;
  readonly venueId: string | null;
}

/** As the rows are read. */
export async function readMoves(
  rest: VenuetwoRest,
  session: AccountSession | null,
  options: CallOptions,
): Promise<Read<readonly VenuetwoWireMove[]>> {
  const held = heldSession(session);
  return held.ok ? rest.read(held.session, moneyHistoryCall(), decodeMoves, options, parseMoneyJson) : held;
}

/** The venue's id of a credited deposit, by its transaction; null while there is none. */
export function creditOf(moves: readonly VenuetwoWireMove[], hash: string, chainId: number): string | null {
  const wanted = hash.toLowerCase();
  const row = moves.find((move) => move.type === "DEPOSIT" && move.chainId === chainId && move.txHash === wanted);
  return row !== undefined && ARRIVED.has(row.state) ? row.id : null;
}

/** Rows that may be it. With an id nothing else is looked at: another row of its amount may be another withdrawal, and have failed. */
export function candidatesOf(
  moves: Read<readonly VenuetwoWireMove[]>,
  withdrawal: LikeWithdrawal,
): Read<readonly VenuetwoWireMove[]> {
  const { venueId } = withdrawal;
  return normalizedRead(moves, "deposit-withdraw-history", (rows) =>
    rows.filter((row) => row.type === "WITHDRAW" && (venueId === null ? isLike(row, withdrawal) : row.id === venueId)),
  );
}

/** `ours`: candidates that are of no other withdrawal, as far as is known. */
export function standingAmong(
  ours: readonly VenuetwoWireMove[],
  { ask }: Pick<LikeWithdrawal, "ask">,
): WithdrawalStanding {
  // Of several alike one may be somebody else's: that it came back is believed only where all of them did. One of just
  // the amount comes before one that may be it but for a fee.
  const isExact = (row: VenuetwoWireMove): boolean => unitsOf(row, ask) === ask.amount;
  const kept = [...ours.filter(isExact), ...ours.filter((row) => !isExact(row))];
  const unfailed = kept.filter(({ state }) => state !== FAILED);
  const alike = unfailed.some(isExact) ? unfailed.filter(isExact) : unfailed;
  const row = alike.find(({ state }) => ARRIVED.has(state)) ?? alike[0] ?? kept[0];
  if (row === undefined) return { kind: "absent" };
  if (row.state === FAILED) return { kind: "failed", venueId: row.id };
  const hasArrived = ARRIVED.has(row.state);
  return {
    kind: hasArrived ? "completed" : "pending",
    venueId: row.id,
    hash: row.txHash,
    paid: hasArrived ? least(unitsOf(row, ask), ask.amount) : null,
  };
}

function unitsOf({ amount }: VenuetwoWireMove, { token }: WithdrawalAsk): bigint {
  return tokenUnits(amount, token.decimals, "amount");
}

function isWithin(units: bigint, amount: bigint, fee: bigint): boolean {
  return units >= amount - fee && units <= amount + fee;
}

/** With the fee in it, an amount is more than what was paid. */
function least(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

/** The upper bound is when the venue took the wallet's signature no more. */
function isLike(row: VenuetwoWireMove, { ask, fee, sentAtVenueMs }: LikeWithdrawal): boolean {
  const { accountType, amount, token } = ask;
  const latestMs = sentAtVenueMs + WALLET_NONCE_WINDOW_MS + 2 * DATED_WITHIN_MS;
  return (
    row.chainId === token.chainId &&
    row.asset === token.symbol &&
    isWithin(unitsOf(row, ask), amount, fee) &&
    (row.accountType === null || accountType === null || row.accountType === accountType) &&
    row.time >= sentAtVenueMs - DATED_WITHIN_MS &&
    row.time <= latestMs
  );
}
