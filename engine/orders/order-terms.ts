import type { Instrument } from "../domain/instrument.js";
import type { OrderTrigger, OrderType, PositionSide, Side, TimeInForce } from "../domain/order.js";

/** What an order is to be, on its venue's grid. */
export interface OrderTerms {
  readonly instrument: Instrument;
  readonly side: Side;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly trigger: OrderTrigger | null;
  readonly reduceOnly: boolean;
  readonly qtyLots: number;
  readonly priceTicks: number;
  readonly positionSide: PositionSide;
  /** Twice the mid of the decision; 0: there was none. */
  readonly doubleMidTicks: number;
  /** Canonical decimals of ticks and lots. */
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
}
