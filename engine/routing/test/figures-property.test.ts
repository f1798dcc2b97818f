import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { magnitudeNear, printNear } from "../../domain/decimal-near.js";
import { formatRatio, magnitude, ratio } from "../../domain/decimal-ratio.js";
import { decideRoute } from "../decide.js";
import {
  exactAllInText,
  exactCostText,
  exactExpectedText,
  exactMidText,
  exactSavingsPercentText,
  exactSavingsText,
  exactSlippageText,
  exactVwapText,
} from "../figures-exact.js";
import {
  nearAllInText,
  nearCostText,
  nearExpectedText,
  nearMidText,
  nearSavingsPercentText,
  nearSavingsText,
  nearSlippageText,
  nearVwapText,
} from "../figures-near.js";
import { setLimitText, setSizeText } from "../route-input.js";
import { Decision, type Candidate, type CandidateResult, RouteInput } from "../route-types.js";
import { addHolder, buildMarket, instrumentOf, NOW_NS } from "./scenario.js";

const VENUES = ["venueone", "venuetwo", "venuethree"] as const;

interface Side {
  readonly ticks: number;
  readonly lots: readonly number[];
  readonly step: number;
}

interface VenuePlan {
  readonly bids: Side;
  readonly spread: number;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly multiplierExp10: number;
  readonly ratePpm: number;
  readonly takerFeeMilliBps: number;
  readonly latencyMs: number;
}

const side = fc.record({
  ticks: fc.oneof(fc.integer({ min: 50, max: 2_000 }), fc.integer({ min: 2_000, max: 5_000_000 })),
  lots: fc.array(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 100_000_000 })), {
    minLength: 1,
    maxLength: 5,
  }),
  step: fc.integer({ min: 1, max: 9 }),
});

const venuePlan: fc.Arbitrary<VenuePlan> = fc.record({
  bids: side,
  spread: fc.integer({ min: 1, max: 20 }),
  priceDecimals: fc.integer({ min: 0, max: 6 }),
  qtyDecimals: fc.integer({ min: 0, max: 5 }),
  multiplierExp10: fc.constantFrom(0, 0, 0, 3),
  ratePpm: fc.constantFrom(1_000_000, 1_000_000, 999_700, 1_000_431),
  takerFeeMilliBps: fc.integer({ min: -500, max: 8_000 }),
  latencyMs: fc.integer({ min: 1, max: 2_000 }),
});

function inputOf(
  plans: readonly VenuePlan[],
  isSell: boolean,
  opens: boolean,
  size: string,
  limit: string | null,
): RouteInput {
  const input = new RouteInput();
  const doing = opens ? "OPEN" : "CLOSE";
  input.reset(limit === null ? `${doing}_MARKET` : `${doing}_LIMIT`, isSell ? "SELL" : "BUY", NOW_NS);
  input.maxSlippageBps = 1000;
  setSizeText(input, size);
  if (limit !== null) setLimitText(input, limit);
  for (const [at, plan] of plans.entries()) {
    const { ticks, lots, step } = plan.bids;
    const market = buildMarket({
      instrument: instrumentOf(VENUES[at] as (typeof VENUES)[number], {
        priceDecimals: plan.priceDecimals,
        qtyDecimals: plan.qtyDecimals,
        multiplierExp10: plan.multiplierExp10,
      }),
      bids: lots.map((count, level) => [ticks - level * step, count] as const),
      asks: lots.map((count, level) => [ticks + plan.spread + level * step, count] as const),
      sigma: 0.0004,
    });
    const candidate = addHolder(input, market, 1_000_000_000);
    candidate.quoteRatePpm = plan.ratePpm;
    candidate.takerFeeMilliBps = plan.takerFeeMilliBps;
    candidate.latencyMsP90 = plan.latencyMs;
    candidate.fundingMilliBps = opens ? plan.latencyMs * 7 - 3_000 : 0;
  }
  return input;
}

describe("report figures computed from doubles", () => {
  it("equal the exact texts wherever they exist, and exist nearly always", () => {
    let givenCount = 0;
    let askedCount = 0;
    const same = (near: string | null, exact: () => string): void => {
      askedCount++;
      if (near === null) return;
      givenCount++;
      expect(near).toBe(exact());
    };
    fc.assert(
      fc.property(
        fc.array(venuePlan, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom("1", "0.25", "3", "17.5", "240", "10000"),
        fc.option(fc.constantFrom("1", "99.5", "1500", "60000.1"), { nil: null }),
        (plans, isSell, opens, size, limit) => {
          const input = inputOf(plans, isSell, opens, size, limit);
          const decision = new Decision();
          decideRoute(input, decision);
          for (let index = 0; index < input.candidateCount; index++) {
            const result = decision.results[index] as CandidateResult;
            const instrument = (input.candidates[index] as Candidate).market?.instrument;
            if (!result.priced || instrument === undefined) continue;
            if (result.walk.filledLots > 0)
              same(nearVwapText(result, instrument), () => exactVwapText(result, instrument));
            same(nearExpectedText(input, result, instrument), () => exactExpectedText(input, result, instrument));
            same(nearAllInText(input, decision, index, instrument), () =>
              exactAllInText(input, decision, index, instrument),
            );
            if (decision.reference < 0) continue;
            same(nearSlippageText(input, decision, index, instrument), () =>
              exactSlippageText(input, decision, index, instrument),
            );
            same(nearCostText(input, decision, index, instrument), () => exactCostText(input, decision, index));
            if (index === decision.reference)
              same(nearMidText(decision, instrument), () => exactMidText(input, decision, instrument));
            const other = decision.runnerUp < 0 ? undefined : input.candidates[decision.runnerUp]?.market?.instrument;
            if (index !== decision.selected || other === undefined) continue;
            same(nearSavingsText(input, decision, instrument, other), () =>
              exactSavingsText(input, decision, instrument),
            );
            same(nearSavingsPercentText(input, decision, instrument, other), () =>
              exactSavingsPercentText(input, decision),
            );
          }
        },
      ),
      { numRuns: 4_000, seed: 20_261 },
    );
    expect(askedCount).toBeGreaterThan(5_000);
    expect(givenCount / askedCount).toBeGreaterThan(0.9);
  });

  it("print what any exact value within the error prints, or nothing", () => {
    const integer = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    fc.assert(
      fc.property(
        integer,
        fc.bigInt({ min: 1n, max: 10n ** 9n }),
        fc.integer({ min: 0, max: 8 }),
        fc.constantFrom(0, 1e-12, 0.01),
        (num, den, places, relative) => {
          const exact = ratio(num, den);
          const value = (Number(num) / Number(den)) * (1 + relative / 2);
          const error = Math.abs(value) * (relative + 2 ** -51);
          const text = printNear(value, error, places);
          if (text !== null) expect(text).toBe(formatRatio(exact, places, "halfUp"));
          const exponent = magnitudeNear(value, error);
          if (!Number.isNaN(exponent)) expect(exponent).toBe(magnitude(exact));
        },
      ),
      { numRuns: 5_000, seed: 20_262 },
    );
  });

  it.each([
    [0.5, 0, 0],
    [2.5, 1e-9, 0],
    [Number.NaN, 0, 2],
    [1e17, 0, 2],
    [1, 0, 23],
  ])("leave %d ± %d with %i places to exact arithmetic", (value, error, places) => {
    expect(printNear(value, error, places)).toBeNull();
  });

  it("leave a power of ten to exact arithmetic", () => {
    expect([1000, 0.001, 0, Number.NaN].map((value) => magnitudeNear(value, 0))).toEqual(Array(4).fill(Number.NaN));
    expect([1001, 0.0011, -250].map((value) => magnitudeNear(value, 1e-9))).toEqual([3, -3, 2]);
  });
});
