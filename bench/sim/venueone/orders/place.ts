/**
 * Placing orders: whole-batch pre-validation, then one order after the other. Invariant: a batch that
 * fails pre-validation executes nothing; a later failure never undoes an earlier fill.
 */
import type { SimInstrument, SimOrder, SimOrderRequest, SimRefusal } from "../../core/model/types.js";
import type { L1Action } from "../wire/actions.js";
import { isPriceAligned, isSizeAligned, replyTextScaled, wireText } from "../wire/decimals.js";
import type { OrderRequest } from "../wire/order-request.js";
import { instrumentOf, plainPx, szText } from "../records/rows.js";
import { BARE, ITEM, perItem } from "../wire/texts.js";
import type { Tpsl } from "./tpsl.js";
import { fillNotionalE12, type OrderTag, type Venue, type VenueAccount } from "../records/venue.js";
import { E12_PER_USD } from "../records/venue.js";

const SPOT_ASSET_BASE = 10_000;
/** The documented ceilings of a builder's fee, tenths of a basis point. */
const BUILDER_FEE_MAX = 100;
const MINIMUM_VALUE_E12 = 10n * E12_PER_USD;

export type OrderStatusItem =
  | { readonly resting: { readonly oid: number; readonly cloid?: string } }
  | {
      readonly filled: {
        readonly totalSz: string;
        readonly avgPx: string;
        readonly oid: number;
        readonly cloid?: string;
      };
    }
  | { readonly error: string }
  | "waitingForFill"
  | "waitingForTrigger";

export interface OrderContext {
  readonly venue: Venue;
  readonly tpsl: Tpsl;
  readonly account: VenueAccount;
  readonly signer: string;
  readonly nonce: number;
}

type OrderAction = Extract<L1Action, { type: "order" }>;
type Grouping = OrderAction["grouping"];
type Builder = OrderAction["builder"];

/* ------------------------------------------------------------------ pre-validation */

/** The one error that refuses a whole batch, or null. */
export function findBatchError(
  venue: Venue,
  orders: readonly OrderRequest[],
  grouping: Grouping,
  builder: Builder,
): string | null {
  if (orders.length === 0) return BARE.ordersEmpty;
  if (builder !== null && builder.feeTenthsBps > BUILDER_FEE_MAX) return ITEM.builderUnapproved;
  for (const [index, order] of orders.entries()) {
    const isChild = grouping === "positionTpsl" || (grouping === "normalTpsl" && index > 0);
    const error = findStaticError(venue, order, isChild, grouping);
    if (error !== null) return error;
  }
  return null;
}

function findStaticError(venue: Venue, order: OrderRequest, isChild: boolean, grouping: Grouping): string | null {
  const { asset } = order;
  const perp = venue.universe.perps[asset];
  if (perp === undefined) return asset >= SPOT_ASSET_BASE ? BARE.spotBalance(asset) : perItem(ITEM.unknownAsset, asset);
  if (perp.isDelisted) return perItem(ITEM.delisted, asset);
  if (order.szE8 === 0n && !(grouping === "positionTpsl" && order.trigger !== null))
    return perItem(ITEM.zeroSize, asset);
  if (!isSizeAligned(order.szE8, perp.szDecimals)) return BARE.invalidSize;
  if (order.limitPxE8 === 0n) return perItem(ITEM.invalidPrice, asset);
  if (!isPriceAligned(order.limitPxE8, perp.szDecimals)) return perItem(ITEM.tick, asset);
  if (isChild && (order.trigger === null || !order.reduceOnly)) return perItem(ITEM.tpslReduceOnly, asset);
  if (order.trigger !== null) {
    if (order.trigger.triggerPxE8 === 0n) return perItem(ITEM.triggerPrice, asset);
    if (!isPriceAligned(order.trigger.triggerPxE8, perp.szDecimals)) return perItem(ITEM.tick, asset);
  }
  // 0.2 × reference < limit ≤ 5 × reference, as measured.
  const referenceE8 = BigInt(venue.exchange.market.mark(perp.name).markE8);
  if (order.limitPxE8 * 5n <= referenceE8 || order.limitPxE8 > referenceE8 * 5n) return perItem(ITEM.band, asset);
  return null;
}

/* ------------------------------------------------------------------ order */

/** Executes a validated batch; one status per order, in request order. */
export function executeOrders(context: OrderContext, action: OrderAction): OrderStatusItem[] {
  const [first, ...rest] = action.orders;
  if (action.grouping === "normalTpsl" && first !== undefined)
    return executeWithChildren(context, first, rest, action.builder);
  if (action.grouping === "positionTpsl") return executePositionTpsl(context, action.orders, action.builder);
  return action.orders.map((order) => statusOf(context, order, placeOne(context, order, "na", action.builder)));
}

function executeWithChildren(
  context: OrderContext,
  parent: OrderRequest,
  children: readonly OrderRequest[],
  builder: Builder,
): OrderStatusItem[] {
  const placed = placeOne(context, parent, "normalTpsl", builder);
  const status = statusOf(context, parent, placed);
  if (!placed.ok) return [status, ...children.map(() => status)];
  const requests = children.map((child) => coreRequest(context, child, "normalTpsl", builder));
  for (const child of children) logged(context, child).accepted(null);
  const filled = placed.value.status === "FILLED";
  // Children of a parent that filled at once are placed by the same commit.
  if (children.length > 0) context.tpsl.waitFor(placed.value, requests);
  return [status, ...children.map(() => (filled ? ("waitingForTrigger" as const) : ("waitingForFill" as const)))];
}

function executePositionTpsl(
  context: OrderContext,
  orders: readonly OrderRequest[],
  builder: Builder,
): OrderStatusItem[] {
  const results = orders.map((order) => placeOne(context, order, "positionTpsl", builder));
  context.tpsl.link(results.flatMap((result) => (result.ok ? [result.value] : [])));
  return orders.map((order, index) => {
    const result = results[index];
    if (result === undefined || result.ok) return "waitingForTrigger";
    return statusOf(context, order, result);
  });
}

type Placed = { readonly ok: true; readonly value: SimOrder } | { readonly ok: false; readonly text: string };

export function placeOne(context: OrderContext, order: OrderRequest, grouping: Grouping, builder: Builder): Placed {
  const { venue, account } = context;
  const entry = logged(context, order);
  const refuse = (code: string, text: string): Placed => {
    entry.refused(code, text);
    return { ok: false, text };
  };
  const text = findItemError(context, order, builder);
  if (text !== null) return refuse("ITEM", perItem(text, order.asset));
  const request = coreRequest(context, order, grouping, builder);
  if (request.reduceOnly && request.trigger === null && request.timeInForce !== "IOC")
    makeRoom(venue, account, request);
  const result = venue.exchange.orders.place(account.address, request);
  if (!result.ok) return refuse(result.reason, refusalText(venue, order, request, result.reason));
  const placed = result.value;
  entry.accepted(placed.orderId);
  // An IOC whose only counterparties were own orders ends without a fill.
  if (
    placed.status !== "FILLED" &&
    request.timeInForce === "IOC" &&
    request.trigger === null &&
    placed.filledLots === 0
  ) {
    return { ok: false, text: perItem(ITEM.noMatch, order.asset) };
  }
  return { ok: true, value: placed };
}

/** Refusals that the engine does not know: match before minimum, minimum before margin, as the venue orders them. */
export function findItemError(context: OrderContext, order: OrderRequest, builder: Builder): string | null {
  const { venue, account } = context;
  const { exchange } = venue;
  const symbol = symbolOf(venue, order.asset);
  const instrument = instrumentOf(exchange, symbol);
  const approved = builder === null ? 0 : (account.builderFees.get(builder.address) ?? 0);
  if (builder !== null && builder.feeTenthsBps > approved) return ITEM.builderUnapproved;
  const openCount = exchange.orders.open(account.address).length;
  if (openCount >= venue.limits.openOrders && (order.reduceOnly || order.trigger !== null)) return ITEM.tooManyOrders;
  if (order.szE8 === 0n) return null;
  const heldLots = exchange.accounts.position(account.address, symbol, "BOTH")?.qtyLots ?? 0;
  const reducibleLots = Math.max(0, order.isBuy ? -heldLots : heldLots);
  if (order.reduceOnly && order.trigger === null && reducibleLots === 0) return ITEM.reduceOnly;
  const lots = Number(order.szE8 / 10n ** BigInt(8 - instrument.qtyDecimals));
  const limitTicks = Number(order.limitPxE8 / 10n ** BigInt(8 - instrument.priceDecimals));
  let priceTicks = limitTicks;
  if (order.tif === "Ioc" || order.tif === "FrontendMarket") {
    const touch = order.isBuy ? exchange.market.bestAsk(symbol) : exchange.market.bestBid(symbol);
    if (touch === null || (order.isBuy ? touch.priceTicks > limitTicks : touch.priceTicks < limitTicks))
      return ITEM.noMatch;
    priceTicks = touch.priceTicks;
  }
  const closesAll = reducibleLots > 0 && (lots === reducibleLots || (order.reduceOnly && lots > reducibleLots));
  const isSmall = fillNotionalE12(exchange, symbol, priceTicks, lots) < MINIMUM_VALUE_E12;
  return isSmall && !closesAll ? ITEM.minimumValue : null;
}

/** Resting reduce-only orders may not add up to more than the position: the older ones shrink or end. */
function makeRoom(venue: Venue, account: VenueAccount, request: SimOrderRequest): void {
  const { exchange } = venue;
  const heldLots = Math.abs(exchange.accounts.position(account.address, request.symbol, "BOTH")?.qtyLots ?? 0);
  const older = exchange.orders
    .open(account.address, request.symbol)
    .filter((order) => order.reduceOnly && order.trigger === null && order.side === request.side);
  let sumLots = older.reduce(
    (sum, order) => sum + order.qtyLots - order.filledLots,
    Math.min(request.qtyLots, heldLots),
  );
  for (const order of older) {
    if (sumLots <= heldLots) return;
    sumLots -= order.qtyLots - order.filledLots;
    exchange.orders.cancel(account.address, order.orderId, "REDUCE_ONLY");
  }
}

export function coreRequest(
  { venue }: OrderContext,
  order: OrderRequest,
  grouping: Grouping,
  builder: Builder,
): SimOrderRequest {
  const symbol = symbolOf(venue, order.asset);
  const instrument = instrumentOf(venue.exchange, symbol);
  const ticks = (priceE8: bigint): number => Number(priceE8 / 10n ** BigInt(8 - instrument.priceDecimals));
  const { trigger, tif } = order;
  const [minLagMs, maxLagMs] = venue.cadences.indexLagMs;
  const tag: OrderTag = {
    tif: tif ?? (trigger?.isMarket === true ? null : "Gtc"),
    isTriggerMarket: trigger?.isMarket ?? false,
    tpsl: trigger?.tpsl ?? null,
    grouping,
    builder,
    askedLots: Number(order.szE8 / 10n ** BigInt(8 - instrument.qtyDecimals)),
    indexedMs: venue.exchange.nowMs() + Math.round(minLagMs + venue.random.next() * (maxLagMs - minLagMs)),
  };
  return {
    symbol,
    side: order.isBuy ? "BUY" : "SELL",
    type: "LIMIT",
    timeInForce: timeInForceOf(order),
    priceTicks: ticks(order.limitPxE8),
    qtyLots: Number(order.szE8 / 10n ** BigInt(8 - instrument.qtyDecimals)),
    reduceOnly: order.reduceOnly,
    positionSide: "BOTH",
    clientId: order.cloid,
    trigger:
      trigger === null
        ? null
        : {
            kind: trigger.tpsl === "sl" ? "STOP" : "TAKE_PROFIT",
            triggerTicks: ticks(trigger.triggerPxE8),
            source: "MARK",
            activationTicks: null,
            callbackPpm: 0,
          },
    closePosition: order.szE8 === 0n,
    tag,
  };
}

function timeInForceOf(order: OrderRequest): SimOrderRequest["timeInForce"] {
  if (order.trigger !== null) return order.trigger.isMarket ? "IOC" : "GTC";
  if (order.tif === "Alo") return "POST_ONLY";
  return order.tif === "Gtc" ? "GTC" : "IOC";
}

export function refusalText(venue: Venue, order: OrderRequest, request: SimOrderRequest, reason: SimRefusal): string {
  const { asset } = order;
  switch (reason) {
    case "BAD_PRICE":
      return perItem(ITEM.tick, asset);
    case "BAD_QTY":
      return BARE.invalidSize;
    case "REDUCE_ONLY":
      return perItem(ITEM.reduceOnly, asset);
    case "POST_ONLY": {
      const instrument = instrumentOf(venue.exchange, request.symbol);
      const text = (ticks: number | undefined): string => (ticks === undefined ? "0" : plainPx(instrument, ticks));
      const bid = text(venue.exchange.market.bestBid(request.symbol)?.priceTicks);
      const ask = text(venue.exchange.market.bestAsk(request.symbol)?.priceTicks);
      return perItem(ITEM.postOnly(bid, ask), asset);
    }
    case "NO_LIQUIDITY":
    case "FOK":
      return perItem(ITEM.noMatch, asset);
    case "WOULD_TRIGGER":
      return perItem(ITEM.triggerPrice, asset);
    case "DUPLICATE_CLIENT_ID":
      return perItem(ITEM.duplicateCloid, asset);
    case "TOO_MANY_ORDERS":
      return perItem(ITEM.tooManyOrders, asset);
    case "HALTED":
      return perItem(ITEM.delisted, asset);
    default:
      return perItem(ITEM.margin, asset);
  }
}

export function statusOf({ venue }: OrderContext, order: OrderRequest, placed: Placed): OrderStatusItem {
  if (!placed.ok) return { error: placed.text };
  const { value } = placed;
  const instrument = instrumentOf(venue.exchange, value.symbol);
  const cloid = order.cloid === null ? {} : { cloid: order.cloid };
  const isOpen = value.status === "NEW" || value.status === "PARTIALLY_FILLED";
  if (isOpen || value.filledLots === 0) return { resting: { oid: value.orderId, ...cloid } };
  return {
    filled: {
      totalSz: szText(instrument, value.filledLots),
      avgPx: averageText(instrument, value),
      oid: value.orderId,
      ...cloid,
    },
  };
}

/** Weighted by size and truncated at the coin's price decimals. */
function averageText(instrument: SimInstrument, order: SimOrder): string {
  const perLotE12 = order.filledNotionalE12 / BigInt(order.filledLots);
  const scale = 12 - instrument.qtyDecimals - instrument.priceDecimals;
  return replyTextScaled(perLotE12 / 10n ** BigInt(scale), instrument.priceDecimals);
}

/* ------------------------------------------------------------------ log */

interface LogEntry {
  accepted(orderId: number | null): void;
  refused(code: string, text: string): void;
}

/** Records the instruction as received. */
export function logged(context: OrderContext, order: OrderRequest): LogEntry {
  const { log, universe } = context.venue;
  const index = log.received({
    action: "place",
    signer: context.signer,
    accountId: context.account.address,
    symbol: universe.perps[order.asset]?.name ?? null,
    clientId: order.cloid,
    side: order.isBuy ? "BUY" : "SELL",
    type: order.trigger === null ? "limit" : `trigger:${order.trigger.tpsl}`,
    timeInForce: order.tif,
    reduceOnly: order.reduceOnly,
    positionSide: "BOTH",
    price: wireText(order.limitPxE8),
    qty: wireText(order.szE8),
    nonce: String(context.nonce),
  });
  return {
    accepted: (orderId) => log.executed(index, orderId),
    refused: (code, text) => log.refused(index, code, text),
  };
}

function symbolOf(venue: Venue, asset: number): string {
  const perp = venue.universe.perps[asset];
  if (perp === undefined) throw new RangeError(`asset ${asset} passed pre-validation`);
  return perp.name;
}
