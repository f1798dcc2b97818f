/**
 * Orders on one venue (interface spec 4.6), in four forms: the venue's own form, by wallet in the path or in the header;
 * by wallet; with the caller's own key; and, on every other venue, with the credentials of the request or a wallet's.
 *
 * Invariant: a refusal (4xx) means that nothing was sent; an order of unknown outcome is a 200 with that state.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { OrderFacts, PlaceRequest } from "../../../engine/orders/single/order-desk.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import {
  callerOrderRequest,
  venueOrderReplySchema,
  walletOrderRequestSchema,
  keyOrderReplySchema,
  keyOrderRequestSchema,
  nativeOrderReplySchema,
  nativeOrderRequestSchema,
} from "../../../schemas/venue-orders.js";
import { CALLER_VENUES, KEY_VENUE, NATIVE_VENUE, WALLET_VENUE } from "../../../schemas/venues.js";
import {
  ACCOUNT_HEADERS,
  callerBlock,
  findWallet,
  requireSameWallet,
  WALLET_HEADER,
  walletBlock,
  walletIdHeader,
} from "../../accounts/account-access.js";
import { normalizedOrder, orderIdText, nativeOrder } from "../../accounts/order-views.js";
import { OWN_KEY_HEADERS, ownKeyBlock } from "../../accounts/own-key.js";
import { type Answer, type Ask, checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import { orderContext, symbolOn, type TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";

/** What every order body has in common, as its schema left it. */
interface OrderBody {
  readonly symbol: string;
  readonly side: "BUY" | "SELL";
  readonly quantity: string;
  readonly timeInForce?: PlaceRequest["timeInForce"] | "GTX";
  readonly clientOrderId?: string | null;
  readonly maxSlippageBps?: number | null;
  readonly reduceOnly?: boolean | null;
}

type Particulars = Pick<PlaceRequest, "type" | "price"> &
  Partial<Pick<PlaceRequest, "stopPrice" | "triggerSource" | "positionSide" | "accountNames">>;

export function venueOrderRoutes(context: TradingContext): Route[] {
  return [
    ...nativeRoutes(context),
    walletRoute(context),
    keyRoute(context),
    ...CALLER_VENUES.map((venue) => callerRoute(context, venue)),
  ];
}

/** Throws the desk's refusal. */
async function place(
  context: TradingContext,
  ask: Ask,
  venue: RoutableVenue,
  credentials: unknown,
  body: OrderBody,
  particulars: Particulars,
): Promise<{ readonly order: OrderFacts; readonly replayed: boolean }> {
  const { trading, closeDefaults } = context;
  const answer = await trading.orders.place(
    {
      venue,
      credentials,
      symbol: symbolOn(context, venue, body.symbol),
      side: body.side,
      quantity: body.quantity,
      timeInForce: body.timeInForce === "GTX" ? "POST_ONLY" : (body.timeInForce ?? null),
      reduceOnly: body.reduceOnly ?? false,
      positionSide: "BOTH",
      stopPrice: null,
      triggerSource: null,
      clientOrderId: body.clientOrderId ?? null,
      maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
      deadlineMs: closeDefaults.deadlineMs,
      ...particulars,
    },
    orderContext(ask),
  );
  if (!answer.ok) throw refusalError(answer, venue);
  return answer;
}

function limitPrice(body: { readonly type: string; readonly price?: string | null }): string | null {
  if (body.type !== "LIMIT") return null;
  const price = body.price ?? null;
  if (price === null) throw missing("price", "is required for a LIMIT order");
  return price;
}

function missing(path: string, problem: string): ServiceError {
  return new ServiceError("MISSING_PARAMETERS", { fields: [{ path, problem }] });
}

/** Any other type has its own text (spec section 7), unless a field is missing. */
export function withTypeText<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    const fields = error instanceof ServiceError ? error.context["fields"] : null;
    const isType = Array.isArray(fields) && fields.some((field: { readonly path?: unknown }) => field.path === "type");
    if (isType && error instanceof ServiceError && error.code === "INVALID_PARAMETERS")
      throw new ServiceError("INVALID_ORDER_TYPE", { fields });
    throw error;
  }
}

// ---------------------------------------------------------------- in the venue's own form

function nativeRoutes(context: TradingContext): Route[] {
  const { edge, clock, trading } = context;
  const validate = compileValidator(nativeOrderRequestSchema);
  const serialise = compileSerialiser(nativeOrderReplySchema);

  async function answer(ask: Ask, walletId: string): Promise<Answer> {
    const body = checkedBody(validate, ask.body);
    const isStop = body.type === "STOP_MARKET" || body.type === "TAKE_PROFIT_MARKET";
    const price = limitPrice(body);
    const stopPrice = isStop ? (body.stopPrice ?? body.price ?? null) : null;
    if (isStop && stopPrice === null) throw missing("stopPrice", "stopPrice or price is required for a stop order");
    if (!isStop && (body.stopPrice ?? null) !== null)
      throw new ServiceError("INVALID_PARAMETERS", {
        fields: [{ path: "stopPrice", problem: "is for STOP_MARKET and TAKE_PROFIT_MARKET only" }],
      });
    const wallet = await findWallet(trading.wallets, ask.caller.ownerId, walletId);
    requireSameWallet(wallet, ask.headers[WALLET_HEADER], body.userId, body.walletIdOrAddress);
    const workingType = body.workingType ?? "CONTRACT_PRICE";
    const { order, replayed } = await place(context, ask, NATIVE_VENUE, walletBlock(wallet, NATIVE_VENUE), body, {
      type: body.type,
      price,
      stopPrice,
      triggerSource: workingType === "MARK_PRICE" ? "MARK" : "LAST",
      positionSide: body.positionSide ?? "BOTH",
    });
    const data = nativeOrder(order, workingType);
    return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }), replayed };
  }

  const common = { headers: [WALLET_HEADER], sends: true };
  return [
    jsonRoute(context, {
      ...common,
      operation: OPERATIONS[`${NATIVE_VENUE}PerpOrder`],
      answer: (ask) => answer(ask, ask.params["walletId"] ?? ""),
    }),
    jsonRoute(context, {
      ...common,
      operation: OPERATIONS[`${NATIVE_VENUE}Order`],
      answer: async (ask) => answer(ask, walletIdHeader(ask)),
    }),
  ];
}

// ---------------------------------------------------------------- by wallet

function walletRoute(context: TradingContext): Route {
  const { edge, clock, trading } = context;
  const validate = compileValidator(walletOrderRequestSchema);
  const serialise = compileSerialiser(venueOrderReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${WALLET_VENUE}Order`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const walletId = walletIdHeader(ask);
      const body = withTypeText(() => checkedBody(validate, ask.body));
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, walletId);
      requireSameWallet(wallet, body.userId, body.walletIdOrAddress);
      const block = walletBlock(wallet, WALLET_VENUE);
      // The price of a MARKET order is its worst price here.
      const { order, replayed } = await place(context, ask, WALLET_VENUE, block, body, {
        type: body.type,
        price: body.price,
      });
      const reply = { success: true as const, data: normalizedOrder(order), timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed };
    },
  });
}

// ---------------------------------------------------------------- with what the caller brings

function keyRoute(context: TradingContext): Route {
  const { edge, clock } = context;
  const validate = compileValidator(keyOrderRequestSchema);
  const serialise = compileSerialiser(keyOrderReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${KEY_VENUE}Order`],
    headers: [...ACCOUNT_HEADERS, ...OWN_KEY_HEADERS],
    sends: true,
    async answer(ask) {
      const block = ownKeyBlock(ask);
      const body = withTypeText(() => checkedBody(validate, ask.body));
      const price = limitPrice(body);
      const particulars = { type: body.type, price, accountNames: accountNames(body) };
      const { order, replayed } = await place(context, ask, KEY_VENUE, block, body, particulars);
      const reply = {
        success: true as const,
        orderId: orderIdText(order),
        status: order.outcome === "UNKNOWN" ? "UNKNOWN" : "submitted",
        adapter: KEY_VENUE,
        timestamp: clock.wallMs(),
        order: normalizedOrder(order),
      };
      return { text: replyText(edge, serialise, reply), replayed };
    },
  });
}

/** Names of the caller's that belong to no account are ignored there. */
function accountNames(body: { readonly userId: string; readonly walletIdOrAddress?: string | null }) {
  const { userId, walletIdOrAddress = null } = body;
  const other = walletIdOrAddress === null ? [] : [{ path: "walletIdOrAddress", name: walletIdOrAddress }];
  return [{ path: "userId", name: userId }, ...other];
}

function callerRoute(context: TradingContext, venue: (typeof CALLER_VENUES)[number]): Route {
  const { edge, clock, trading } = context;
  const validate = compileValidator(callerOrderRequest(venue));
  const serialise = compileSerialiser(venueOrderReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${venue}Order`],
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const body = withTypeText(() => checkedBody(validate, ask.body));
      const price = limitPrice(body);
      const block = await callerBlock(trading.wallets, ask, venue);
      const { order, replayed } = await place(context, ask, venue, block, body, { type: body.type, price });
      const reply = { success: true as const, data: normalizedOrder(order), timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed };
    },
  });
}
