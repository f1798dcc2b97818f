/** venueone's part of the public contract. */
import { Type } from "@sinclair/typebox";
import { decimal, nullable, optionalField } from "./common.js";
import { secretText, tickerSchema, type VenueContract } from "./venue-contract.js";

export const venueone = {
  credentials: {
    block: Type.Object({
      privateKey: secretText,
      walletAddress: optionalField(secretText, { description: "The account that is meant; checked." }),
      vaultAddress: optionalField(secretText, { description: "Sub-account or vault that is traded for." }),
    }),
    keyFields: ["privateKey", "vaultAddress"],
    // A key that trades for a vault also names its master.
    accountFields: ["vaultAddress", "walletAddress"],
    accountForm: "evm",
  },
  ticker: {
    schema: tickerSchema("venueone", {
      fundingRate: nullable(decimal("Per funding interval; never compare over venues without fundingIntervalHours.")),
      openInterest: nullable(decimal("Base units.")),
    }),
    example: {
      symbol: "BTC",
      markPrice: "97421.5",
      lastPrice: "97420",
      prevDayPrice: "96000",
      change24h: "1.479167",
      change24hAbs: "1420",
      volume24h: "1234567890.12",
      timestamp: 1_790_000_000_391,
      fundingRate: "0.0000125",
      openInterest: "24310.5",
      state: "LIVE",
      ageMs: 118,
      fundingIntervalHours: 1,
    },
  },
} as const satisfies VenueContract;
