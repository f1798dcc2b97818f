/** venuethree's part of the public contract. */
import { Type } from "@sinclair/typebox";
import { decimal, nullable, optionalField, timeMs } from "./common.js";
import {
  fundingRate,
  MAX_CREDENTIAL_CHARS,
  type OwnKey,
  price,
  secretText,
  tickerSchema,
  type VenueContract,
} from "./venue-contract.js";

export const venuethree = {
  answersFirst: true,
  credentials: {
    block: Type.Object({
      apiKeyPrivateKey: secretText,
      accountIndex: Type.Integer({ minimum: 0 }),
      apiKeyIndex: optionalField(Type.Integer({ minimum: 0, maximum: 255 }), {
        description: "Without it the venue is asked which of the account's keys this is.",
      }),
      walletAddress: optionalField(secretText, { description: "The account that is meant; checked." }),
    }),
    keyFields: ["apiKeyPrivateKey", "accountIndex"],
    accountFields: ["walletAddress"],
    accountForm: "evm",
  },
  ticker: {
    schema: tickerSchema("venuethree", {
      marketId: Type.Integer(),
      indexPrice: price,
      high24h: price,
      low24h: price,
      note: Type.String({ description: "Says that the mark price is the last trade price." }),
      venueMarkPrice: nullable(decimal("The venue's own mark price, which margin and liquidation go by.")),
      fundingRate,
      nextFundingTime: nullable(timeMs),
      openInterest: nullable(decimal("In the quote asset.")),
    }),
    example: {
      symbol: "BTC",
      markPrice: "97419.4",
      lastPrice: "97419.4",
      prevDayPrice: "96004.1",
      change24h: "1.4742",
      change24hAbs: "1415.3",
      volume24h: "456789012.3",
      timestamp: 1_790_000_000_402,
      marketId: 1,
      indexPrice: "97424.9",
      high24h: "98190.2",
      low24h: "95080.7",
      note: "markPrice is the last trade price; the venue's own mark is venueMarkPrice.",
      venueMarkPrice: "97420.3",
      fundingRate: "0.000012",
      nextFundingTime: 1_790_002_800_000,
      openInterest: "310456789.1",
      state: "LIVE",
      ageMs: 20,
      fundingIntervalHours: 1,
    },
  },
} as const satisfies VenueContract;

/** Spec 4.6: as query parameters, kept for compatibility; the headers or the credentials block are better. */
export const venuethreeKey = {
  query: Type.Object({
    apiKeyPrivateKey: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_CREDENTIAL_CHARS, "x-kind": "credential" }),
    ),
    apiKeyIndex: Type.Optional(Type.Integer({ minimum: 0, maximum: 255 })),
    accountIndex: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  }),
  headers: [
    {
      field: "apiKeyPrivateKey",
      name: "X-Venuethree-Api-Key-Private-Key",
      note: "As the query parameter apiKeyPrivateKey, which ends up in more places.",
      scheme: "venuethreeKey",
      description: "Private API key of venuethree, 80 hex digits.",
    },
    {
      field: "apiKeyIndex",
      name: "X-Venuethree-Api-Key-Index",
      note: "As the query parameter apiKeyIndex.",
      scheme: "venuethreeKeyIndex",
      description: "Index of that key within its account.",
    },
    {
      field: "accountIndex",
      name: "X-Venuethree-Account-Index",
      note: "As the query parameter accountIndex.",
      scheme: "venuethreeAccount",
      description: "Index of the account that the key belongs to.",
    },
  ],
} as const satisfies OwnKey;
