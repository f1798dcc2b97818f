/**
 * The public contracts of all venues, and which of them has routes of its own. The interface spec gives three of them
 * such routes (4.6, 4.7, 4.9, 4.10); every other venue is traded on through the routes for callers with credentials.
 */
import { ROUTABLE_VENUE_WORDS, type RoutableVenueWord } from "./common.js";
import type { VenueContract } from "./venue-contract.js";
import { venuefour } from "./venuefour.js";
import { venueone } from "./venueone.js";
import { venuethree, venuethreeKey } from "./venuethree.js";
import { venuetwo } from "./venuetwo.js";

const contracts = { venueone, venuetwo, venuethree, venuefour } as const satisfies Readonly<
  Record<RoutableVenueWord, VenueContract>
>;
/** What only one of them has included. */
export type VenueContracts = typeof contracts;
export const CONTRACTS: Readonly<Record<RoutableVenueWord, VenueContract>> = contracts;

/**
 * Its orders and closes act for the server wallet that a header names; its paths begin with `/api/{venue}/{walletId}`.
 */
export const WALLET_VENUE = "venueone" as const satisfies RoutableVenueWord;
/** Likewise in the venue's own form, below `/api/{venue}/perp/{walletId}`. */
export const NATIVE_VENUE = "venuetwo" as const satisfies RoutableVenueWord;
/** Its orders bring the caller's own key in the query or in headers. */
export const KEY_VENUE = "venuethree" as const satisfies RoutableVenueWord;
export const OWN_KEY = venuethreeKey;

/** Those that money of wallets goes to and comes from. */
export const MONEY_VENUES = [WALLET_VENUE, NATIVE_VENUE] as const;
export type MoneyVenueWord = (typeof MONEY_VENUES)[number];

type CallerVenue = Exclude<RoutableVenueWord, typeof WALLET_VENUE | typeof NATIVE_VENUE | typeof KEY_VENUE>;

/** All others. */
export const CALLER_VENUES = ROUTABLE_VENUE_WORDS.filter(
  (venue): venue is CallerVenue => venue !== WALLET_VENUE && venue !== NATIVE_VENUE && venue !== KEY_VENUE,
);

/** One member for each venue. */
export function perVenue<T>(
  member: (contract: VenueContract, venue: RoutableVenueWord) => T,
): Readonly<Record<RoutableVenueWord, T>> {
  return Object.fromEntries(ROUTABLE_VENUE_WORDS.map((venue) => [venue, member(CONTRACTS[venue], venue)])) as Readonly<
    Record<RoutableVenueWord, T>
  >;
}

/** Returns one member for each of `venues`; its name is the venue's with the suffix: `venueoneTicker`. */
export function named<V extends RoutableVenueWord, S extends string, T>(
  venues: readonly V[],
  suffix: S,
  member: (venue: V) => T,
): Readonly<Record<`${V}${S}`, T>> {
  return Object.fromEntries(venues.map((venue) => [`${venue}${suffix}`, member(venue)])) as Readonly<
    Record<`${V}${S}`, T>
  >;
}
