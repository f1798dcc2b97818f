/** venuefour's part of the public contract. */
import { decimal, nullable, timeMs } from "./common.js";
import { apiKeyBlock, fundingRate, price, tickerSchema, type VenueContract } from "./venue-contract.js";

export const venuefour = {
  credentials: {
    block: apiKeyBlock,
    keyFields: ["apiSecret", "walletAddress"],
    accountFields: ["walletAddress"],
    accountForm: "base58",
  },
  ticker: {
    schema: tickerSchema("venuefour", {
      prevDayPrice: nullable(decimal("The oracle price 24 h ago.")),
      change24h: nullable(decimal("Percent, of indexPrice against prevDayPrice.")),
      change24hAbs: nullable(decimal("indexPrice less prevDayPrice.")),
      indexPrice: price,
      fundingRate,
      nextFundingTime: nullable(timeMs),
      openInterest: nullable(decimal("As the venue prints it; its documents do not agree on the unit.")),
    }),
    example: {
      symbol: "BTC",
      markPrice: "97421",
      lastPrice: "97420",
      prevDayPrice: "96002",
      change24h: "1.4823",
      change24hAbs: "1423",
      volume24h: "123456789.4",
      timestamp: 1_790_000_000_398,
      indexPrice: "97425",
      fundingRate: "0.0000125",
      nextFundingTime: 1_790_002_800_000,
      openInterest: "812.44",
      state: "LIVE",
      ageMs: 24,
      fundingIntervalHours: 1,
    },
  },
} as const satisfies VenueContract;
