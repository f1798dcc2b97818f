/** `GET /api/instruments`: what every venue lists, in canonical terms and in its own. */
import { type Static, Type } from "@sinclair/typebox";
import { decimal, reply, ROUTABLE_VENUE_WORDS, routableVenue, symbolText, timeMs, words } from "./common.js";

export const instrumentsQuerySchema = Type.Object({
  symbol: Type.Optional(symbolText()),
  exchange: Type.Optional(words(ROUTABLE_VENUE_WORDS)),
});

export const instrumentSchema = reply({
  exchange: routableVenue,
  symbol: Type.String(),
  nativeSymbol: Type.String(),
  multiplier: decimal("Base units per native contract unit (1000 for a 1000PEPE contract)."),
  tickSize: decimal("Smallest price step in canonical quoting."),
  lotSize: decimal("Smallest size step in base units."),
  priceRule: words(["step", "sigfigs5"]),
  minSize: decimal(),
  maxSize: Type.Unsafe<string | null>({ ...decimal(), type: ["string", "null"] }),
  minNotional: decimal(),
  restingMinSize: decimal("Smallest size of an order that rests; above minSize where the venue asks more of those."),
  restingMinNotional: decimal("The same of the value, in quote units."),
  maxLeverage: Type.Number(),
  quoteAsset: Type.String(),
  takerFeeBps: decimal(),
  makerFeeBps: decimal(),
  status: words(["TRADING", "HALTED"]),
});
export type InstrumentRow = Static<typeof instrumentSchema>;

export const instrumentsReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({ instruments: Type.Array(instrumentSchema), total: Type.Integer({ minimum: 0 }) }),
    timestamp: timeMs,
  },
  { $id: "InstrumentsReply" },
);
