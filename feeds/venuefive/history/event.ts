/**
 * One event of the venue as the index keeps it. Integers of the chain's scales (prices, leverage, percents 1e10, USDC 1e6)
 * are decimal text, because rows are JSON.
 */

interface EventPlace {
  readonly block: number;
  readonly blockHash: string;
  readonly logIndex: number;
  readonly txHash: string;
  /** Of its block. */
  readonly timeMs: number;
}

/** The trade of an executed event, after the execution. */
export interface EventTrade {
  readonly index: number;
  /** Of the position: where it is closed, before the close. */
  readonly collateral: string;
  readonly openPrice: string;
  readonly isLong: boolean;
  readonly leverage: string;
  readonly tp: string;
  readonly sl: string;
  /** Seconds: when the position was opened. */
  readonly openedAt: number;
}

export type EventBody =
  | {
      readonly kind: "queued";
      readonly orderId: string;
      readonly isOpen: boolean;
      readonly isLong: boolean;
      readonly isZeroFee: boolean;
      readonly collateral: string;
      readonly leverage: string;
    }
  | {
      readonly kind: "executed";
      readonly orderId: string;
      readonly isOpen: boolean;
      readonly trade: EventTrade;
      readonly price: string;
      /** Opened or closed. */
      readonly collateral: string;
      readonly percentProfit: string;
      readonly sent: string;
      readonly isZeroFee: boolean;
    }
  /** The market order is given up: the venue has the event in two contracts. */
  | { readonly kind: "gave-up"; readonly orderId: string }
  | {
      readonly kind: "placed";
      readonly index: number;
      readonly isLong: boolean;
      readonly price: string;
      readonly orderType: number;
      readonly slippage: string;
      readonly collateral: string;
      readonly leverage: string;
    }
  | {
      readonly kind: "updated";
      readonly index: number;
      readonly price: string;
      readonly tp: string;
      readonly sl: string;
    }
  | { readonly kind: "canceled"; readonly index: number; readonly collateral: string }
  | {
      readonly kind: "filled";
      readonly orderId: string;
      /** The order's slot; `trade.index` is that of the position. */
      readonly index: number;
      readonly trade: EventTrade;
      readonly price: string;
      readonly triggerPrice: string;
      readonly collateral: string;
    }
  | {
      readonly kind: "triggered";
      readonly orderId: string;
      readonly trigger: "TP" | "SL" | "LIQ";
      readonly trade: EventTrade;
      readonly price: string;
      readonly collateral: string;
      readonly percentProfit: string;
      readonly sent: string;
      readonly isZeroFee: boolean;
    }
  | {
      readonly kind: "margin";
      readonly index: number;
      readonly isDeposit: boolean;
      readonly collateral: string;
      readonly leverage: string;
      readonly fees: string;
    }
  | { readonly kind: "tp" | "sl"; readonly index: number; readonly price: string };

/** `trader` in lower case. */
export type VenuefiveEvent = EventPlace & { readonly trader: string; readonly pairIndex: number } & EventBody;

type EventKind = EventBody["kind"];
export type EventOf<K extends EventKind> = Extract<VenuefiveEvent, { readonly kind: K }>;

/** A close of a position, or of a part of it, whoever asked for it. */
export type ClosingEvent = EventOf<"executed"> | EventOf<"triggered">;
/** What happens to one limit order. */
export type OrderEvent = EventOf<"placed"> | EventOf<"updated"> | EventOf<"canceled"> | EventOf<"filled">;
/** What happens to one market order. */
export type MarketEvent = EventOf<"queued"> | EventOf<"executed"> | EventOf<"gave-up">;

export function isClosing(event: VenuefiveEvent): event is ClosingEvent {
  return event.kind === "triggered" || (event.kind === "executed" && !event.isOpen);
}

export function isOfOrder(event: VenuefiveEvent): event is OrderEvent {
  const { kind } = event;
  return kind === "placed" || kind === "updated" || kind === "canceled" || kind === "filled";
}

export function isOfMarketOrder(event: VenuefiveEvent): event is MarketEvent {
  return event.kind === "queued" || event.kind === "executed" || event.kind === "gave-up";
}

/** The order is over with it. */
export function endsOrder(event: OrderEvent): boolean {
  return event.kind === "canceled" || event.kind === "filled";
}
