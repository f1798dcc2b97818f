/**
 * `GET /api/trade/executions/{routeId}`: what became of one close; the same data as the close reply, current. With
 * credentials an order of unknown outcome is looked up first.
 */
import { Type } from "@sinclair/typebox";
import { closeDataSchema } from "./close.js";
import { reply, timeMs } from "./common.js";

/** Longest text of per-request credentials: real ones have a few hundred characters. */
export const MAX_VENUE_CREDENTIALS_CHARS = 16_384;

/** base64url of the JSON credentials object, padded or not. */
export const venueCredentialsText = Type.String({
  minLength: 1,
  maxLength: MAX_VENUE_CREDENTIALS_CHARS,
  pattern: "^[A-Za-z0-9_-]+={0,2}$",
});

export const executionQuerySchema = Type.Object({
  credentials: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_VENUE_CREDENTIALS_CHARS,
      description: "As the header X-Venue-Credentials, which is to be preferred; plain JSON is taken here as well.",
    }),
  ),
});

export const executionReplySchema = reply(
  { success: Type.Literal(true), data: closeDataSchema, timestamp: timeMs },
  { $id: "ExecutionReply" },
);
