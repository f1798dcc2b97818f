/**
 * Amounts that an intent can move, as the ledger of a day counts them. On chain an amount is in the token's smallest
 * unit, at a venue it is the decimal text of the venue's message at 18 places. Assets are named so that no two meet.
 */

export interface SpentAmount {
  readonly asset: string;
  readonly amount: bigint;
  /** The most that the wallet may spend of this asset on one UTC day, this amount included. */
  readonly perDay: bigint;
}

export const VENUE_DECIMALS = 18;
/** Also the most that a configured bound can be: 2^256 - 1. */
export const MAX_AMOUNT = (1n << 256n) - 1n;

export function tokenAsset(chainId: bigint, token: string): string {
  return `chain:${chainId}/token:${token}`;
}

export function nativeAsset(chainId: bigint): string {
  return `chain:${chainId}/native`;
}

export function gasAsset(chainId: bigint): string {
  return `chain:${chainId}/gas`;
}

export function venueAsset(venue: string, token: string): string {
  return `venue:${venue}/${token}`;
}

/** Digits, and at most one point with digits on both sides. Null for everything else, and for finer than 18 places. */
export function readVenueAmount(text: string): bigint | null {
  const match = /^(0|[1-9][0-9]{0,58})(?:\.([0-9]{1,18}))?$/.exec(text);
  if (match === null) return null;
  return BigInt(`${match[1]}${(match[2] ?? "").padEnd(VENUE_DECIMALS, "0")}`);
}
