/** Checks orders with their caller's prices: limits, and stops with their triggers. */
import { priceText } from "../../../sim/core/model/fixed.js";
import { scaled } from "../close-judge.js";
import { nativeName } from "../local-venues.js";
import { type Evidence, placeOf, type Sent, type TradeCheck } from "./evidence.js";

/** A stop's limit and trigger reach the venue as written. Without a limit the price is no worse than its bound. */
export const stops: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => {
    const { terms } = sent.trial;
    if (sent.role !== "POSITION" || terms.triggerPrice === null) return [];
    const found: string[] = [];
    const { price, side } = sent.record;
    if (terms.limitPrice !== null && (price === null || scaled(price) !== scaled(terms.limitPrice)))
      found.push(`${placeOf(sent)}: a stop's limit ${terms.limitPrice} was sent as ${price ?? "none"}`);
    if (terms.limitPrice === null && price !== null) {
      const share = 1 + ((side === "SELL" ? -1 : 1) * terms.maxSlippageBps) / 10_000;
      const bound = Number(terms.triggerPrice) * share;
      if (side === "SELL" ? Number(price) < bound * (1 - 1e-9) : Number(price) > bound * (1 + 1e-9))
        found.push(`${placeOf(sent)}: a stop's bound ${price} is worse than ${bound}`);
    }
    const trigger = triggerOf(evidence, sent);
    if (trigger !== null && scaled(trigger) !== scaled(terms.triggerPrice))
      found.push(`${placeOf(sent)}: a stop's trigger ${terms.triggerPrice} was sent as ${trigger}`);
    if (sent.order !== null && sent.order.trigger === null) found.push(`${placeOf(sent)}: a stop without a trigger`);
    return found;
  });

/** The venue's own reading of the order; null where no order came of it. */
export function triggerOf(
  { four }: Evidence,
  { venue, order, trial }: Pick<Sent, "venue" | "order" | "trial">,
): string | null {
  const instrument = four.venues[venue].exchange.instruments.get(nativeName(venue, trial.symbol));
  if (order?.trigger == null || instrument === undefined) return null;
  return priceText(instrument, order.trigger.triggerTicks);
}

const BAND_CODES: ReadonlySet<string> = new Set(["-4016", "-4024"]);

/** A stop is never sent where the current band refuses it for a price that nobody asked for. */
export const bandedStops: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => {
    const { record, trial } = sent;
    const code = record.refusal?.code ?? "";
    if (trial.terms.triggerPrice === null || !BAND_CODES.has(code)) return [];
    return [`${placeOf(sent)}: a stop refused for its band (${code}) at ${record.price ?? "no price"}`];
  });

/** A LIMIT goes out at its caller's price. */
export const restingOrders: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => {
    const { limitPrice, triggerPrice } = sent.trial.terms;
    if (sent.role !== "POSITION" || limitPrice === null || triggerPrice !== null) return [];
    const { price } = sent.record;
    if (price !== null && scaled(price) === scaled(limitPrice)) return [];
    return [`${placeOf(sent)}: a limit of ${limitPrice} was sent as ${price ?? "none"}`];
  });
