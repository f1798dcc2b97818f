/** What the benchmarks know of each venue, and which of them stand for what in scenarios of one or two. */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { VenueBench } from "./venue-bench.js";
import { venuefour } from "./venuefour.js";
import { venueone } from "./venueone.js";
import { venuethree } from "./venuethree.js";
import { venuetwo, venuetwoDiffs, venuetwoManyMarkets } from "./venuetwo.js";

export const VENUE_BENCHES: Readonly<Record<RoutableVenue, VenueBench>> = { venueone, venuetwo, venuethree, venuefour };

/** Whose closes have the design's goal. */
export const GOAL_VENUE = "venueone" satisfies RoutableVenue;
/** Whose book is made of a chain of diffs: recorded frames of it drive ingest and the desk. */
export const CHAINED_DIFFS = venuetwoDiffs;
/** Which lists the most contracts, and needs a snapshot of each. */
export const MANY_MARKETS = venuetwoManyMarkets;
