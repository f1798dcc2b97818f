/** Cancel, cancel all, amend, leverage and margin mode, on any venue, with credentials or for a server wallet. */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { CancelAnswer, SettingAnswer } from "../../../engine/orders/single/order-desk.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import {
  amendBodySchema,
  amendReplySchema,
  cancelAllReplySchema,
  cancelQuerySchema,
  cancelReplySchema,
  LEVERAGE_BOUNDS,
  leverageRequestSchema,
  marginModeRequestSchema,
  settingsReplySchema,
  nativeLeverageReplySchema,
  nativeLeverageRequestSchema,
} from "../../../schemas/order-changes.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { NATIVE_VENUE } from "../../../schemas/venues.js";
import {
  ACCOUNT_HEADERS,
  callerBlock,
  exchangeOf,
  findWallet,
  requireSameWallet,
  WALLET_HEADER,
  walletBlock,
} from "../../accounts/account-access.js";
import { orderRecord } from "../../accounts/order-views.js";
import { type Ask, checkedBody, checkedQuery, jsonRoute, replyText } from "../../http/json-route.js";
import { leverageWarning } from "../leverage-warning.js";
import type { Route } from "../../http/route.js";
import { checkOrderId } from "./order-id.js";
import { orderContext, symbolHint, symbolOn, type TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";

export function orderChangeRoutes(context: TradingContext): Route[] {
  return [
    cancelRoute(context),
    cancelAllRoute(context),
    amendRoute(context),
    nativeLeverageRoute(context),
    leverageRoute(context),
    marginModeRoute(context),
  ];
}

function cancelRoute(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(cancelQuerySchema);
  const serialise = compileSerialiser(cancelReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.cancelOrder,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "");
      const orderId = checkOrderId(ask.params["orderId"] ?? "");
      const { symbol } = checkedQuery(validate, ask.query);
      const answer = await trading.orders.cancel(
        {
          venue,
          credentials: await callerBlock(trading.wallets, ask, venue),
          orderId,
          symbol: symbolHint(context, venue, symbol),
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, venue);
      const status = cancelStatus(answer);
      const data = { exchange: venue, orderId: answer.orderId, symbol: answer.symbol, status, outcome: answer.outcome };
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function cancelStatus(answer: Extract<CancelAnswer, { ok: true }>): "CANCELED" | "SUBMITTED" | "UNKNOWN" {
  if (answer.outcome === "UNKNOWN") return "UNKNOWN";
  return answer.isPending === true ? "SUBMITTED" : "CANCELED";
}

function cancelAllRoute(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(cancelQuerySchema);
  const serialise = compileSerialiser(cancelAllReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.cancelAllOrders,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "");
      const query = checkedQuery(validate, ask.query);
      const credentials = await callerBlock(trading.wallets, ask, venue);
      const symbol = symbolHint(context, venue, query.symbol);
      const answer = await trading.orders.cancelAll(
        { venue, credentials, symbol, deadlineMs: closeDefaults.deadlineMs },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, venue);
      const { outcome, canceledCount } = answer;
      const data = { exchange: venue, symbol, outcome, canceledCount, failedCount: answer.failed.length };
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function amendRoute(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(amendBodySchema);
  const serialise = compileSerialiser(amendReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.amendOrder,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "");
      const orderId = checkOrderId(ask.params["orderId"] ?? "");
      const body = checkedBody(validate, ask.body);
      const price = body.price ?? null;
      const quantity = body.quantity ?? null;
      if (price === null && quantity === null)
        throw new ServiceError("MISSING_PARAMETERS", {
          fields: [{ path: "price", problem: "at least one of price and quantity is required" }],
        });
      const answer = await trading.orders.amend(
        {
          venue,
          credentials: await callerBlock(trading.wallets, ask, venue),
          orderId,
          symbol: symbolHint(context, venue, body.symbol),
          price,
          quantity,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, venue);
      const data = { outcome: answer.outcome, previousOrderId: orderId, order: orderRecord(answer.order) };
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

// ---------------------------------------------------------------- settings

/**
 * Spec section 7 has its own text for values outside 1 to 125; the desk checks the limits of the venue and the
 * contract.
 */
function checkLeverage(leverage: number): number {
  const { min, max } = LEVERAGE_BOUNDS;
  if (Number.isInteger(leverage) && leverage >= min && leverage <= max) return leverage;
  const problem = Number.isInteger(leverage) ? `must be from ${min} to ${max}` : "must be a whole number";
  throw new ServiceError("LEVERAGE_OUT_OF_RANGE", { max, fields: [{ path: "leverage", problem }] });
}

/** Like `symbolOn`, with the spec's text for a bad symbol. */
function settingSymbol(context: TradingContext, venue: RoutableVenue, text: string): string {
  try {
    return symbolOn(context, venue, text);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "UNKNOWN_SYMBOL") {
      const { exchange, availableSymbols } = error.context;
      throw new ServiceError("INVALID_TRADING_SYMBOL", { exchange, availableSymbols });
    }
    throw error;
  }
}

/** A malformed symbol has the same text; a missing one is MISSING_PARAMETERS. */
function withSymbolText<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    const fields =
      error instanceof ServiceError && error.code === "INVALID_PARAMETERS" ? error.context["fields"] : null;
    if (Array.isArray(fields) && fields.some((field: { readonly path?: unknown }) => field.path === "symbol"))
      throw new ServiceError("INVALID_TRADING_SYMBOL", { fields });
    throw error;
  }
}

function nativeLeverageRoute(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(nativeLeverageRequestSchema);
  const serialise = compileSerialiser(nativeLeverageReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${NATIVE_VENUE}Leverage`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const body = withSymbolText(() => checkedBody(validate, ask.body));
      const leverage = checkLeverage(body.leverage);
      const wallet = await findWallet(
        trading.wallets,
        ask.caller.ownerId,
        ask.params["walletId"] ?? "",
        "INVALID_WALLET_ID",
      );
      requireSameWallet(wallet, ask.headers[WALLET_HEADER], body.userId, body.walletIdOrAddress);
      const symbol = settingSymbol(context, NATIVE_VENUE, body.symbol);
      trading.assertOpens();
      const answer = await trading.orders.setLeverage(
        {
          venue: NATIVE_VENUE,
          credentials: walletBlock(wallet, NATIVE_VENUE),
          symbol,
          leverage,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, NATIVE_VENUE);
      const data = {
        symbol: answer.nativeSymbol,
        leverage: answer.settings.leverage ?? leverage,
        maxNotionalValue: answer.settings.maxNotionalValue ?? "",
        ...leverageWarning(answer.settings.leverage ?? leverage),
      };
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function settingsData(venue: RoutableVenue, answer: Extract<SettingAnswer, { ok: true }>) {
  const { leverage, marginMode, maxNotionalValue } = answer.settings;
  return {
    exchange: venue,
    symbol: answer.symbol,
    leverage,
    marginMode,
    maxNotionalValue,
    outcome: answer.outcome,
    ...leverageWarning(leverage),
  };
}

function leverageRoute(context: TradingContext): Route {
  const validate = compileValidator(leverageRequestSchema);
  return settingRoute(context, OPERATIONS.setLeverage, async (ask, venue) => {
    const body = withSymbolText(() => checkedBody(validate, ask.body));
    const leverage = checkLeverage(body.leverage);
    const credentials = await callerBlock(context.trading.wallets, ask, venue);
    const symbol = settingSymbol(context, venue, body.symbol);
    const { deadlineMs } = context.closeDefaults;
    return context.trading.orders.setLeverage({ venue, credentials, symbol, leverage, deadlineMs }, orderContext(ask));
  });
}

function marginModeRoute(context: TradingContext): Route {
  const validate = compileValidator(marginModeRequestSchema);
  return settingRoute(context, OPERATIONS.setMarginMode, async (ask, venue) => {
    const body = withSymbolText(() => checkedBody(validate, ask.body));
    const credentials = await callerBlock(context.trading.wallets, ask, venue);
    const symbol = settingSymbol(context, venue, body.symbol);
    const { deadlineMs } = context.closeDefaults;
    return context.trading.orders.setMarginMode(
      { venue, credentials, symbol, mode: body.marginMode, deadlineMs },
      orderContext(ask),
    );
  });
}

function settingRoute(
  context: TradingContext,
  operation: Route["operation"],
  set: (ask: Ask, venue: RoutableVenue) => Promise<SettingAnswer>,
): Route {
  const { edge, clock } = context;
  const serialise = compileSerialiser(settingsReplySchema);
  return jsonRoute(context, {
    operation,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const venue = exchangeOf(ask.params["exchange"] ?? "");
      context.trading.assertOpens();
      const answer = await set(ask, venue);
      if (!answer.ok) throw refusalError(answer, venue);
      const data = settingsData(venue, answer);
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}
