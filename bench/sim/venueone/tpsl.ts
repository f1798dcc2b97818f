/**
 * Take-profit and stop-loss orders as groups: children wait for their parent to fill whole, one filled sibling cancels
 * the other, and orders that may only reduce shrink and end with the position. Driven by the journal.
 */
import type { SimOrder, SimOrderRequest } from "../core/types.js";
import type { Commit } from "./journal.js";
import { instrumentOf, pxText, szText } from "./rows.js";
import type { Venue } from "./venue.js";

/** Parents with waiting children, per venue; overflow forgets the oldest parent's children. */
const PARENTS_MAX = 10_000;
/** Waiting children are shown under numbers of their own until they are placed. */
const WAITING_OID_FIRST = 5_000_000_000_000_000;

export interface Tpsl {
  /** Children of an unfilled parent. */
  waitFor(parent: SimOrder, children: readonly SimOrderRequest[]): void;
  /** Makes placed orders cancel one another once one fills. */
  link(orders: readonly SimOrder[]): void;
  /** Rows of the children that still wait for this order. */
  childRows(parentOid: number): readonly unknown[];
  follow(changes: Commit): void;
}

interface WaitingChild {
  readonly oid: number;
  readonly request: SimOrderRequest;
}

export function createTpsl(venue: Venue): Tpsl {
  const { exchange } = venue;
  const waiting = new Map<number, { readonly parent: SimOrder; readonly children: readonly WaitingChild[] }>();
  const siblings = new Map<number, readonly SimOrder[]>();
  let nextOid = WAITING_OID_FIRST;

  function link(orders: readonly SimOrder[]): void {
    for (const order of orders) siblings.set(order.orderId, orders);
  }

  function settleParent(parent: SimOrder, children: readonly WaitingChild[]): void {
    const filledThenCutForMargin = parent.endReason === "MARGIN" && parent.filledLots > 0;
    waiting.delete(parent.orderId);
    if (parent.status !== "FILLED" && !filledThenCutForMargin) return;
    const placed = children.flatMap(({ request }) => {
      const result = exchange.place(parent.accountId, request);
      return result.ok ? [result.value] : [];
    });
    link(placed);
  }

  function settleSibling(order: SimOrder): void {
    const group = siblings.get(order.orderId);
    if (group === undefined) return;
    siblings.delete(order.orderId);
    if (order.status !== "FILLED") return;
    for (const other of group) {
      if (other !== order) exchange.cancel(other.accountId, other.orderId, "SIBLING");
    }
  }

  /** Ends waiting trigger orders whose position is gone or turned, and shrinks resting ones larger than it. */
  function sweep(accountId: string, symbol: string): void {
    const heldLots = exchange.position(accountId, symbol, "BOTH")?.qtyLots ?? 0;
    for (const order of exchange.openOrders(accountId, symbol)) {
      if (!order.reduceOnly && !order.closePosition) continue;
      const reducibleLots = order.side === "SELL" ? Math.max(0, heldLots) : Math.max(0, -heldLots);
      if (!order.triggered) {
        if (reducibleLots === 0) exchange.cancel(accountId, order.orderId, "REDUCE_ONLY");
      } else if (order.priceTicks !== null && reducibleLots > 0 && order.qtyLots - order.filledLots > reducibleLots) {
        exchange.amend(accountId, order.orderId, order.filledLots + reducibleLots, order.priceTicks);
      }
    }
  }

  return {
    waitFor(parent, children) {
      waiting.set(parent.orderId, { parent, children: children.map((request) => ({ oid: nextOid++, request })) });
      const oldest = waiting.size > PARENTS_MAX ? waiting.keys().next().value : undefined;
      if (oldest !== undefined) waiting.delete(oldest);
    },
    link,
    childRows(parentOid) {
      const group = waiting.get(parentOid);
      return group === undefined ? [] : group.children.map((child) => childRow(venue, group.parent, child));
    },
    follow(changes) {
      for (const orders of changes.orders.values()) {
        for (const order of orders) {
          const isOpen = order.status === "NEW" || order.status === "PARTIALLY_FILLED";
          const group = isOpen ? undefined : waiting.get(order.orderId);
          if (group !== undefined) settleParent(order, group.children);
          if (!isOpen) settleSibling(order);
        }
      }
      for (const [accountId, fills] of changes.fills) {
        for (const symbol of new Set(fills.map((fill) => fill.symbol))) sweep(accountId, symbol);
      }
    },
  };
}

function childRow(venue: Venue, parent: SimOrder, { oid, request }: WaitingChild): Readonly<Record<string, unknown>> {
  const instrument = instrumentOf(venue.exchange, request.symbol);
  const isStop = request.trigger?.kind === "STOP";
  const trigger = pxText(instrument, request.trigger?.triggerTicks ?? 0);
  const isMarket = request.timeInForce === "IOC";
  return {
    coin: request.symbol,
    side: request.side === "BUY" ? "B" : "A",
    limitPx: pxText(instrument, request.priceTicks ?? 0),
    sz: szText(instrument, request.qtyLots),
    oid,
    timestamp: parent.createdMs,
    triggerCondition: `Price ${(request.side === "SELL") === isStop ? "below" : "above"} ${trigger.replace(/\.0$/, "")}`,
    isTrigger: true,
    triggerPx: trigger,
    children: [],
    isPositionTpsl: false,
    reduceOnly: true,
    orderType: `${isStop ? "Stop" : "Take Profit"} ${isMarket ? "Market" : "Limit"}`,
    origSz: szText(instrument, request.qtyLots),
    tif: null,
    cloid: request.clientId,
  };
}
