/** What the record gets while a trade is under way: the markets that a decision sees, and how long each stage took. */
import type { RoutableVenue } from "../../domain/venue.js";
import type { Market } from "../../market/market.js";

/** Stages of a request, in the order in which they end; "total" is the whole of it. */
export type RouteStage = "positions" | "route" | "intent" | "sign" | "venue" | "total";

/** Called in the same turn; copies and returns. Must not throw. */
export interface RouteObserver {
  /** The decision that follows sees this market. */
  beforeRoute(market: Market): void;
  /** `venue`: "" where the stage is of no single one. */
  latency(stage: RouteStage, venue: RoutableVenue | "", us: number): void;
}

export const NO_OBSERVER: RouteObserver = { beforeRoute() {}, latency() {} };
