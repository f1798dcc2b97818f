/** The venues of interface spec section "base address", by their neutral names. */

export const VENUES = ["venueone", "venuetwo", "venuethree", "venuefour", "venuefive"] as const;
export type Venue = (typeof VENUES)[number];

/** Venues whose orders this service can send; on venuefive the client signs. */
export const ROUTABLE_VENUES = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;
export type RoutableVenue = (typeof ROUTABLE_VENUES)[number];

export function isRoutableVenue(text: string): text is RoutableVenue {
  return (ROUTABLE_VENUES as readonly string[]).includes(text);
}
