/**
 * Order parameters to an engine request: presence, enums and filters in the venue's order of checks, each with its
 * own code (fact sheet sections 5.2, 5.3 and 10). What passes here can only be refused by margin or position.
 */
import { absBig, notionalE12, parseScaled, trimZeros, moneyText, valueAtE8 } from "../../core/model/fixed.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type {
  SimOrder,
  SimOrderRequest,
  SimPositionSide,
  SimRefusal,
  SimSide,
  SimTimeInForce,
  SimTrigger,
} from "../../core/model/types.js";
import {
  refuse,
  refuseIllegal,
  refuseMandatory,
  refuseNotional,
  refuseNotRequired,
  type VenuetwoRefusal,
} from "../wire/errors.js";
import type { VenuetwoRules } from "../records/listing.js";
import type { Params } from "../wire/params.js";

/** The venue's own fields of an order, kept with it. */
export interface OrderTag {
  readonly origType: string;
  readonly timeInForce: string;
  readonly stopTicks: number;
  readonly workingType: "CONTRACT_PRICE" | "MARK_PRICE";
  readonly priceProtect: boolean;
  readonly activateTicks: number | null;
  readonly priceRate: string | null;
}

export interface CheckedOrder {
  readonly request: SimOrderRequest;
  readonly wantsResult: boolean;
}

const TYPES: ReadonlySet<string> = new Set([
  "LIMIT",
  "MARKET",
  "STOP",
  "STOP_MARKET",
  "TAKE_PROFIT",
  "TAKE_PROFIT_MARKET",
  "TRAILING_STOP_MARKET",
]);
/** HIDDEN rests like GTC here (it would not show in the real book); RPI never takes, like GTX. */
const TIMES_IN_FORCE: Readonly<Record<string, SimTimeInForce>> = {
  GTC: "GTC",
  IOC: "IOC",
  FOK: "FOK",
  GTX: "POST_ONLY",
  HIDDEN: "GTC",
  RPI: "POST_ONLY",
};
const CLIENT_ID = /^[.A-Z:/a-z0-9_-]{1,36}$/;
const PPM = 1_000_000n;

export function rulesOf(rules: ReadonlyMap<string, VenuetwoRules>, params: Params): VenuetwoRules {
  const found = rules.get(params.required("symbol"));
  if (found === undefined) throw refuse("symbol");
  return found;
}

export function checkOrder(
  exchange: SimExchange,
  rules: VenuetwoRules,
  accountId: string,
  params: Params,
  newClientId: () => string,
): CheckedOrder {
  const side = sideOf(params);
  const type = typeOf(params);
  checkTrading(rules);
  const clientId = clientIdOf(params) ?? newClientId();
  const wantsResult = wantsResultOf(params);
  const hedgeMode = exchange.accounts.find(accountId)?.hedgeMode ?? false;
  const { positionSide, closePosition, reduceOnly } = purposeOf(params, type, hedgeMode);
  const isMarket = type === "MARKET" || type.endsWith("_MARKET");
  const conditional = type !== "LIMIT" && type !== "MARKET";

  const timeInForce = timeInForceOf(params, type, isMarket);
  const qtyLots = closePosition ? 0 : quantityOf(params, rules, isMarket);
  const priceTicks = isMarket ? null : priceOf(params, "price", rules);
  const tag = tagOf(params, type, timeInForce, rules);
  const trigger = conditional ? triggerOf(type, tag) : null;
  if (priceTicks !== null && conditional) checkStopBand(rules, side, priceTicks, tag.stopTicks);
  else if (priceTicks !== null) checkBand(exchange, rules, side, priceTicks);
  const reduces = reduceOnly || closePosition || (hedgeMode && (positionSide === "LONG") !== (side === "BUY"));
  if (!reduces) checkNotional(exchange, rules, priceTicks, qtyLots);
  checkOpenCounts(exchange, rules, accountId, conditional);
  const worstTicks = type === "MARKET" ? marketBound(exchange, rules, side) : priceTicks;
  if (!reduces) checkBracket(exchange, rules, accountId, priceTicks, qtyLots);
  const request: SimOrderRequest = {
    symbol: rules.symbol,
    side,
    type: isMarket ? "MARKET" : "LIMIT",
    timeInForce: TIMES_IN_FORCE[timeInForce] ?? "GTC",
    priceTicks: worstTicks,
    qtyLots,
    reduceOnly,
    positionSide,
    clientId,
    trigger,
    closePosition,
    tag,
  };
  return { request, wantsResult };
}

/** PUT order: the same price and quantity filters. */
export function checkAmend(
  exchange: SimExchange,
  rules: VenuetwoRules,
  order: SimOrder,
  params: Params,
): { qtyLots: number; priceTicks: number } {
  const qtyLots = quantityOf(params, rules, false);
  const priceTicks = priceOf(params, "price", rules);
  checkBand(exchange, rules, order.side, priceTicks);
  if (!order.reduceOnly) checkNotional(exchange, rules, priceTicks, qtyLots);
  return { qtyLots, priceTicks };
}

/** The engine's refusals in the venue's codes. */
export function refusalOf(reason: SimRefusal): VenuetwoRefusal {
  switch (reason) {
    case "REDUCE_ONLY":
      return refuse("reduceOnly");
    case "MARGIN":
      return refuse("margin");
    case "WOULD_TRIGGER":
      return refuse("wouldTrigger");
    case "DUPLICATE_CLIENT_ID":
      return refuse("clientIdUsed");
    case "POSITION_SIDE":
      return refuse("positionSideMode");
    case "BAD_PRICE":
      return refuse("priceTick");
    case "BAD_QTY":
      return refuse("qtyStep");
    case "HALTED":
      return refuse("marketStatus");
    case "TOO_MANY_ORDERS":
      return refuse("maxOpenOrders");
    case "NOT_FOUND":
      return refuse("cancelRejected");
    case "INSUFFICIENT_BALANCE":
      return refuse("balance");
    case "LEVERAGE":
      return refuse("leverage");
    case "UNKNOWN_SYMBOL":
      return refuse("symbol");
    default:
      return refuse("newOrderRejected");
  }
}

/* ------------------------------------------------------------------ single parameters */

function sideOf(params: Params): SimSide {
  const side = params.required("side");
  if (side !== "BUY" && side !== "SELL") throw refuse("side");
  return side;
}

function typeOf(params: Params): string {
  const type = params.required("type");
  if (!TYPES.has(type)) throw refuse("orderType");
  return type;
}

function checkTrading({ status }: VenuetwoRules): void {
  if (status !== "TRADING") throw refuse(status === "CLOSE" || status === "SETTLING" ? "closed" : "marketStatus");
}

function wantsResultOf(params: Params): boolean {
  const responseType = params.text("newOrderRespType") ?? "ACK";
  if (responseType !== "ACK" && responseType !== "RESULT") throw refuse("orderRespType");
  return responseType === "RESULT";
}

/** Which position the order is for, and whether it may only reduce or closes the whole of it. */
function purposeOf(
  params: Params,
  type: string,
  hedgeMode: boolean,
): Pick<SimOrderRequest, "positionSide" | "closePosition" | "reduceOnly"> {
  const positionSide = positionSideOf(params, hedgeMode);
  const closePosition = params.boolean("closePosition") ?? false;
  const reduceOnly = reduceOnlyOf(params, hedgeMode, closePosition);
  if (closePosition && type !== "STOP_MARKET" && type !== "TAKE_PROFIT_MARKET") throw refuse("orderType");
  if (closePosition && params.has("quantity")) throw refuse("quantityWithClose");
  return { positionSide, closePosition, reduceOnly };
}

export function clientIdOf(params: Params): string | null {
  const clientId = params.text("newClientOrderId");
  if (clientId === null) return null;
  if (clientId.length > 36) throw refuse("clientIdLength");
  if (!CLIENT_ID.test(clientId)) throw refuseIllegal("newClientOrderId", "^[\\.A-Z\\:/a-z0-9_-]{1,36}$");
  return clientId;
}

function positionSideOf(params: Params, hedgeMode: boolean): SimPositionSide {
  const side = params.text("positionSide") ?? "BOTH";
  if (side !== "BOTH" && side !== "LONG" && side !== "SHORT") throw refuse("positionSideInvalid");
  if (hedgeMode !== (side !== "BOTH")) throw refuse("positionSideMode");
  return side;
}

function reduceOnlyOf(params: Params, hedgeMode: boolean, closePosition: boolean): boolean {
  const reduceOnly = params.boolean("reduceOnly");
  // On a hedge-mode account the flag must not be sent at all, whatever its value.
  if (reduceOnly !== null && (hedgeMode || closePosition)) throw refuseNotRequired("reduceonly");
  return reduceOnly ?? false;
}

function timeInForceOf(params: Params, type: string, isMarket: boolean): string {
  const given = params.text("timeInForce");
  if (given !== null && !Object.hasOwn(TIMES_IN_FORCE, given)) throw refuse("timeInForce");
  if (type === "LIMIT" && given === null) throw refuseMandatory("timeInForce");
  if (type === "MARKET" && given !== null) throw refuseNotRequired("timeInForce");
  return isMarket ? "GTC" : (given ?? "GTC");
}

function quantityOf(params: Params, rules: VenuetwoRules, isMarket: boolean): number {
  const lots = decimalOf(params, "quantity", rules.instrument.qtyDecimals);
  const limits = isMarket ? rules.marketLot : rules.lot;
  if (lots <= 0) throw refuse("qtyNotPositive");
  if (lots < limits.minLots) throw refuse("qtyBelowMin");
  if (lots > limits.maxLots) throw refuse("qtyAboveMax");
  if (limits.stepLots > 0 && (lots - limits.minLots) % limits.stepLots !== 0) throw refuse("qtyStep");
  return lots;
}

function priceOf(params: Params, name: "price" | "stopPrice" | "activationPrice", rules: VenuetwoRules): number {
  const ticks = decimalOf(params, name, rules.instrument.priceDecimals);
  if (ticks <= 0) throw refuse(name === "price" ? "priceBelowZero" : "stopBelowZero");
  if (rules.minPriceTicks > 0 && ticks < rules.minPriceTicks) throw refuse("priceBelowMin");
  if (rules.maxPriceTicks > 0 && ticks > rules.maxPriceTicks)
    throw refuse(name === "price" ? "priceAboveMax" : "stopAboveMax");
  if (rules.tickTicks > 0 && (ticks - rules.minPriceTicks) % rules.tickTicks !== 0) throw refuse("priceTick");
  return ticks;
}

function decimalOf(params: Params, name: string, decimals: number): number {
  const text = params.required(name);
  if (!/^-?\d{1,20}(\.\d{0,20})?$/.test(text)) throw refuseIllegal(name, "^([0-9]{1,20})(\\.[0-9]{1,20})?$");
  const scaled = parseScaled(text, decimals);
  if (scaled === null) throw refuse("precision");
  // Beyond the safe range every filter's maximum is passed as well; the largest integer keeps the order of the checks.
  return scaled > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(scaled);
}

function tagOf(params: Params, type: string, timeInForce: string, rules: VenuetwoRules): OrderTag {
  const workingType = params.text("workingType") ?? "CONTRACT_PRICE";
  if (workingType !== "CONTRACT_PRICE" && workingType !== "MARK_PRICE") throw refuse("workingType");
  const trailing = type === "TRAILING_STOP_MARKET";
  const conditional = type !== "LIMIT" && type !== "MARKET";
  const rate = trailing ? params.required("callbackRate") : null;
  const ratePpm = rate === null ? 10_000 : Number(parseScaled(rate, 4) ?? 0n);
  if (rate !== null && (ratePpm < 1000 || ratePpm > 50_000)) throw refuseIllegal("callbackRate", "0.1 - 5");
  return {
    origType: type,
    timeInForce,
    stopTicks: conditional && !trailing ? priceOf(params, "stopPrice", rules) : 0,
    workingType,
    priceProtect: params.boolean("priceProtect") ?? false,
    activateTicks: trailing && params.has("activationPrice") ? priceOf(params, "activationPrice", rules) : null,
    priceRate: rate === null ? null : trimZeros(rate),
  };
}

function triggerOf(type: string, tag: OrderTag): SimTrigger {
  const kind = type === "TRAILING_STOP_MARKET" ? "TRAILING" : type.startsWith("STOP") ? "STOP" : "TAKE_PROFIT";
  // callbackRate counts percent: 1 = 1 % = 10 000 ppm.
  const callbackPpm = tag.priceRate === null ? 0 : Number(parseScaled(tag.priceRate, 4) ?? 0n);
  const source = tag.workingType === "MARK_PRICE" ? "MARK" : "LAST";
  return { kind, triggerTicks: tag.stopTicks, source, activationTicks: tag.activateTicks, callbackPpm };
}

/* ------------------------------------------------------------------ filters against the market */

function checkBand(exchange: SimExchange, rules: VenuetwoRules, side: SimSide, priceTicks: number): void {
  const price = BigInt(priceTicks) * 10n ** BigInt(8 - rules.instrument.priceDecimals) * PPM;
  const mark = BigInt(exchange.market.mark(rules.symbol).markE8);
  if (side === "BUY" && rules.bandUpPpm > 0 && price > mark * BigInt(rules.bandUpPpm)) throw refuse("priceAboveCap");
  if (side === "SELL" && rules.bandDownPpm > 0 && price < mark * BigInt(rules.bandDownPpm))
    throw refuse("priceBelowFloor");
}

/** The limit of a conditional order must lie around its own stop price; the mark does not matter. */
function checkStopBand(rules: VenuetwoRules, side: SimSide, priceTicks: number, stopTicks: number): void {
  const price = BigInt(priceTicks) * PPM;
  const stop = BigInt(stopTicks);
  if (side === "BUY" && rules.bandUpPpm > 0 && price > stop * BigInt(rules.bandUpPpm)) throw refuse("stopAboveBand");
  if (side === "SELL" && rules.bandDownPpm > 0 && price < stop * BigInt(rules.bandDownPpm))
    throw refuse("stopBelowBand");
}

/** Worst price of a MARKET order; refused at once when even the best counter price lies beyond it. */
function marketBound(exchange: SimExchange, rules: VenuetwoRules, side: SimSide): number {
  const { instrument } = rules;
  const markTicks = exchange.market.mark(rules.symbol).markE8 / 10 ** (8 - instrument.priceDecimals);
  const bound = (markTicks * (1_000_000 + (side === "BUY" ? 1 : -1) * rules.marketTakePpm)) / 1_000_000;
  const worst = side === "BUY" ? Math.floor(bound) : Math.ceil(bound);
  const best = side === "BUY" ? exchange.market.bestAsk(rules.symbol) : exchange.market.bestBid(rules.symbol);
  if (best !== null && (side === "BUY" ? best.priceTicks > worst : best.priceTicks < worst))
    throw refuse("marketRejected");
  return worst;
}

function checkNotional(exchange: SimExchange, rules: VenuetwoRules, priceTicks: number | null, qtyLots: number): void {
  const { instrument } = rules;
  const value =
    priceTicks === null
      ? valueAtE8(instrument, exchange.market.mark(rules.symbol).markE8, qtyLots)
      : notionalE12(instrument, priceTicks, qtyLots);
  if (value < rules.minNotionalE12) throw refuseNotional(moneyText(rules.minNotionalE12, 1));
}

function checkOpenCounts(exchange: SimExchange, rules: VenuetwoRules, accountId: string, conditional: boolean): void {
  const open = exchange.orders.open(accountId, rules.symbol);
  if (open.length >= rules.maxOrders) throw refuse("maxOpenOrders");
  if (!conditional) return;
  const waiting = open.filter((order) => order.trigger !== null && !order.triggered).length;
  if (waiting >= rules.maxConditionalOrders) throw refuse("maxStopOrders");
}

/** The position and its orders must stay inside the largest bracket that allows the present leverage. */
function checkBracket(
  exchange: SimExchange,
  rules: VenuetwoRules,
  accountId: string,
  priceTicks: number | null,
  qtyLots: number,
): void {
  const { instrument } = rules;
  const mark = exchange.market.mark(rules.symbol).markE8;
  let total = priceTicks === null ? valueAtE8(instrument, mark, qtyLots) : notionalE12(instrument, priceTicks, qtyLots);
  for (const position of exchange.accounts.find(accountId)?.positions.values() ?? []) {
    if (position.symbol === rules.symbol) total += absBig(valueAtE8(instrument, mark, position.qtyLots));
  }
  if (total > BigInt(maxNotional(rules, exchange.accounts.leverage(accountId, rules.symbol))) * 10n ** 12n)
    throw refuse("maxLeverageRatio");
}

export function maxNotional(rules: VenuetwoRules, leverage: number): number {
  let cap = 0;
  for (const bracket of rules.instrument.brackets)
    if (bracket.maxLeverage >= leverage) cap = Math.max(cap, bracket.notionalCap);
  return cap;
}
