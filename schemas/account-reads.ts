/** What an account has and did: balances, fills, funding, orders. One venue's, or of all venues with their coverage. */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import {
  anyExchangeParameter,
  coverageByVenueSchema,
  coverageSchema,
  credentialsQueryField,
  provenance,
} from "./account-common.js";
import { askedTime, decimal, nullable, reply, routableVenue, side, symbolText, timeMs } from "./common.js";
import { orderRecordSchema } from "./venue-orders.js";

const total = nullable(
  Type.Integer({ minimum: 0, description: "Of the whole range, where all of it was read for this reply; else null." }),
);

// ---------------------------------------------------------------- balances

const assetBalanceSchema = reply({ asset: Type.String(), total: decimal(), available: decimal() });

/** A figure that the venue does not report is null; nothing is estimated. */
export const accountBalanceSchema = reply({
  exchange: routableVenue,
  walletAddress: Type.String(),
  quoteAsset: nullable(Type.String()),
  equity: nullable(decimal("Value with open profit and loss.")),
  marginUsed: nullable(decimal()),
  free: nullable(decimal("What new positions may use.")),
  maintenanceMargin: nullable(decimal("Below this equity the venue liquidates.")),
  distanceToLiquidation: nullable(decimal("Equity less maintenance margin, in the quote asset.")),
  distanceToLiquidationPercent: nullable(decimal("The same as a share of the equity, in percent.")),
  balances: Type.Array(assetBalanceSchema),
  ...provenance,
});
export type AccountBalance = Static<typeof accountBalanceSchema>;

export const balancesQuerySchema = Type.Object({ credentials: credentialsQueryField });

export const venueBalancesReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange: anyExchangeParameter,
    walletAddress: Type.String(),
    data: accountBalanceSchema,
    coverage: coverageSchema,
    timestamp: timeMs,
  },
  { $id: "VenueBalancesReply" },
);

export const allBalancesReplySchema = reply(
  {
    success: Type.Literal(true),
    walletAddress: Type.String(),
    data: reply({
      accounts: Type.Array(accountBalanceSchema),
      totals: reply(
        {
          equity: nullable(decimal()),
          marginUsed: nullable(decimal()),
          free: nullable(decimal()),
          complete: Type.Boolean({
            description:
              "Every venue that is configured here and holds its traders' money is in it (at venuefive it is in their own wallets); false: some venue is not known now.",
          }),
        },
        {
          description:
            "Sums over the venues that answered, quote assets taken at 1; null where one does not say, and where none was asked.",
        },
      ),
    }),
    coverage: coverageByVenueSchema,
    timestamp: timeMs,
  },
  { $id: "AllBalancesReply" },
);

// ---------------------------------------------------------------- histories

export const HISTORY_LIMIT = { min: 1, max: 1000, default: 100 } as const;
const MAX_CURSOR_CHARS = 2048;

const historyFields = {
  symbol: Type.Optional(symbolText()),
  since: Type.Optional(askedTime({ minimum: 0 }, "Unix ms or ISO 8601, inclusive.")),
  until: Type.Optional(askedTime({ minimum: 0 }, "Unix ms or ISO 8601, inclusive.")),
  limit: Type.Optional(
    Type.Integer({ minimum: HISTORY_LIMIT.min, maximum: HISTORY_LIMIT.max, default: HISTORY_LIMIT.default }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_CURSOR_CHARS, description: "nextCursor of the page before." }),
  ),
};

export const walletHistoryQuerySchema = Type.Object(historyFields);
export const accountHistoryQuerySchema = Type.Object({ ...historyFields, credentials: credentialsQueryField });

const nextCursor = nullable(Type.String({ description: "Null: there is nothing older." }));

export const historicalOrdersReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({ orders: Type.Array(orderRecordSchema), total, nextCursor }),
    timestamp: timeMs,
  },
  { $id: "HistoricalOrdersReply" },
);

export const fillSchema = reply({
  exchange: routableVenue,
  symbol: Type.String(),
  nativeSymbol: Type.String(),
  tradeId: Type.String(),
  orderId: Type.String(),
  venueClientOrderId: nullable(Type.String()),
  side,
  quantity: decimal(),
  price: decimal(),
  fee: nullable(reply({ amount: decimal(), asset: Type.String() })),
  isMaker: nullable(Type.Boolean()),
  realizedPnl: nullable(decimal("Before fees.")),
  timestamp: timeMs,
});
export type FillRow = Static<typeof fillSchema>;

const fundingSchema = reply({
  exchange: routableVenue,
  symbol: Type.String(),
  nativeSymbol: Type.String(),
  amount: decimal("Positive: received."),
  asset: Type.String(),
  rate: nullable(decimal("Of the interval, as a fraction.")),
  timestamp: timeMs,
});
export type FundingRow = Static<typeof fundingSchema>;

function historyReply<N extends string, T extends TSchema>(name: N, rows: T, $id: string) {
  return reply(
    {
      success: Type.Literal(true),
      exchange: anyExchangeParameter,
      walletAddress: Type.String(),
      data: reply({ [name]: Type.Array(rows), total, nextCursor } as { [K in N]: TSchema } & {
        total: typeof total;
        nextCursor: typeof nextCursor;
      }),
      timestamp: timeMs,
    },
    { $id },
  );
}

export const accountFillsReplySchema = historyReply("fills", fillSchema, "AccountFillsReply");
export const accountFundingReplySchema = historyReply("funding", fundingSchema, "AccountFundingReply");

// ---------------------------------------------------------------- orders

export const orderQuerySchema = Type.Object({
  symbol: Type.Optional(symbolText({ description: "A hint that makes the search short." })),
  credentials: credentialsQueryField,
});

export const orderStatusReplySchema = reply(
  { success: Type.Literal(true), data: orderRecordSchema, timestamp: timeMs },
  { $id: "OrderStatusReply" },
);

export const openOrdersReplySchema = reply(
  {
    success: Type.Literal(true),
    exchange: anyExchangeParameter,
    data: reply({ orders: Type.Array(orderRecordSchema), total: Type.Integer({ minimum: 0 }) }),
    timestamp: timeMs,
  },
  { $id: "OpenOrdersReply" },
);
