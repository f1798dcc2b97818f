/**
 * A second implementation of the routing design, section 1: slow, in exact fractions, over plain lists. It shares no
 * code with the router, only the types of the plan.
 */
import type { Side } from "../../domain/order.js";

export interface VenuePlan {
  readonly credentials: boolean;
  readonly excluded: boolean;
  readonly listed: boolean;
  readonly healthy: boolean;
  readonly positionKnown: boolean;
  readonly heldLots: number;
  readonly oppositeLots: number;
  readonly bookLive: boolean;
  readonly bookAgeMs: number;
  /** Levels of the side that the order meets, best first; of the other side the best one. */
  readonly levels: readonly (readonly [ticks: number, lots: number])[];
  readonly otherBestTicks: number;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly priceRule: "step" | "sigfigs5";
  /** Native decimals, which the five-figure rule uses. */
  readonly nativePriceDecimals: number;
  readonly priceStepTicks: number;
  readonly qtyStepLots: number;
  readonly minQtyLots: number;
  readonly maxQtyLots: number;
  readonly takerMilliBps: number;
  readonly makerMilliBps: number;
  readonly penaltyMilliBps: number;
  /** Entries: funding of a long over the expected hold. */
  readonly fundingMilliBps: number;
  readonly latencyMs: number;
  readonly ratePpm: number;
  readonly budget: boolean;
}

export interface Question {
  readonly kind: "CLOSE_MARKET" | "CLOSE_LIMIT" | "OPEN_MARKET" | "OPEN_LIMIT" | "QUOTE";
  readonly side: Side;
  readonly sizeUnits: number;
  readonly sizeDecimals: number;
  readonly limitUnits: number;
  readonly limitDecimals: number;
  readonly maxSlippageBps: number;
  readonly preferred: number;
  readonly venues: readonly VenuePlan[];
}

type Fraction = readonly [num: bigint, den: bigint];

const frac = (num: bigint | number, den: bigint | number = 1n): Fraction => [BigInt(num), BigInt(den)];
const add = (a: Fraction, b: Fraction): Fraction => [a[0] * b[1] + b[0] * a[1], a[1] * b[1]];
const neg = (a: Fraction): Fraction => [-a[0], a[1]];
const sub = (a: Fraction, b: Fraction): Fraction => add(a, neg(b));
const mul = (a: Fraction, b: Fraction): Fraction => [a[0] * b[0], a[1] * b[1]];
const div = (a: Fraction, b: Fraction): Fraction =>
  b[0] < 0n ? [-a[0] * b[1], -a[1] * b[0]] : [a[0] * b[1], a[1] * b[0]];
const cmp = (a: Fraction, b: Fraction): number => {
  const left = a[0] * b[1];
  const right = b[0] * a[1];
  return left < right ? -1 : left > right ? 1 : 0;
};
const abs = (a: Fraction): Fraction => (a[0] < 0n ? neg(a) : a);
const scaled = (value: number, decimals: number): Fraction =>
  decimals >= 0 ? frac(value, 10n ** BigInt(decimals)) : frac(BigInt(value) * 10n ** BigInt(-decimals));
const floorOf = (a: Fraction): bigint => (a[0] >= 0n ? a[0] / a[1] : -((-a[0] + a[1] - 1n) / a[1]));
const ceilOf = (a: Fraction): bigint => -floorOf(neg(a));

/** Tries all legal prices near `ticks` one by one, outward to the protective side. */
function toGrid(venue: VenuePlan, side: Side, price: Fraction): bigint {
  const ticks = mul(price, scaled(1, -venue.priceDecimals));
  const step = side === "SELL" ? 1n : -1n;
  let candidate = side === "SELL" ? ceilOf(ticks) : floorOf(ticks);
  while (candidate > 0n && !isLegal(venue, candidate)) candidate += step;
  return candidate;
}

function isLegal(venue: VenuePlan, ticks: bigint): boolean {
  if (ticks % BigInt(venue.priceStepTicks) !== 0n) return false;
  if (venue.priceRule === "step" || ticks % 10n ** BigInt(venue.nativePriceDecimals) === 0n) return true;
  return String(ticks).replace(/0+$/, "").length <= 5;
}

export interface Expected {
  readonly outcome: string;
  readonly reasons: readonly string[];
  readonly selected: number;
  readonly priceTicks: readonly (bigint | null)[];
  /** All-in cost per base unit in common quote, lower is better; null where unpriced. */
  readonly cost: readonly (Fraction | null)[];
  readonly tie: Fraction;
  readonly maxSingle: Fraction;
  readonly maxTotal: Fraction;
}

export function isWorseByMoreThanTie(expected: Expected, chosen: number, other: number): boolean {
  const a = expected.cost[chosen];
  const b = expected.cost[other];
  return a != null && b != null && cmp(sub(a, b), expected.tie) > 0;
}

export function equalsFractionText(value: Fraction, text: string): boolean {
  const [whole = "", fraction = ""] = text.split(".");
  return cmp(value, frac(BigInt(whole + fraction), 10n ** BigInt(fraction.length))) === 0;
}

const NOT_HOLDERS = [
  "NO_CREDENTIALS",
  "NOT_PREFERRED",
  "SYMBOL_NOT_LISTED",
  "NO_POSITION",
  "DIRECTION_MISMATCH",
  "POSITION_UNREAD",
];

export function exactDecision(question: Question): Expected {
  const { venues, side } = question;
  const quote = question.kind === "QUOTE";
  const opens = question.kind === "OPEN_MARKET" || question.kind === "OPEN_LIMIT";
  const limit = question.kind === "CLOSE_LIMIT" || question.kind === "OPEN_LIMIT";
  const size = scaled(question.sizeUnits, question.sizeDecimals);
  const held = venues.map((venue) => scaled(venue.heldLots, venue.qtyDecimals));
  const usable = venues.map((venue) => venue.listed && venue.bookLive && venue.bookAgeMs <= 2000);

  const early = venues.map((venue, index) => {
    if (!quote && !venue.credentials) return "NO_CREDENTIALS";
    if (venue.excluded || (question.preferred >= 0 && question.preferred !== index)) return "NOT_PREFERRED";
    if (!venue.listed) return "SYMBOL_NOT_LISTED";
    if (!quote && !venue.positionKnown) return "POSITION_UNREAD";
    if (opens) return venue.oppositeLots > 0 ? "OPPOSITE_POSITION" : "";
    if (!quote && venue.heldLots === 0) return venue.oppositeLots > 0 ? "DIRECTION_MISMATCH" : "NO_POSITION";
    return "";
  });
  const holders = venues.map((_, index) => !quote && !NOT_HOLDERS.includes(early[index] as string));
  const maxSingle = held.reduce(
    (most, value, index) => (holders[index] && cmp(value, most) > 0 ? value : most),
    frac(0),
  );
  const maxTotal = held.reduce((sum, value, index) => (holders[index] ? add(sum, value) : sum), frac(0));

  const lots = venues.map((venue) => {
    const whole = floorOf(mul(size, scaled(1, -venue.qtyDecimals)));
    return whole - (whole % BigInt(venue.qtyStepLots));
  });
  const limitTicks = venues.map((venue) =>
    limit ? toGrid(venue, side, scaled(question.limitUnits, question.limitDecimals)) : 0n,
  );
  const better = (a: bigint, b: bigint) => (side === "SELL" ? a > b : a < b);
  const walks = venues.map((venue, index) => {
    let filled = 0n;
    let notional = 0n;
    let worst = 0n;
    for (const [ticks, available] of venue.levels) {
      if (filled === (lots[index] as bigint) || (limit && better(limitTicks[index] as bigint, BigInt(ticks)))) break;
      const open = (lots[index] as bigint) - filled;
      const taken = BigInt(available) < open ? BigInt(available) : open;
      filled += taken;
      notional += taken * BigInt(ticks);
      worst = BigInt(ticks);
    }
    return { filled, notional, worst };
  });
  const priced = venues.map(
    (_, index) =>
      usable[index] === true && (lots[index] as bigint) > 0n && (limit || walks[index]?.filled === lots[index]),
  );

  const reasons = venues.map((venue, index) => {
    const first = early[index] as string;
    if (first === "POSITION_UNREAD") return "VENUE_UNHEALTHY";
    if (first !== "") return first;
    if (!quote && !opens && cmp(size, held[index] as Fraction) > 0) return "SIZE_EXCEEDS_POSITION";
    if (!venue.healthy) return "VENUE_UNHEALTHY";
    if (!venue.bookLive) return "BOOK_INVALID";
    if (venue.bookAgeMs > 2000) return "BOOK_STALE";
    if (!limit && (lots[index] as bigint) > 0n && !priced[index]) return "DEPTH_INSUFFICIENT";
    return "";
  });
  const late = venues.map((venue, index) => {
    const order = lots[index] as bigint;
    if (order === 0n || order < BigInt(venue.minQtyLots)) return "BELOW_MIN_SIZE";
    if (order > BigInt(venue.maxQtyLots)) return "ABOVE_MAX_SIZE";
    return venue.budget ? "" : "RATE_BUDGET";
  });

  const mids = venues.map((venue) =>
    mul(
      mul(frac((venue.levels[0]?.[0] ?? 0) + venue.otherBestTicks, 2n), scaled(1, venue.priceDecimals)),
      frac(venue.ratePpm, 1_000_000n),
    ),
  );
  const vwaps = venues.map((venue, index) => {
    const walk = walks[index] as { filled: bigint; notional: bigint };
    const ticks = walk.filled > 0n ? frac(walk.notional, walk.filled) : frac(venue.levels[0]?.[0] ?? 0);
    return mul(mul(ticks, scaled(1, venue.priceDecimals)), frac(venue.ratePpm, 1_000_000n));
  });
  const impacts = venues.map((_, index) =>
    priced[index] ? abs(div(sub(vwaps[index] as Fraction, mids[index] as Fraction), mids[index] as Fraction)) : null,
  );
  const smallest = (allowed: (index: number) => boolean) =>
    venues.reduce((best, _, index) => {
      const impact = impacts[index];
      if (impact == null || !allowed(index)) return best;
      return best < 0 || cmp(impact, impacts[best] as Fraction) < 0 ? index : best;
    }, -1);
  let reference = smallest((index) => reasons[index] === "" && late[index] === "");
  if (reference < 0) reference = smallest(() => true);
  const mid = reference < 0 ? null : (mids[reference] as Fraction);

  const slippage = frac(Math.round(question.maxSlippageBps * 1000), 10_000_000n);
  const share = side === "SELL" ? sub(frac(1), slippage) : add(frac(1), slippage);
  const priceTicks = venues.map((venue, index) => {
    if (limit) return usable[index] ? (limitTicks[index] as bigint) : null;
    if (!priced[index] || mid === null) return null;
    return toGrid(venue, side, div(mul(mid, share), frac(venue.ratePpm, 1_000_000n)));
  });
  const final = reasons.map((reason, index) => {
    if (reason !== "") return reason;
    const price = priceTicks[index];
    if (!limit && priced[index] && price != null && better(price, walks[index]?.worst as bigint)) return "SLIPPAGE_CAP";
    return late[index] as string;
  });

  const sign = side === "SELL" ? -1 : 1;
  const cost = venues.map((venue, index): Fraction | null => {
    if (!priced[index] || (mid === null && !limit)) return null;
    const walk = walks[index] as { filled: bigint; notional: bigint };
    const order = lots[index] as bigint;
    const taken = mul(frac(walk.notional), frac(10_000_000 + sign * venue.takerMilliBps, 10_000_000n));
    const rested = mul(
      frac((order - walk.filled) * (limitTicks[index] as bigint)),
      frac(10_000_000 + sign * venue.makerMilliBps, 10_000_000n),
    );
    const ticks = div(add(taken, rested), frac(order));
    const price = mul(mul(ticks, scaled(1, venue.priceDecimals)), frac(venue.ratePpm, 1_000_000n));
    const allIn = limit || mid === null ? price : add(price, mul(mid, frac(sign * venue.penaltyMilliBps, 10_000_000n)));
    const ranked = opens && mid !== null ? add(allIn, wayOut(venue, mid)) : allIn;
    return side === "SELL" ? neg(ranked) : ranked;
  });
  /** The other side has one level, so the exit is at its price for any size. */
  function wayOut(venue: VenuePlan, from: Fraction): Fraction {
    const exit = mul(scaled(venue.otherBestTicks, venue.priceDecimals), frac(venue.ratePpm, 1_000_000n));
    const paid = mul(exit, frac(10_000_000 - sign * venue.takerMilliBps, 10_000_000n));
    return add(sub(from, paid), mul(from, frac(venue.fundingMilliBps, 10_000_000n)));
  }
  const tie = mul(mid ?? scaled(question.limitUnits, question.limitDecimals), frac(5, 100_000n));

  let outcome = "";
  if (!quote) {
    if (question.preferred >= 0 && venues[question.preferred]?.credentials === false)
      outcome = "PREFERRED_WITHOUT_CREDENTIALS";
    else if (!venues.some((venue) => venue.credentials)) outcome = "NO_CREDENTIALS";
    else {
      const unread = early.includes("POSITION_UNREAD");
      const flatOnly = early.includes("NO_POSITION") && !unread && !early.includes("DIRECTION_MISMATCH");
      if (opens) outcome = "";
      else if (!holders.includes(true)) outcome = flatOnly ? "SIZE_EXCEEDS_POSITION" : "NO_ELIGIBLE_VENUE";
      else if (cmp(size, maxSingle) > 0) outcome = unread ? "NO_ELIGIBLE_VENUE" : "SIZE_EXCEEDS_POSITION";
    }
  }
  let selected = -1;
  if (outcome === "") {
    const eligible = venues.map((_, index) => index).filter((index) => final[index] === "" && cost[index] != null);
    const best = eligible.reduce(
      (least, index) => (least < 0 || cmp(cost[index] as Fraction, cost[least] as Fraction) < 0 ? index : least),
      -1,
    );
    const tied = eligible.filter((index) => cmp(sub(cost[index] as Fraction, cost[best] as Fraction), tie) <= 0);
    tied.sort((a, b) => {
      const latency = (venues[a] as VenuePlan).latencyMs - (venues[b] as VenuePlan).latencyMs;
      if (latency !== 0) return latency;
      const position = quote ? 0 : cmp(held[b] as Fraction, held[a] as Fraction);
      return position !== 0 ? position : cmp(cost[a] as Fraction, cost[b] as Fraction) || a - b;
    });
    selected = tied[0] ?? -1;
    outcome = selected >= 0 ? "SELECTED" : "NONE";
  }
  return { outcome, reasons: final, selected, priceTicks, cost, tie, maxSingle, maxTotal };
}
