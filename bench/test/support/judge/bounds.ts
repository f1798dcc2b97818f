/**
 * Checks the prices of orders against their caller's terms: a share of the reference mid, a quote, and no looser price
 * in any later attempt.
 */
import { scaled } from "../close-judge.js";
import { nativeName } from "../local-venues.js";
import { tradeOutcome, type TradeTrial } from "../trade-trial.js";
import { type Evidence, placeOf, type TradeCheck } from "./evidence.js";

/** A hundredth of a basis point: mids are printed rounded. */
const PRINTED = 1e-6;

/** Every MARKET order is a limit order no worse than the first decision's bound, a quote's bound too where one was named. */
export const boundsOfOrders: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) => {
    const bound = statedBound(trial);
    if (bound === null) return [];
    return evidence.of(trial).flatMap((sent) => {
      if (sent.role !== "POSITION") return [];
      const { price } = sent.record;
      if (price === null) return [`${placeOf(sent)}: a MARKET order without a bound`];
      const isWorse =
        sent.record.side === "SELL" ? Number(price) < bound * (1 - PRINTED) : Number(price) > bound * (1 + PRINTED);
      return isWorse ? [`${placeOf(sent)}: price ${price} is worse than the bound ${bound} that was stated`] : [];
    });
  });

/** Returns the bound in the common quote; null when the trade is not a MARKET, or no reply shows a decision. */
function statedBound(trial: TradeTrial): number | null {
  const { orderType, maxSlippageBps, quote } = trial.terms;
  if (orderType !== "MARKET") return null;
  const first = trial.answers.find(({ data }) => data !== null && data.routing.reference !== null)?.data;
  if (first?.routing.reference == null) return null;
  const buys = (trial.direction === "LONG") === (trial.kind === "OPEN");
  const mid = Number(first.routing.reference.mid);
  const slipped = mid * (1 + ((buys ? 1 : -1) * maxSlippageBps) / 10_000);
  if (quote === null) return slipped;
  return buys ? Math.min(slipped, Number(quote.worstPrice)) : Math.max(slipped, Number(quote.worstPrice));
}

/** Each leg of a reply shows the bound that its order carried. */
export const boundsTold: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => {
    const { leg, record, role, trial } = sent;
    if (role !== "POSITION" || trial.terms.orderType !== "MARKET" || record.price === null) return [];
    if (leg.worstPrice === undefined || leg.worstPrice === null)
      return [`${placeOf(sent)}: its leg shows no bound, the order carried ${record.price}`];
    if (scaled(leg.worstPrice) === scaled(record.price)) return [];
    return [`${placeOf(sent)}: its leg shows the bound ${leg.worstPrice}, the order carried ${record.price}`];
  });

/** Only a venue that may take the order is the reference; for a split, one of its members. */
export const references: TradeCheck = ({ trials }) => {
  const found: string[] = [];
  for (const { key, answers, terms } of trials) {
    for (const [index, { data }] of answers.entries()) {
      if (data?.routing.reference == null) continue;
      const { reference, candidates, split } = data.routing;
      const at = `${key} answer ${index + 1}: the reference mid is of ${reference.exchange}`;
      const candidate = candidates.find(({ exchange }) => exchange === reference.exchange);
      if (!terms.members.includes(reference.exchange)) found.push(`${at}, which its caller did not give or excluded`);
      else if (candidate?.eligible !== true) found.push(`${at}, which was not eligible`);
      else if (split && candidate.selected !== true) found.push(`${at}, which is no member of the split`);
    }
  }
  return found;
};

/** The venue's own book had the reference mid while the trade was decided, or shortly before. */
export const referenceMids: TradeCheck = ({ four, trials }) => {
  const found: string[] = [];
  for (const { key, answers, symbol } of trials) {
    for (const [index, { data, askedAtMs }] of answers.entries()) {
      if (data?.routing.reference == null) continue;
      const { exchange: venue, mid } = data.routing.reference;
      const { exchange } = four.venues[venue];
      const native = nativeName(venue, symbol);
      // A later answer to the key repeats the decision of the first.
      const book = exchange.market.trueBookAtTime(native, answers[0]?.askedAtMs ?? askedAtMs, 1);
      const [bid, ask] = [book?.bids[0]?.priceTicks, book?.asks[0]?.priceTicks];
      if (bid === undefined || ask === undefined) continue;
      const { priceDecimals } = exchange.instruments.get(native) ?? { priceDecimals: 0 };
      const itsMid = (bid + ask) / 2 / 10 ** priceDecimals;
      if (Math.abs(Number(mid) / itsMid - 1) > DECIDED)
        found.push(`${key} answer ${index + 1}: the reference mid ${mid} of ${venue}, whose own book had ${itsMid}`);
    }
  }
  return found;
};

/** Distance that a book may move while a trade waits for its decision, on a machine that pauses for seconds. */
const DECIDED = 0.01;

const BAND_CODES: ReadonlySet<string> = new Set(["-4016", "-4024"]);

/**
 * The final reply to a MARKET never says that its price was outside a band: its bound stays inside, or the order goes
 * out again inside.
 */
export const bandRefusals: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) => {
    if (trial.terms.orderType !== "MARKET") return [];
    const last = evidence
      .of(trial)
      .filter(({ role }) => role === "POSITION")
      .at(-1);
    const code = last?.record.refusal?.code ?? "";
    if (last === undefined || !BAND_CODES.has(code)) return [];
    return [`${placeOf(last)}: refused for its band (${code}) at ${last.record.price ?? "no price"}, and left at that`];
  });

/** One request that sends uses a quote up. A repeat under its Idempotency-Key is the same use. */
export const quotesUsed: TradeCheck = (evidence) => {
  const users = new Map<string, string>();
  const found: string[] = [];
  for (const trial of evidence.trials) {
    const { quote } = trial.terms;
    if (quote === null || evidence.of(trial).length === 0) continue;
    const other = users.get(quote.quoteId);
    if (other !== undefined) found.push(`${trial.key}: sent on quote ${quote.quoteId}, which ${other} had used`);
    else users.set(quote.quoteId, trial.key);
  }
  return [...found, ...refusedQuotes(evidence)];
};

/**
 * The refusal of a quote names its true reason: late, used or displaced for one that the service gave, unknown for any
 * other.
 */
function refusedQuotes({ trials }: Evidence): string[] {
  const reasons = ["EXPIRED", "USED", "PRICE_MOVED"];
  const given = new Set(trials.flatMap(({ answers }) => answers.map(({ data }) => data?.quote?.quoteId)));
  return trials.flatMap(({ key, answers, terms: { quote } }) =>
    answers.flatMap((answer) => {
      if (quote === null) return [];
      const at = `${key}: quote ${quote.quoteId}`;
      if (!given.has(quote.quoteId))
        return answer.data === null ? [] : [`${at}, which nobody gave, is answered with ${tradeOutcome(answer)}`];
      if (answer.code !== "QUOTE_EXPIRED" || reasons.includes(answer.reason ?? "")) return [];
      return [`${at} refused without a reason (${answer.reason ?? "none"})`];
    }),
  );
}
