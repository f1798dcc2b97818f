/** What a reply says of what is left open: its size, or that a venue could not be counted. Pure. */
import type { TradeRun } from "../run.js";
import type { ExecutionReport, ExecutionState } from "../types.js";

/** Is what is left open known? Not where a venue could not be counted. */
export function isRemainderKnown(run: Pick<TradeRun, "unread">): boolean {
  return run.unread === undefined || run.unread.length === 0;
}

/** Where a part of what was asked for could not be counted, the rest of it is never the whole. */
export function stateOfPart(state: ExecutionState): ExecutionState {
  return state === "COMPLETED" || state === "NOOP" ? "PARTIAL" : state;
}

export function noteOf(
  run: Pick<TradeRun, "note" | "unread">,
  state: ExecutionState,
  hasRemainder: boolean,
): string | null {
  if (run.note !== null) return run.note;
  if (!isRemainderKnown(run)) return "POSITION_UNKNOWN";
  return state === "COMPLETED" && hasRemainder ? "DUST_REMAINDER" : null;
}

/** What is left of the known sizes, or that it is not known, and because of whom. */
export function remainderReport(
  run: Pick<TradeRun, "unread">,
  remaining: string,
): Pick<ExecutionReport, "remainingSize" | "unreadExchanges"> {
  return isRemainderKnown(run)
    ? { remainingSize: remaining }
    : { remainingSize: null, unreadExchanges: [...(run.unread ?? [])] };
}
