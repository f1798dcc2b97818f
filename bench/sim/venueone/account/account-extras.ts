/** Replies about an account that trading does not need but client libraries read: fees, portfolio. Pure. */
import { replyTextScaled } from "../wire/decimals.js";
import { volumeText } from "../records/rows.js";
import { usdText, type Venue } from "../records/venue.js";

const DAY_MS = 86_400_000;

export function feesRow(venue: Venue, user: string): Readonly<Record<string, unknown>> {
  const { policies } = venue.exchange;
  const account = venue.exchange.accounts.find(user);
  const taker = rateText(account?.takerFeeMilliBps ?? policies.takerFeeMilliBps);
  const maker = rateText(account?.makerFeeMilliBps ?? policies.makerFeeMilliBps);
  const today = new Date(Math.floor(venue.exchange.nowMs() / DAY_MS) * DAY_MS).toISOString().slice(0, 10);
  const volume = venue.account(user)?.volumeE12 ?? 0n;
  return {
    dailyUserVlm: [{ date: today, userCross: volumeText(volume), userAdd: "0.0", exchange: "0.0" }],
    feeSchedule: {
      cross: "0.00045",
      add: "0.00015",
      spotCross: "0.0007",
      spotAdd: "0.0004",
      tiers: { vip: [], mm: [] },
      referralDiscount: "0.04",
      stakingDiscountTiers: [{ bpsOfMaxSupply: "0.0", discount: "0.0" }],
    },
    userCrossRate: taker,
    userAddRate: maker,
    userSpotCrossRate: "0.0007",
    userSpotAddRate: "0.0004",
    activeReferralDiscount: "0.0",
    trial: null,
    feeTrialEscrow: "0.0",
    nextTrialAvailableTimestamp: null,
    stakingLink: null,
    activeStakingDiscount: { bpsOfMaxSupply: "0.0", discount: "0.0" },
  };
}

/** Only the present is known: one point per period. */
export function portfolioRows(venue: Venue, user: string): readonly unknown[] {
  const known = venue.exchange.accounts.find(user) !== null;
  const value = usdText(known ? venue.exchange.accounts.margin(user).equityE12 : 0n);
  const now = venue.exchange.nowMs();
  const vlm = usdText(venue.account(user)?.volumeE12 ?? 0n);
  const periods = ["day", "week", "month", "allTime", "perpDay", "perpWeek", "perpMonth", "perpAllTime"];
  return periods.map((period) => [period, { accountValueHistory: [[now, value]], pnlHistory: [[now, "0.0"]], vlm }]);
}

/** Thousandths of a basis point as a fraction. */
function rateText(milliBps: number): string {
  return replyTextScaled(BigInt(milliBps), 7);
}
