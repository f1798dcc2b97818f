/**
 * The evidence for the judge's checks: who claims which order of the venues' logs. Replies claim orders by their venue
 * client ids; the logs show what those orders did. Nothing here comes from the engine.
 */
import type { SimOrder } from "../../../sim/core/model/types.js";
import type { SimRequestRecord } from "../../../sim/core/server/request-log.js";
import { FOLLOWED, FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues, UNFOLLOWED } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import { Holdings } from "../holdings.js";
import type { RecordedState } from "../recorded-orders.js";
import type { Ask } from "../trade-ask.js";
import { logLengthsOf, type OrderRole, type TradeLeg, type TradeTrial } from "../trade-trial.js";

/** State before the judged trades. */
export interface Baseline {
  readonly logLengths: Readonly<Record<FourVenue, number>>;
  /** `venue trader symbol` → lots. */
  readonly lots: ReadonlyMap<string, number>;
  /** `venue trader symbol` → lots that its orders had filled by then, sales negative. */
  readonly filled: ReadonlyMap<string, number>;
}

export interface Claim {
  readonly trial: TradeTrial;
  readonly role: OrderRole;
  readonly leg: TradeLeg;
}

/** A placement that a reply claims. */
export interface Sent extends Claim {
  readonly venue: FourVenue;
  readonly record: SimRequestRecord;
  /** The venue's order; null when the venue made none of it. */
  readonly order: SimOrder | null;
}

interface Unclaimed {
  readonly venue: FourVenue;
  readonly record: SimRequestRecord;
}

export interface Evidence {
  readonly four: FourVenues;
  readonly trials: readonly TradeTrial[];
  readonly asks: readonly Ask[];
  readonly baseline: Baseline;
  readonly holdings: Holdings;
  /** The configured limit, in quote units a day, by account; null without one. */
  readonly callerDailyMax: number | null;
  /** Venues hold accounts to small budgets, and refuse nothing else for exceeding a limit. */
  readonly hasTrueBudgets: boolean;
  /** What the service recorded of orders, in that order; null when nobody looked. */
  readonly recorded: readonly RecordedState[] | null;
  /** Placements in the logs since the baseline, venue by venue, oldest first. */
  readonly placed: Readonly<Record<FourVenue, readonly SimRequestRecord[]>>;
  readonly sent: readonly Sent[];
  readonly unclaimed: readonly Unclaimed[];
  /** Placements that are claimed twice. */
  readonly disputes: readonly string[];
  /** Returns the placements of a trade, refused ones included, in the order of each venue's log. */
  of(trial: TradeTrial): readonly Sent[];
  /** Returns those that became orders of the trade's own, without protection and the undo. */
  executed(trial: TradeTrial): readonly Sent[];
}

export type TradeCheck = (evidence: Evidence) => readonly string[];

/** Includes symbols that the service does not follow. */
export const JUDGED_SYMBOLS: readonly string[] = [...FOLLOWED, UNFOLLOWED];

export function baselineOf(four: FourVenues, traders: Iterable<FourTrader>): Baseline {
  const lots = new Map<string, number>();
  const filled = new Map<string, number>();
  for (const trader of traders)
    for (const venue of FOUR_VENUES)
      for (const symbol of JUDGED_SYMBOLS) {
        const name = `${venue} ${trader.label} ${symbol}`;
        lots.set(name, four.positionLots(venue, trader, symbol));
        filled.set(name, filledLots(four, venue, trader, symbol));
      }
  return { logLengths: logLengthsOf(four), lots, filled };
}

/** Sum over all orders that the account ever had, sales negative. */
export function filledLots(four: FourVenues, venue: FourVenue, trader: FourTrader, symbol: string): number {
  return four.venues[venue].exchange.orders
    .all(trader.accountIds[venue], nativeName(venue, symbol))
    .reduce((sum, order) => sum + (order.side === "BUY" ? order.filledLots : -order.filledLots), 0);
}

export interface EvidenceExtras {
  readonly asks?: readonly Ask[];
  readonly callerDailyMax?: number | null;
  readonly hasTrueBudgets?: boolean;
  readonly recorded?: readonly RecordedState[];
  /** Traders whose placements are judged; default: everybody's. */
  readonly traders?: readonly FourTrader[];
}

export function gatherEvidence(
  four: FourVenues,
  trials: readonly TradeTrial[],
  baseline: Baseline,
  { asks = [], callerDailyMax = null, hasTrueBudgets = false, recorded, traders }: EvidenceExtras = {},
): Evidence {
  const disputes: string[] = [];
  const claims = claimsOf(trials, disputes);
  const sent: Sent[] = [];
  const unclaimed: Unclaimed[] = [];
  const byTrial = new Map<TradeTrial, Sent[]>();
  const placed: Partial<Record<FourVenue, readonly SimRequestRecord[]>> = {};
  for (const venue of FOUR_VENUES) {
    const { log, exchange } = four.venues[venue];
    const accounts = traders === undefined ? null : new Set(traders.map(({ accountIds }) => accountIds[venue]));
    const records = log
      .records({ action: "place" })
      .filter(
        ({ index, accountId }) =>
          index >= baseline.logLengths[venue] && (accounts === null || accounts.has(accountId ?? "")),
      );
    placed[venue] = records;
    for (const record of records) {
      const claim = claims.get(`${venue} ${record.clientId ?? ""}`);
      if (claim === undefined) {
        unclaimed.push({ venue, record });
        continue;
      }
      const one: Sent = {
        ...claim,
        venue,
        record,
        order: record.orderId === null ? null : exchange.orders.find(record.orderId),
      };
      sent.push(one);
      const own = byTrial.get(claim.trial);
      if (own === undefined) byTrial.set(claim.trial, [one]);
      else own.push(one);
    }
  }
  const of = (trial: TradeTrial): readonly Sent[] => byTrial.get(trial) ?? [];
  return {
    four,
    trials,
    asks,
    baseline,
    callerDailyMax,
    hasTrueBudgets,
    recorded: recorded ?? null,
    holdings: new Holdings(four, baseline.lots),
    placed: placed as Evidence["placed"],
    sent,
    unclaimed,
    disputes,
    of,
    executed: (trial) => of(trial).filter(({ role, record }) => role === "POSITION" && record.orderId !== null),
  };
}

/** Invariant 4: the orders of a trade are those of its newest answer. */
function claimsOf(trials: readonly TradeTrial[], disputes: string[]): ReadonlyMap<string, Claim> {
  const claims = new Map<string, Claim>();
  for (const trial of trials) {
    const last = trial.answers.findLast(({ data }) => data !== null)?.data?.execution;
    const told = [
      ...(last?.legs ?? []).map((leg) => ({ role: "POSITION" as const, leg })),
      ...(last?.protectionOrders ?? []).map((leg) => ({ role: leg.kind, leg })),
    ];
    for (const { role, leg } of told) {
      const id = `${leg.exchange} ${leg.venueClientOrderId}`;
      const other = claims.get(id);
      if (other !== undefined) disputes.push(`${trial.key}: claims ${id}, which ${other.trial.key} claims too`);
      claims.set(id, { trial, role, leg });
    }
  }
  return claims;
}

/** Returns where in the logs a problem is: `venue record 12 (key)`. */
export function placeOf({ venue, record, trial }: Sent): string {
  return `${venue} record ${record.index} (${trial.key})`;
}

/** Returns whether the venue may still fill more of it. */
export function isWorking(order: SimOrder | null): boolean {
  return order !== null && (order.status === "NEW" || order.status === "PARTIALLY_FILLED");
}
