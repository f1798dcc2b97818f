/**
 * Checks what replies say of positions against what the venues held then: sizes, flat, all of it, nothing left to
 * reduce.
 */
import type { SimFill } from "../../../sim/core/model/types.js";
import { scaled } from "../close-judge.js";
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import { tradeOutcome, type TradeAnswer, type TradeCandidate, type TradeTrial } from "../trade-trial.js";
import { type Evidence, JUDGED_SYMBOLS, type TradeCheck } from "./evidence.js";

const FILLS_SHOWN = 4;

/** The window between the first request of a key and this answer: a later answer may repeat what was found then. */
function windowOf(trial: TradeTrial, answer: TradeAnswer): readonly [fromMs: number, untilMs: number] {
  return [trial.answers[0]?.askedAtMs ?? answer.askedAtMs, answer.answeredAtMs];
}

/** No reply says that there is nothing, or not enough, to close while the venue holds it all the time. */
export const flatness: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) =>
    trial.kind === "OPEN" ? [] : trial.answers.flatMap((answer, index) => flatProblems(evidence, trial, answer, index)),
  );

function flatProblems(evidence: Evidence, trial: TradeTrial, answer: TradeAnswer, index: number): string[] {
  const at = `${trial.key} answer ${index + 1} (${tradeOutcome(answer)})`;
  const least = (venue: FourVenue): bigint =>
    evidence.holdings.leastHeld(venue, trial.trader, trial.symbol, trial.direction, ...windowOf(trial, answer));
  if (answer.code === "SIZE_EXCEEDS_POSITION") {
    const asked = trial.size === null ? 1n : scaled(trial.size);
    const unread = new Set(
      answer.candidates.filter(({ positionSize }) => positionSize === null).map(({ exchange }) => exchange),
    );
    const venues = trial.preferred === null ? trial.terms.members : [trial.preferred];
    return venues.flatMap((venue) =>
      !unread.has(venue) && least(venue) >= asked
        ? [`${at}: ${venue} held at least ${String(least(venue))}e-12 ${trial.symbol} all the time`]
        : [],
    );
  }
  if (answer.data?.execution.note !== "ALREADY_FLAT") return [];
  const venue = answer.data.position?.exchange ?? answer.data.execution.legs.at(-1)?.exchange ?? trial.preferred;
  if (venue === null || least(venue) === 0n) return [];
  return [`${at}: ${venue} was never flat, it held at least ${String(least(venue))}e-12 ${trial.symbol}`];
}

/** A reply to ALL says that nothing remains only where nothing does, on any venue with credentials. */
export const allClosed: TradeCheck = (evidence) => {
  const found: string[] = [];
  for (const trial of evidence.trials) {
    if (trial.kind === "OPEN" || trial.size !== null || trial.terms.orderType !== "MARKET") continue;
    const own = new Set(evidence.executed(trial).map(({ venue, record }) => `${venue} ${record.orderId ?? ""}`));
    for (const [index, answer] of trial.answers.entries()) {
      const execution = answer.data?.execution;
      if (execution?.state !== "COMPLETED") continue;
      const [fromMs, untilMs] = windowOf(trial, answer);
      for (const venue of trial.preferred === null ? trial.terms.members : [trial.preferred]) {
        const held = evidence.holdings.leastHeld(venue, trial.trader, trial.symbol, trial.direction, untilMs, untilMs);
        // What others open on the account meanwhile is not part of the request.
        const isMoved = fillsOf(evidence, venue, trial).some(
          ({ orderId, tsMs }) => tsMs >= fromMs && tsMs <= untilMs && !own.has(`${venue} ${orderId}`),
        );
        if (held === 0n || isMoved) continue;
        found.push(
          `${trial.key} answer ${index + 1}: ALL is reported as COMPLETED, ${execution.remainingSize} left, while ${venue} holds ${String(held)}e-12`,
        );
      }
    }
  }
  return found;
};

function fillsOf({ four }: Evidence, venue: FourVenue, { trader, symbol }: TradeTrial): readonly SimFill[] {
  return four.venues[venue].exchange.orders
    .all(trader.accountIds[venue], nativeName(venue, symbol))
    .flatMap(({ fills }) => fills);
}

/** The size that a reply gives for a candidate was held since the newest fill that its caller knew of. */
export const toldPositions: TradeCheck = (evidence) => {
  const toldAtMs = tellings(evidence);
  const found: string[] = [];
  for (const trial of evidence.trials) {
    if (trial.kind === "OPEN") continue;
    for (const [index, answer] of trial.answers.entries()) {
      const [fromMs, untilMs] = windowOf(trial, answer);
      for (const { exchange, positionSize } of candidatesOf(answer)) {
        if (positionSize === null || !FOUR_VENUES.includes(exchange)) continue;
        const isKnown = ({ clientId }: SimFill): boolean =>
          (toldAtMs.get(`${exchange} ${trial.trader.label} ${clientId ?? ""}`) ?? Number.POSITIVE_INFINITY) < fromMs;
        const { trader, symbol, direction } = trial;
        const { least, most } = evidence.holdings.heldWithin(
          exchange,
          trader,
          symbol,
          direction,
          fromMs,
          untilMs,
          isKnown,
        );
        const told = scaled(positionSize);
        if (told >= least && told <= most) continue;
        found.push(
          `${trial.key} answer ${index + 1}: ${exchange} is reported to hold ${positionSize}, it held ${String(least)}e-12 to ${String(most)}e-12${newestFills(fillsOf(evidence, exchange, trial), fromMs, untilMs, isKnown)}`,
        );
      }
    }
  }
  return found;
};

/** Text for a reader who looks for the cause. */
function newestFills(
  fills: readonly SimFill[],
  fromMs: number,
  untilMs: number,
  isKnown: (fill: SimFill) => boolean,
): string {
  const newest = fills
    .filter(({ tsMs }) => tsMs <= untilMs)
    .toSorted((left, right) => left.tsMs - right.tsMs)
    .slice(-FILLS_SHOWN)
    .map((fill) => `${fill.side} ${fill.qtyLots} lots at ${fill.tsMs - fromMs} ms${isKnown(fill) ? ", reported" : ""}`);
  return newest.length === 0 ? "" : `; newest fills, from the request on: ${newest.join("; ")}`;
}

function candidatesOf({ data, candidates }: TradeAnswer): readonly TradeCandidate[] {
  return data === null ? candidates : data.routing.candidates;
}

/** Times when a reply first showed the whole of an order, by venue, trader and client id. */
function tellings({ sent }: Evidence): ReadonlyMap<string, number> {
  const told = new Map<string, number>();
  for (const { venue, trial, record } of sent) {
    const first = trial.answers.find(({ data }) =>
      data?.execution.legs.some(
        ({ venueClientOrderId, filledSize }) =>
          venueClientOrderId === record.clientId && scaled(filledSize) === scaled(record.filledQty ?? "0"),
      ),
    );
    if (first !== undefined) told.set(`${venue} ${trial.trader.label} ${record.clientId ?? ""}`, first.answeredAtMs);
  }
  return told;
}

/** A split never asks for more than there is, and never replaces a single venue that is as good. */
export const splits: TradeCheck = (evidence) => {
  const found: string[] = [];
  for (const trial of evidence.trials) {
    const { terms, size, trader, symbol, direction } = trial;
    if (trial.kind === "OPEN" || !terms.allowSplit || size === null) continue;
    for (const [index, answer] of trial.answers.entries()) {
      if (answer.data === null) continue;
      const at = `${trial.key} answer ${index + 1}`;
      const total = terms.members.reduce(
        (sum, venue) => sum + evidence.holdings.mostHeld(venue, trader, symbol, direction, ...windowOf(trial, answer)),
        0n,
      );
      if (trial.preferred === null && scaled(size) > total)
        found.push(`${at}: ${size} asked of ${String(total)}e-12 on all venues, and not refused`);
      if (answer.data.routing.split) found.push(...needless(answer.data.routing, size, direction, at));
    }
  }
  return found;
};

/**
 * Compares the legs' all-in price with that of each other venue that could take all, as the reply shows them; a leg's
 * own price is for its share alone. `savings` compares with a runner-up, and a split has none.
 */
function needless(
  { candidates, reference }: NonNullable<TradeAnswer["data"]>["routing"],
  size: string,
  direction: TradeTrial["direction"],
  at: string,
): string[] {
  const legs = candidates.filter(({ selected }) => selected === true);
  const routed = legs.reduce((sum, leg) => sum + Number(leg.routedSize), 0);
  const price = legs.reduce((sum, leg) => sum + (Number(leg.routedSize) / routed) * commonPrice(leg), 0);
  const sign = direction === "LONG" ? 1 : -1;
  return candidates.flatMap((alone) => {
    const { eligible, exchange, positionSize, selected } = alone;
    if (selected === true || !eligible || positionSize === null || scaled(positionSize) < scaled(size)) return [];
    const savedBps = (sign * (price - commonPrice(alone)) * 1e4) / Number(reference?.mid);
    // Without a comparison the split is not proven to be worth it.
    if (savedBps > TIE_BPS - ROUNDING_BPS) return [];
    return [`${at}: split to save ${savedBps.toFixed(3)} bps, though ${exchange} could take it alone`];
  });
}

/** All-in price in the common quote. */
function commonPrice({ allInPrice, quoteRate }: TradeCandidate): number {
  return Number(allInPrice ?? Number.NaN) * Number(quoteRate);
}

/** Share of the mid within which a price counts as no better. */
const TIE_BPS = 0.5;
/** Prices in replies are rounded to their decimals. */
const ROUNDING_BPS = 0.01;

/** The venue held a reply's position between the moment of its proof, as the reply gives it, and the reply. */
export const positionsRead: TradeCheck = ({ asks, holdings }) => {
  const found: string[] = [];
  for (const { kind, key, trader, data, answeredAtMs, status } of asks) {
    if (kind !== "POSITIONS" || status !== 200) continue;
    const { positions = [], coverage = {} } = (data ?? {}) as unknown as PositionsView;
    for (const venue of FOUR_VENUES) {
      const covered = coverage[venue];
      if (covered === undefined || (covered.state !== "LIVE" && covered.state !== "SNAPSHOT")) continue;
      for (const symbol of JUDGED_SYMBOLS) {
        const row = positions.find((one) => one.exchange === venue && one.symbol === symbol);
        for (const direction of ["LONG", "SHORT"] as const) {
          const told = row?.direction === direction ? scaled(row.size) : 0n;
          const asOf = row?.asOf ?? covered.asOf ?? answeredAtMs;
          const { least, most } = holdings.heldWithin(venue, trader, symbol, direction, asOf, answeredAtMs);
          if (told >= least && told <= most) continue;
          found.push(
            `${key}: ${venue} ${symbol} ${direction} reported as ${String(told)}e-12 as of ${answeredAtMs - asOf} ms before, it held ${String(least)}e-12 to ${String(most)}e-12`,
          );
        }
      }
    }
  }
  return found;
};

interface PositionsView {
  readonly positions?: readonly {
    readonly exchange: string;
    readonly symbol: string;
    readonly direction: string;
    readonly size: string;
    readonly asOf?: number;
  }[];
  readonly coverage?: Readonly<Partial<Record<FourVenue, { readonly state: string; readonly asOf?: number }>>>;
}
