/**
 * What must hold of an order or a change before anything is signed, the same at every venue: a wrong number here is a fault
 * of ours, and must not be sent. What only one venue asks is in its own request.ts or orders.ts.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { OrderChange, OrderCommand, VenueOrder } from "../../../engine/domain/order.js";
import { localReject, type RejectedOrder } from "../net/call-results.js";
import { isClientIdHex } from "../room/client-id.js";

export interface CommandRules {
  readonly isOurs: (instrument: Instrument) => boolean;
  readonly isPrice: (ticks: number, instrument: Instrument) => boolean;
  readonly isSize: (lots: number, instrument: Instrument) => boolean;
  /** What prices and sizes are, for the text of a refusal. */
  readonly priceText: string;
  readonly sizeText: string;
  /** Has the order a price of its own? Default: each has. */
  readonly hasPrice?: (command: OrderCommand) => boolean;
  /** Accounts of this venue hold one position a contract, never a long and a short one. */
  readonly isOneWay: boolean;
}

export function isPositive(count: number): boolean {
  return Number.isSafeInteger(count) && count > 0;
}

/** Of venues that take whatever is positive, and check their grids themselves. */
export const POSITIVE: Pick<CommandRules, "isPrice" | "isSize" | "priceText" | "sizeText"> = {
  isPrice: isPositive,
  isSize: isPositive,
  priceText: "a positive number of ticks",
  sizeText: "a positive number of lots",
};

export function commandProblem(command: OrderCommand, rules: CommandRules): RejectedOrder | null {
  const { instrument, trigger } = command;
  const { hasPrice = () => true, isOneWay, isOurs, isPrice, isSize, priceText, sizeText } = rules;
  if (!isOurs(instrument)) return localReject("VENUE_STATE", "INSTRUMENT", "not an instrument of this venue");
  if (hasPrice(command) && !isPrice(command.priceTicks, instrument))
    return localReject("PRICE", "PRICE", `price is not ${priceText}`);
  if (!isSize(command.qtyLots, instrument)) return localReject("SIZE", "SIZE", `size is not ${sizeText}`);
  if (!isClientIdHex(command.clientIdHex))
    return localReject("VENUE_STATE", "CLIENT_ID", "client id is not 128 bits of hex");
  if (isOneWay && command.positionSide !== "BOTH")
    return localReject("VENUE_STATE", "POSITION_SIDE", "this venue has no hedge mode");
  if (trigger !== undefined && !isPrice(trigger.priceTicks, instrument))
    return localReject("PRICE", "TRIGGER_PRICE", `trigger price is not ${priceText}`);
  return null;
}

/** Of venues that change limit orders alone, and by what the order comes to in all. */
export function limitChangeProblem(current: VenueOrder, change: OrderChange): RejectedOrder | null {
  if (current.status !== "OPEN" && current.status !== "PARTIALLY_FILLED")
    return localReject("NOT_FOUND", "NOT_OPEN", "the order is not open any more");
  if (current.triggerPrice !== null || current.type !== "LIMIT")
    return localReject("VENUE_STATE", "NOT_SUPPORTED", "only limit orders can be amended on this venue");
  if (!isPositive(change.priceTicks)) return localReject("PRICE", "PRICE", `price is not ${POSITIVE.priceText}`);
  if (!isPositive(change.qtyLots)) return localReject("SIZE", "SIZE", `size is not ${POSITIVE.sizeText}`);
  if (change.qtyLots <= current.filledLots)
    return localReject("SIZE", "SIZE_FILLED", "the new size is not above what has filled");
  return null;
}
