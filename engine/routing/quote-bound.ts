/**
 * Finds out whether a call that is bound to a quote was refused because the market moved past the quote's worst price.
 */
import type { ErrorCode } from "../domain/errors.js";
import { decideRoute } from "./decide.js";
import type { Decision, RouteInput } from "./route-types.js";
import { splitRoute } from "./split.js";

/**
 * If a venue's depth ends beyond the call's own cap but within the quoted price, the cap is the reason. If only a split
 * could have filled the size, it is decided again without the quote. That overwrites `decision`, whose report is
 * already built.
 */
export function isLeftBehind(input: RouteInput, decision: Decision, code: ErrorCode, legsMax: number): boolean {
  if (input.boundUnits === 0) return false;
  if (code === "SLIPPAGE_CAP") return !isWithinQuoted(input, decision);
  if (code !== "NO_ELIGIBLE_VENUE" || !input.allowSplit) return false;
  input.boundUnits = 0;
  decideRoute(input, decision);
  splitRoute(input, decision, legsMax);
  return decision.outcome === "SELECTED";
}

function isWithinQuoted(input: RouteInput, decision: Decision): boolean {
  for (let index = 0; index < input.candidateCount; index++) {
    const result = decision.results[index];
    if (result?.reason !== "SLIPPAGE_CAP" || !(result.quotedTicks > 0)) continue;
    const { worstTicks } = result.walk;
    if (input.side === "SELL" ? worstTicks >= result.quotedTicks : worstTicks <= result.quotedTicks) return true;
  }
  return false;
}
