/**
 * What the checks of the judge look at: who claims which order of the venues' logs. The replies claim orders by their
 * venue client ids; the logs say what those orders did. Nothing here comes from the engine.
 */
import type { SimOrder } from "../../../sim/core/model/types.js";
import type { SimRequestRecord } from "../../../sim/core/server/request-log.js";
import { FOLLOWED, FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues, UNFOLLOWED } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import { Holdings } from "../holdings.js";
import type { RecordedState } from "../recorded-orders.js";
import type { Ask } from "../trade-ask.js";
import { logLengthsOf, type OrderRole, type TradeLeg, type TradeTrial } from "../trade-trial.js";

/** What stood before the trades that are judged. */
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
  /** Null when the venue made none of it. */
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
  /** The limit that the service is configured with; quote units a day, by account. Null means nothing. */
  readonly callerDailyMax: number | null;
  /** Venues hold accounts to small budgets, and refuse nothing else for being too much. */
  readonly hasTrueBudgets: boolean;
  /** What the service recorded of orders, in that order; null: nobody looked. */
  readonly recorded: readonly RecordedState[] | null;
  /** Placements of the logs since the baseline, venue by venue, oldest first. */
  readonly placed: Readonly<Record<FourVenue, readonly SimRequestRecord[]>>;
  readonly sent: readonly Sent[];
  readonly unclaimed: readonly Unclaimed[];
  /** Claimed twice. */
  readonly disputes: readonly string[];
  /** Placements of a trade, refused ones included, in the order of each venue's log. */
  of(trial: TradeTrial): readonly Sent[];
  /** Those of them that became orders of the trade's own: protection and the undo left out. */
  executed(trial: TradeTrial): readonly Sent[];
}

export type TradeCheck = (evidence: Evidence) => readonly string[];

/** Also what the service does not follow. */
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

/** Of all orders that the account ever had, sales negative. */
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
  /** Whose placements are judged; without it everybody's. */
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

/** `venue record 12 (key)`: where in the logs a problem is. */
export function placeOf({ venue, record, trial }: Sent): string {
  return `${venue} record ${record.index} (${trial.key})`;
}

/** Would the venue fill more of it yet? */
export function isWorking(order: SimOrder | null): boolean {
  return order !== null && (order.status === "NEW" || order.status === "PARTIALLY_FILLED");
}
