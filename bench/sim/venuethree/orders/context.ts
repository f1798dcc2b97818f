/** What the routes and streams of the local venue share. */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimTrade } from "../../core/model/types.js";
import type { Accounts } from "../records/accounts.js";
import type { AuthTokens } from "../records/auth-tokens.js";
import { type RestingIdentities, tradeKey } from "../wire/ids.js";
import type { Listing } from "../records/listing.js";
import type { VenuethreeCadences, VenuethreeLimits, VenuethreeQuirks } from "../records/options.js";
import type { OrderDesk } from "./orders.js";
import type { TradeBook } from "./trade-sides.js";
import type { TransactionDesk } from "./transaction-desk.js";
import type { Transactions } from "./transactions.js";

export interface VenuethreeContext {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly cadences: VenuethreeCadences;
  readonly resting: RestingIdentities;
  /** Keys of trades that were liquidations, newest last; bounded. */
  readonly liquidations: ReadonlySet<string>;
  readonly accounts: Accounts;
  readonly tokens: AuthTokens;
  readonly orders: OrderDesk;
  readonly prints: TradeBook;
  readonly transactions: Transactions;
  readonly desk: TransactionDesk;
  limits: VenuethreeLimits;
  quirks: VenuethreeQuirks;
}

export function isLiquidation(context: VenuethreeContext, trade: SimTrade): boolean {
  return context.liquidations.has(tradeKey(trade.symbol, trade.tradeId));
}
