/**
 * Closes on one venue (interface spec 4.7): one position or all of them on one venue, the positions of a symbol on
 * another. The desk re-reads the live position, derives the side from it and sends reduce-only.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { CloseLeg } from "../../../engine/orders/single/order-desk.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import {
  walletCloseAllReplySchema,
  walletCloseAllRequestSchema,
  walletCloseReplySchema,
  walletCloseRequestSchema,
  nativeCloseReplySchema,
  nativeCloseRequestSchema,
} from "../../../schemas/venue-orders.js";
import { NATIVE_VENUE, WALLET_VENUE } from "../../../schemas/venues.js";
import {
  findWallet,
  requireSameWallet,
  WALLET_HEADER,
  walletBlock,
  walletIdHeader,
} from "../../accounts/account-access.js";
import { closeItem, normalizedOrder, orderIdText, nativeOrder } from "../../accounts/order-views.js";
import { checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import { checkReduceOnly, checkTimeInForce } from "../spec-fields.js";
import type { Route } from "../../http/route.js";
import { orderContext, symbolOn, type TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";
import { checkSymbolText } from "./symbol-parameter.js";
import { withTypeText } from "./venue-orders.js";

export function venueCloseRoutes(context: TradingContext): Route[] {
  return [walletClose(context), walletCloseAll(context), nativeClose(context)];
}

function walletClose(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(walletCloseRequestSchema);
  const serialise = compileSerialiser(walletCloseReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${WALLET_VENUE}Close`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const walletId = walletIdHeader(ask);
      const body = withTypeText(() => checkedBody(validate, ask.body));
      if (!body.reduceOnly) throw invalidParameters({ path: "reduceOnly", problem: "must be true: this closes" });
      checkTimeInForce(body.type, body.timeInForce);
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, walletId);
      requireSameWallet(wallet, ask.params["walletId"], body.userId, body.walletIdOrAddress);
      const symbol = symbolOn(context, WALLET_VENUE, checkSymbolText(ask.params["symbol"] ?? ""));
      if (symbolOn(context, WALLET_VENUE, body.symbol) !== symbol)
        throw invalidParameters({ path: "symbol", problem: "must be the symbol of the path" });
      const answer = await trading.orders.closePosition(
        {
          venue: WALLET_VENUE,
          credentials: walletBlock(wallet, WALLET_VENUE),
          symbol,
          // The side is the opposite of the position's: a position of the other direction is not closed.
          direction: body.side === "SELL" ? "LONG" : "SHORT",
          quantity: body.quantity,
          type: body.type,
          price: body.price,
          clientOrderId: body.clientOrderId ?? null,
          maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, WALLET_VENUE);
      const order = orderOf(answer.legs[0]);
      const nowMs = clock.wallMs();
      const data = {
        closeId: orderIdText(order),
        status: order.outcome === "UNKNOWN" ? "UNKNOWN" : "submitted",
        timestamp: nowMs,
        order: normalizedOrder(order),
      };
      return {
        text: replyText(edge, serialise, { success: true, data, timestamp: nowMs }),
        replayed: answer.replayed,
      };
    },
  });
}

/** Returns the order of a leg that was sent; throws for a leg that failed or found nothing left to close. */
function orderOf(leg: CloseLeg | undefined): NonNullable<CloseLeg["order"]> {
  if (leg?.order !== null && leg?.order !== undefined && leg.status !== "FAILED") return leg.order;
  const error = leg?.error ?? null;
  if (error !== null) throw refusalError({ ok: false, replayed: false, ...error }, leg?.venue ?? null);
  // The position was flat before the send: there is no order to name.
  throw new ServiceError("SIZE_EXCEEDS_POSITION", {
    maxSingleVenueSize: "0",
    maxTotalSize: "0",
    reason: "ALREADY_FLAT",
  });
}

function walletCloseAll(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(walletCloseAllRequestSchema);
  const serialise = compileSerialiser(walletCloseAllReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${WALLET_VENUE}CloseAll`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const walletId = walletIdHeader(ask);
      const body = checkedBody(validate, ask.body);
      checkReduceOnly(body.reduceOnly);
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, walletId);
      requireSameWallet(wallet, ask.params["walletId"], body.userId, body.walletIdOrAddress);
      const answer = await trading.orders.closeAll(
        {
          accounts: [{ venue: WALLET_VENUE, credentials: walletBlock(wallet, WALLET_VENUE) }],
          symbols: null,
          dryRun: false,
          cancelFirst: false,
          maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, WALLET_VENUE);
      const venue = answer.venues[0];
      // Positions that could not be read are not the same as none.
      if (venue?.error != null) throw refusalError({ ok: false, replayed: false, ...venue.error }, WALLET_VENUE);
      const results = (venue?.legs ?? []).map(closeItem);
      const closedCount = results.filter((item) => item.status === "CLOSED").length;
      const data = {
        success: closedCount === results.length,
        closedCount,
        totalPositions: results.length,
        results,
        message: results.length === 0 ? "No open positions" : `Closed ${closedCount} of ${results.length} positions`,
      };
      const text = replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() });
      return { text, replayed: answer.replayed };
    },
  });
}

function nativeClose(context: TradingContext): Route {
  const { edge, clock, trading, closeDefaults } = context;
  const validate = compileValidator(nativeCloseRequestSchema);
  const serialise = compileSerialiser(nativeCloseReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${NATIVE_VENUE}Close`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const body = checkedBody(validate, ask.body);
      checkReduceOnly(body.reduceOnly);
      checkTimeInForce("MARKET", body.timeInForce);
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, ask.params["walletId"] ?? "");
      requireSameWallet(wallet, ask.headers[WALLET_HEADER], body.userId, body.walletIdOrAddress);
      const answer = await trading.orders.closePosition(
        {
          venue: NATIVE_VENUE,
          credentials: walletBlock(wallet, NATIVE_VENUE),
          symbol: symbolOn(context, NATIVE_VENUE, body.symbol),
          direction: body.positionSide ?? null,
          quantity: null,
          type: "MARKET",
          price: null,
          clientOrderId: body.clientOrderId ?? null,
          maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer, NATIVE_VENUE);
      // The larger position comes first. A side that failed beside one that was sent must not hide that one.
      const orders = answer.legs.flatMap((leg) =>
        leg.order === null || leg.status === "FAILED" ? [] : [nativeOrder(leg.order, WORKING_TYPE)],
      );
      const first = orders[0] ?? nativeOrder(orderOf(answer.legs[0]), WORKING_TYPE);
      const data = answer.legs.length > 1 ? { ...first, orders } : first;
      const text = replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() });
      return { text, replayed: answer.replayed };
    },
  });
}

/** The working type of orders without a trigger, as the venue prints it. */
const WORKING_TYPE = "CONTRACT_PRICE";
