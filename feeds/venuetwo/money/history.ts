/**
 * What came, went and moved at the venue, as entries of money (engine/venue-money.ts): its list of deposits and
 * withdrawals, and the perp account's income from transfers.
 */
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { VenueEntry } from "../../../engine/venue-money.js";
import { failedRead } from "../../shared/net/call-results.js";
import { parseMoneyJson } from "../../shared/room/wire-fields.js";
import { incomeCall } from "../account/calls.js";
import type { VenuetwoRest } from "../account/rest.js";
import { heldSession } from "./held-session.js";
import { FAILED, readMoves } from "./ledger.js";
import { decodeTransferIncome, type VenuetwoWireIncome, type VenuetwoWireMove } from "./wire.js";

/** More of them in one answer is cut off, and so says too little. */
const INCOME_ROWS = 1_000;

export async function readHistory(
  rest: VenuetwoRest,
  sinceMs: number,
  clockOffsetMs: number,
  session: AccountSession | null,
  options: CallOptions,
): Promise<Read<readonly VenueEntry[]>> {
  const held = heldSession(session);
  if (!held.ok) return held;
  const sinceVenueMs = Math.floor(sinceMs + clockOffsetMs);
  const params = [
    ["incomeType", "TRANSFER"],
    ["startTime", String(sinceVenueMs)],
    ["limit", String(INCOME_ROWS)],
  ] as const;
  const [moves, income] = await Promise.all([
    readMoves(rest, session, options),
    rest.read(held.session, incomeCall(params), decodeTransferIncome, options, parseMoneyJson),
  ]);
  if (!moves.ok) return moves;
  if (!income.ok) return income;
  if (income.value.length >= INCOME_ROWS)
    return failedRead("BAD_RESPONSE", "there are more transfers than one answer can have");
  const since = ({ time }: { readonly time: number }): boolean => time >= sinceVenueMs;
  const entries = [
    ...moves.value.filter(since).map((move) => ofMove(move, clockOffsetMs)),
    ...income.value.filter(since).map((row) => ofIncome(row, clockOffsetMs)),
  ];
  return { ...moves, value: entries };
}

function ofMove(move: VenuetwoWireMove, clockOffsetMs: number): VenueEntry {
  const { id, type, chainId, asset, amount, txHash, time, state } = move;
  return {
    ...{ kind: type === "DEPOSIT" ? "deposit" : "withdrawal", venueId: id, chainId, asset, amounts: [amount] },
    ...{ kindType: null, hash: txHash, atMs: time - clockOffsetMs, hasFailed: state === FAILED },
    ...(type === "DEPOSIT" ? {} : { isFeeOpen: true }),
  };
}

/** Of the perp account: what is taken from it has gone to the spot account. */
function ofIncome({ asset, income, time, tranId }: VenuetwoWireIncome, clockOffsetMs: number): VenueEntry {
  const isOut = income.startsWith("-");
  return {
    ...{ kind: "internal", venueId: tranId, chainId: null, asset, amounts: [isOut ? income.slice(1) : income] },
    ...{ kindType: isOut ? "FUTURE_SPOT" : "SPOT_FUTURE", hash: null, atMs: time - clockOffsetMs, hasFailed: false },
  };
}
