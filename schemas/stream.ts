/**
 * The stream's own protocol: what a client may send and how the service answers, beside the topics' frames
 * (stream-data.ts). Unknown fields of a client's frame are ignored.
 */
import { type TProperties, Type } from "@sinclair/typebox";
import { walletAddressText, walletIdText } from "./account-common.js";
import { BOOK_DEPTH_BOUNDS } from "./book.js";
import { credentialsSchema } from "./close.js";
import {
  ROUTABLE_VENUE_WORDS,
  reply,
  routableVenue,
  symbolText,
  timeMs,
  switchState,
  venueSymbols,
  VENUE_WORDS,
  words,
} from "./common.js";
import { SCOPES } from "./operation.js";
import { DEAD_MAN_MS } from "./order-changes.js";
import { DEFAULT_INTERVAL_MS, INTERVALS_MS, TOPIC_WORDS } from "./stream-data.js";
import { walletNameText } from "./wallets.js";

export const OP_WORDS = ["auth", "subscribe", "unsubscribe", "resume", "cancelOnDisconnect", "ping"] as const;
export type StreamOp = (typeof OP_WORDS)[number];

/** Subscriptions of one connection; no list in a frame is longer. */
export const SUBSCRIPTIONS_MAX = 200;
/** Longest key of a subscription that is read. */
export const MAX_KEY_CHARS = 200;
export const MAX_ID_CHARS = 64;

const id = Type.Optional(
  Type.String({ maxLength: MAX_ID_CHARS, description: "The caller's own; the answer repeats it." }),
);

function clientFrame<O extends StreamOp, T extends TProperties>(op: O, properties: T, $id: string) {
  return Type.Object({ op: Type.Literal(op), id, ...properties }, { $id });
}

const intervalMs = Type.Optional(
  Type.Unsafe<(typeof INTERVALS_MS)[number]>({
    type: "integer",
    enum: [...INTERVALS_MS],
    default: DEFAULT_INTERVAL_MS,
    description: "At most one update in this time; 0: one per turn of the service.",
  }),
);
const symbols = Type.Array(symbolText(), { minItems: 1, maxItems: SUBSCRIPTIONS_MAX });
const exchanges = Type.Optional(
  Type.Array(words(ROUTABLE_VENUE_WORDS), {
    minItems: 1,
    maxItems: ROUTABLE_VENUE_WORDS.length,
    description: "Without it: every configured venue that lists the symbol.",
  }),
);

export const subscribeTickerSchema = clientFrame(
  "subscribe",
  { topic: Type.Literal("ticker"), symbols, exchanges, intervalMs },
  "SubscribeTicker",
);

export const subscribeBookSchema = clientFrame(
  "subscribe",
  {
    topic: Type.Literal("book"),
    symbols,
    exchanges,
    depth: Type.Optional(
      Type.Integer({
        minimum: BOOK_DEPTH_BOUNDS.min,
        maximum: BOOK_DEPTH_BOUNDS.max,
        default: BOOK_DEPTH_BOUNDS.default,
        description: "Levels per side and venue.",
      }),
    ),
    intervalMs,
  },
  "SubscribeBook",
);

export const subscribeStatusSchema = clientFrame("subscribe", { topic: Type.Literal("status") }, "SubscribeStatus");

const walletId = Type.Optional({
  ...walletIdText,
  description:
    "UUID of a server wallet of the caller: the keys that are registered for it are used where `credentials` has no block.",
});

const accountFields = {
  walletId,
  exchanges: Type.Optional(
    Type.Array(words(VENUE_WORDS), {
      minItems: 1,
      maxItems: VENUE_WORDS.length,
      description: "Without it: all of them.",
    }),
  ),
  credentials: Type.Optional(
    Type.Object(credentialsSchema.properties, {
      description:
        "By venue, as on the REST routes. Held in memory while the subscription lives, wiped at its end, never stored or logged. A venue without a block is shown by address where its accounts are public, else as AUTH_REQUIRED.",
    }),
  ),
};

export const subscribePositionsSchema = clientFrame(
  "subscribe",
  { topic: Type.Literal("positions"), walletAddress: walletAddressText, ...accountFields },
  "SubscribePositions",
);

export const subscribeOrdersSchema = clientFrame(
  "subscribe",
  { topic: Type.Literal("orders"), walletAddress: walletAddressText, ...accountFields },
  "SubscribeOrders",
);

export const subscribeTransfersSchema = clientFrame(
  "subscribe",
  {
    topic: Type.Literal("transfers"),
    walletIdOrAddress: Type.Optional({
      ...walletNameText,
      description: "User id, wallet id or address of a server wallet. Without it: all of the caller's.",
    }),
  },
  "SubscribeTransfers",
);

/** Only what every subscribe has; the topic then decides. */
export const subscribeAnySchema = clientFrame("subscribe", { topic: words(TOPIC_WORDS) }, "SubscribeAny");

const keyText = Type.String({ minLength: 1, maxLength: MAX_KEY_CHARS });

export const unsubscribeSchema = clientFrame(
  "unsubscribe",
  { subs: Type.Array(keyText, { minItems: 1, maxItems: SUBSCRIPTIONS_MAX }) },
  "Unsubscribe",
);

export const resumeSchema = clientFrame(
  "resume",
  {
    subs: Type.Array(
      Type.Object({
        sub: keyText,
        epoch: Type.String({ minLength: 1, maxLength: 32 }),
        seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
        ...accountFields,
      }),
      {
        minItems: 1,
        maxItems: SUBSCRIPTIONS_MAX,
        description: "`positions` and `orders` need the exchanges and credentials of their subscribe again.",
      },
    ),
    // For all of them that bring none of their own.
    ...accountFields,
  },
  "Resume",
);

export const authSchema = clientFrame(
  "auth",
  {
    apiKey: Type.String({ minLength: 1, maxLength: 128 }),
    timestamp: timeMs,
    signature: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'HMAC-SHA256 of `timestamp + "GET" + "/ws"`, lower-case hex.',
    }),
  },
  "Auth",
);

export const authTicketSchema = clientFrame(
  "auth",
  {
    ticket: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "Of POST /api/stream/ticket: works once, for the key and from the address that asked for it.",
    }),
  },
  "AuthByTicket",
);

/** Time of the switch behind a connection: what the venue's own switch waits when this service is gone. */
export const DISCONNECT_BOUNDS = {
  minTimeoutMs: DEAD_MAN_MS.min,
  maxTimeoutMs: 3_600_000,
  defaultTimeoutMs: 30_000,
} as const;

export const cancelOnDisconnectSchema = clientFrame(
  "cancelOnDisconnect",
  {
    enabled: Type.Optional(
      Type.Boolean({
        default: true,
        description: "false: ends every switch of this connection; nothing is cancelled.",
      }),
    ),
    exchanges: Type.Optional(
      Type.Array(words(ROUTABLE_VENUE_WORDS), {
        minItems: 1,
        maxItems: ROUTABLE_VENUE_WORDS.length,
        description: "Without it: those with a block in `credentials`, and those of the wallet's keys.",
      }),
    ),
    walletId,
    credentials: accountFields.credentials,
    graceMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: DISCONNECT_BOUNDS.maxTimeoutMs / 2,
        default: 0,
        description:
          "The orders are cancelled so long after the connection is lost; another connection that asks for the same account in time takes its switch over. At most half of `timeoutMs`.",
      }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: DISCONNECT_BOUNDS.minTimeoutMs,
        maximum: DISCONNECT_BOUNDS.maxTimeoutMs,
        default: DISCONNECT_BOUNDS.defaultTimeoutMs,
        description: "Where the venue has a switch of its own it fires so long after this service is gone.",
      }),
    ),
  },
  "CancelOnDisconnect",
);

export const pingSchema = clientFrame("ping", {}, "Ping");

// ---------------------------------------------------------------- the ticket (REST)

export const streamTicketReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      ticket: Type.String({ description: 'For the first frame: `{"op":"auth","ticket":"…"}`.' }),
      expiresAt: timeMs,
    }),
    timestamp: timeMs,
  },
  { $id: "StreamTicketReply" },
);

// ---------------------------------------------------------------- answers

const epoch = Type.String({ pattern: "^[a-z0-9]{1,32}$" });
const head = Type.Integer({
  minimum: 0,
  description: "Of the subscription, now; 0 before its first frame. Resumed: what its next frame leads from.",
});

export const subscribedSchema = reply(
  {
    type: Type.Literal("subscribed"),
    id,
    subs: Type.Array(reply({ sub: Type.String(), epoch, seq: head }), { description: "A snapshot of each follows." }),
  },
  { $id: "Subscribed" },
);

export const resumedSchema = reply(
  {
    type: Type.Literal("resumed"),
    id,
    subs: Type.Array(
      reply({
        sub: Type.String(),
        epoch,
        seq: head,
        missed: Type.Boolean({
          description:
            "true: a snapshot follows; false: the stream simply goes on, with what was missed where any was.",
        }),
      }),
    ),
  },
  { $id: "Resumed" },
);

export const unsubscribedSchema = reply(
  { type: Type.Literal("unsubscribed"), id, subs: Type.Array(Type.String(), { description: "Those that ended." }) },
  { $id: "Unsubscribed" },
);

export const pongSchema = reply({ type: Type.Literal("pong"), id, ts: timeMs }, { $id: "Pong" });

export const authenticatedSchema = reply(
  {
    type: Type.Literal("authenticated"),
    id,
    scopes: Type.Array(words(SCOPES)),
  },
  { $id: "Authenticated" },
);

export const disconnectSwitchesSchema = reply(
  {
    type: Type.Literal("cancelOnDisconnect"),
    id,
    switches: Type.Array(
      reply({
        exchange: routableVenue,
        switchId: Type.String({ description: "As of POST /api/trading/{exchange}/dead-man." }),
        state: switchState,
        graceMs: Type.Integer({ minimum: 0 }),
        timeoutMs: Type.Integer({ minimum: 1 }),
        venueArmed: Type.Boolean({ description: "Armed at the venue too: it fires even when this service is gone." }),
        venueSymbols,
      }),
      { description: "All that this connection holds now, and those that are ENDING." },
    ),
  },
  {
    $id: "DisconnectSwitches",
    description: "When this connection is lost, all open orders of these accounts are cancelled.",
  },
);

export const laggingSchema = reply(
  { type: Type.Literal("lagging"), ts: timeMs },
  {
    $id: "Lagging",
    description:
      "This connection reads too slowly: until it has caught up its updates are merged, so `seq` skips and `prevSeq` is the last one it was sent.",
  },
);

export const resyncSchema = reply(
  {
    type: Type.Literal("resync"),
    sub: Type.String(),
    epoch,
    ts: timeMs,
    reason: words(["OVERFLOW", "UNWATCHED"]),
  },
  {
    $id: "Resync",
    description:
      "The missed events cannot be sent one by one; a snapshot follows instead. OVERFLOW: there were more than are kept. UNWATCHED: nobody held the subscription for a while, so none were received.",
  },
);

export const streamErrorSchema = reply(
  {
    type: Type.Literal("error"),
    id,
    code: Type.String({ pattern: "^[A-Z][A-Z0-9_]+$", description: "For programs; stable." }),
    error: Type.String({ minLength: 1, description: "For people." }),
    details: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: "object", additionalProperties: true }),
  },
  { $id: "StreamError" },
);

export const NOTICE_WORDS = ["RESTART", "TOO_MANY_CONNECTIONS", "TOO_MANY_UNAUTHENTICATED"] as const;
export type NoticeReason = (typeof NOTICE_WORDS)[number];

export const noticeSchema = reply(
  {
    type: Type.Literal("status"),
    ts: timeMs,
    reason: words(NOTICE_WORDS),
    retryAfterMs: Type.Integer({ minimum: 0 }),
  },
  { $id: "Notice", description: "The last frame before the service closes the connection on its own account." },
);

/** Close codes beyond those of RFC 6455. */
export const CLOSE_CODES = {
  4400: "BAD_FRAME: binary, larger than 64 KiB, or not a JSON object.",
  4401: "AUTH_FAILED: the key or ticket was refused, or did not come in time; KEY_REVOKED: the key was revoked.",
  4403: "FORBIDDEN",
  4408: "SLOW_CONSUMER: reads too slowly, or does not answer pings.",
  4429: "RATE_LIMITED: too many frames.",
  1012: "RESTART: the service stops; come back after the `retryAfterMs` of the last frame.",
  1013: "TRY_LATER: too many connections; come back after the `retryAfterMs` of the last frame.",
} as const;
