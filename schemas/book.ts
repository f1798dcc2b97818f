/** Order books: one venue's, and the consolidated depth over all venues with a live book. */
import { type Static, Type } from "@sinclair/typebox";
import { bookState, decimal, nullable, reply, routableVenue, timeMs, words } from "./common.js";

export const BOOK_DEPTH_BOUNDS = { min: 1, max: 500, default: 20 } as const;

export const bookQuerySchema = Type.Object({
  depth: Type.Optional(
    Type.Integer({
      minimum: BOOK_DEPTH_BOUNDS.min,
      maximum: BOOK_DEPTH_BOUNDS.max,
      default: BOOK_DEPTH_BOUNDS.default,
      description: "Levels per side.",
    }),
  ),
});

/** `[price, size]`, best first. */
const level = Type.Unsafe<[string, string]>({
  type: "array",
  items: { type: "string" },
  minItems: 2,
  maxItems: 2,
  description: "[price, size] in base units, best first.",
});

export const venueBookReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      exchange: routableVenue,
      symbol: Type.String(),
      nativeSymbol: Type.String(),
      state: bookState,
      bids: Type.Array(level),
      asks: Type.Array(level),
      bidLevels: Type.Integer({ minimum: 0, description: "Levels held, not only those shown." }),
      askLevels: Type.Integer({ minimum: 0 }),
      tier: words(["main", "deep"], { description: "deep: a slower, deeper book was needed for the depth asked." }),
      venueSeq: nullable(Type.String()),
      venueTimestamp: nullable(timeMs),
      ageMs: Type.Integer({ minimum: 0 }),
      quoteAsset: Type.String(),
    }),
    timestamp: timeMs,
  },
  { $id: "VenueBookReply" },
);
export type VenueBookReply = Static<typeof venueBookReplySchema>;

const consolidatedLevel = reply({
  price: decimal(),
  size: decimal(),
  venues: Type.Array(reply({ exchange: routableVenue, size: decimal() })),
});

export const consolidatedBookReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      symbol: Type.String(),
      bids: Type.Array(consolidatedLevel),
      asks: Type.Array(consolidatedLevel),
      venues: Type.Array(
        reply({
          exchange: routableVenue,
          included: Type.Boolean(),
          state: bookState,
          ageMs: nullable(Type.Integer({ minimum: 0 })),
          quoteAsset: nullable(Type.String()),
          reason: nullable(words(["BOOK_INVALID", "SYMBOL_NOT_LISTED"])),
        }),
      ),
      quoteNote: Type.String({ description: "How different quote assets were put on one scale." }),
    }),
    timestamp: timeMs,
  },
  { $id: "ConsolidatedBookReply" },
);
export type ConsolidatedBookReply = Static<typeof consolidatedBookReplySchema>;
