/** Cancel, amend, account settings, closing everything, and the two switches: additions of the API design. */
import { type Static, Type } from "@sinclair/typebox";
import { credentialsQueryField } from "./account-common.js";
import { credentialsSchema } from "./close.js";
import {
  leverageWarning,
  nullable,
  optionalField,
  positiveDecimal,
  reply,
  routableVenue,
  ROUTABLE_VENUE_WORDS,
  symbolText,
  timeMs,
  switchState,
  venueSymbols,
  words,
} from "./common.js";
import { maxSlippageBps } from "./routing.js";
import { callerNames, closingFlag } from "./spec-names.js";
import { titleOf } from "./venue-contract.js";
import { closeItemSchema, orderRecordSchema } from "./venue-orders.js";
import { CONTRACTS, NATIVE_VENUE } from "./venues.js";

const symbol = symbolText({ description: "BTC, BTC-PERP, BTC-USD, BTCUSDT, BTC/USDT; any case.", examples: ["BTC"] });
const credentials = Type.Optional(credentialsSchema);

/** Interface spec section 8, for the one venue it speaks of. Other venues: what the instrument allows. */
export const LEVERAGE_BOUNDS = { min: 1, max: 125 } as const;

const ANSWERING_FIRST = ROUTABLE_VENUE_WORDS.filter((venue) => CONTRACTS[venue].answersFirst === true);

// ---------------------------------------------------------------- cancel and amend

export const cancelQuerySchema = Type.Object({
  symbol: Type.Optional(symbolText({ description: "A hint that saves a search." })),
  credentials: credentialsQueryField,
});

export const cancelBodySchema = Type.Object(
  // The blocks may also be at the top level, without `credentials` around them.
  { credentials, ...credentialsSchema.properties, ...callerNames },
  { $id: "CancelRequest" },
);

const outcomeWord = words(["ACCEPTED", "UNKNOWN"], {
  description: "UNKNOWN: sent, but not answered; the order may still be open. Read its status.",
});

export const cancelReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      exchange: routableVenue,
      orderId: Type.String(),
      symbol: Type.String(),
      status: words(["CANCELED", "SUBMITTED", "UNKNOWN"], {
        description: `SUBMITTED: the venue took the request (${ANSWERING_FIRST.join(", ")}) and has not said yet whether the order was open.`,
      }),
      outcome: outcomeWord,
    }),
    timestamp: timeMs,
  },
  { $id: "CancelReply" },
);

export const amendBodySchema = Type.Object(
  {
    symbol: optionalField(symbol),
    price: optionalField(positiveDecimal(), { description: "At least one of price and quantity." }),
    quantity: optionalField(positiveDecimal(), { description: "The whole order, what has filled included." }),
    credentials,
    ...callerNames,
  },
  { $id: "AmendRequest" },
);

export const amendReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      outcome: outcomeWord,
      previousOrderId: Type.String({ description: "Some venues give a changed order a new id." }),
      order: nullable(orderRecordSchema),
    }),
    timestamp: timeMs,
  },
  { $id: "AmendReply" },
);

export const cancelAllReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      exchange: routableVenue,
      symbol: nullable(Type.String()),
      outcome: outcomeWord,
      canceledCount: nullable(Type.Integer({ minimum: 0, description: "Null: the venue does not say." })),
      failedCount: Type.Integer({ minimum: 0 }),
    }),
    timestamp: timeMs,
  },
  { $id: "CancelAllReply" },
);

// ---------------------------------------------------------------- leverage and margin mode

/** Range and symbol are judged by the route, which owns the spec's texts. */
export const nativeLeverageRequestSchema = Type.Object(
  { symbol: Type.String({ minLength: 1, maxLength: 64 }), leverage: Type.Number(), ...callerNames },
  { $id: `${titleOf(NATIVE_VENUE)}LeverageRequest` },
);

export const nativeLeverageReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      symbol: Type.String(),
      leverage: Type.Number(),
      maxNotionalValue: Type.String(),
      warning: leverageWarning,
    }),
    timestamp: timeMs,
  },
  { $id: `${titleOf(NATIVE_VENUE)}LeverageReply` },
);

export const leverageRequestSchema = Type.Object(
  { symbol: Type.String({ minLength: 1, maxLength: 64 }), leverage: Type.Number(), credentials, ...callerNames },
  { $id: "LeverageRequest" },
);

export const marginModeRequestSchema = Type.Object(
  { symbol, marginMode: words(["cross", "isolated"]), credentials, ...callerNames },
  { $id: "MarginModeRequest" },
);

export const settingsReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      exchange: routableVenue,
      symbol: Type.String(),
      leverage: nullable(Type.Number()),
      marginMode: nullable(words(["cross", "isolated"])),
      maxNotionalValue: nullable(Type.String()),
      outcome: outcomeWord,
      warning: leverageWarning,
    }),
    timestamp: timeMs,
  },
  { $id: "SettingsReply" },
);

// ---------------------------------------------------------------- everything, everywhere

/** Each symbol costs a cancel at each venue. */
export const CLOSE_SYMBOLS_MAX = 32;

export const closeEverythingRequestSchema = Type.Object(
  {
    credentials,
    dryRun: optionalField(Type.Boolean(), {
      default: false,
      description: "Says what would be closed; sends nothing and cancels nothing.",
    }),
    exchanges: optionalField(
      Type.Array(words(ROUTABLE_VENUE_WORDS), { minItems: 1, maxItems: ROUTABLE_VENUE_WORDS.length }),
      {
        description: "Only these; without it every venue with credentials.",
      },
    ),
    symbols: optionalField(Type.Array(symbol, { minItems: 1, maxItems: CLOSE_SYMBOLS_MAX }), {
      description: "Only positions and open orders in these.",
    }),
    symbol: optionalField(symbol, { description: "As symbols with one entry; not beside it." }),
    cancelOrders: optionalField(Type.Boolean(), { default: true, description: "Cancel open orders first." }),
    maxSlippageBps: optionalField(maxSlippageBps),
    ...closingFlag,
    ...callerNames,
  },
  { $id: "CloseEverythingRequest" },
);

const venueCloseSchema = reply({
  exchange: routableVenue,
  state: words(["CLOSED", "PARTIAL", "FAILED", "UNKNOWN", "FLAT", "ERROR", "SIMULATED"], {
    description:
      "Of positions and of the cancel before them: with one that FAILED a venue is never CLOSED or FLAT, with one that is UNKNOWN it is UNKNOWN. ERROR: the venue's positions could not be read; nothing is known of them. SIMULATED: a dry run would close all of them.",
  }),
  canceledOrders: nullable(Type.Integer({ minimum: 0 })),
  cancel: nullable(
    reply({
      outcome: words(["ACCEPTED", "FAILED", "UNKNOWN"], {
        description: "FAILED: some or all open orders stay open. UNKNOWN: not answered; they may still be open.",
      }),
      error: nullable(reply({ code: Type.String(), message: Type.String() })),
    }),
    { description: "Of the open orders; null: nothing was to be cancelled." },
  ),
  closedCount: Type.Integer({ minimum: 0 }),
  totalPositions: Type.Integer({ minimum: 0 }),
  results: Type.Array(closeItemSchema),
  error: nullable(reply({ code: Type.String(), message: Type.String() })),
});
export type VenueClose = Static<typeof venueCloseSchema>;

export const closeEverythingReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      success: Type.Boolean({
        description:
          "Every position of every venue asked is closed, and every cancel before it was done. A dry run closes nothing: true only where nothing is open.",
      }),
      dryRun: Type.Boolean(),
      closedCount: Type.Integer({ minimum: 0 }),
      totalPositions: Type.Integer({ minimum: 0 }),
      venues: Type.Array(venueCloseSchema),
      message: Type.String(),
    }),
    timestamp: timeMs,
  },
  { $id: "CloseEverythingReply" },
);

// ---------------------------------------------------------------- switches

export const killSwitchRequestSchema = Type.Object(
  {
    active: Type.Boolean({
      description: "true: no order that opens exposure leaves any more; exits and cancels go on.",
    }),
    exchange: optionalField(words(ROUTABLE_VENUE_WORDS), { description: "Only there; without it everywhere." }),
    reason: optionalField(Type.String({ minLength: 1, maxLength: 200 }), {
      description: "For people; stored and shown without what looks like a key, and without the queries of URLs.",
    }),
  },
  { $id: "KillSwitchRequest" },
);

export const killSwitchReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      active: Type.Boolean({ description: "Openings are stopped somewhere." }),
      halts: Type.Array(
        reply({
          exchange: nullable(words(ROUTABLE_VENUE_WORDS), { description: "Null: everywhere." }),
          reason: Type.String(),
          since: timeMs,
        }),
      ),
      usedToday: nullable(
        Type.String({
          description: "Notional of the orders sent today (UTC), over all callers; null where no daily limit is set.",
        }),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: "KillSwitchReply" },
);

export const DEAD_MAN_MS = { min: 5_000, max: 86_400_000 } as const;

export const deadManRequestSchema = Type.Object(
  {
    timeoutMs: Type.Integer({
      minimum: DEAD_MAN_MS.min,
      maximum: DEAD_MAN_MS.max,
      description: "After this all open orders of the account are cancelled, unless a heartbeat came.",
    }),
    credentials,
    ...callerNames,
  },
  { $id: "DeadManRequest" },
);

export const deadManReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      switchId: Type.String({ description: "Whoever knows it can prolong or end the switch, and nothing else." }),
      exchange: routableVenue,
      state: switchState,
      timeoutMs: Type.Integer({ minimum: 0 }),
      expiresAt: timeMs,
      venueArmed: Type.Boolean({ description: "Armed at the venue too: it happens even if this service ends." }),
      venueSymbols,
    }),
    timestamp: timeMs,
  },
  { $id: "DeadManReply" },
);
