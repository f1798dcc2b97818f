/** Of a call that is held to a quote: was it refused because the market left the quote's worst price behind? */
import type { ErrorCode } from "../domain/errors.js";
import { decideRoute } from "./decide.js";
import type { Decision, RouteInput } from "./route-types.js";
import { splitRoute } from "./split.js";

/**
 * Where a venue's depth ends beyond the cap that the call asks for and within what was quoted, the cap refuses. What only
 * a split would have filled is decided again without the quote, which overwrites `decision`: its report is out by then.
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
