/**
 * What a caller asks for, brought onto the venue's grid: exact integers, or a refusal that names what is wrong. Pure.
 *
 * Invariant: a quantity or a limit price that the caller gave is sent as given or not at all; only bounds are rounded,
 * and toward the caller's protection. Nothing that comes out of here is zero, negative or unsafe.
 */
import {
  decimalPlaces,
  formatScaled,
  isPlainDecimal,
  multiplyDivide,
  parseScaledBig,
  parseScaledRounded,
  parseScaledStrict,
} from "../../domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { Direction, OrderTrigger, PositionSide, Side, TimeInForce } from "../../domain/order.js";
import { priceStepAt, protectPrice, tighterPrice } from "../../domain/price-grid.js";
import { stopBandProblem } from "../decide/stop-limit.js";
import type { OrderAdjustment, OrderRefusal, PlaceRequest, SingleOrderType } from "./order-desk.js";

const MIN_SLIPPAGE_BPS = 1;
const MAX_SLIPPAGE_BPS = 1_000;
const MAX_CLIENT_ORDER_ID_CHARS = 64;
const PRINTABLE = /^[\x21-\x7e]+$/;
/** Slippage in thousandths of a basis point, and the whole in them. */
const MILLI = 1_000;
const WHOLE_MILLI_BPS = 10_000 * MILLI;

export interface CheckedOrder {
  readonly type: SingleOrderType;
  readonly side: Side;
  readonly direction: Direction;
  readonly positionSide: PositionSide;
  /** Also of an order on the closing side of a hedge, whatever was asked. */
  readonly reduceOnly: boolean;
  readonly timeInForce: TimeInForce;
  readonly qtyLots: number;
  readonly trigger: OrderTrigger | null;
  /** The price that is sent; null: MARKET, priced from the live book. */
  readonly priceTicks: number | null;
  /** The caller's own worst price of a MARKET, on the grid; null: none. */
  readonly worstTicks: number | null;
  readonly maxSlippageBps: number;
  readonly adjustments: readonly OrderAdjustment[];
}

export type Checked = { readonly ok: true; readonly order: CheckedOrder } | OrderRefusal;

export function refusal(code: OrderRefusal["code"], details: OrderRefusal["details"] = {}): OrderRefusal {
  return { ok: false, code, details, replayed: false };
}

export function invalid(path: string, problem: string): OrderRefusal {
  return refusal("INVALID_PARAMETERS", { fields: [{ path, problem }] });
}

export function checkOrder(instrument: Instrument, request: PlaceRequest): Checked {
  const problem = checkFlags(request);
  if (problem !== null) return problem;
  const qty = checkQuantity(instrument, "quantity", request.quantity);
  if (!qty.ok) return qty;
  const { side, type, positionSide } = request;
  const closesHedge = positionSide !== "BOTH" && side === (positionSide === "LONG" ? "SELL" : "BUY");
  if (request.reduceOnly && positionSide !== "BOTH" && !closesHedge) {
    return invalid("reduceOnly", `${side} ${positionSide} can only open`);
  }
  const reduceOnly = request.reduceOnly || closesHedge;
  const priced = checkPrices(instrument, request);
  if (!priced.ok) return priced;
  const order: CheckedOrder = {
    type,
    side,
    direction: (side === "BUY") === reduceOnly ? "SHORT" : "LONG",
    positionSide,
    reduceOnly,
    timeInForce: isMarket(type) ? "IOC" : (request.timeInForce ?? "GTC"),
    qtyLots: qty.lots,
    maxSlippageBps: request.maxSlippageBps,
    ...priced.prices,
  };
  return checkResting(instrument, order) ?? checkNotional(instrument, order) ?? { ok: true, order };
}

/** A size in base units on the venue's grid. */
export function checkQuantity(
  instrument: Instrument,
  path: string,
  text: string,
): { readonly ok: true; readonly lots: number } | OrderRefusal {
  const qtyDecimals = canonicalQtyDecimals(instrument);
  const sizeText = (lots: number): string => formatScaled(lots, qtyDecimals);
  const parsed = parseScaledStrict(text, qtyDecimals);
  if (!parsed.ok) {
    if (parsed.problem === "malformed") return invalid(path, "must be a decimal number");
    if (text.startsWith("-")) return invalid(path, "must be above zero");
    if (parsed.problem === "tooFine") return offGrid(path, sizeText(instrument.qtyStepLots));
    return aboveMaximum(instrument, sizeText);
  }
  const lots = parsed.value;
  if (lots <= 0) return invalid(path, "must be above zero");
  if (lots % instrument.qtyStepLots !== 0) return offGrid(path, sizeText(instrument.qtyStepLots));
  if (lots < instrument.minQtyLots) {
    return refusal("BELOW_MIN_SIZE", { exchange: instrument.venue, minimum: sizeText(instrument.minQtyLots) });
  }
  return lots > instrument.maxQtyLots ? aboveMaximum(instrument, sizeText) : { ok: true, lots };
}

interface CheckedPrice {
  readonly ok: true;
  readonly ticks: number;
  /** What rounding changed; nothing of an exact price. */
  readonly adjustments: readonly OrderAdjustment[];
}

/** A price exactly on the venue's grid. */
export function checkPrice(instrument: Instrument, path: string, text: string): CheckedPrice | OrderRefusal {
  const priceDecimals = canonicalPriceDecimals(instrument);
  if (!isPlainDecimal(text)) return invalid(path, "must be a decimal number");
  const floor = parseScaledRounded(text, priceDecimals, "floor");
  if (Number.isNaN(floor)) return invalid(path, "is out of range");
  if (text.startsWith("-") || (floor <= 0 && parseScaledBig(text, decimalPlaces(text)) === 0n)) {
    return invalid(path, "must be above zero");
  }
  const step = priceStepAt(instrument, Math.max(1, floor));
  const exact = parseScaledStrict(text, priceDecimals);
  if (!exact.ok || exact.value % step !== 0) return offGrid(path, formatScaled(step, priceDecimals));
  return { ok: true, ticks: exact.value, adjustments: [] };
}

/** A worst acceptable price: rounded onto the grid toward the caller's protection. */
export function checkBound(instrument: Instrument, side: Side, text: string): CheckedPrice | OrderRefusal {
  const priceDecimals = canonicalPriceDecimals(instrument);
  if (!isPlainDecimal(text)) return invalid("price", "must be a decimal number");
  const rounded = parseScaledRounded(text, priceDecimals, side === "SELL" ? "ceil" : "floor");
  if (Number.isNaN(rounded)) return invalid("price", "is out of range");
  const ticks = rounded > 0 ? protectPrice(instrument, side, rounded) : 0;
  if (!(ticks > 0)) return invalid("price", "must be above zero");
  if (parseScaledBig(text, priceDecimals) === BigInt(ticks)) return { ok: true, ticks, adjustments: [] };
  const to = formatScaled(ticks, priceDecimals);
  return { ok: true, ticks, adjustments: [{ field: "price", from: text, to, rule: "TICK_SIZE" }] };
}

/** `price` × (1 ∓ slippage), rounded and put on the grid toward the caller's protection; 0: no such price. */
export function slippedTicks(instrument: Instrument, side: Side, priceTicks: number, maxSlippageBps: number): number {
  const slippage = Math.round(maxSlippageBps * MILLI);
  const share = side === "SELL" ? WHOLE_MILLI_BPS - slippage : WHOLE_MILLI_BPS + slippage;
  const bound = multiplyDivide(priceTicks, share, WHOLE_MILLI_BPS, side === "SELL" ? "ceil" : "floor");
  const onGrid = protectPrice(instrument, side, bound);
  return onGrid > 0 ? onGrid : 0;
}

/** What the venue asks only of orders that rest. One that reduces may close a position smaller than that. */
function checkResting(instrument: Instrument, order: CheckedOrder): OrderRefusal | null {
  const { restingMinimum } = instrument;
  if (restingMinimum === undefined || order.type !== "LIMIT" || order.reduceOnly) return null;
  if (order.timeInForce === "IOC" || order.timeInForce === "FOK") return null;
  if (order.qtyLots < restingMinimum.qtyLots) {
    const minimum = formatScaled(restingMinimum.qtyLots, canonicalQtyDecimals(instrument));
    return refusal("BELOW_MIN_SIZE", { exchange: instrument.venue, minimum });
  }
  if (order.priceTicks === null) return null;
  return checkMinNotional({ ...instrument, minNotional: restingMinimum.notional }, order, order.priceTicks);
}

/** Value at `priceTicks` against the venue's minimum; null: enough, or not asked of this order. */
export function checkMinNotional(
  instrument: Instrument,
  order: Pick<CheckedOrder, "reduceOnly" | "qtyLots">,
  priceTicks: number,
): OrderRefusal | null {
  // A reduce-only order may close the whole position, which every venue takes; the venue knows.
  if (order.reduceOnly) return null;
  const places = canonicalQtyDecimals(instrument) + canonicalPriceDecimals(instrument);
  const minimum = parseScaledBig(instrument.minNotional, Math.max(places, decimalPlaces(instrument.minNotional)));
  if (minimum === null || minimum === 0n) return null;
  const finer = Math.max(0, decimalPlaces(instrument.minNotional) - places);
  const notional = BigInt(order.qtyLots) * BigInt(priceTicks) * 10n ** BigInt(finer);
  if (notional >= minimum) return null;
  return refusal("BELOW_MIN_SIZE", { exchange: instrument.venue, minimumNotional: instrument.minNotional });
}

function checkFlags(request: PlaceRequest): OrderRefusal | null {
  const { type, timeInForce, clientOrderId, maxSlippageBps, deadlineMs } = request;
  if (isMarket(type) && timeInForce !== null && timeInForce !== "IOC") {
    return invalid("timeInForce", `must be IOC on a ${type} order`);
  }
  if (!isTriggered(type) && request.stopPrice !== null)
    return invalid("stopPrice", `does not belong to a ${type} order`);
  if (isTriggered(type) && timeInForce === "POST_ONLY") return invalid("timeInForce", `cannot be POST_ONLY on ${type}`);
  if (clientOrderId !== null && (clientOrderId.length > MAX_CLIENT_ORDER_ID_CHARS || !PRINTABLE.test(clientOrderId))) {
    return invalid("clientOrderId", `must be 1 to ${MAX_CLIENT_ORDER_ID_CHARS} printable characters`);
  }
  if (!(deadlineMs > 0)) return invalid("deadlineMs", "must be above zero");
  return checkSlippage(maxSlippageBps);
}

export function checkSlippage(maxSlippageBps: number): OrderRefusal | null {
  const inRange = maxSlippageBps >= MIN_SLIPPAGE_BPS && maxSlippageBps <= MAX_SLIPPAGE_BPS;
  if (inRange) return null;
  return invalid("maxSlippageBps", `must be from ${MIN_SLIPPAGE_BPS} to ${MAX_SLIPPAGE_BPS}`);
}

type Prices = Pick<CheckedOrder, "trigger" | "priceTicks" | "worstTicks" | "adjustments">;

function checkPrices(
  instrument: Instrument,
  request: PlaceRequest,
): { readonly ok: true; readonly prices: Prices } | OrderRefusal {
  const { type, price } = request;
  if (type === "MARKET") return checkWorstPrice(instrument, request, null);
  if (type === "LIMIT") {
    if (price === null) return missing("price");
    const limit = checkPrice(instrument, "price", price);
    if (!limit.ok) return limit;
    return { ok: true, prices: { trigger: null, priceTicks: limit.ticks, worstTicks: null, adjustments: [] } };
  }
  const isLimit = type === "STOP_LIMIT" || type === "TAKE_PROFIT_LIMIT";
  const triggerText = request.stopPrice ?? (isLimit ? null : price);
  if (triggerText === null) return missing("stopPrice");
  const fired = checkPrice(instrument, request.stopPrice === null ? "price" : "stopPrice", triggerText);
  if (!fired.ok) return fired;
  const kind = type === "STOP_MARKET" || type === "STOP_LIMIT" ? "STOP" : "TAKE_PROFIT";
  const trigger: OrderTrigger = { kind, priceTicks: fired.ticks, source: request.triggerSource ?? "MARK" };
  if (isLimit) {
    if (price === null) return missing("price");
    const limit = checkPrice(instrument, "price", price);
    if (!limit.ok) return limit;
    const problem = stopBandProblem(instrument, request.side, trigger.priceTicks, limit.ticks);
    if (problem !== null) return invalid("price", problem);
    return { ok: true, prices: { trigger, priceTicks: limit.ticks, worstTicks: null, adjustments: [] } };
  }
  return checkWorstPrice(instrument, request, trigger);
}

/** The bounds of an order that takes what the market gives. One that waits is bounded from its trigger, now. */
function checkWorstPrice(
  instrument: Instrument,
  request: PlaceRequest,
  trigger: OrderTrigger | null,
): { readonly ok: true; readonly prices: Prices } | OrderRefusal {
  const { side } = request;
  const adjustments: OrderAdjustment[] = [];
  const isBound = request.price !== null && (trigger === null || request.stopPrice !== null);
  let worstTicks: number | null = null;
  if (isBound && request.price !== null) {
    const bound = checkBound(instrument, side, request.price);
    if (!bound.ok) return bound;
    worstTicks = bound.ticks;
    adjustments.push(...bound.adjustments);
  }
  if (trigger === null) return { ok: true, prices: { trigger, priceTicks: null, worstTicks, adjustments } };
  const slipped = slippedTicks(instrument, side, trigger.priceTicks, request.maxSlippageBps);
  const priceTicks = worstTicks === null ? slipped : tighterPrice(side, slipped, worstTicks);
  if (priceTicks === 0) return invalid("stopPrice", "leaves no price within maxSlippageBps");
  return { ok: true, prices: { trigger, priceTicks, worstTicks: null, adjustments } };
}

function checkNotional(instrument: Instrument, order: CheckedOrder): OrderRefusal | null {
  return order.priceTicks === null ? null : checkMinNotional(instrument, order, order.priceTicks);
}

export function isMarket(type: SingleOrderType): boolean {
  return type === "MARKET" || type === "STOP_MARKET" || type === "TAKE_PROFIT_MARKET";
}

function isTriggered(type: SingleOrderType): boolean {
  return type !== "MARKET" && type !== "LIMIT";
}

function missing(path: string): OrderRefusal {
  return refusal("MISSING_PARAMETERS", { fields: [{ path, problem: "is required" }] });
}

function offGrid(field: string, step: string): OrderRefusal {
  return refusal("OFF_GRID", { field, step, fields: [{ path: field, problem: `must be a multiple of ${step}` }] });
}

function aboveMaximum(instrument: Instrument, sizeText: (lots: number) => string): OrderRefusal {
  return refusal("ABOVE_MAX_SIZE", { exchange: instrument.venue, maximum: sizeText(instrument.maxQtyLots) });
}
