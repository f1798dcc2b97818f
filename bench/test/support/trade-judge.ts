/**
 * Judges what went through the gateway by the order logs, exchanges and positions of the four local venues (design,
 * section 5), never by the engine's own reports. The checks have names (judge/checks.ts), so that a test can take some
 * out.
 */
import type { FourVenues } from "./four-venues.js";
import { CHECK_NAMES, type CheckName, TRADE_CHECKS } from "./judge/checks.js";
import { type Baseline, type EvidenceExtras, gatherEvidence } from "./judge/evidence.js";
import type { TradeTrial } from "./trade-trial.js";

export interface TradeJudgement {
  readonly violations: readonly string[];
  /** Violations by the check that found them; checks without any are absent. */
  readonly byCheck: ReadonlyMap<CheckName, readonly string[]>;
  readonly orderCount: number;
}

export function judgeTrades(
  four: FourVenues,
  trials: readonly TradeTrial[],
  baseline: Baseline,
  { without = [], ...extras }: EvidenceExtras & { readonly without?: readonly CheckName[] } = {},
): TradeJudgement {
  const evidence = gatherEvidence(four, trials, baseline, extras);
  const byCheck = new Map<CheckName, readonly string[]>();
  for (const name of CHECK_NAMES) {
    const found = without.includes(name) ? [] : TRADE_CHECKS[name](evidence);
    if (found.length > 0) byCheck.set(name, found);
  }
  return {
    violations: [...byCheck.values()].flat(),
    byCheck,
    orderCount: evidence.sent.filter(({ order }) => order !== null).length,
  };
}
