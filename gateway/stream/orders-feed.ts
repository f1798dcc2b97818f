/**
 * The `orders` topic: open orders, then every event of them one by one, never merged. Events are orders and fills of
 * the accounts, and trades and single orders whose unknown outcome was resolved.
 *
 * Invariants: an event is sent after the state it changed is updated; what a subscriber folds from its snapshot and the
 * events equals a present snapshot. Bound: PENDING_MAX events in one turn of the service; beyond it all subscribers
 * start again.
 */
import { formatScaled, plainFromVenueNumber } from "../../engine/domain/decimal.js";
import { canonicalQtyDecimals } from "../../engine/domain/instrument.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import { factsOfVenueOrder, instrumentOf } from "../../engine/orders/single/order-facts.js";
import type { AccountWatch } from "../../engine/portfolio/account-watch.js";
import type { AccountChange } from "../../engine/portfolio/portfolio-types.js";
import type { ResolvedExecution } from "../../engine/portfolio/resolved-executions.js";
import type { FillRow } from "../../schemas/account-reads.js";
import { orderRecord } from "../accounts/order-views.js";
import { scaleText } from "../../engine/domain/decimal.js";
import {
  AccountMembers,
  type AccountSources,
  type AccountWish,
  coverageMark,
  coverageText,
} from "./account-members.js";
import type { Feed, FeedEvents, Image, MarkDirty } from "./feed.js";

/** After a reconnect a venue that sends missed events again sends up to 2000 fills at once. */
const PENDING_MAX = 2_500;

type Fill = Extract<AccountChange, { readonly kind: "fill" }>;

export class OrdersFeed implements Feed, FeedEvents, Image {
  readonly events: FeedEvents = this;
  readonly #markDirty: MarkDirty;
  readonly #sources: AccountSources;
  readonly #ownerId: string | null;
  readonly #members: AccountMembers;
  readonly #coverageMarks = new Map<string, string>();
  #pending: string[] = [];
  #told = 0;
  #isLost = false;
  /** Nothing is reported before the first snapshot. */
  #isShown = false;

  constructor(sources: AccountSources, wish: AccountWish, mark: MarkDirty) {
    this.#markDirty = mark;
    this.#sources = sources;
    this.#ownerId = wish.ownerId;
    this.#members = new AccountMembers(sources, wish, {
      wantsOrders: true,
      hear: (watch, change) => this.#hear(watch, change),
      isSettled: (watch) => watch.areOrdersSettled,
      onMoved: () => this.#startAnew(),
    });
  }

  isReady(nowNs: number): boolean {
    return this.#members.isReady(nowNs);
  }

  /**
   * The feed itself is the image: a snapshot shows the open orders at the time it is sent. An event that waits then
   * comes after it and repeats what the snapshot had already.
   */
  look(): Image {
    if (!this.#isShown) {
      this.#isShown = true;
      this.#markCoverage();
    }
    return this;
  }

  snapshotText(): string {
    const orders: string[] = [];
    const coverage: string[] = [];
    for (const { venue, handle, fixed } of this.#members.all) {
      const watch = handle?.watch ?? null;
      const shown = watch?.ordersCoverage() ?? fixed;
      if (shown !== null) coverage.push(`"${venue}":${coverageText(shown)}`);
      for (const order of watch?.openOrders ?? []) {
        const text = watch === null ? null : this.#recordText(watch, order);
        if (text !== null) orders.push(text);
      }
    }
    return `{"orders":[${orders.join(",")}],"coverage":{${coverage.join(",")}}}`;
  }

  updateText(): string {
    // Events are sent one by one (FeedEvents); the difference of two images of an unmerged key is never needed.
    throw new TypeError("orders are not merged");
  }

  drifted(): boolean {
    this.#members.follow();
    // Trust in a list ends by time alone, without a signal.
    if (this.#isShown) {
      for (const { handle } of this.#members.all) {
        const data = handle === null ? null : this.#coverageData(handle.watch);
        if (data !== null) this.#push(data);
      }
    }
    return this.#told < this.#pending.length || this.#isLost;
  }

  next(): string | null {
    const data = this.#pending[this.#told] ?? null;
    if (data !== null) this.#told++;
    if (this.#told === this.#pending.length) {
      this.#pending = [];
      this.#told = 0;
    }
    return data;
  }

  takeLoss(): boolean {
    if (!this.#isLost) return false;
    this.#isLost = false;
    this.#pending = [];
    this.#told = 0;
    // Shown again with the snapshot.
    this.#markCoverage();
    return true;
  }

  #markCoverage(): void {
    for (const { venue, handle } of this.#members.all)
      if (handle !== null) this.#coverageMarks.set(venue, coverageMark(handle.watch.ordersCoverage()));
  }

  close(): void {
    this.#members.close();
    this.#pending = [];
  }

  #hear(watch: AccountWatch, change: AccountChange): void {
    if (!this.#isShown) {
      // The first snapshot may now be possible.
      if (change.kind === "coverage" || change.kind === "ordersReset") this.#markDirty(true);
      return;
    }
    const data = this.#dataOf(watch, change);
    if (data !== null) this.#push(data);
  }

  #dataOf(watch: AccountWatch, change: AccountChange): string | null {
    switch (change.kind) {
      case "order": {
        const order = this.#recordText(watch, change.order);
        return order === null ? null : `{"event":"order","order":${order}}`;
      }
      case "fill": {
        const order = this.#recordText(watch, change.order);
        const fill = fillOf(watch, change);
        return order === null || fill === null
          ? null
          : `{"event":"fill","order":${order},"fill":${JSON.stringify(fill)}}`;
      }
      case "resolved":
        return resolvedText(change.execution);
      case "coverage":
        return this.#coverageData(watch);
      case "ordersReset":
        this.#startAnew();
        return null;
      case "positions":
        return null;
    }
  }

  /** By a snapshot: events may have been missed. */
  #startAnew(): void {
    this.#isLost = this.#isShown;
    this.#markDirty(true);
  }

  #coverageData(watch: AccountWatch): string | null {
    const coverage = watch.ordersCoverage();
    const mark = coverageMark(coverage);
    if (this.#coverageMarks.get(watch.venue) === mark) return null;
    this.#coverageMarks.set(watch.venue, mark);
    return `{"event":"coverage","coverage":{"${watch.venue}":${coverageText(coverage)}}}`;
  }

  /**
   * Returns null when the room does not list the order's contract; the order cannot be counted in lots, nor closed here.
   */
  #recordText(watch: AccountWatch, order: VenueOrder): string | null {
    const instrument = instrumentOf(watch.room.markets, order.nativeSymbol);
    if (instrument === null) return null;
    const terms = this.#sources.termsOf(order, watch.owner, this.#ownerId);
    return JSON.stringify(orderRecord(factsOfVenueOrder(instrument, order, terms)));
  }

  #push(data: string): void {
    if (this.#isLost) return;
    if (this.#pending.length >= PENDING_MAX) {
      this.#isLost = true;
      this.#pending = [];
      this.#told = 0;
    } else this.#pending.push(data);
    this.#markDirty(true);
  }
}

function fillOf(watch: AccountWatch, { order, qtyLots, price, fee, tradeId }: Fill): FillRow | null {
  const instrument = instrumentOf(watch.room.markets, order.nativeSymbol);
  if (instrument === null) return null;
  const feeAmount = fee === null ? null : plainFromVenueNumber(fee.amount);
  return {
    exchange: watch.venue,
    symbol: instrument.symbol,
    nativeSymbol: order.nativeSymbol,
    tradeId,
    orderId: order.venueOrderId,
    venueClientOrderId: order.venueClientOrderId,
    side: order.side,
    quantity: formatScaled(qtyLots, canonicalQtyDecimals(instrument)),
    // Rooms report fills in the venue's own quoting.
    price: scaleText(price, -instrument.multiplierExp10) ?? price,
    fee: fee === null || feeAmount === null ? null : { amount: feeAmount, asset: fee.asset },
    isMaker: null,
    realizedPnl: null,
    timestamp: order.tsVenueMs,
  };
}

function resolvedText({ exchange, routeId, state, order, names }: ResolvedExecution): string {
  return JSON.stringify({ event: "execution.resolved", exchange, routeId, state, order, ...names });
}
