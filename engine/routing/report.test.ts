import { describe, expect, it } from "vitest";
import { orderAdjustments } from "./adjustments.js";
import { decideRoute, decisionErrorCode } from "./decide.js";
import { buildRoutingReport, requestedSizeText, sizeMaxima, worstPriceText } from "./report.js";
import { setSizeText } from "./route-input.js";
import { Decision, type RouteInput } from "./route-types.js";
import { addHolder, buildMarket, closeInput, instrumentOf } from "./test/scenario.js";

/** Returns σ for a penalty of `milliBps` at this latency: the inverse of k × σ × √seconds. */
function sigmaFor(milliBps: number, latencyMs: number): number {
  return milliBps / (0.5 * Math.sqrt(latencyMs / 1000) * 1e7);
}

/** The worked example of the routing design, section 3: sell 0.25, four venues. */
function workedExample(): RouteInput {
  const input = closeInput("SELL", 0, 0);
  setSizeText(input, "0.25");
  const one = buildMarket({
    instrument: instrumentOf("venueone", { priceRule: "sigfigs5" }),
    bids: [
      [974170, 5000],
      [974105, 5000],
      [974050, 5000],
      [973950, 5000],
      [973880, 5000],
      [964480, 1_817_000],
      [964470, 500_000],
    ],
    asks: [[974260, 100_000]],
    ageMs: 118,
    sigma: sigmaFor(200, 240),
  });
  const holderOne = addHolder(input, one, 40_000);
  holderOne.latencyMsP90 = 240;
  const two = buildMarket({
    instrument: instrumentOf("venuetwo", { qtyDecimals: 3, quoteAsset: "USDT" }),
    bids: [
      [974150, 100],
      [973750, 200],
    ],
    asks: [[974350, 100]],
    ageMs: 74,
    seq: 990_817_263,
    sigma: sigmaFor(300, 310),
  });
  const holderTwo = addHolder(input, two, 300);
  holderTwo.latencyMsP90 = 310;
  holderTwo.takerFeeMilliBps = 5000;
  holderTwo.feeSource = "config";
  const three = buildMarket({ instrument: instrumentOf("venuethree"), bids: [[973982, 50_000]], asks: [[974400, 1]] });
  addHolder(input, three, 0);
  input.addCandidate("venuefour", null);
  return input;
}

describe("the routing report", () => {
  it("prints the worked example of the design", () => {
    const input = workedExample();
    const decision = new Decision();
    decideRoute(input, decision);
    expect(decision.outcome).toBe("SELECTED");
    const report = buildRoutingReport(input, decision, { routeId: "rt_01", decidedAtMs: 1_790_000_000_391 });
    expect(report).toEqual({
      routeId: "rt_01",
      mode: "BEST_EXIT",
      decidedAt: 1_790_000_000_391,
      forced: false,
      split: false,
      recommended: "venueone",
      reason: "BEST_ALL_IN_PRICE",
      price: "97403.1",
      savings: "4.48",
      savingsPercent: "0.0184",
      reference: { mid: "97421.5", exchange: "venueone", quoteAsset: "USD" },
      limits: { maxSlippageBps: 100, maxQuoteAgeMs: 2000, worstPrice: "96448" },
      candidates: [
        {
          exchange: "venueone",
          eligible: true,
          selected: true,
          rank: 1,
          positionSize: "0.4",
          routedSize: "0.25",
          topOfBook: "97417",
          vwap: "97403.1",
          worstLevel: "97388",
          levelsUsed: 5,
          depthWithinCap: "18.42",
          feeBps: "4.5",
          feeSource: "venueDefault",
          latencyMsP90: 240,
          latencyPenaltyBps: "0.2",
          allInPrice: "97357.32",
          slippageBps: "1.9",
          costBps: "6.6",
          quoteAsset: "USDC",
          quoteRate: "1",
          quoteRateSource: "assumed",
          book: { state: "LIVE", ageMs: 118, venueSeq: null, source: "ws" },
        },
        {
          exchange: "venuetwo",
          eligible: true,
          selected: false,
          rank: 2,
          positionSize: "0.3",
          routedSize: "0",
          topOfBook: "97415",
          vwap: "97391",
          worstLevel: "97375",
          levelsUsed: 2,
          depthWithinCap: "0.3",
          feeBps: "5",
          feeSource: "config",
          latencyMsP90: 310,
          latencyPenaltyBps: "0.3",
          allInPrice: "97339.38",
          slippageBps: "3.1",
          costBps: "8.4",
          quoteAsset: "USDT",
          quoteRate: "1",
          quoteRateSource: "assumed",
          book: { state: "LIVE", ageMs: 74, venueSeq: "990817263", source: "ws" },
        },
        { exchange: "venuethree", eligible: false, selected: false, reasonCode: "NO_POSITION", positionSize: "0" },
        { exchange: "venuefour", eligible: false, reasonCode: "NO_CREDENTIALS", positionSize: null },
      ],
      alternatives: {
        venuetwo: { price: "97391", available: true },
        venuethree: { price: "97398.2", available: false },
        venuefour: { price: null, available: false },
      },
    });
    expect(orderAdjustments(input, decision)).toEqual([
      { field: "price", from: "96447.285", to: "96448", rule: "TICK_SIZE" },
    ]);
    expect([worstPriceText(input, decision), requestedSizeText(decision)]).toEqual(["96448", "0.25"]);
    expect(sizeMaxima(input, decision)).toEqual({ maxSingleVenueSize: "0.4", maxTotalSize: "0.7" });
  });

  it("reports a refusal with the reasons of all venues and no recommendation", () => {
    const input = workedExample();
    setSizeText(input, "0.5");
    const decision = new Decision();
    decideRoute(input, decision);
    expect(decisionErrorCode(decision)).toBe("SIZE_EXCEEDS_POSITION");
    expect(sizeMaxima(input, decision)).toEqual({ maxSingleVenueSize: "0.4", maxTotalSize: "0.7" });
    const report = buildRoutingReport(input, decision, { routeId: "rt_02", decidedAtMs: 1 });
    expect([report.recommended, report.price, report.reason, report.savings, report.limits.worstPrice]).toEqual([
      null,
      null,
      null,
      "0",
      null,
    ]);
    expect(report.candidates.map((candidate) => candidate.reasonCode)).toEqual([
      "SIZE_EXCEEDS_POSITION",
      "SIZE_EXCEEDS_POSITION",
      "NO_POSITION",
      "NO_CREDENTIALS",
    ]);
    expect(report.candidates.every((candidate) => !candidate.eligible)).toBe(true);
  });

  it("names the lot rule when the size is finer than the venue's lot", () => {
    const input = closeInput("SELL", 0, 0);
    setSizeText(input, "0.2505");
    addHolder(
      input,
      buildMarket({
        instrument: instrumentOf("venuetwo", { qtyDecimals: 3 }),
        bids: [[974150, 900]],
        asks: [[974160, 1]],
      }),
      300,
    );
    const decision = new Decision();
    decideRoute(input, decision);
    expect(orderAdjustments(input, decision)[1]).toEqual({
      field: "size",
      from: "0.2505",
      to: "0.25",
      rule: "LOT_SIZE",
    });
  });
});
