/**
 * Every check of a run of the trade simulation, by name. A test can take one check out and see what the others miss.
 *
 * The numbers are those of the design's section 5: 1 `instructions`; 2 `sizes`, `fills`, `positions`; 3 `unknown`,
 * `after unknown`; 4 `claims`, `replays`, `named orders`. isolation-judge.ts has 6 and 12.
 */
import type { TradeCheck } from "./evidence.js";
import { bandRefusals, boundsOfOrders, boundsTold, quotesUsed, referenceMids, references } from "./bounds.js";
import { bandedStops, restingOrders, stops } from "./stops.js";
import { claims, fills, instructions, nonces, positions, sizes } from "./orders.js";
import { exitBudgets } from "./budgets.js";
import { askedSecrets, closeAlls, cancels, switches } from "./sweeps.js";
import { allClosed, flatness, positionsRead, splits, toldPositions } from "./holds.js";
import { fillsRecorded, stopsInTime, stopsOnArrival } from "./later.js";
import { callerLimits } from "./limits.js";
import { listedOrders, singleOrders } from "./single-orders.js";
import { protections, undoPrices } from "./protection.js";
import { reduceOnlyEnds } from "./reduce-only.js";
import { afterUnknown, endsOfOrders, namedOrders, replays, replyStatuses, unknownOrders } from "./replies.js";

export const TRADE_CHECKS = {
  claims,
  instructions,
  sizes,
  nonces,
  positions,
  fills,
  replays,
  "named orders": namedOrders,
  "reply statuses": replyStatuses,
  "ends of orders": endsOfOrders,
  unknown: unknownOrders,
  "after unknown": afterUnknown,
  bounds: boundsOfOrders,
  "bounds told": boundsTold,
  references,
  "reference mids": referenceMids,
  "band refusals": bandRefusals,
  "quotes used": quotesUsed,
  stops,
  "banded stops": bandedStops,
  "resting orders": restingOrders,
  flatness,
  "all closed": allClosed,
  "told positions": toldPositions,
  "positions read": positionsRead,
  "reduce-only ends": reduceOnlyEnds,
  splits,
  protections,
  "undo prices": undoPrices,
  "caller limits": callerLimits,
  "exit budgets": exitBudgets,
  "close-all": closeAlls,
  cancels,
  switches,
  "single orders": singleOrders,
  "listed orders": listedOrders,
  "fills recorded": fillsRecorded,
  "stops in time": stopsInTime,
  "stops on arrival": stopsOnArrival,
  "secrets in answers": askedSecrets,
} as const satisfies Readonly<Record<string, TradeCheck>>;

export type CheckName = keyof typeof TRADE_CHECKS;
export const CHECK_NAMES = Object.keys(TRADE_CHECKS) as readonly CheckName[];
