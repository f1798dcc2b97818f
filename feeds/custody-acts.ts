/** What wallets sign for venues beside orders, of all rooms, for the co-signer's policy. */
import { joinVenueActs, type VenueActs } from "../engine/custody/policy/venue-acts.js";
import { VENUES } from "./registry.js";
import { custodyActs as clientSignedActs } from "./venuefive/sign/custody-acts.js";

/** Of a venue whose clients sign there is no room: its part says what reads like it. */
export const CUSTODY_ACTS: VenueActs = joinVenueActs([
  ...VENUES.flatMap(({ venue, custodyActs }) => (custodyActs === null ? [] : [[venue, custodyActs] as const])),
  ["venuefive", clientSignedActs],
]);
