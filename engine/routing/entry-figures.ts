/** What a report shows of an entry beside its price: the exit cost, and the funding while it is held. */
import { formatScaled } from "../domain/decimal.js";
import {
  divideRatio,
  formatRatio,
  multiplyRatio,
  ratio,
  ratioFromScaled,
  ratioFromText,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, type Instrument } from "../domain/instrument.js";
import type { Candidate, CandidateResult } from "./route-types.js";

/** Present for entries only. */
export interface EntryFigures {
  /** VWAP of the exit, over the other side of the same book. */
  exitPrice?: string;
  /** What a long pays per hour, and when next; null where the venue does not publish it. */
  fundingRateHourly?: string;
  nextFundingTime?: number | null;
  /** Present with an expected hold: funding of a long over that time. */
  fundingBps?: string;
}

/** Adds the costs that an entry commits to: the exit, and the funding while it is held. */
export function addEntryFigures(
  report: EntryFigures,
  candidate: Candidate,
  result: CandidateResult,
  instrument: Instrument,
): void {
  const { exitWalk } = result;
  if (exitWalk.filledLots > 0) {
    const notional = ratio(exitWalk.notionalBig(), BigInt(exitWalk.filledLots));
    const places = Math.max(0, canonicalPriceDecimals(instrument)) + 1;
    const price = multiplyRatio(notional, ratioFromScaled(1, canonicalPriceDecimals(instrument)));
    report.exitPrice = formatRatio(price, places, "halfUp");
  }
  if (candidate.fundingMilliBps !== 0) report.fundingBps = formatScaled(candidate.fundingMilliBps, 3);
  const { ticker } = candidate.market ?? {};
  if (ticker === undefined || ticker.fundingRate === "" || ticker.fundingIntervalHours <= 0) return;
  report.fundingRateHourly = hourlyText(ticker.fundingRate, ticker.fundingIntervalHours);
  report.nextFundingTime = ticker.nextFundingTime > 0 ? ticker.nextFundingTime : null;
}

const HOURLY_PLACES = 12;

function hourlyText(rate: string, intervalHours: number): string {
  const hourly = divideRatio(ratioFromText(rate), ratio(BigInt(Math.round(intervalHours * 1000)), 1000n));
  return formatRatio(hourly, HOURLY_PLACES, "halfUp");
}
