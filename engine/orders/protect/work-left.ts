/** What a watched entry still needs sent, from its record alone. */
import { isOpen, mayYetFill } from "../attempt-figures.js";
import {
  awaitsProtection,
  guardsToTakeBack,
  isToBeAbandoned,
  mayTryAgain,
  partsToClose,
} from "../conclude/protection-parts.js";
import { positionAttempts, type TradeRun } from "../run.js";

/** Something is to be sent for it still, or it may turn out so. */
export function hasWorkLeft(run: TradeRun): boolean {
  return mayTryAgain(run) || awaitsProtection(run) || isLeftOpen(run);
}

/** Another round is to be sent, whatever fills meanwhile. */
export function isRetryLeft(run: TradeRun): boolean {
  return mayTryAgain(run) || isLeftOpen(run);
}

/** A guard outlives what it guarded; or, of an entry that its caller wants closed rather than unprotected, something rests, or is neither guarded nor being closed. */
function isLeftOpen(run: TradeRun): boolean {
  if (run.protection?.isGivenUp === true) return false;
  if (guardsToTakeBack(run).length > 0) return true;
  if (!isToBeAbandoned(run)) return false;
  const isResting = positionAttempts(run).some((attempt) => isOpen(attempt) && !mayYetFill(attempt));
  return isResting || partsToClose(run).length > 0;
}
