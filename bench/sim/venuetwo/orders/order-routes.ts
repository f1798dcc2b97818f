/** Trading routes, fact sheet 5.3. Every instruction that passed the signature check is written to the venue's log. */
import type { TimerHandle } from "../../../../engine/domain/clock.js";
import type { SimOrder, SimSide, SimPositionSide } from "../../core/model/types.js";
import type { SimRequestDraft } from "../../core/server/request-log.js";
import type { Route, SignedCall } from "../records/context.js";
import { refuse, refuseInvalid, refuseMandatory, VenuetwoRefusal } from "../wire/errors.js";
import { checkAmend, checkOrder, refusalOf, rulesOf } from "./order-rules.js";
import { type OrderView, printOrder } from "./order-view.js";
import { Params } from "../wire/params.js";

const BATCH_MAX = 5;
const CANCEL_BATCH_MAX = 10;
const WEEK_MS = 7 * 24 * 3600 * 1000;

export function orderRoutes(): Readonly<Record<string, Route>> {
  const countdowns = new Map<string, TimerHandle>();
  return {
    "POST order": { weight: 1, security: "trade", answer: (call) => placeOne(call, call.params) },
    "PUT order": { weight: 1, security: "trade", answer: amend },
    "GET order": { weight: 1, security: "signed", answer: queryOrder },
    "DELETE order": { weight: 1, security: "trade", answer: (call) => cancelOne(call, reference(call.params)) },
    "GET openOrder": { weight: 1, security: "signed", answer: queryOpenOrder },
    "GET openOrders": { weight: (params) => (params.has("symbol") ? 1 : 40), security: "signed", answer: openOrders },
    "GET allOrders": { weight: 5, security: "signed", answer: allOrders },
    "DELETE allOpenOrders": { weight: 1, security: "trade", answer: cancelAll },
    "POST batchOrders": { weight: 5, security: "trade", answer: placeBatch },
    "DELETE batchOrders": { weight: 1, security: "trade", answer: cancelBatch },
    "POST countdownCancelAll": { weight: 10, security: "trade", answer: (call) => countdown(call, countdowns) },
  };
}

function print(call: SignedCall, order: SimOrder, view: OrderView): Record<string, unknown> {
  const instrument = call.context.exchange.instruments.get(order.symbol);
  if (instrument === undefined) throw refuse("symbol");
  return printOrder(order, instrument, view, call.version === "v3" && (view === "ack" || view === "result"));
}

/* ------------------------------------------------------------------ place */

function placeOne(call: SignedCall, params: Params): Record<string, unknown> {
  const { context, account } = call;
  const index = context.log.received(draft(call, params, "place"));
  try {
    const counts = context.limits.countOrder(account.accountId);
    const { request, wantsResult } = checkOrder(
      context.exchange,
      rulesOf(context.listing.rules, params),
      account.accountId,
      params,
      () => context.newClientId(),
    );
    const placed = context.exchange.orders.place(account.accountId, request);
    if (!placed.ok) throw refusalOf(placed.reason);
    context.log.executed(index, placed.value.orderId);
    call.headers["x-mbx-order-count-10s"] = String(counts.tenSeconds);
    call.headers["x-mbx-order-count-1m"] = String(counts.minute);
    return print(call, placed.value, wantsResult ? "result" : "ack");
  } catch (error) {
    if (error instanceof VenuetwoRefusal) context.log.refused(index, String(error.code), error.message);
    throw error;
  }
}

function placeBatch(call: SignedCall): unknown {
  const text = call.params.required("batchOrders");
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw refuseInvalid("batchOrders");
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > BATCH_MAX) throw refuse("batchSize");
  return list.map((entry: unknown) => {
    try {
      if (typeof entry !== "object" || entry === null) throw refuseInvalid("batchOrders");
      return placeOne(call, new Params(new Map(Object.entries(entry).map(([name, value]) => [name, String(value)]))));
    } catch (error) {
      if (error instanceof VenuetwoRefusal) return { code: error.code, msg: error.message };
      throw error;
    }
  });
}

function amend(call: SignedCall): unknown {
  const { context, account, params } = call;
  const index = context.log.received(draft(call, params, "amend"));
  try {
    const order = openOrderOf(call, reference(params)) ?? fail("noSuchOrder");
    const rules = rulesOf(context.listing.rules, params);
    if (order.type !== "LIMIT" || (order.trigger !== null && !order.triggered)) throw refuse("newOrderRejected");
    const wanted = checkAmend(context.exchange, rules, order, params);
    const amended = context.exchange.orders.amend(account.accountId, order.orderId, wanted.qtyLots, wanted.priceTicks);
    if (!amended.ok) throw refusalOf(amended.reason);
    context.log.executed(index, order.orderId);
    return print(call, amended.value, "result");
  } catch (error) {
    if (error instanceof VenuetwoRefusal) context.log.refused(index, String(error.code), error.message);
    throw error;
  }
}

/* ------------------------------------------------------------------ cancel */

interface Reference {
  readonly symbol: string;
  readonly orderId: number | null;
  readonly clientId: string | null;
}

function reference(params: Params): Reference {
  const symbol = params.required("symbol");
  const orderId = orderIdParam(params);
  const clientId = params.text("origClientOrderId");
  if (orderId === null && clientId === null)
    throw new VenuetwoRefusal(-1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!");
  return { symbol, orderId, clientId };
}

const MAX_LONG = 2n ** 63n - 1n;
/** No order has it. */
const NO_ORDER_ID = -1;

/** A LONG: ids that this venue's counter never reaches are well formed all the same. */
function orderIdParam(params: Params): number | null {
  const text = params.text("orderId");
  const isLarge = text !== null && /^\d{16,19}$/.test(text) && BigInt(text) <= MAX_LONG;
  return isLarge && !Number.isSafeInteger(Number(text)) ? NO_ORDER_ID : params.integer("orderId");
}

function orderOf(call: SignedCall, ref: Reference): SimOrder | null {
  const { exchange, listing } = call.context;
  if (!listing.rules.has(ref.symbol)) throw refuse("symbol");
  const order =
    ref.orderId === null
      ? exchange.orders.findByClientId(call.account.accountId, ref.clientId ?? "")
      : exchange.orders.find(ref.orderId);
  return order !== null && order.accountId === call.account.accountId && order.symbol === ref.symbol ? order : null;
}

function openOrderOf(call: SignedCall, ref: Reference): SimOrder | null {
  const order = orderOf(call, ref);
  return order !== null && (order.status === "NEW" || order.status === "PARTIALLY_FILLED") ? order : null;
}

function cancelOne(call: SignedCall, ref: Reference): Record<string, unknown> {
  const { context, account } = call;
  const index = context.log.received({
    action: "cancel",
    signer: call.caller.signer,
    accountId: account.accountId,
    symbol: ref.symbol,
    clientId: ref.clientId,
    nonce: call.caller.nonce,
  });
  const order = openOrderOf(call, ref);
  if (order === null) {
    const refusal = refuse("cancelRejected");
    context.log.refused(index, String(refusal.code), refusal.message);
    throw refusal;
  }
  const canceled = context.exchange.orders.cancel(account.accountId, order.orderId);
  if (!canceled.ok) throw refusalOf(canceled.reason);
  context.log.executed(index, order.orderId);
  return print(call, canceled.value, "result");
}

function cancelAll(call: SignedCall): unknown {
  const { context, account, params } = call;
  const rules = rulesOf(context.listing.rules, params);
  const index = context.log.received({
    action: "cancelAll",
    signer: call.caller.signer,
    accountId: account.accountId,
    symbol: rules.symbol,
    nonce: call.caller.nonce,
  });
  for (const order of context.exchange.orders.open(account.accountId, rules.symbol))
    context.exchange.orders.cancel(account.accountId, order.orderId);
  context.log.executed(index, null);
  return { code: "200", msg: "The operation of cancel all open order is done." };
}

function cancelBatch(call: SignedCall): unknown {
  const { params } = call;
  const symbol = params.required("symbol");
  const ids = list(params, "orderIdList") ?? list(params, "origClientOrderIdList");
  if (ids === null) throw refuseMandatory("orderIdList");
  if (ids.length === 0 || ids.length > CANCEL_BATCH_MAX) throw refuse("cancelSize");
  const byId = params.has("orderIdList");
  return ids.map((id) => {
    try {
      return cancelOne(call, { symbol, orderId: byId ? Number(id) : null, clientId: byId ? null : String(id) });
    } catch (error) {
      if (error instanceof VenuetwoRefusal) return { code: error.code, msg: error.message };
      throw error;
    }
  });
}

function list(params: Params, name: string): unknown[] | null {
  const text = params.text(name);
  if (text === null) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // The refusal below answers it.
  }
  throw refuseInvalid(name);
}

function countdown(call: SignedCall, countdowns: Map<string, TimerHandle>): unknown {
  const { context, account, params } = call;
  const rules = rulesOf(context.listing.rules, params);
  const countdownMs = params.integer("countdownTime");
  if (countdownMs === null) throw refuseMandatory("countdownTime");
  if (countdownMs < 0) throw refuseInvalid("countdownTime");
  const key = `${account.accountId}|${rules.symbol}`;
  const running = countdowns.get(key);
  if (running !== undefined) context.exchange.clock.clearTimer(running);
  countdowns.delete(key);
  if (countdownMs > 0) {
    const fire = (): void => {
      countdowns.delete(key);
      for (const order of context.exchange.orders.open(account.accountId, rules.symbol))
        context.exchange.orders.cancel(account.accountId, order.orderId, "SCHEDULED");
    };
    countdowns.set(key, context.exchange.clock.setTimer(fire, countdownMs));
  }
  return { symbol: rules.symbol, countdownTime: String(countdownMs) };
}

/* ------------------------------------------------------------------ queries */

function queryOrder(call: SignedCall): unknown {
  const order = orderOf(call, reference(call.params));
  if (order === null || forgotten(call, order)) throw refuse("noSuchOrder");
  return print(call, order, "query");
}

/** Returns true for an order that ended without a fill more than a week ago: the venue no longer has it. */
function forgotten(call: SignedCall, order: SimOrder): boolean {
  const ended = order.status === "CANCELED" || order.status === "EXPIRED";
  return ended && order.filledLots === 0 && call.context.exchange.nowMs() - order.updatedMs > WEEK_MS;
}

function queryOpenOrder(call: SignedCall): unknown {
  return print(call, openOrderOf(call, reference(call.params)) ?? fail("noSuchOrder"), "open");
}

function openOrders(call: SignedCall): unknown {
  const { context, account, params } = call;
  const symbol = params.has("symbol") ? rulesOf(context.listing.rules, params).symbol : undefined;
  return context.exchange.orders.open(account.accountId, symbol).map((order) => print(call, order, "open"));
}

function allOrders(call: SignedCall): unknown {
  const { context, account, params } = call;
  const { symbol } = rulesOf(context.listing.rules, params);
  const limit = params.limit(500, 1000);
  const fromId = params.integer("orderId");
  const startTime = params.integer("startTime");
  const endTime = params.integer("endTime");
  if (startTime !== null && endTime !== null && endTime < startTime) throw refuse("startAfterEnd");
  if (startTime !== null && endTime !== null && endTime - startTime > WEEK_MS)
    throw new VenuetwoRefusal(-4165, "Invalid time interval");
  const rows = context.exchange.orders
    .all(account.accountId, symbol)
    .filter(
      (order) =>
        (fromId === null || order.orderId >= fromId) &&
        (startTime === null || order.createdMs >= startTime) &&
        (endTime === null || order.createdMs <= endTime) &&
        !forgotten(call, order),
    );
  const chosen = fromId === null && startTime === null ? rows.slice(-limit) : rows.slice(0, limit);
  return chosen.map((order) => print(call, order, "query"));
}

/* ------------------------------------------------------------------ helpers */

function fail(name: "noSuchOrder"): never {
  throw refuse(name);
}

/** The instruction as received, also for requests that are then refused. */
function draft(call: SignedCall, params: Params, action: string): SimRequestDraft {
  const side = params.text("side");
  const positionSide = params.text("positionSide") ?? "BOTH";
  return {
    action,
    signer: call.caller.signer,
    accountId: call.account.accountId,
    symbol: params.text("symbol"),
    clientId: params.text("newClientOrderId") ?? params.text("origClientOrderId"),
    side: side === "BUY" || side === "SELL" ? (side satisfies SimSide) : null,
    type: params.text("type"),
    timeInForce: params.text("timeInForce"),
    reduceOnly: params.text("reduceOnly") === null ? null : params.text("reduceOnly")?.toLowerCase() === "true",
    positionSide:
      positionSide === "BOTH" || positionSide === "LONG" || positionSide === "SHORT"
        ? (positionSide satisfies SimPositionSide)
        : null,
    price: params.text("price"),
    qty: params.text("quantity"),
    nonce: call.caller.nonce ?? params.text("timestamp"),
  };
}
