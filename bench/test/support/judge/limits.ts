/** Checks what an account opened in a day against the limit of its caller, whichever key signed it. */
import { FOUR_VENUES } from "../four-venues.js";
import { isWorking, type TradeCheck } from "./evidence.js";

const DAY_MS = 86_400_000;

export const callerLimits: TradeCheck = ({ four, placed, callerDailyMax }) => {
  if (callerDailyMax === null) return [];
  const opened = new Map<string, number>();
  for (const venue of FOUR_VENUES) {
    for (const { accountId, orderId, reduceOnly, price, qty, receivedMs } of placed[venue]) {
      const order = orderId === null ? null : four.venues[venue].exchange.orders.find(orderId);
      // An order without effect takes nothing of the limit.
      if (order === null || reduceOnly === true || (order.filledLots === 0 && !isWorking(order))) continue;
      const name = `${venue} ${accountId} on day ${Math.floor(receivedMs / DAY_MS)}`;
      opened.set(name, (opened.get(name) ?? 0) + Number(price ?? 0) * Number(qty ?? 0));
    }
  }
  return [...opened]
    .filter(([, notional]) => notional > callerDailyMax)
    .map(([name, notional]) => `${name}: orders of ${Math.round(notional)} that open, ${callerDailyMax} are allowed`);
};
