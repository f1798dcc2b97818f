/** The two contracts that the in-process scenarios trade, as the first two venues list them. */
import type { Instrument } from "../../engine/domain/instrument.js";
import { LISTED_BTC } from "../../engine/domain/test/instruments.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";

const [FIRST, SECOND] = ROUTABLE_VENUES;

/** The contract whose book recorded frames drive. */
export const DRIVEN_BTC: Instrument = LISTED_BTC[SECOND];

/** The contract on the other venue. */
export const STANDING_BTC: Instrument = LISTED_BTC[FIRST];
