/**
 * Positions: the aggregated form of interface spec 2.4 with its venuefive variant (2.6), and the native form of one
 * venue (2.5). An unknown figure is left out: the spec allows that "not every field is present".
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  anyExchangeParameter,
  coverageByVenueSchema,
  coverageSchema,
  credentialsQueryField,
  optionalDecimal,
  provenance,
} from "./account-common.js";
import { decimal, reply, routableVenue, symbolText, timeMs, words } from "./common.js";

export const aggregatedPositionSchema = reply({
  symbol: Type.String({ description: "Canonical symbol." }),
  exchange: routableVenue,
  direction: words(["LONG", "SHORT"]),
  size: decimal("Base units, above zero."),
  entryPrice: decimal(),
  markPrice: optionalDecimal,
  liquidationPrice: optionalDecimal,
  unrealizedPnl: optionalDecimal,
  unrealizedPnlPercent: Type.Optional(decimal("Of the margin that the position was opened with.")),
  leverage: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  collateral: optionalDecimal,
  margin: Type.Optional(decimal("What the position binds at the mark.")),
  timestamp: timeMs,
  walletAddress: Type.String(),
  nativeSymbol: Type.String(),
  positionSide: words(["BOTH", "LONG", "SHORT"]),
  marginMode: Type.Optional(words(["cross", "isolated"])),
  notional: Type.Optional(decimal("Value at the mark.")),
  quoteAsset: Type.String(),
  markSource: Type.Optional(words(["venue", "live"], { description: "live: this service's own feed." })),
  ...provenance,
});
export type AggregatedPosition = Static<typeof aggregatedPositionSchema>;

/** Interface spec 2.6. */
export const venuefivePositionSchema = reply({
  symbol: Type.String(),
  exchange: words(["venuefive"]),
  direction: words(["LONG", "SHORT"]),
  size: decimal(),
  entryPrice: decimal(),
  markPrice: decimal(),
  liquidationPrice: Type.String({ description: "USD, or -." }),
  unrealizedPnl: decimal(),
  unrealizedPnlPercent: decimal(),
  leverage: Type.Number(),
  collateral: decimal(),
  margin: decimal(),
  timestamp: timeMs,
  isZfp: Type.Boolean(),
  walletAddress: Type.String(),
});
/** The same on the stream, where one that has ended has no value. */
export const venuefiveStreamPositionSchema = reply({
  ...venuefivePositionSchema.properties,
  unrealizedPnl: optionalDecimal,
  unrealizedPnlPercent: optionalDecimal,
  collateral: optionalDecimal,
  margin: optionalDecimal,
  positionId: Type.String({
    description:
      "`pairIndex:index:second`: pair, slot and opening. A wallet may hold several of one symbol and direction: the id is part of the key.",
  }),
  ...provenance,
});
export type VenuefiveStreamPosition = Static<typeof venuefiveStreamPositionSchema>;
export type VenuefivePosition = Static<typeof venuefivePositionSchema>;

const total = Type.Integer({ minimum: 0 });

export const allPositionsReplySchema = reply(
  {
    success: Type.Literal(true),
    walletAddress: Type.String(),
    positions: Type.Array(aggregatedPositionSchema),
    totalPositions: Type.Integer({ minimum: 0, description: "Of `positions`: those of venuefive are not among them." }),
    data: reply({
      positions: reply({ venuefive: reply({ positions: Type.Array(venuefivePositionSchema), count: total }) }),
    }),
    coverage: coverageByVenueSchema,
    timestamp: timeMs,
  },
  { $id: "AllPositionsReply" },
);

export const venuePositionsReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange: anyExchangeParameter,
    walletAddress: Type.String(),
    positions: Type.Array(aggregatedPositionSchema),
    totalPositions: total,
    coverage: coverageSchema,
    timestamp: timeMs,
  },
  { $id: "VenuePositionsReply" },
);

export const positionsQuerySchema = Type.Object({ credentials: credentialsQueryField });

/** Interface spec 2.5, as the venue prints it. */
export const nativePositionSchema = reply({
  symbol: Type.String(),
  positionAmt: decimal("Negative for a short."),
  entryPrice: decimal(),
  markPrice: decimal(),
  unRealizedProfit: decimal(),
  liquidationPrice: decimal(),
  leverage: Type.String(),
  maxNotionalValue: Type.String(),
  marginType: Type.String({ description: "cross or isolated." }),
  isolatedMargin: decimal(),
  isAutoAddMargin: Type.String(),
  positionSide: words(["BOTH", "LONG", "SHORT"]),
  notional: decimal(),
  isolatedWallet: decimal(),
  updateTime: timeMs,
});
export type NativePosition = Static<typeof nativePositionSchema>;

export const nativePositionsQuerySchema = Type.Object({ symbol: Type.Optional(symbolText()) });

export const nativePositionsReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({ positions: Type.Array(nativePositionSchema), total }),
    timestamp: timeMs,
  },
  { $id: "NativePositionsReply" },
);
