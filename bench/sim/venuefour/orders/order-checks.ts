/**
 * The venue's own checks of an order before its engine, in the order of fact sheet section 6, and its words for
 * refusals of the engine. Changes nothing.
 */
import { moneyText, notionalE12, parseSafe, parseScaled, trimZeros } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimInstrument, SimOrderRequest, SimRefusal, SimSide, SimTimeInForce } from "../../core/model/types.js";
import type { VenuefourContext } from "./context.js";
import { refuseBook, refuseBusiness, refuseMultiple, VenuefourRefusal } from "../wire/errors.js";
import { amount as amountText, price as priceText } from "../market/market-view.js";
import type { Fields } from "../wire/operations.js";

export interface Caller {
  readonly accountId: string;
  readonly wallet: string;
}

export class OrderChecks {
  readonly #context: VenuefourContext;
  readonly #exchange: SimExchange;

  constructor(context: VenuefourContext) {
    this.#context = context;
    this.#exchange = context.exchange;
  }

  instrument(fields: Fields): SimInstrument {
    const symbol = String(fields.symbol);
    const instrument = this.#exchange.instruments.get(symbol);
    if (instrument !== undefined) return instrument;
    if (this.#context.listing.spotSymbols.has(symbol))
      throw refuseBusiness("unsupported", "Unsupported operation", this.#context.quirks);
    throw refuseBook(symbol, this.#context.quirks);
  }

  lots(instrument: SimInstrument, value: unknown): number {
    const lots = parseSafe(String(value), instrument.qtyDecimals);
    if (lots === null || lots <= 0 || lots % instrument.qtyStepLots !== 0)
      throw refuseMultiple("invalidAmount", String(value), this.#context.quirks);
    return lots;
  }

  ticks(instrument: SimInstrument, value: unknown): number {
    const ticks = parseSafe(String(value), instrument.priceDecimals);
    if (ticks === null || ticks <= 0 || ticks % instrument.priceStepTicks !== 0)
      throw refuseMultiple("invalidTickSize", String(value), this.#context.quirks);
    return ticks;
  }

  /** TOB is moved to one tick from the far side instead of being cancelled. */
  limitOf(
    instrument: SimInstrument,
    side: SimSide,
    tif: string,
    limitTicks: number,
  ): { readonly timeInForce: SimTimeInForce; readonly priceTicks: number } {
    if (tif === "GTC" || tif === "IOC") return { timeInForce: tif, priceTicks: limitTicks };
    const { symbol, priceStepTicks: step } = instrument;
    const far = side === "BUY" ? this.#exchange.market.bestAsk(symbol) : this.#exchange.market.bestBid(symbol);
    if (tif === "ALO" || far === null) return { timeInForce: "POST_ONLY", priceTicks: limitTicks };
    const closest = side === "BUY" ? far.priceTicks - step : far.priceTicks + step;
    return {
      timeInForce: "POST_ONLY",
      priceTicks: side === "BUY" ? Math.min(limitTicks, closest) : Math.max(limitTicks, closest),
    };
  }

  checkClientId(caller: Caller, clientId: unknown): void {
    if (typeof clientId !== "string") return;
    if (this.#exchange.orders.findByClientId(caller.accountId, clientId.toLowerCase()) !== null)
      throw refuseBusiness("duplicateClientId", `Duplicate client order id: ${clientId}`, this.#context.quirks);
  }

  /** Position, side, amount, in this order. An oversize order is refused, not trimmed. */
  checkReduceOnly(caller: Caller, instrument: SimInstrument, side: SimSide, lots: number): void {
    const { quirks } = this.#context;
    const { symbol } = instrument;
    const positionLots = this.positionLots(caller, symbol);
    if (positionLots === 0)
      throw refuseBusiness(
        "reduceOnlyPosition",
        `No position found for reduce-only order: ${caller.wallet} ${symbol}`,
        quirks,
      );
    if (positionLots > 0 === (side === "BUY"))
      throw refuseBusiness(
        "reduceOnlySide",
        "Invalid reduce-only order side: must be opposite to position side",
        quirks,
      );
    if (lots > Math.abs(positionLots))
      throw refuseBusiness(
        "reduceOnlyAmount",
        `Invalid reduce-only order amount: ${amountText(instrument, lots)} exceeds position amount ${amountText(instrument, Math.abs(positionLots))}`,
        quirks,
      );
  }

  /** It is not known whether the minimum applies to reduce-only orders: here it does not. */
  checkNotional(caller: Caller, instrument: SimInstrument, lots: number, priceTicks: number): void {
    const row = this.#context.listing.rows.find((entry) => entry.symbol === instrument.symbol);
    if (row === undefined) return;
    const notional = notionalE12(instrument, priceTicks, lots);
    const shown = trimZeros(moneyText(notional, 6));
    const minimum = parseScaled(row.min_order_size, 12) ?? 0n;
    const maximum = parseScaled(row.max_order_size, 12) ?? 0n;
    // As seen live: code 0 with a descriptive text.
    if (notional < minimum)
      throw new VenuefourRefusal(
        422,
        `Order amount too low for ${caller.wallet}: ${shown} < ${row.min_order_size}`,
        0,
        { errorId: "invalid_amount" },
      );
    if (maximum > 0n && notional > maximum)
      throw refuseBusiness(
        "amountTooHigh",
        `Order amount too high for ${caller.wallet}: ${shown} > ${row.max_order_size}`,
        this.#context.quirks,
      );
  }

  refusalOf(reason: SimRefusal, caller: Caller, instrument: SimInstrument, request: SimOrderRequest): VenuefourRefusal {
    const { quirks } = this.#context;
    switch (reason) {
      case "MARGIN": {
        const available = moneyText(this.#exchange.accounts.margin(caller.accountId).availableE12, 6);
        const needed = moneyText(notionalE12(instrument, request.priceTicks ?? 0, request.qtyLots), 6);
        return refuseBusiness(
          "insufficientBalance",
          `Insufficient balance for ${caller.wallet}: ${needed} (account value: ${available})`,
          quirks,
        );
      }
      case "REDUCE_ONLY":
        return refuseBusiness(
          "reduceOnlyPosition",
          `No position found for reduce-only order: ${caller.wallet} ${instrument.symbol}`,
          quirks,
        );
      case "HALTED":
        return refuseBusiness("tradingDisabled", `Trading disabled for ${instrument.symbol}`, quirks);
      case "TOO_MANY_ORDERS":
        return refuseBusiness("openOrderLimit", `Open order limit reached for ${caller.wallet}: 5000`, quirks);
      case "DUPLICATE_CLIENT_ID":
        return refuseBusiness("duplicateClientId", `Duplicate client order id: ${request.clientId}`, quirks);
      case "BAD_PRICE":
        return refuseMultiple("invalidTickSize", priceText(instrument, request.priceTicks ?? 0), quirks);
      case "BAD_QTY":
        return refuseMultiple("invalidAmount", amountText(instrument, request.qtyLots), quirks);
      default:
        return new VenuefourRefusal(500, "Internal server error", 500);
    }
  }

  positionLots(caller: Caller, symbol: string): number {
    return this.#exchange.accounts.position(caller.accountId, symbol, "BOTH")?.qtyLots ?? 0;
  }
}

export function sideOf(fields: Fields): SimSide {
  return fields.side === "bid" ? "BUY" : "SELL";
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
