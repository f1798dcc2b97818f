/**
 * What is read of an address on venuefive: positions (interface spec 2.6), limit orders of every status, closed trades,
 * one order by its id, balances. Its callers sign their orders themselves, so nothing here is ever sent.
 */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { coverageSchema } from "./account-common.js";
import { HISTORY_LIMIT } from "./account-reads.js";
import { decimal, nullable, orderStatus, reply, side, symbolText, timeMs, words } from "./common.js";
import { venuefivePositionSchema } from "./positions.js";

const exchange = words(["venuefive"]);
const direction = words(["LONG", "SHORT"]);
const price = nullable(decimal("USD; null: none."));
const leverage = Type.Number({ exclusiveMinimum: 0 });
const count = Type.Integer({ minimum: 0 });
const block = Type.Integer({ minimum: 0, description: "Of the chain; everything in the reply is of this block." });
const txHash = Type.String({ pattern: "^0x[0-9a-f]{64}$" });
const walletAddress = Type.String();

// ---------------------------------------------------------------- requests

const MAX_CURSOR_CHARS = 2048;

const walletAddressField = Type.String({
  minLength: 1,
  maxLength: 128,
  description: "0x and 40 hex digits: whose they are.",
  examples: ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"],
});
const symbolField = Type.Optional(
  symbolText({ description: "A symbol of the pair map, or `PAIR_<index>` of a pair that the map does not have." }),
);

export const addressQuerySchema = Type.Object({ walletAddress: walletAddressField });

export const openOrdersQuerySchema = Type.Object({ walletAddress: walletAddressField, symbol: symbolField });

export const chainHistoryQuerySchema = Type.Object({
  walletAddress: walletAddressField,
  symbol: symbolField,
  limit: Type.Optional(
    Type.Integer({ minimum: HISTORY_LIMIT.min, maximum: HISTORY_LIMIT.max, default: HISTORY_LIMIT.default }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_CURSOR_CHARS, description: "nextCursor of the page before." }),
  ),
});

export const chainOrderQuerySchema = Type.Object({
  walletAddress: Type.Optional(walletAddressField),
  symbol: Type.Optional(symbolText({ description: "Not needed: the id names the pair." })),
});

// ---------------------------------------------------------------- positions

export const venuefivePositionsReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange,
    walletAddress,
    positions: Type.Array(venuefivePositionSchema),
    totalPositions: count,
    coverage: coverageSchema,
    block,
    timestamp: timeMs,
  },
  { $id: "VenuefivePositionsReply" },
);

// ---------------------------------------------------------------- orders

export const LIMIT_ORDER_STATUS_WORDS = ["OPEN", "FILLED", "CANCELED", "EXPIRED"] as const;
const LIMIT_ORDER_TYPE_WORDS = ["LIMIT", "STOP_LIMIT"] as const;

const directionOrNull = nullable(direction);
const known = "Null where neither the state of the chain nor a known event has it; an open order has it.";

export const venuefiveOrderSchema = reply({
  orderId: Type.String({
    description: "`pairIndex:index:block`: the block that it was placed in, or of the first event of it that is known.",
  }),
  symbol: Type.String(),
  exchange,
  direction: nullable(direction, { description: known }),
  orderType: nullable(words(LIMIT_ORDER_TYPE_WORDS), {
    description: "Null: placed before the first block whose events are known here.",
  }),
  price: nullable(decimal(), { description: `At which it fills, USD. ${known}` }),
  size: nullable(decimal(), { description: `Base units. ${known}` }),
  collateral: nullable(decimal(), { description: `USDC. ${known}` }),
  leverage: nullable(leverage, { description: known }),
  tp: nullable(decimal(), { description: "USD; null: none, or not known." }),
  sl: nullable(decimal(), { description: "USD; null: none, or not known." }),
  slippagePercent: nullable(decimal(), { description: known }),
  liquidationPrice: price,
  status: words(LIMIT_ORDER_STATUS_WORDS),
  timestamp: Type.Integer({
    minimum: 0,
    description: "When it was placed; when it ended, where it has ended. Unix ms.",
  }),
  walletAddress,
  txHash: nullable(txHash, { description: "Of its last change; null: only the state of the chain is known." }),
});
export type VenuefiveOrder = Static<typeof venuefiveOrderSchema>;

export const venuefiveOrdersReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange,
    walletAddress,
    data: reply({ orders: Type.Array(venuefiveOrderSchema), total: count, asOf: timeMs, block }),
    timestamp: timeMs,
  },
  { $id: "VenuefiveOrdersReply" },
);

/** The normalized order of interface spec 2.2, with what this venue has beside it. */
export const venuefiveOrderRecordSchema = reply(
  {
    orderId: Type.String({
      description: "`pairIndex:index:block` of a limit order, the transaction of a market order.",
    }),
    symbol: nullable(Type.String()),
    side: nullable(side),
    type: nullable(words(["MARKET", ...LIMIT_ORDER_TYPE_WORDS])),
    status: orderStatus,
    price: nullable(decimal("Of a limit order its own, of a market order that of its execution.")),
    quantity: nullable(decimal("Base units; null until a market order is executed.")),
    filledQuantity: nullable(decimal("Base units.")),
    averagePrice: nullable(decimal()),
    timestamp: nullable(timeMs),
    exchange,
    clientOrderId: Type.Null({ description: "The venue has none." }),
    reduceOnly: nullable(Type.Boolean({ description: "It closes a position." })),
    triggerPrice: price,
    venueStatus: words([...LIMIT_ORDER_STATUS_WORDS, "PENDING", "NOT_MINED", "REVERTED"], {
      description:
        "PENDING: queued, and neither executed nor given up by the venue's keeper yet. NOT_MINED: a node knows the transaction, and no block has it; REVERTED: a block has it, and it did nothing.",
    }),
    venueTimestamp: nullable(timeMs),
    venueOrderId: nullable(Type.String({ description: "The venue's own number of a market order." })),
    direction: directionOrNull,
    collateral: nullable(decimal("USDC.")),
    leverage: nullable(leverage),
    isZfp: nullable(Type.Boolean({ description: "Of a market order." })),
    txHash: nullable(txHash),
    walletAddress: nullable(walletAddress),
  },
  {
    description:
      "The normalized order with what this venue has beside it; what is not known here is null, as all of a transaction that no block has.",
  },
);
export type VenuefiveOrderRecord = Static<typeof venuefiveOrderRecordSchema>;

export const venuefiveOrderStatusReplySchema = reply(
  { success: Type.Literal(true), data: venuefiveOrderRecordSchema, timestamp: timeMs },
  { $id: "VenuefiveOrderStatusReply" },
);

// ---------------------------------------------------------------- histories

export const venuefiveTradeSchema = reply({
  symbol: Type.String(),
  exchange,
  direction,
  entryPrice: decimal("USD."),
  exitPrice: decimal("USD."),
  collateral: decimal("USDC: the part that was closed."),
  size: decimal("Base units."),
  leverage,
  realizedPnl: decimal("USDC: what came back less the collateral."),
  fees: nullable(decimal("USDC; null: the source does not have them.")),
  usdcReceived: decimal(),
  isZfp: Type.Boolean(),
  isLiquidation: Type.Boolean(),
  openedAt: nullable(timeMs, { description: "Null: opened before the first block that is known here." }),
  closedAt: timeMs,
  txHash: nullable(txHash, { description: "Null where the source does not have it: what is older than `since`." }),
  walletAddress,
});
export type VenuefiveTrade = Static<typeof venuefiveTradeSchema>;

function chainHistoryReply<N extends string, T extends TSchema>(name: N, rows: T, $id: string) {
  const rest = {
    nextCursor: nullable(Type.String({ description: "Null: there is nothing older that is known here." })),
    since: reply(
      { block: count, time: timeMs },
      { description: "From where on all is known; what is older may be missing." },
    ),
    older: nullable(words(["history-url"]), {
      description: "Who is asked for what is older than `since`; null: nobody, it is missing.",
    }),
    toBlock: Type.Integer({ minimum: 0, description: "The last block that is in it." }),
  };
  return reply(
    {
      success: Type.Literal(true),
      exchange,
      walletAddress,
      data: reply({ [name]: Type.Array(rows), ...rest } as { [K in N]: TSchema } & typeof rest),
      timestamp: timeMs,
    },
    { $id },
  );
}

export const venuefiveTradesReplySchema = chainHistoryReply("trades", venuefiveTradeSchema, "VenuefiveTradesReply");
export const venuefiveOrderHistoryReplySchema = chainHistoryReply(
  "orders",
  venuefiveOrderSchema,
  "VenuefiveOrderHistoryReply",
);

// ---------------------------------------------------------------- balances

export const venuefiveBalancesReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange,
    walletAddress,
    data: reply({
      collateral: reply({
        token: Type.String({ description: "USDC." }),
        amount: decimal(),
        allowance: decimal("What the venue may take of it; an order needs its collateral here first."),
      }),
      native: reply({ symbol: Type.String(), amount: decimal("The chain's own coin, which pays for transactions.") }),
      asOf: timeMs,
      block,
    }),
    timestamp: timeMs,
  },
  { $id: "VenuefiveBalancesReply" },
);
