import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Side } from "../../domain/order.js";
import { ROUTABLE_VENUES } from "../../domain/venue.js";
import { BOOK_LIVE } from "../../market/book.js";
import { decideRoute } from "../decide.js";
import { sizeMaxima } from "../report.js";
import { type CandidateResult, Decision, RouteInput } from "../route-types.js";
import {
  equalsFractionText,
  exactDecision,
  isWorseByMoreThanTie,
  type Question,
  type VenuePlan,
} from "./exact-reference.js";
import { buildMarket, instrumentOf, type Levels, NOW_NS, sigmaOf } from "./scenario.js";

/**
 * Prices lie around this one, in common quote; levels lie within 60 bps of it, so that ties and caps are both common.
 */
const MIDDLE = 20_000;
const mostly = fc.integer({ min: 0, max: 19 }).map((die) => die > 0);

const venuePlan = fc.record({
  credentials: mostly,
  excluded: mostly.map((no) => !no),
  listed: mostly,
  healthy: mostly,
  positionKnown: mostly,
  bookLive: mostly,
  budget: mostly,
  held: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(60, 61, 62)),
  opposite: fc.integer({ min: 0, max: 1 }),
  bookAgeMs: fc.constantFrom(0, 100, 1999, 2000, 2001),
  skewE5: fc.integer({ min: -15, max: 15 }),
  spreadE5: fc.integer({ min: 1, max: 10 }),
  levels: fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 30 })), {
    minLength: 1,
    maxLength: 8,
  }),
  nativeDecimals: fc.integer({ min: 2, max: 4 }),
  nativeQty: fc.integer({ min: 0, max: 3 }),
  multiplier: fc.constantFrom(0, 0, 3),
  priceRule: fc.constantFrom("step" as const, "sigfigs5" as const),
  priceStepTicks: fc.constantFrom(1, 10),
  qtyStepLots: fc.constantFrom(1, 1, 5),
  minQtyLots: fc.constantFrom(1, 1, 20),
  maxKilo: fc.constantFrom(1_000_000, 1_000_000, 25),
  taker: fc.integer({ min: 0, max: 60 }),
  maker: fc.integer({ min: -10, max: 20 }),
  latencyMs: fc.constantFrom(50, 50, 50, 200, 310),
  ratePpm: fc.constantFrom(1_000_000, 1_000_000, 999_950, 1_000_120),
  sigma: fc.constantFrom(0, 0, 5e-5),
  funding: fc.constantFrom(0, 0, 25_000, -25_000),
});

const question = fc.record({
  kind: fc.constantFrom(
    "CLOSE_MARKET" as const,
    "CLOSE_MARKET" as const,
    "CLOSE_LIMIT" as const,
    "OPEN_MARKET" as const,
    "OPEN_LIMIT" as const,
    "QUOTE" as const,
  ),
  side: fc.constantFrom<Side>("SELL", "BUY"),
  size: fc.oneof(
    fc.integer({ min: 1, max: 60_000 }).map((units) => ({ units, decimals: 0 })),
    fc.integer({ min: 1, max: 60_000_000 }).map((units) => ({ units, decimals: 3 })),
  ),
  limitE5: fc.integer({ min: -100, max: 100 }),
  maxSlippageBps: fc.constantFrom(1, 3, 7.5, 100, 100, 100),
  preferred: fc.constantFrom(-1, -1, -1, 0, 1),
  venues: fc.array(venuePlan, { minLength: 1, maxLength: 4 }),
});

type RawVenue = typeof venuePlan extends fc.Arbitrary<infer T> ? T : never;
type RawQuestion = typeof question extends fc.Arbitrary<infer T> ? T : never;

/** Builds the same venue as markets for the router and as lists for the reference. */
function realise(raw: RawVenue, index: number, side: Side, opens: boolean) {
  const venue = ROUTABLE_VENUES[index] as (typeof ROUTABLE_VENUES)[number];
  const priceDecimals = raw.nativeDecimals + raw.multiplier;
  const qtyDecimals = raw.nativeQty - raw.multiplier;
  // Sizes are planned in thousands of base units, which every lot scale here can hold.
  const kiloLots = 10 ** (3 + qtyDecimals);
  const ticksAt = (offsetE5: number) => Math.round(MIDDLE * 10 ** priceDecimals * (1 + offsetE5 / 1e5));
  const direction = side === "SELL" ? -1 : 1;
  const byTicks = new Map<number, number>();
  for (const [away, kilo] of raw.levels)
    byTicks.set(ticksAt(raw.skewE5 + direction * (raw.spreadE5 + away)), kilo * kiloLots);
  const levels = [...byTicks].sort(([a], [b]) => direction * (a - b));
  const otherBestTicks = ticksAt(raw.skewE5 - direction * raw.spreadE5);
  const other: Levels = [[otherBestTicks, kiloLots]];
  const instrument = instrumentOf(venue, {
    priceDecimals: raw.nativeDecimals,
    qtyDecimals: raw.nativeQty,
    multiplierExp10: raw.multiplier,
    priceRule: raw.priceRule,
    priceStepTicks: raw.priceRule === "sigfigs5" ? 1 : raw.priceStepTicks,
    qtyStepLots: raw.qtyStepLots,
    minQtyLots: raw.minQtyLots,
    maxQtyLots: raw.maxKilo * kiloLots,
  });
  const market = buildMarket({
    instrument,
    bids: side === "SELL" ? levels : other,
    asks: side === "SELL" ? other : levels,
    ageMs: raw.bookAgeMs,
    invalid: !raw.bookLive,
    sigma: raw.sigma,
  });
  const plan: VenuePlan = {
    credentials: raw.credentials,
    excluded: raw.excluded,
    listed: raw.listed,
    healthy: raw.healthy,
    positionKnown: raw.positionKnown,
    heldLots: raw.held * kiloLots,
    // Without this every other entry would net a position, and too few would reach a decision.
    oppositeLots: opens && raw.maker > 0 ? 0 : raw.opposite,
    bookLive: raw.bookLive,
    bookAgeMs: raw.bookAgeMs,
    levels,
    otherBestTicks,
    priceDecimals,
    qtyDecimals,
    priceRule: raw.priceRule,
    nativePriceDecimals: raw.nativeDecimals,
    priceStepTicks: instrument.priceStepTicks,
    qtyStepLots: raw.qtyStepLots,
    minQtyLots: raw.minQtyLots,
    maxQtyLots: instrument.maxQtyLots,
    takerMilliBps: raw.taker * 100,
    makerMilliBps: raw.maker * 100,
    penaltyMilliBps: Math.round(0.5 * sigmaOf(market.stats) * Math.sqrt(raw.latencyMs / 1000) * 1e7),
    fundingMilliBps: raw.funding,
    latencyMs: raw.latencyMs,
    ratePpm: raw.ratePpm,
    budget: raw.budget,
  };
  return { venue, market, plan };
}

const decision = new Decision();

function compare(raw: RawQuestion): string {
  const opens = raw.kind === "OPEN_MARKET" || raw.kind === "OPEN_LIMIT";
  const parts = raw.venues.map((venue, index) => realise(venue, index, raw.side, opens));
  const preferred = raw.preferred < parts.length ? raw.preferred : -1;
  const asked: Question = {
    kind: raw.kind,
    side: raw.side,
    sizeUnits: raw.size.units,
    sizeDecimals: raw.size.decimals,
    limitUnits: MIDDLE * 1e5 + raw.limitE5 * MIDDLE,
    limitDecimals: 5,
    maxSlippageBps: raw.maxSlippageBps,
    preferred,
    venues: parts.map((part) => part.plan),
  };
  const input = new RouteInput();
  input.reset(raw.kind, raw.side, NOW_NS);
  input.sizeUnits = asked.sizeUnits;
  input.sizeDecimals = asked.sizeDecimals;
  input.limitUnits = asked.limitUnits;
  input.limitDecimals = asked.limitDecimals;
  input.maxSlippageBps = raw.maxSlippageBps;
  if (preferred >= 0) input.preferred = (parts[preferred] as (typeof parts)[number]).venue;
  for (const { venue, market, plan } of parts) {
    const candidate = input.addCandidate(venue, plan.listed ? market : null);
    candidate.hasCredentials = plan.credentials;
    candidate.excluded = plan.excluded;
    candidate.healthy = plan.healthy;
    candidate.positionKnown = plan.positionKnown;
    // A close sells a long; an entry into one buys.
    const isLong = (raw.side === "SELL") !== opens;
    candidate.longLots = isLong ? plan.heldLots : plan.oppositeLots;
    candidate.shortLots = isLong ? plan.oppositeLots : plan.heldLots;
    candidate.netsOpposite = opens && plan.oppositeLots > 0;
    candidate.fundingMilliBps = opens ? plan.fundingMilliBps : 0;
    candidate.takerFeeMilliBps = plan.takerMilliBps;
    candidate.makerFeeMilliBps = plan.makerMilliBps;
    candidate.latencyMsP90 = plan.latencyMs;
    candidate.quoteRatePpm = plan.ratePpm;
    candidate.budgetAvailable = plan.budget;
  }
  decideRoute(input, decision);
  const expected = exactDecision(asked);
  const results = parts.map((_, index) => decision.results[index] as CandidateResult);

  expect(results.map((result) => result.reason)).toEqual(expected.reasons);
  expect(decision.selected).toBe(expected.selected);
  if (expected.outcome === "NONE")
    expect(decision.outcome).not.toMatch(
      /^(SELECTED|SIZE_EXCEEDS_POSITION|NO_CREDENTIALS|PREFERRED_WITHOUT_CREDENTIALS)$/,
    );
  else expect(decision.outcome).toBe(expected.outcome);
  results.forEach((result, index) => {
    const price = expected.priceTicks[index] ?? null;
    if (price !== null) expect(BigInt(result.priceTicks)).toBe(price);
    if (result.eligible) {
      expect(result.bookState).toBe(BOOK_LIVE);
      if (raw.kind !== "QUOTE" && !opens) expect(result.orderLots).toBeLessThanOrEqual(result.positionLots);
      if (decision.selected >= 0) expect(isWorseByMoreThanTie(expected, decision.selected, index)).toBe(false);
    }
  });
  expect(
    results
      .filter((result) => result.eligible)
      .map((result) => result.rank)
      .sort(),
  ).toEqual(results.filter((result) => result.eligible).map((_, index) => index + 1));
  if (raw.kind !== "QUOTE" && !opens) {
    const maxima = sizeMaxima(input, decision);
    expect(equalsFractionText(expected.maxSingle, maxima.maxSingleVenueSize)).toBe(true);
    expect(equalsFractionText(expected.maxTotal, maxima.maxTotalSize)).toBe(true);
  }
  return `${raw.kind} ${decision.outcome}${decision.outcome === "SELECTED" ? ` ${decision.reason}` : ""}`;
}

describe("a routing decision", () => {
  it("equals the exact reference in reasons, size rule, worst price and choice", { timeout: 600_000 }, () => {
    const seen = new Map<string, number>();
    const seed = Number(process.env["FUZZ_SEED"] ?? 51);
    fc.assert(
      fc.property(question, (raw) => {
        const label = compare(raw);
        seen.set(label, (seen.get(label) ?? 0) + 1);
      }),
      {
        numRuns: Number(process.env["FUZZ_RUNS"] ?? 13_000),
        seed,
        ...(process.env["FUZZ_PATH"] === undefined ? {} : { path: process.env["FUZZ_PATH"] }),
      },
    );
    // The generator must reach every kind of outcome, or the property proves little; a replay or a short run need not.
    if (process.env["FUZZ_RUNS"] !== undefined || process.env["FUZZ_PATH"] !== undefined) return;
    for (const kind of ["CLOSE_MARKET", "CLOSE_LIMIT", "OPEN_MARKET", "OPEN_LIMIT", "QUOTE"]) {
      for (const reason of ["BEST_ALL_IN_PRICE", "ONLY_ELIGIBLE_VENUE", "PREFERRED_EXCHANGE"])
        expect([kind, reason, (seen.get(`${kind} SELECTED ${reason}`) ?? 0) > 5]).toEqual([kind, reason, true]);
    }
    // Ties of entries are rare here, because fees count twice.
    for (const kind of ["CLOSE_MARKET", "CLOSE_LIMIT", "QUOTE"])
      expect(seen.get(`${kind} SELECTED TIE_LOWEST_LATENCY`) ?? 0).toBeGreaterThan(5);
    for (const label of [
      "CLOSE_MARKET SELECTED TIE_LARGER_POSITION",
      "CLOSE_MARKET SLIPPAGE_CAP",
      "OPEN_MARKET SLIPPAGE_CAP",
      "OPEN_MARKET OPPOSITE_POSITION",
      "CLOSE_MARKET SIZE_EXCEEDS_POSITION",
      "CLOSE_MARKET NO_ELIGIBLE_VENUE",
    ]) {
      expect(seen.get(label) ?? 0).toBeGreaterThan(5);
    }
  });
});
