/** The venues that have a place and a colour on the page, and how a feed's state is shown. Neutral names only. */
import type { FeedHealth, FeedState } from "../stream/frames.js";

export const VENUES = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;
export type VenueName = (typeof VENUES)[number];

/** What a badge shows: a feed's state, that its venue gets no requests, or that the state cannot be known. */
export type BadgeState = FeedState | "HELD" | "UNKNOWN" | "OFF";

export const BADGE_TITLES: Readonly<Record<BadgeState, string>> = {
  LIVE: "Feed is live",
  SYNCING: "Feed is being synchronised",
  STALE: "Feed is connected but has sent nothing current for too long",
  DOWN: "Feed is down",
  HELD: "Orders and reads are held back: the venue limits this service or does not answer",
  UNKNOWN: "No connection to the service: state unknown",
  OFF: "Venue is not configured",
};

const SEVERITY: Readonly<Record<FeedState, number>> = { LIVE: 0, SYNCING: 1, STALE: 2, DOWN: 3 };

/** Returns the worse state of a venue and its market: a market may be stale on a feed that is live. */
export function worseState(a: FeedState, b: FeedState | null): FeedState {
  return b !== null && SEVERITY[b] > SEVERITY[a] ? b : a;
}

/** Combines the feed and the breaker: a venue that shows prices but takes no order is not simply live. */
export function venueState({ state, breaker }: Pick<FeedHealth, "state" | "breaker">): FeedState | "HELD" {
  return breaker === "open" && state !== "DOWN" ? "HELD" : state;
}

export function badgeState(
  isConnected: boolean,
  feed: FeedHealth | undefined,
  marketState: FeedState | null,
): BadgeState {
  if (!isConnected) return "UNKNOWN";
  if (feed === undefined) return "OFF";
  return venueState({ ...feed, state: worseState(feed.state, marketState) });
}
