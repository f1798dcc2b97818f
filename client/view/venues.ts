/**
 * The venues the page has a place and a colour for, what a person enters of an account there, and how a feed's state is
 * shown. Neutral names only.
 */
import type { FeedHealth, FeedState } from "../stream/frames.js";

export const VENUES = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;
export type VenueName = (typeof VENUES)[number];

/** The venue whose orders the wallet signs itself: its holdings are shown, and nothing is sent there from the page. */
export const OWN_SIGNED_VENUE = "venuefive";
/** On which an account may hold something, in their order on the page. */
export const HELD_VENUES: readonly string[] = [...VENUES, OWN_SIGNED_VENUE];

/** From 1: colours and strokes go by it (figures.css). */
export function placeOf(venue: VenueName): number {
  return VENUES.indexOf(venue) + 1;
}

/** One field of the account form. Those of a venue that are required are entered together or not at all. */
export interface KeyField {
  /** In the venue's block of credentials. */
  readonly name: string;
  readonly label: string;
  /** In a problem. */
  readonly said: string;
  readonly kind: "secret" | "text" | "index";
  readonly isRequired: boolean;
  readonly maxChars: number;
  /** Of an index. */
  readonly max?: number;
}

const secret = (name: string, label: string, said: string): KeyField => ({
  name,
  label,
  said,
  kind: "secret",
  isRequired: true,
  maxChars: 512,
});
const KEY_AND_SECRET = [secret("apiKey", "API key", "key"), secret("apiSecret", "API secret", "secret")];

export const KEY_FIELDS: Readonly<Record<VenueName, readonly KeyField[]>> = {
  venueone: [secret("privateKey", "Private key of the agent", "key")],
  venuetwo: KEY_AND_SECRET,
  venuethree: [
    secret("apiKeyPrivateKey", "API key, private", "key"),
    {
      name: "accountIndex",
      label: "Account index",
      said: "account index",
      kind: "index",
      isRequired: true,
      maxChars: 16,
    },
    {
      name: "apiKeyIndex",
      label: "API key index",
      said: "API key index",
      kind: "index",
      isRequired: false,
      maxChars: 3,
      max: 255,
    },
  ],
  venuefour: [
    ...KEY_AND_SECRET,
    {
      name: "walletAddress",
      label: "Wallet address there",
      said: "wallet address",
      kind: "text",
      isRequired: false,
      maxChars: 64,
    },
  ],
};

/** The text of a badge: a feed's state, that its venue gets no requests, or that the state cannot be known. */
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
