/**
 * What a transaction changes about an account besides its orders: leverage, margin, keys, sub-accounts, approvals,
 * money. Each returns null, or the sequencer's code when nothing changed.
 */
import type { SimExchange } from "../../core/engine/exchange.js";
import { type Accounts, setKey, type VenueAccount } from "../records/accounts.js";
import type { TransactionCode } from "../wire/errors.js";
import type { Listing } from "../records/listing.js";
import type { TradingMarket } from "./orders.js";
import { positionLots } from "./placement.js";
import { amountOf, number, type Transaction } from "../wire/transaction.js";

export interface AccountChangesDeps {
  readonly exchange: SimExchange;
  readonly accounts: Accounts;
  readonly listing: Listing;
  /** Leverage or margin mode of a market changed. */
  onConfig(account: VenueAccount, marketId: number): void;
}

/** USDC in transactions is 1e-6, in the core 1e-12. */
const E12_PER_E6 = 1_000_000n;

export class AccountChanges {
  readonly #deps: AccountChangesDeps;

  constructor(deps: AccountChangesDeps) {
    this.#deps = deps;
  }

  changeKey(account: VenueAccount, { fields, apiKeyIndex, nonce }: Transaction): null {
    setKey(account, apiKeyIndex, Buffer.from(String(fields.PubKey), "base64"), nonce + 1);
    return null;
  }

  approveIntegrator(account: VenueAccount, { fields }: Transaction): null {
    account.integrators.set(number(fields.IntegratorAccountIndex), {
      takerFee: number(fields.MaxPerpsTakerFee),
      makerFee: number(fields.MaxPerpsMakerFee),
      expiryMs: number(fields.ApprovalExpiry),
    });
    return null;
  }

  updateLeverage(account: VenueAccount, { fields }: Transaction): TransactionCode | null {
    const { exchange, onConfig } = this.#deps;
    const market = this.#market(number(fields.MarketIndex));
    if (market === null) return 21605;
    const fraction = number(fields.InitialMarginFraction);
    if (fraction < market.marginFractions[1]) return 21113;
    const mode = number(fields.MarginMode) === 1 ? "isolated" : "cross";
    const before = exchange.accounts.marginMode(account.id, market.symbol);
    if (mode !== before && !exchange.desk.setMarginMode(account.id, market.symbol, mode).ok) return 21132;
    // Whole leverages only in the core: rounded down, so that margin is never too small.
    const leverage = exchange.desk.setLeverage(account.id, market.symbol, Math.floor(10_000 / fraction));
    if (!leverage.ok) {
      if (mode !== before) exchange.desk.setMarginMode(account.id, market.symbol, before);
      return leverage.reason === "LEVERAGE" ? 21113 : 21508;
    }
    account.marginFractions.set(market.marketId, fraction);
    onConfig(account, market.marketId);
    return null;
  }

  updateMargin(account: VenueAccount, transaction: Transaction): TransactionCode | null {
    const { exchange } = this.#deps;
    const market = this.#market(number(transaction.fields.MarketIndex));
    if (market === null) return 21605;
    if (positionLots(exchange, account.id, market.symbol) === 0) return 21614;
    if (exchange.accounts.marginMode(account.id, market.symbol) !== "isolated") return 21613;
    const amountE12 = amountOf(transaction, "USDCAmount") * E12_PER_E6;
    const adds = number(transaction.fields.Direction) === 1;
    const moved = exchange.desk.moveIsolatedMargin(account.id, market.symbol, "BOTH", adds ? amountE12 : -amountE12);
    return moved.ok ? null : 21301;
  }

  createSubAccount(master: VenueAccount): TransactionCode | null {
    const { accounts, exchange } = this.#deps;
    if (master.type !== 0) return 21123;
    const account = accounts.createSubAccount(master, exchange.nowMs());
    if (account === null) return 21129;
    const { takerFeeMilliBps, makerFeeMilliBps } = exchange.accounts.find(master.id) ?? {};
    exchange.desk.createAccount({
      accountId: account.id,
      deposit: "0",
      ...(takerFeeMilliBps === undefined ? {} : { takerFeeMilliBps }),
      ...(makerFeeMilliBps === undefined ? {} : { makerFeeMilliBps }),
    });
    return null;
  }

  /** Routes: 0 the perps balance, 1 the spot balance. */
  withdraw(account: VenueAccount, transaction: Transaction): TransactionCode | null {
    const { exchange } = this.#deps;
    const amountE12 = amountOf(transaction, "Amount") * E12_PER_E6;
    if (number(transaction.fields.RouteType) === 1 && !exchange.desk.transferSpot(account.id, amountE12, "toPerp").ok)
      return 21304;
    return exchange.desk.adjustWallet(account.id, -amountE12, "WITHDRAW").ok ? null : 21301;
  }

  transfer(account: VenueAccount, transaction: Transaction): TransactionCode | null {
    const { exchange, accounts } = this.#deps;
    const { fields } = transaction;
    const to = accounts.byIndex.get(number(fields.ToAccountIndex));
    if (to === undefined) return 21106;
    const amountE12 = amountOf(transaction, "Amount") * E12_PER_E6;
    const [fromSpot, toSpot] = [number(fields.FromRouteType) === 1, number(fields.ToRouteType) === 1];
    if (to === account) {
      if (fromSpot === toSpot) return 21106;
      return exchange.desk.transferSpot(account.id, amountE12, fromSpot ? "toPerp" : "toSpot").ok ? null : 21304;
    }
    if (fromSpot && !exchange.desk.transferSpot(account.id, amountE12, "toPerp").ok) return 21304;
    if (!exchange.desk.adjustWallet(account.id, -amountE12, "ASSET_TRANSFER").ok) return 21301;
    exchange.desk.adjustWallet(to.id, amountE12, "ASSET_TRANSFER");
    if (toSpot) exchange.desk.transferSpot(to.id, amountE12, "toSpot");
    return null;
  }

  #market(marketId: number): TradingMarket | null {
    const market = this.#deps.listing.byId.get(marketId);
    return market === undefined || market.instrument === null ? null : (market as TradingMarket);
  }
}
