/**
 * The checks of a transaction that need neither accounts nor markets, in the order of the venue's own client (fact
 * sheet 6.2, 7). Each fault has one code.
 */
import { refuseTransaction, type TransactionCode } from "./errors.js";
import { ATTRIBUTE, amountOf, indexOf, number, type OrderFields, type Transaction, TYPE } from "./transaction.js";

export const ORDER_TYPE = {
  limit: 0,
  market: 1,
  stopLoss: 2,
  stopLossLimit: 3,
  takeProfit: 4,
  takeProfitLimit: 5,
  twap: 6,
} as const;
export const TIME_IN_FORCE = { immediateOrCancel: 0, goodTillTime: 1, postOnly: 2 } as const;
export const CANCEL_ALL = { immediate: 0, scheduled: 1, abort: 2 } as const;
export const GROUPING = { triggers: 1, cancels: 2, triggersAndCancels: 3 } as const;

const ACCOUNT_INDEX_MAX = 281_474_976_710_654;
const API_KEY_INDEX_MAX = 254;
const PERP_MARKET_MAX = 254;
const SPOT_MARKET_MIN = 2048;
const SPOT_MARKET_MAX = 4094;
const CLIENT_INDEX_MAX = 2 ** 48 - 1;
const BASE_AMOUNT_MAX = 2 ** 48 - 1;
const TIMESTAMP_MAX = 2 ** 48 - 1;
const ORDER_INDEX_MAX = (1n << 60n) - 1n;
const AMOUNT_MAX = (1n << 60n) - 1n;
const FEE_MAX = 1_000_000;
const FRACTION_MAX = 10_000;
const ATTRIBUTES_MAX = 4;
const ALL_MARKETS = 255;
const USDC = 3;

/** Lowest, highest and nil value of each attribute. */
const ATTRIBUTES: ReadonlyMap<number, readonly [number, number, number]> = new Map<
  number,
  readonly [number, number, number]
>([
  [ATTRIBUTE.integrator, [0, ACCOUNT_INDEX_MAX, 0]],
  [ATTRIBUTE.integratorTakerFee, [0, FEE_MAX, 0]],
  [ATTRIBUTE.integratorMakerFee, [0, FEE_MAX, 0]],
  [ATTRIBUTE.skipNonce, [1, 1, 0]],
  [ATTRIBUTE.cancelAllMarket, [0, ALL_MARKETS, ALL_MARKETS]],
  [ATTRIBUTE.selfTradeBehavior, [0, 3, 0]],
  [ATTRIBUTE.selfTradeEquality, [0, 1, 0]],
  [ATTRIBUTE.orderVersion, [0, 2 ** 48 - 1, 0]],
]);

function demand(condition: boolean, code: TransactionCode): void {
  if (!condition) throw refuseTransaction(code);
}

/** Throws the venue's refusal. */
export function checkTransaction(transaction: Transaction): void {
  checkAttributes(transaction);
  demand(transaction.accountIndex >= 0 && transaction.accountIndex <= ACCOUNT_INDEX_MAX, 21102);
  demand(transaction.apiKeyIndex <= API_KEY_INDEX_MAX, 21110);
  const { fields } = transaction;
  if (transaction.type === TYPE.createOrder) for (const order of transaction.orders) checkOrder(order);
  else if (transaction.type === TYPE.group) checkGroup(transaction);
  else if (transaction.type === TYPE.cancelOrder) {
    checkMarket(number(fields.MarketIndex));
    checkIndex(transaction);
  } else if (transaction.type === TYPE.modifyOrder) {
    checkMarket(number(fields.MarketIndex));
    checkIndex(transaction);
    demand(number(fields.BaseAmount) >= 0 && number(fields.BaseAmount) <= BASE_AMOUNT_MAX, 21701);
    demand(number(fields.Price) > 0, 21702);
  } else if (transaction.type === TYPE.cancelAll) checkCancelAll(transaction);
  else if (transaction.type === TYPE.leverage) {
    demand(isPerp(number(fields.MarketIndex)), 21602);
    const fraction = number(fields.InitialMarginFraction);
    demand(fraction >= 1 && fraction <= FRACTION_MAX, 21113);
    demand(number(fields.MarginMode) <= 1, 21613);
  } else if (transaction.type === TYPE.margin) {
    demand(isPerp(number(fields.MarketIndex)), 21602);
    const amount = amountOf(transaction, "USDCAmount");
    demand(amount > 0n && amount <= AMOUNT_MAX, 21300);
    demand(number(fields.Direction) <= 1, 21615);
  } else if (transaction.type === TYPE.withdraw || transaction.type === TYPE.transfer) checkMove(transaction);
  else if (transaction.type === TYPE.approveIntegrator) checkApproval(transaction);
  demand(transaction.nonce >= 0, 21104);
  demand(transaction.expiredAtMs >= 0 && transaction.expiredAtMs <= TIMESTAMP_MAX, 21711);
}

function checkAttributes({ attributes }: Transaction): void {
  demand(attributes.size <= ATTRIBUTES_MAX, 21501);
  const isSet = (code: number): boolean => {
    const value = attributes.get(code);
    return value !== undefined && value !== ATTRIBUTES.get(code)?.[2];
  };
  for (const [code, value] of attributes) {
    const range = ATTRIBUTES.get(code);
    demand(range !== undefined && value >= range[0] && value <= range[1], 21501);
  }
  const hasFees = isSet(ATTRIBUTE.integratorTakerFee) || isSet(ATTRIBUTE.integratorMakerFee);
  demand(!hasFees || isSet(ATTRIBUTE.integrator), 21134);
  const hasSelfTrade = isSet(ATTRIBUTE.selfTradeBehavior) || isSet(ATTRIBUTE.selfTradeEquality);
  demand(!(hasFees && hasSelfTrade), 21501);
  demand(!(attributes.get(ATTRIBUTE.selfTradeBehavior) === 3 && isSet(ATTRIBUTE.selfTradeEquality)), 21501);
}

function isPerp(marketIndex: number): boolean {
  return marketIndex >= 0 && marketIndex <= PERP_MARKET_MAX;
}

function isSpot(marketIndex: number): boolean {
  return marketIndex >= SPOT_MARKET_MIN && marketIndex <= SPOT_MARKET_MAX;
}

function checkMarket(marketIndex: number): void {
  demand(isPerp(marketIndex) || isSpot(marketIndex), 21602);
}

function checkIndex(transaction: Transaction): void {
  const index = indexOf(transaction);
  demand(index >= 1n && index <= ORDER_INDEX_MAX, 21700);
}

/** Fields that every order has, in the reference's order. */
function checkRanges(order: OrderFields): void {
  checkMarket(order.marketIndex);
  demand(order.clientOrderIndex >= 0 && order.clientOrderIndex <= CLIENT_INDEX_MAX, 21727);
  demand(order.baseAmount > 0 || (order.baseAmount === 0 && order.reduceOnly === 1), 21701);
  demand(order.baseAmount <= BASE_AMOUNT_MAX, 21701);
  demand(order.price > 0, 21702);
  demand(order.isAsk <= 1, 21703);
  demand(order.timeInForce <= TIME_IN_FORCE.postOnly, 21705);
  demand(order.reduceOnly <= 1 && !(isSpot(order.marketIndex) && order.reduceOnly === 1), 21740);
  demand(order.orderExpiry >= 0, 21711);
}

function checkOrder(order: OrderFields): void {
  checkRanges(order);
  const { type, timeInForce } = order;
  if (type === ORDER_TYPE.market || type === ORDER_TYPE.limit) checkPlain(order);
  else if (type === ORDER_TYPE.twap) {
    demand(timeInForce === TIME_IN_FORCE.goodTillTime, 21705);
    demand(order.triggerPrice === 0, 21729);
    demand(order.orderExpiry !== 0, 21711);
  } else {
    demand(isPerp(order.marketIndex), 21704);
    checkConditional(order);
  }
}

/** Market and limit orders, also as the first of a group. */
function checkPlain({ type, timeInForce, orderExpiry, triggerPrice }: OrderFields): void {
  const isImmediate = timeInForce === TIME_IN_FORCE.immediateOrCancel;
  if (type === ORDER_TYPE.market) demand(isImmediate, 21705);
  else demand(type === ORDER_TYPE.limit, 21704);
  demand(isImmediate === (orderExpiry === 0), 21711);
  demand(triggerPrice === 0, 21729);
}

function checkConditional({ type, timeInForce, orderExpiry, triggerPrice }: OrderFields): void {
  demand(type >= ORDER_TYPE.stopLoss && type <= ORDER_TYPE.takeProfitLimit, 21704);
  const isAtMarket = type === ORDER_TYPE.stopLoss || type === ORDER_TYPE.takeProfit;
  demand(!isAtMarket || timeInForce === TIME_IN_FORCE.immediateOrCancel, 21705);
  demand(triggerPrice !== 0, 21729);
  demand(orderExpiry !== 0, 21711);
}

function checkGroup(transaction: Transaction): void {
  const grouping = number(transaction.fields.GroupingType);
  const { orders } = transaction;
  const [first, second, third] = orders;
  demand(first !== undefined && orders.length <= 3, 21742);
  if (first === undefined) return;
  demand(isPerp(first.marketIndex), 21602);
  const clientIndexes = orders.map((order) => order.clientOrderIndex).filter((index) => index !== 0);
  for (const order of orders) {
    demand(order.marketIndex === first.marketIndex, 21602);
    checkRanges(order);
  }
  demand(new Set(clientIndexes).size === clientIndexes.length, 21727);
  if (grouping === GROUPING.cancels) {
    demand(orders.length === 2 && second !== undefined, 21742);
    demand(first.baseAmount === second?.baseAmount, 21701);
    demand(first.isAsk === second?.isAsk, 21703);
    demand(first.reduceOnly === 1 && second?.reduceOnly === 1, 21740);
    demand(first.orderExpiry === second?.orderExpiry, 21711);
    checkSiblings(orders);
  } else if (grouping === GROUPING.triggers || grouping === GROUPING.triggersAndCancels) {
    const children = orders.slice(1);
    demand(children.length === (grouping === GROUPING.triggers ? 1 : 2), 21742);
    for (const child of children) {
      demand(child.baseAmount === 0, 21701);
      demand(child.isAsk !== first.isAsk, 21703);
      demand(child.orderExpiry === second?.orderExpiry, 21711);
      demand(first.orderExpiry === 0 || first.orderExpiry === child.orderExpiry, 21711);
    }
    checkPlain(first);
    if (third === undefined) for (const child of children) checkConditional(child);
    else checkSiblings(children);
  } else throw refuseTransaction(21741);
}

/** One with the loss and one with the gain. */
function checkSiblings(siblings: readonly OrderFields[]): void {
  for (const order of siblings) checkConditional(order);
  const isStop = (order: OrderFields): boolean =>
    order.type === ORDER_TYPE.stopLoss || order.type === ORDER_TYPE.stopLossLimit;
  demand(siblings.filter(isStop).length === 1, 21704);
}

function checkCancelAll({ fields, attributes }: Transaction): void {
  const timeInForce = number(fields.TimeInForce);
  const time = number(fields.Time);
  const market = attributes.get(ATTRIBUTE.cancelAllMarket) ?? ALL_MARKETS;
  demand(timeInForce <= CANCEL_ALL.abort, 21713);
  demand(market === ALL_MARKETS || timeInForce === CANCEL_ALL.immediate, 21713);
  demand(timeInForce === CANCEL_ALL.scheduled ? time > 0 : time === 0, 21714);
}

function checkMove(transaction: Transaction): void {
  const { fields, type } = transaction;
  const amount = amountOf(transaction, "Amount");
  demand(number(fields.AssetIndex) >= 1 && number(fields.AssetIndex) <= 62, 21801);
  demand(number(fields.AssetIndex) === USDC, 21805);
  demand(amount > 0n && amount <= AMOUNT_MAX, 21300);
  if (type === TYPE.withdraw) {
    demand(number(fields.RouteType) <= 1, 21124);
    return;
  }
  const to = number(fields.ToAccountIndex);
  demand(to >= 0 && to <= ACCOUNT_INDEX_MAX, 21106);
  demand(number(fields.FromRouteType) <= 1 && number(fields.ToRouteType) <= 1, 21124);
  demand(amountOf(transaction, "USDCFee") >= 0n, 21134);
}

function checkApproval({ fields }: Transaction): void {
  const fees = ["MaxPerpsTakerFee", "MaxPerpsMakerFee", "MaxSpotTakerFee", "MaxSpotMakerFee"].map((name) =>
    number(fields[name]),
  );
  const expiry = number(fields.ApprovalExpiry);
  const integrator = number(fields.IntegratorAccountIndex);
  demand(integrator >= 0 && integrator <= ACCOUNT_INDEX_MAX, 21102);
  demand(
    fees.every((fee) => fee <= FEE_MAX),
    21134,
  );
  demand(expiry > 0 || (expiry === 0 && fees.every((fee) => fee === 0)), 21711);
  demand(expiry <= TIMESTAMP_MAX, 21711);
}
