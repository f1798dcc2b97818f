/** The venues of this program: a new one is its room, its local venue, and a line here. */
import type { RoutableVenue } from "../engine/domain/venue.js";
import type { VenueDescriptor } from "./shared/room/venue-descriptor.js";
import { vectors as venuefiveVectors } from "./venuefive/vectors.js";
import { venuefour } from "./venuefour/descriptor.js";
import { venueone } from "./venueone/descriptor.js";
import { venuethree } from "./venuethree/descriptor.js";
import { venuetwo } from "./venuetwo/descriptor.js";

export const VENUES: readonly VenueDescriptor[] = [venueone, venuetwo, venuethree, venuefour];

/** For `npm run conformance`: of every venue, those too whose orders their callers sign. */
export const VECTOR_CHECKS = [...VENUES.map(({ vectors }) => vectors), venuefiveVectors];

/** By name. */
export const DESCRIPTORS = Object.fromEntries(VENUES.map((descriptor) => [descriptor.venue, descriptor])) as Readonly<
  Record<RoutableVenue, VenueDescriptor>
>;

/** How fast the accounts of each are polled. */
export const ACCOUNT_PACES = Object.fromEntries(VENUES.map(({ venue, paces }) => [venue, paces]));
