/** What the benchmarks know of each venue, and which venues represent the others in scenarios of one or two. */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { VenueBench } from "./venue-bench.js";
import { venuefour } from "./venuefour.js";
import { venueone, venueoneMoneyRoom } from "./venueone.js";
import { venuethree } from "./venuethree.js";
import { venuetwo, venuetwoDiffs, venuetwoManyMarkets } from "./venuetwo.js";

export const VENUE_BENCHES: Readonly<Record<RoutableVenue, VenueBench>> = { venueone, venuetwo, venuethree, venuefour };

/** The venue whose closes have the design's goal. */
export const GOAL_VENUE = "venueone" satisfies RoutableVenue;
/** The venue that a deposit goes to in one transaction. */
export const DEPOSITS = { venue: "venueone", openRoom: venueoneMoneyRoom } as const;
/** The venue with a chain of diffs: its recorded frames drive ingest and the desk. */
export const CHAINED_DIFFS = venuetwoDiffs;
/** The venue that lists the most contracts and needs a snapshot of each. */
export const MANY_MARKETS = venuetwoManyMarkets;
