/**
 * Single-venue orders and closes (interface spec 2.7, 4.6 and 4.7) with the additions of the API design: the client order
 * id, the slippage bound of market orders, post-only.
 */
import { type Static, Type } from "@sinclair/typebox";
import { credentialsSchema, MAX_CLIENT_ORDER_ID_CHARS, normalizedOrderSchema } from "./close.js";
import {
  decimal,
  optionalField,
  orderStatus,
  positiveDecimal,
  reply,
  ROUTABLE_VENUE_WORDS,
  side,
  symbolText,
  timeMs,
  words,
} from "./common.js";
import { maxSlippageBps } from "./routing.js";
import {
  callerNames,
  closingFlag,
  impliedTimeInForce,
  onlyBothSides,
  otherCallerNames,
  walletRef,
} from "./spec-names.js";
import { titleOf } from "./venue-contract.js";
import { type CALLER_VENUES, KEY_VENUE, NATIVE_VENUE, OWN_KEY, WALLET_VENUE } from "./venues.js";

export const TIME_IN_FORCE_WORDS = ["GTC", "IOC", "FOK", "POST_ONLY"] as const;
/** As callers may write it: GTX is a venue's word for POST_ONLY. */
const ASKED_TIME_IN_FORCE_WORDS = [...TIME_IN_FORCE_WORDS, "GTX"] as const;
const ORDER_TYPE_WORDS = ["MARKET", "LIMIT"] as const;
const NATIVE_TYPE_WORDS = ["MARKET", "LIMIT", "STOP_MARKET", "TAKE_PROFIT_MARKET"] as const;

const symbol = symbolText({ description: "BTC, BTC-PERP, BTC-USD, BTCUSDT, BTC/USDT; any case.", examples: ["BTC"] });

/** Additions that every order body takes. */
const additions = {
  timeInForce: optionalField(words(ASKED_TIME_IN_FORCE_WORDS), {
    description: "Of LIMIT orders; GTC by default. POST_ONLY and GTX are the same. MARKET orders never rest.",
  }),
  clientOrderId: optionalField(
    Type.String({
      minLength: 1,
      maxLength: MAX_CLIENT_ORDER_ID_CHARS,
      pattern: "^[\\x21-\\x7e]+$",
      "x-kind": "visibleAscii",
    }),
    { description: "Echoed in the reply; what the venue saw is venueClientOrderId." },
  ),
  maxSlippageBps: optionalField(maxSlippageBps, {
    description: "Worst price of a MARKET order, from the live mid. Default 100.",
  }),
  reduceOnly: optionalField(Type.Boolean(), { default: false }),
};

const common = {
  symbol,
  side,
  quantity: positiveDecimal({ description: "Base units.", examples: ["0.01"] }),
};

export const nativeOrderRequestSchema = Type.Object(
  {
    ...common,
    ...callerNames,
    type: words(NATIVE_TYPE_WORDS),
    price: optionalField(positiveDecimal(), {
      description: "Required for LIMIT; the trigger of a stop type without stopPrice.",
    }),
    stopPrice: optionalField(positiveDecimal(), { description: "Trigger of STOP_MARKET and TAKE_PROFIT_MARKET." }),
    positionSide: optionalField(words(["BOTH", "LONG", "SHORT"]), {
      description: "LONG and SHORT on hedge-mode accounts, where reduceOnly follows from it.",
    }),
    workingType: optionalField(words(["CONTRACT_PRICE", "MARK_PRICE"]), {
      description: "Which price fires a stop: the last one (default) or the mark.",
    }),
    ...additions,
  },
  { $id: `${titleOf(NATIVE_VENUE)}OrderRequest` },
);

export const walletOrderRequestSchema = Type.Object(
  {
    userId: walletRef,
    ...otherCallerNames,
    ...common,
    ...onlyBothSides,
    type: words(ORDER_TYPE_WORDS),
    price: positiveDecimal({
      description: "Limit; of a MARKET order the worst price, still bounded by maxSlippageBps from the live mid.",
    }),
    ...additions,
  },
  { $id: `${titleOf(WALLET_VENUE)}OrderRequest` },
);

export const keyOrderRequestSchema = Type.Object(
  {
    userId: walletRef,
    ...otherCallerNames,
    ...common,
    ...onlyBothSides,
    type: words(ORDER_TYPE_WORDS),
    price: optionalField(positiveDecimal(), { description: "Required for LIMIT." }),
    credentials: Type.Optional({
      ...credentialsSchema,
      description: `Instead of the query: {${KEY_VENUE}: {${Object.keys(OWN_KEY.query.properties).join(", ")}}}.`,
    }),
    ...additions,
  },
  { $id: `${titleOf(KEY_VENUE)}OrderRequest` },
);

export function callerOrderRequest(venue: (typeof CALLER_VENUES)[number]) {
  return Type.Object(
    {
      ...callerNames,
      ...common,
      ...onlyBothSides,
      type: words(ORDER_TYPE_WORDS),
      price: optionalField(positiveDecimal(), { description: "Required for LIMIT." }),
      credentials: Type.Optional({ ...credentialsSchema, description: "Or the header X-Venue-Credentials." }),
      ...additions,
    },
    { $id: `${titleOf(venue)}OrderRequest` },
  );
}

/** A number on the wire, with all its digits: larger than a double holds exactly, it is written from a bigint. */
const exactInteger = Type.Unsafe<number | bigint>({ type: "integer", minimum: 0 });

export const nativeOrderSchema = reply({
  orderId: exactInteger,
  orderIdStr: Type.String({ description: "The same digits, for readers whose numbers are doubles." }),
  symbol: Type.String({ description: "The venue's own symbol." }),
  status: Type.String({ description: "The venue's word (NEW, FILLED, …), or UNKNOWN." }),
  clientOrderId: Type.String({ description: "What the caller sent, else what the venue saw." }),
  venueClientOrderId: Type.String(),
  price: decimal(),
  avgPrice: decimal(),
  origQty: decimal(),
  executedQty: decimal(),
  cumQty: decimal(),
  cumQuote: decimal(),
  timeInForce: Type.String(),
  type: Type.String(),
  reduceOnly: Type.Boolean(),
  closePosition: Type.Boolean(),
  side,
  positionSide: words(["BOTH", "LONG", "SHORT"]),
  stopPrice: decimal(),
  workingType: Type.String(),
  priceProtect: Type.Boolean(),
  origType: Type.String(),
  updateTime: timeMs,
});
export type NativeOrder = Static<typeof nativeOrderSchema>;

export const nativeOrderReplySchema = reply(
  { success: Type.Literal(true), data: nativeOrderSchema, timestamp: timeMs },
  { $id: `${titleOf(NATIVE_VENUE)}OrderReply` },
);

export const nativeCloseReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      ...nativeOrderSchema.properties,
      orders: Type.Optional(
        Type.Array(nativeOrderSchema, { description: "Both orders, where both hedge sides were closed." }),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: `${titleOf(NATIVE_VENUE)}CloseReply` },
);

/** Outside the venue's own form an order (2.7) is the normalized order, with its additions. */
export const venueOrderReplySchema = reply(
  { success: Type.Literal(true), data: normalizedOrderSchema, timestamp: timeMs },
  { $id: "VenueOrderReply" },
);

/** Without the `data` wrapper, as the spec has it. */
export const keyOrderReplySchema = reply(
  {
    success: Type.Literal(true),
    orderId: Type.String(),
    status: Type.String({ description: "submitted, or UNKNOWN." }),
    adapter: words([KEY_VENUE]),
    timestamp: timeMs,
    order: normalizedOrderSchema,
  },
  { $id: `${titleOf(KEY_VENUE)}OrderReply` },
);

// ---------------------------------------------------------------- closes of one venue

/** Spec 4.7: all fields required; the symbol of the path decides. */
export const walletCloseRequestSchema = Type.Object(
  {
    userId: walletRef,
    ...otherCallerNames,
    ...impliedTimeInForce,
    ...onlyBothSides,
    symbol,
    side,
    type: words(ORDER_TYPE_WORDS),
    quantity: positiveDecimal(),
    price: positiveDecimal(),
    reduceOnly: Type.Boolean({ description: "Must be true." }),
    clientOrderId: additions.clientOrderId,
    maxSlippageBps: additions.maxSlippageBps,
  },
  { $id: `${titleOf(WALLET_VENUE)}CloseRequest` },
);

export const walletCloseReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      closeId: Type.String({ description: "The venue's order id; the client order id while that is not known." }),
      status: Type.String({ description: "submitted, or UNKNOWN." }),
      timestamp: timeMs,
      order: normalizedOrderSchema,
    }),
    timestamp: timeMs,
  },
  { $id: `${titleOf(WALLET_VENUE)}CloseReply` },
);

/**
 * Spec 4.7 requires all of a close's fields; those that the positions of the venue decide may be missing, and are
 * ignored.
 */
export const walletCloseAllRequestSchema = Type.Object(
  {
    userId: walletRef,
    ...otherCallerNames,
    symbol: optionalField(Type.String({ maxLength: 64 }), { description: "Ignored." }),
    side: optionalField(Type.String({ maxLength: 16 }), { description: "Ignored." }),
    type: optionalField(words(ORDER_TYPE_WORDS), { description: "Ignored: positions are closed at the market." }),
    quantity: optionalField(Type.String({ maxLength: 64 }), { description: "Ignored." }),
    price: optionalField(Type.String({ maxLength: 64 }), { description: "Ignored." }),
    reduceOnly: Type.Boolean({ description: "Must be true." }),
    maxSlippageBps: additions.maxSlippageBps,
  },
  { $id: `${titleOf(WALLET_VENUE)}CloseAllRequest` },
);

export const CLOSE_ITEM_WORDS = ["CLOSED", "PARTIAL", "FAILED", "UNKNOWN", "SIMULATED"] as const;

export const closeItemSchema = reply({
  symbol: Type.String(),
  status: words(CLOSE_ITEM_WORDS, { description: "SIMULATED: of a dry run, which only the router's close-all has." }),
  orderId: Type.String({ description: "The client order id while the venue's is not known; empty: nothing was sent." }),
  exchange: words(ROUTABLE_VENUE_WORDS),
  direction: words(["LONG", "SHORT"]),
  size: decimal(),
  filledSize: decimal(),
  averagePrice: Type.Optional(decimal()),
  worstPrice: Type.Optional(decimal("Of a dry run: the bound that the order would carry, as books are now.")),
  code: Type.Optional(Type.String({ description: "Why it FAILED." })),
  message: Type.Optional(Type.String()),
});
export type CloseItem = Static<typeof closeItemSchema>;

export const walletCloseAllReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      success: Type.Boolean({ description: "Every position is closed." }),
      closedCount: Type.Integer({ minimum: 0 }),
      totalPositions: Type.Integer({ minimum: 0 }),
      results: Type.Array(closeItemSchema),
      message: Type.String(),
    }),
    timestamp: timeMs,
  },
  { $id: `${titleOf(WALLET_VENUE)}CloseAllReply` },
);

export const nativeCloseRequestSchema = Type.Object(
  {
    symbol,
    ...callerNames,
    ...closingFlag,
    ...impliedTimeInForce,
    positionSide: optionalField(words(["LONG", "SHORT"]), {
      description: "Left out: every position of the symbol is closed.",
    }),
    clientOrderId: additions.clientOrderId,
    maxSlippageBps: additions.maxSlippageBps,
  },
  { $id: `${titleOf(NATIVE_VENUE)}CloseRequest` },
);

/** Order status, open orders, histories: the normalized order (2.2) with the venue's own word and time. */
export const orderRecordSchema = reply({
  ...normalizedOrderSchema.properties,
  status: orderStatus,
  nativeSymbol: Type.String(),
  venueStatus: Type.String({ description: "The venue's own word." }),
  venueTimestamp: timeMs,
  remainingQuantity: decimal(),
  timeInForce: Type.Optional(words(TIME_IN_FORCE_WORDS)),
});
export type OrderRecord = Static<typeof orderRecordSchema>;
