/**
 * The part of the public contract that is particular to one venue: the block of its credentials, its ticker, and the
 * names of its accounts. Each venue has its own file; venues.ts lists them.
 */
import { type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { decimal, feedState, nullable, optionalField, reply, type RoutableVenueWord, timeMs } from "./common.js";

export interface VenueContract {
  readonly credentials: CredentialBlock;
  readonly ticker: TickerContract;
  /** It answers a request before it executes it. Absent: the answer is the outcome. */
  readonly answersFirst?: true;
}

/** Interface spec 2.3. */
export interface CredentialBlock {
  readonly block: TObject;
  /** Fields that identify a key; the other fields of a block do not change the caller. */
  readonly keyFields: readonly string[];
  /** Fields that may name the account, the one that decides first. */
  readonly accountFields: readonly string[];
  readonly accountForm: AccountForm;
}

/** `evm`: 0x and 40 hex digits. `base58`: 32 bytes in base58; a key says which one it is of. */
export type AccountForm = "evm" | "base58";

/** Interface spec 2.8. */
export interface TickerContract {
  readonly schema: TObject;
  readonly example: object;
  /** The operator may require keys for this ticker (interface spec 5.5). Absent means that it is public. */
  readonly mayNeedKeys?: true;
}

/** Key that a caller passes outside the block of credentials (interface spec 4.6): in the query, or as headers. */
export interface OwnKey {
  readonly query: TObject;
  readonly headers: readonly OwnKeyHeader[];
}

interface OwnKeyHeader {
  /** Of the query. */
  readonly field: string;
  readonly name: string;
  /** Beside the query's field. */
  readonly note: string;
  /** Its name and its words as a way to be known. */
  readonly scheme: string;
  readonly description: string;
}

// ---------------------------------------------------------------- credentials

/** Longest key, secret or address text in a credentials block; real ones have at most 132 characters. */
export const MAX_CREDENTIAL_CHARS = 512;

export const secretText = Type.String({ minLength: 1, maxLength: MAX_CREDENTIAL_CHARS, "x-kind": "credential" });

/** Of venues with a key and a secret. */
export const apiKeyBlock = Type.Object({
  apiKey: secretText,
  apiSecret: secretText,
  walletAddress: optionalField(secretText),
});

// ---------------------------------------------------------------- tickers

export const price = nullable(decimal());

const commonFields = {
  symbol: Type.String({ description: "Canonical symbol." }),
  markPrice: price,
  lastPrice: price,
  prevDayPrice: price,
  change24h: nullable(decimal("Percent.")),
  change24hAbs: price,
  volume24h: nullable(decimal("In the quote asset.")),
  timestamp: timeMs,
};

const additions = {
  state: feedState,
  ageMs: nullable(
    Type.Integer({ minimum: 0, description: "Since the venue's last ticker frame; null before the first." }),
  ),
  fundingIntervalHours: nullable(Type.Number()),
};

/** Spec fields keep their names. A price the venue has not sent yet is null. */
export function tickerSchema(venue: RoutableVenueWord, own: TProperties): TObject {
  return reply({ ...commonFields, ...own, ...additions }, { $id: `${titleOf(venue)}Ticker` });
}

export const fundingRate: TSchema = nullable(decimal("Per funding interval."));

/** As the names of schemas begin: with a capital. */
export function titleOf(venue: string): string {
  return venue.charAt(0).toUpperCase() + venue.slice(1);
}
