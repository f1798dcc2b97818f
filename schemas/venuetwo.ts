/** venuetwo's part of the public contract. Spec fields keep their names (`asterSymbol` carries a brand there). */
import { Type } from "@sinclair/typebox";
import { decimal, nullable, timeMs } from "./common.js";
import { apiKeyBlock, fundingRate, price, tickerSchema, type VenueContract } from "./venue-contract.js";

export const venuetwo = {
  credentials: {
    block: apiKeyBlock,
    keyFields: ["apiKey", "apiSecret"],
    accountFields: ["walletAddress"],
    accountForm: "evm",
  },
  ticker: {
    mayNeedKeys: true,
    schema: tickerSchema("venuetwo", {
      asterSymbol: Type.String({ description: "The venue's own symbol." }),
      indexPrice: price,
      openPrice: price,
      high24h: price,
      low24h: price,
      fundingRate,
      nextFundingTime: nullable(timeMs),
      volumeBase: nullable(decimal()),
    }),
    example: {
      symbol: "BTC",
      markPrice: "97422.1",
      lastPrice: "97421.9",
      prevDayPrice: "96010",
      change24h: "1.470",
      change24hAbs: "1411.9",
      volume24h: "987654321.5",
      timestamp: 1_790_000_000_371,
      asterSymbol: "BTCUSDT",
      indexPrice: "97425.3",
      openPrice: "96010",
      high24h: "98200",
      low24h: "95100",
      fundingRate: "0.0001",
      nextFundingTime: 1_790_006_400_000,
      volumeBase: "10150.4",
      state: "LIVE",
      ageMs: 74,
      fundingIntervalHours: 8,
    },
  },
} as const satisfies VenueContract;
