/**
 * The trades that make a planted fault show, on each venue by a trader of its own. It sends one trade after another
 * until the venue's log has the fault. A paused machine makes that longer, and changes nothing else.
 */
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues } from "./four-venues.js";
import { recovered, type TradeSystem } from "./trade-system.js";
import { sendTrade, type TradeLeg, type TradeSender, type TradeTrial } from "./trade-trial.js";
import { type PlannedTrade, trialOf } from "./trade-workload.js";

/** An order that reached the venue, and the leg that claims it. */
export interface Shown {
  readonly record: SimRequestRecord;
  readonly leg: TradeLeg | null;
}

export interface Drill {
  /** Symbols by their venue's names, in turn; each is one more trade. */
  readonly trades: readonly Pick<PlannedTrade, "kind" | "size">[];
  /** The caller sends one key and body every time. */
  readonly isOneKey?: boolean;
  readonly faults?: readonly FaultSpec[];
  /** Returns whether the orders, oldest first, show the fault. */
  readonly isShown: (shown: readonly Shown[], venue: FourVenue) => boolean;
}

/** Every book has a price for twice as much. */
const HELD = { BTC: "0.5" };
/** A machine may pause for seconds. */
const PATIENT = { deadlineMs: 4_000, maxQuoteAgeMs: 30_000 };

export function addDrilled(four: FourVenues, name: string): ReadonlyMap<FourVenue, FourTrader> {
  return new Map(FOUR_VENUES.map((venue) => [venue, four.addTrader(`drill-${venue}-${name}`, HELD)]));
}

interface DrillOptions {
  readonly send?: TradeSender | undefined;
  /** Most trades on a venue, for a service that never shows the fault. */
  readonly asks?: number;
}

/** Drills one venue after another and returns the trials in order. */
export async function runDrill(
  four: FourVenues,
  system: TradeSystem,
  traders: ReadonlyMap<FourVenue, FourTrader>,
  { trades, isOneKey = false, faults = [], isShown }: Drill,
  { send = sendTrade, asks = Number.POSITIVE_INFINITY }: DrillOptions = {},
): Promise<TradeTrial[]> {
  const [client] = system.clients;
  if (client === undefined) throw new RangeError("no client");
  const trials: TradeTrial[] = [];
  for (const [venue, trader] of traders) {
    const own: TradeTrial[] = [];
    const endFaults = four.fault([venue], faults);
    for (let ask = 0; ask < asks && !isShown(shownTo(four, venue, trader, own), venue); ask++) {
      await recovered(system.service);
      const trial = isOneKey ? own[0] : undefined;
      const asked = trial ?? trialOf(four, new Map([[trader.label, trader]]), tradeOf(trades, ask, trader, venue));
      if (trial === undefined) own.push(asked);
      const { code } = await send(four, client, asked);
      if (code === "INVALID_PARAMETERS") throw new RangeError(`the drill asks for what is none: ${asked.key}`);
    }
    endFaults();
    trials.push(...own);
  }
  return trials;
}

function tradeOf(trades: Drill["trades"], turn: number, { label }: FourTrader, venue: FourVenue): PlannedTrade {
  const trade = trades[turn % trades.length];
  if (trade === undefined) throw new RangeError("a drill without a trade");
  return {
    ...trade,
    key: `${label.replace(/\W+/g, "-")}-${turn}`,
    trader: label,
    symbol: "BTC",
    direction: "LONG",
    preferred: venue,
    besides: null,
    routingOptions: PATIENT,
  };
}

function shownTo(
  four: FourVenues,
  venue: FourVenue,
  trader: FourTrader,
  trials: readonly TradeTrial[],
): readonly Shown[] {
  const legs = new Map<string, TradeLeg>();
  for (const { answers } of trials)
    for (const { data } of answers)
      for (const leg of data?.execution.legs ?? []) if (leg.exchange === venue) legs.set(leg.venueClientOrderId, leg);
  return four.venues[venue].log
    .records({ accountId: trader.accountIds[venue], action: "place" })
    .map((record) => ({ record, leg: legs.get(record.clientId ?? "") ?? null }));
}
