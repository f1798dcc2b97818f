/** The venues of this program: a new one is its room, its local venue, and a line here. */
import type { VenueDescriptor } from "./shared/room/venue-descriptor.js";
import { venuefour } from "./venuefour/descriptor.js";
import { venueone } from "./venueone/descriptor.js";
import { venuethree } from "./venuethree/descriptor.js";
import { venuetwo } from "./venuetwo/descriptor.js";

export const VENUES: readonly VenueDescriptor[] = [venueone, venuetwo, venuethree, venuefour];
