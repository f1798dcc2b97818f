/** The way into the engine that every order of this venue takes; refusals are in the venue's words. */
import type { SimInstrument, SimOrder, SimOrderRequest } from "../../core/model/types.js";
import type { VenuefourContext } from "./context.js";
import type { Caller, OrderChecks } from "./order-checks.js";

export function enterOrder(
  { exchange, journal }: VenuefourContext,
  checks: OrderChecks,
  caller: Caller,
  instrument: SimInstrument,
  request: SimOrderRequest,
): SimOrder {
  const done = exchange.orders.place(caller.accountId, request);
  journal.settled();
  if (done.ok) return done.value;
  throw checks.refusalOf(done.reason, caller, instrument, request);
}
