/** Checks what follows when a venue has nothing to reduce for an order: where the rest of its close goes. */
import type { TradeTrial } from "../trade-trial.js";
import { type Evidence, placeOf, type Sent, type TradeCheck } from "./evidence.js";

/**
 * A position that is gone on one venue is no reason to close on another that is not a member of the decision's split.
 */
export const reduceOnlyEnds: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) => {
    if (trial.kind === "OPEN") return [];
    const orders = evidence
      .of(trial)
      .filter(({ role }) => role === "POSITION")
      .toSorted((left, right) => left.record.receivedMs - right.record.receivedMs);
    const members = membersOf(trial);
    return orders.flatMap((sent, index) => {
      const after = orders.slice(index + 1).find(({ venue }) => venue !== sent.venue && !members.includes(venue));
      if (after === undefined || !foundNothing(sent) || !wasFlat(evidence, sent, after)) return [];
      return [`${placeOf(after)}: closes here because ${sent.venue} had nothing to reduce`];
    });
  });

/** Venues that the first decision sends to at once; empty for a single order. */
function membersOf({ answers }: TradeTrial): readonly string[] {
  const routing = answers.find(({ data }) => data !== null)?.data?.routing;
  if (routing?.split !== true) return [];
  return routing.candidates.flatMap(({ exchange, selected }) => (selected === true ? [exchange] : []));
}

/** By the venue's own final state of the order: venues differ in their words for it, and one has none. */
function foundNothing({ venue, record, order }: Sent): boolean {
  if (order !== null) return order.filledLots === 0 && order.endReason === "REDUCE_ONLY";
  const { refusal } = record;
  if (refusal === null) return false;
  return /reduce.?only/i.test(refusal.text) || (venue === "venuethree" && VENUETHREE_CODES.has(refusal.code));
}

const VENUETHREE_CODES: ReadonlySet<string> = new Set(["21732", "21738", "21740"]);

/** At some moment before the other order: a venue that acknowledges first decides hundreds of milliseconds later. */
function wasFlat({ holdings }: Evidence, { venue, record, trial }: Sent, after: Sent): boolean {
  const { receivedMs } = after.record;
  return holdings.leastHeld(venue, trial.trader, trial.symbol, trial.direction, record.receivedMs, receivedMs) === 0n;
}
