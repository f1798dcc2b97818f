/** The two contracts that the in-process scenarios trade, as the first two venues list them. */
import type { Instrument } from "../../engine/domain/instrument.js";
import { LISTED_BTC } from "../../engine/domain/test/instruments.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";

const [FIRST, SECOND] = ROUTABLE_VENUES;

/** Whose book recorded frames drive. */
export const DRIVEN_BTC: Instrument = LISTED_BTC[SECOND];

/** Beside it. */
export const STANDING_BTC: Instrument = LISTED_BTC[FIRST];
