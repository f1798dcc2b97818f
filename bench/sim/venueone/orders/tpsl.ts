/**
 * Take-profit and stop-loss orders as groups: children wait for their parent to fill whole, one filled sibling cancels
 * the other, and orders that may only reduce shrink and end with the position. Driven by the journal.
 */
import type { SimOrder, SimOrderRequest } from "../../core/model/types.js";
import type { Commit } from "./journal.js";
import { instrumentOf, pxText, szText } from "../records/rows.js";
import type { Venue } from "../records/venue.js";

/** Parents with waiting children, per venue; overflow forgets the oldest parent's children. */
const PARENTS_MAX = 10_000;
/** Waiting children are shown under numbers of their own until they are placed. */
const WAITING_OID_FIRST = 5_000_000_000_000_000;

interface WaitingChild {
  readonly oid: number;
  readonly request: SimOrderRequest;
}

interface WaitingGroup {
  readonly parent: SimOrder;
  readonly children: readonly WaitingChild[];
}

export class Tpsl {
  readonly #venue: Venue;
  readonly #waiting = new Map<number, WaitingGroup>();
  readonly #siblings = new Map<number, readonly SimOrder[]>();
  #nextOid = WAITING_OID_FIRST;

  constructor(venue: Venue) {
    this.#venue = venue;
  }

  /** Children of an unfilled parent. */
  waitFor(parent: SimOrder, requests: readonly SimOrderRequest[]): void {
    const children = requests.map((request) => ({ oid: this.#nextOid++, request }));
    this.#waiting.set(parent.orderId, { parent, children });
    const oldest = this.#waiting.size > PARENTS_MAX ? this.#waiting.keys().next().value : undefined;
    if (oldest !== undefined) this.#waiting.delete(oldest);
  }

  /** Makes placed orders cancel one another once one fills. */
  link(orders: readonly SimOrder[]): void {
    for (const order of orders) this.#siblings.set(order.orderId, orders);
  }

  /** Rows of the children that still wait for this order. */
  childRows(parentOid: number): readonly unknown[] {
    const group = this.#waiting.get(parentOid);
    return group === undefined ? [] : group.children.map((child) => childRow(this.#venue, group.parent, child));
  }

  follow(changes: Commit): void {
    for (const orders of changes.orders.values()) {
      for (const order of orders) {
        const isOpen = order.status === "NEW" || order.status === "PARTIALLY_FILLED";
        const group = isOpen ? undefined : this.#waiting.get(order.orderId);
        if (group !== undefined) this.#settleParent(order, group.children);
        if (!isOpen) this.#settleSibling(order);
      }
    }
    for (const [accountId, fills] of changes.fills) {
      for (const symbol of new Set(fills.map((fill) => fill.symbol))) this.#sweep(accountId, symbol);
    }
  }

  #settleParent(parent: SimOrder, children: readonly WaitingChild[]): void {
    const filledThenCutForMargin = parent.endReason === "MARGIN" && parent.filledLots > 0;
    this.#waiting.delete(parent.orderId);
    if (parent.status !== "FILLED" && !filledThenCutForMargin) return;
    const placed = children.flatMap(({ request }) => {
      const result = this.#venue.exchange.orders.place(parent.accountId, request);
      return result.ok ? [result.value] : [];
    });
    this.link(placed);
  }

  #settleSibling(order: SimOrder): void {
    const group = this.#siblings.get(order.orderId);
    if (group === undefined) return;
    this.#siblings.delete(order.orderId);
    if (order.status !== "FILLED") return;
    for (const other of group) {
      if (other !== order) this.#venue.exchange.orders.cancel(other.accountId, other.orderId, "SIBLING");
    }
  }

  /** Ends waiting trigger orders whose position is gone or has turned, and shrinks resting ones larger than it. */
  #sweep(accountId: string, symbol: string): void {
    const { exchange } = this.#venue;
    const heldLots = exchange.accounts.position(accountId, symbol, "BOTH")?.qtyLots ?? 0;
    for (const order of exchange.orders.open(accountId, symbol)) {
      if (!order.reduceOnly && !order.closePosition) continue;
      const reducibleLots = order.side === "SELL" ? Math.max(0, heldLots) : Math.max(0, -heldLots);
      if (!order.triggered) {
        if (reducibleLots === 0) exchange.orders.cancel(accountId, order.orderId, "REDUCE_ONLY");
      } else if (order.priceTicks !== null && reducibleLots > 0 && order.qtyLots - order.filledLots > reducibleLots) {
        exchange.orders.amend(accountId, order.orderId, order.filledLots + reducibleLots, order.priceTicks);
      }
    }
  }
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
