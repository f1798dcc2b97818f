import { describe, expect, it } from "vitest";
import type { Side } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import { decideRoute, decisionErrorCode } from "./decide.js";
import { setLimitText, setSizeAll, setSizePercentText, setSizeText } from "./route-input.js";
import { type Candidate, type CandidateResult, Decision, RouteInput, type RouteKind } from "./route-types.js";
import { addHolder, buildMarket, closeInput, instrumentOf, type MarketPlan, NOW_NS } from "./test/scenario.js";

const BOOK = {
  bids: [
    [99_990, 500_000],
    [99_900, 500_000],
  ],
  asks: [
    [100_010, 500_000],
    [100_100, 500_000],
  ],
} as const;

function plan(venue: RoutableVenue, fields: Partial<MarketPlan> = {}): MarketPlan {
  return { instrument: instrumentOf(venue), ...BOOK, ...fields };
}

function resultAt(decision: Decision, index: number): CandidateResult {
  return decision.results[index] as CandidateResult;
}

/** One healthy venue holding 1 BTC in the direction that `side` closes. */
function one(
  size: string,
  change: (candidate: Candidate, input: RouteInput) => void = () => {},
  fields: Partial<MarketPlan> = {},
  side: Side = "SELL",
) {
  const input = closeInput(side, 0, 0);
  setSizeText(input, size);
  const candidate = addHolder(input, buildMarket(plan("venueone", fields)), 100_000);
  change(candidate, input);
  const decision = new Decision();
  decideRoute(input, decision);
  return { input, decision, result: resultAt(decision, 0), error: decisionErrorCode(decision) };
}

/** Two venues one tick of 0.1 bps apart: venueone pays better. */
function two(
  change: (first: Candidate, second: Candidate, input: RouteInput) => void,
  secondTop = 99_989,
  size = "1",
): Decision {
  const input = closeInput("SELL", 0, 0);
  setSizeText(input, size);
  const first = addHolder(input, buildMarket(plan("venueone")), 200_000);
  const second = addHolder(input, buildMarket(plan("venuetwo", { bids: [[secondTop, 500_000]] })), 200_000);
  change(first, second, input);
  const decision = new Decision();
  decideRoute(input, decision);
  return decision;
}

describe("the eligibility of a venue", () => {
  it.each<[string, (candidate: Candidate, input: RouteInput) => void]>([
    [
      "NO_CREDENTIALS",
      (candidate) => {
        candidate.hasCredentials = false;
      },
    ],
    [
      "NOT_PREFERRED",
      (_, input) => {
        input.preferred = "venuetwo";
      },
    ],
    [
      "NOT_PREFERRED",
      (candidate) => {
        candidate.excluded = true;
      },
    ],
    [
      "CLIENT_SIDE_ONLY",
      (candidate) => {
        candidate.clientSideOnly = true;
      },
    ],
    [
      "SYMBOL_NOT_LISTED",
      (candidate) => {
        candidate.market = null;
      },
    ],
    [
      "NO_POSITION",
      (candidate) => {
        candidate.longLots = 0;
      },
    ],
    [
      "DIRECTION_MISMATCH",
      (candidate) => {
        candidate.longLots = 0;
        candidate.shortLots = 5;
      },
    ],
    [
      "VENUE_UNHEALTHY",
      (candidate) => {
        candidate.positionKnown = false;
      },
    ],
    [
      "VENUE_UNHEALTHY",
      (candidate) => {
        candidate.healthy = false;
      },
    ],
    [
      "BOOK_INVALID",
      (candidate) => {
        candidate.market?.book.invalidate("SEQUENCE_GAP");
      },
    ],
    [
      "BOOK_STALE",
      (_, input) => {
        input.nowNs += 1_901e6;
      },
    ],
    [
      "BOOK_STALE",
      (_, input) => {
        input.maxQuoteAgeMs = 99;
      },
    ],
    [
      "RATE_BUDGET",
      (candidate) => {
        candidate.budgetAvailable = false;
      },
    ],
  ])("is refused with %s", (reason, change) => {
    const { result, decision } = one("1", change);
    expect([result.reason, result.eligible, decision.selected]).toEqual([reason, false, -1]);
  });

  it.each<[string, string, Partial<MarketPlan>]>([
    ["DEPTH_INSUFFICIENT", "1", { bids: [[99_990, 99_999]] }],
    ["DEPTH_INSUFFICIENT", "1", { bids: [] }],
    ["BOOK_INVALID", "1", { asks: [] }],
    [
      "SLIPPAGE_CAP",
      "1",
      {
        bids: [
          [99_990, 50_000],
          [98_000, 500_000],
        ],
      },
    ],
    ["BELOW_MIN_SIZE", "0.000009", {}],
    ["BELOW_MIN_SIZE", "0.5", { instrument: instrumentOf("venueone", { minQtyLots: 50_001 }) }],
    ["ABOVE_MAX_SIZE", "0.5", { instrument: instrumentOf("venueone", { maxQtyLots: 49_999 }) }],
    ["VENUE_UNHEALTHY", "1", { instrument: instrumentOf("venueone", { status: "HALTED" }) }],
    [
      "BOOK_STALE",
      "1",
      { bids: [[99_990, 50_000]], deep: { bids: [[99_980, 500_000]], asks: [[100_010, 1]], ageMs: 7001 } },
    ],
    [
      "DEPTH_INSUFFICIENT",
      "1",
      { bids: [[99_990, 50_000]], deep: { bids: [[99_980, 500_000]], asks: [[100_010, 1]], ageMs: 1, invalid: true } },
    ],
    ["", "1", { bids: [[99_990, 50_000]], deep: { bids: [[99_980, 500_000]], asks: [[100_010, 1]], ageMs: 6999 } }],
  ])("is refused with %j for a close of %s on such a book", (reason, size, fields) => {
    const { result } = one(size, () => {}, fields);
    expect([result.reason, result.eligible]).toEqual([reason, reason === ""]);
  });

  it("depends on the age of the deep tier only when the size needs it", () => {
    const deep = { bids: [[99_980, 500_000]], asks: [[100_010, 1]], ageMs: 7001 } as const;
    const { result } = one("0.5", () => {}, { bids: [[99_990, 50_000]], deep });
    expect([result.eligible, result.depthAgeMs]).toEqual([true, -1]);
    expect(one("0.6", () => {}, { bids: [[99_990, 50_000]], deep: { ...deep, ageMs: 3000 } }).result.depthAgeMs).toBe(
      3000,
    );
  });

  it("applies the venue's minimums for resting orders to an entry that may rest, and not to one that takes or closes", () => {
    const instrument = instrumentOf("venuethree", { restingMinimum: { qtyLots: 20, notional: "10" } });
    const reasonOf = (kind: RouteKind, size: string, limit = "99990"): string => {
      const input = new RouteInput();
      input.reset(kind, kind.startsWith("OPEN") ? "BUY" : "SELL", NOW_NS);
      setSizeText(input, size);
      setLimitText(input, limit);
      addHolder(input, buildMarket(plan("venuethree", { instrument })), kind.startsWith("OPEN") ? 0 : 100_000);
      const decision = new Decision();
      decideRoute(input, decision);
      return resultAt(decision, 0).reason;
    };
    expect(reasonOf("OPEN_LIMIT", "0.00020")).toBe("");
    expect(reasonOf("OPEN_LIMIT", "0.00019")).toBe("BELOW_MIN_SIZE");
    expect(reasonOf("OPEN_LIMIT", "0.00020", "49999")).toBe("BELOW_MIN_SIZE");
    expect(reasonOf("OPEN_MARKET", "0.00001")).toBe("");
    expect(reasonOf("CLOSE_MARKET", "0.00001")).toBe("");
    expect(reasonOf("CLOSE_LIMIT", "0.00001")).toBe("");
  });

  it("applies a minimum value to reduce-only orders only where the venue does, and never to a full close", () => {
    const strict = instrumentOf("venueone", { minNotional: "10", minNotionalOnReduceOnly: "exceptFullClose" });
    expect(one("0.0001", () => {}, { instrument: strict }).result.reason).toBe("BELOW_MIN_SIZE");
    expect(
      one(
        "0.0001",
        (candidate) => {
          candidate.longLots = 10;
        },
        { instrument: strict },
      ).result.reason,
    ).toBe("");
    expect(one("0.0001", () => {}, { instrument: instrumentOf("venueone", { minNotional: "10" }) }).result.reason).toBe(
      "",
    );
  });
});

describe("the size rule", () => {
  it("refuses more than a single venue holds, to the last digit", () => {
    expect(one("1").decision.outcome).toBe("SELECTED");
    expect(one("1.000001").decision.outcome).toBe("SIZE_EXCEEDS_POSITION");
    expect(one("900719925474099").decision.outcome).toBe("SIZE_EXCEEDS_POSITION");
  });

  it("does not treat an unread position as flat", () => {
    expect(
      one("1", (candidate) => {
        candidate.longLots = 0;
      }).decision.outcome,
    ).toBe("SIZE_EXCEEDS_POSITION");
    expect(
      one("1", (candidate) => {
        candidate.positionKnown = false;
      }).decision.outcome,
    ).toBe("NO_ELIGIBLE_VENUE");
    const decision = two((first, second) => {
      first.longLots = 50_000;
      second.positionKnown = false;
    });
    expect([decision.outcome, decision.results[0]?.reason]).toEqual(["NO_ELIGIBLE_VENUE", "SIZE_EXCEEDS_POSITION"]);
  });

  it("skips a venue that holds too little in favour of one that holds enough", () => {
    const decision = two((first) => {
      first.longLots = 99_999;
    });
    expect([decision.selected, decision.reason, decision.results[0]?.reason]).toEqual([
      1,
      "ONLY_ELIGIBLE_VENUE",
      "SIZE_EXCEEDS_POSITION",
    ]);
  });

  it("resolves ALL and a percentage of the whole open size", () => {
    const all = one("1", (_, input) => setSizeAll(input));
    expect([all.decision.outcome, all.result.orderLots]).toEqual(["SELECTED", 100_000]);
    const third = one("1", (_, input) => {
      setSizePercentText(input, "33.3333");
    });
    expect(third.result.orderLots).toBe(33_333);
    // 2 + 2 BTC: half of it is one venue's whole position, all of it is more than any venue holds.
    expect(
      two((_, __, input) => {
        setSizePercentText(input, "50");
      }).results[0]?.orderLots,
    ).toBe(200_000);
    expect(two((_, __, input) => setSizeAll(input)).outcome).toBe("SIZE_EXCEEDS_POSITION");
    expect(
      two((_, __, input) => {
        setSizeAll(input);
        input.preferred = "venuetwo";
      }).results[1]?.orderLots,
    ).toBe(200_000);
  });

  it("refuses texts that are not a size", () => {
    const input = closeInput("SELL", 7, 0);
    for (const text of ["0", "-1", "", "abc", "1e3", "NaN", "9".repeat(30), "0.0"])
      expect(setSizeText(input, text)).toBe(false);
    for (const text of ["0", "-1", "100.0001", "1.00001", "x"]) expect(setSizePercentText(input, text)).toBe(false);
    expect([input.sizeUnits, input.sizeMode]).toEqual([7, "UNITS"]);
  });
});

describe("the worst price", () => {
  it("is rounded to the protective side for each side", () => {
    const instrument = instrumentOf("venueone", { priceRule: "sigfigs5" });
    expect(
      one("1", () => {}, { instrument, bids: [[974_170, 500_000]], asks: [[974_260, 500_000]] }).result.priceTicks,
    ).toBe(964_480);
    const buy = one("1", () => {}, { instrument, bids: [[974_170, 500_000]], asks: [[974_260, 500_000]] }, "BUY");
    // 97421.5 × 1.01 = 98395.715
    expect(buy.result.priceTicks).toBe(983_950);
  });

  it("is the venue's price band where that is tighter, unless the mark is old", () => {
    const instrument = instrumentOf("venueone", { bandUpPpm: 1_005_000, bandDownPpm: 995_000 });
    const marked = (side: Side, tsRecvNs: number, price = "10000.00000001") =>
      one(
        "1",
        (candidate) => {
          if (candidate.market !== null) candidate.market.ticker.markPrice = price;
          candidate.market?.ticker.stamp(1, tsRecvNs);
        },
        { instrument },
        side,
      ).result;
    // The band's edge minus a margin of an eighth of its half per cent.
    expect([marked("SELL", NOW_NS).priceTicks, marked("SELL", NOW_NS).bandClamped]).toEqual([99_564, true]);
    expect(marked("BUY", NOW_NS).priceTicks).toBe(100_437);
    expect(marked("SELL", NOW_NS - 16e9).priceTicks).toBe(99_000);
    expect(marked("SELL", NOW_NS, "9000").bandClamped).toBe(false);
    // The band alone can exclude all of the book.
    expect(marked("SELL", NOW_NS, "12000").reason).toBe("SLIPPAGE_CAP");
  });

  it("converts the shared mid into another venue's quote asset and decimals", () => {
    const input = closeInput("SELL", 1, 0);
    addHolder(input, buildMarket(plan("venueone")), 100_000);
    const fine = instrumentOf("venuetwo", { priceDecimals: 3 });
    const second = addHolder(
      input,
      buildMarket({ instrument: fine, bids: [[9_990_000, 500_000]], asks: [[10_050_000, 1]] }),
      100_000,
    );
    second.quoteRatePpm = 999_000;
    const decision = new Decision();
    decideRoute(input, decision);
    // 10000 × 0.99 / 0.999 = 9909.9099…
    expect([decision.reference, decision.results[0]?.priceTicks, decision.results[1]?.priceTicks]).toEqual([
      0, 99_000, 9_909_910,
    ]);
  });

  it.each<[string, Partial<MarketPlan>, (candidate: Candidate) => void]>([
    [
      "INSUFFICIENT_MARGIN",
      {},
      (candidate) => {
        candidate.buyingPower = 5_000;
      },
    ],
    ["BELOW_MIN_SIZE", { instrument: instrumentOf("venuetwo", { minNotional: "10000" }) }, () => {}],
  ])(
    "of an entry is measured from a venue that may take it, not from one refused with %s",
    (reason, fields, change) => {
      const input = new RouteInput();
      input.reset("OPEN_MARKET", "BUY", NOW_NS);
      setSizeText(input, "1");
      addHolder(input, buildMarket(plan("venueone")), 0);
      // The narrowest spread of both, half a percent above.
      const dear = { bids: [[100_499, 500_000]], asks: [[100_501, 500_000]] } as const;
      change(addHolder(input, buildMarket(plan("venuetwo", { ...dear, ...fields })), 0));
      if (reason === "BELOW_MIN_SIZE") setSizeText(input, "0.98");
      const decision = new Decision();
      decideRoute(input, decision);
      expect([decision.outcome, resultAt(decision, 1).reason, decision.reference]).toEqual(["SELECTED", reason, 0]);
      expect(resultAt(decision, 0).priceTicks).toBe(101_000);
    },
  );
});

describe("the choice between venues", () => {
  it("takes the best all-in price", () => {
    const decision = two(() => {}, 99_900);
    expect([
      decision.selected,
      decision.runnerUp,
      decision.reason,
      decision.results[0]?.rank,
      decision.results[1]?.rank,
    ]).toEqual([0, 1, "BEST_ALL_IN_PRICE", 1, 2]);
    const dearer = two((first) => {
      first.takerFeeMilliBps = 15_000;
    }, 99_900);
    expect(dearer.selected).toBe(1);
  });

  it("among ties prefers the lower latency, then the larger position", () => {
    const faster = two((first, second) => {
      first.latencyMsP90 = 300;
      second.latencyMsP90 = 200;
    });
    expect([faster.selected, faster.reason]).toEqual([1, "TIE_LOWEST_LATENCY"]);
    const delayed = two((first, second) => {
      first.latencyMsP90 = 100;
      first.takerDelayMs = 300;
      second.latencyMsP90 = 200;
    });
    expect(delayed.selected).toBe(1);
    const larger = two((_, second) => {
      second.longLots = 300_000;
    });
    expect([larger.selected, larger.reason]).toEqual([1, "TIE_LARGER_POSITION"]);
    expect(two(() => {}).selected).toBe(0);
  });

  it("counts venues as tied exactly up to half a basis point of the reference mid", () => {
    // Mid 10000, no fees: half a basis point is 0.5, five ticks.
    const free = (secondTop: number) =>
      two((first, second) => {
        first.takerFeeMilliBps = 0;
        second.takerFeeMilliBps = 0;
        first.latencyMsP90 = 2;
        second.latencyMsP90 = 1;
      }, secondTop);
    expect(free(99_985).selected).toBe(1);
    expect(free(99_984).selected).toBe(0);
  });

  it("gives the reason when the caller's choice or circumstances left no other venue", () => {
    expect(one("1").decision.reason).toBe("ONLY_ELIGIBLE_VENUE");
    expect(
      two((_, __, input) => {
        input.preferred = "venuetwo";
      }).reason,
    ).toBe("PREFERRED_EXCHANGE");
  });
});

describe("a decision without a venue", () => {
  it.each<[string, (candidate: Candidate, input: RouteInput) => void]>([
    [
      "NO_ELIGIBLE_VENUE",
      (candidate) => {
        candidate.hasCredentials = false;
      },
    ],
    [
      "MISSING_CREDENTIALS",
      (candidate, input) => {
        candidate.hasCredentials = false;
        input.preferred = "venueone";
      },
    ],
    [
      "SIZE_EXCEEDS_POSITION",
      (candidate) => {
        candidate.longLots = 0;
      },
    ],
    [
      "NO_ELIGIBLE_VENUE",
      (candidate) => {
        candidate.longLots = 0;
        candidate.shortLots = 9;
      },
    ],
    [
      "SLIPPAGE_CAP",
      (_, input) => {
        input.maxSlippageBps = 0.5;
      },
    ],
    [
      "SIZE_BELOW_LOT",
      (_, input) => {
        setSizeText(input, "0.000001");
      },
    ],
    [
      "VENUE_RATE_LIMITED",
      (candidate) => {
        candidate.budgetAvailable = false;
      },
    ],
    [
      "VENUE_UNAVAILABLE",
      (candidate, input) => {
        candidate.healthy = false;
        input.preferred = "venueone";
      },
    ],
    [
      "NO_ELIGIBLE_VENUE",
      (candidate) => {
        candidate.healthy = false;
      },
    ],
    [
      "NO_ELIGIBLE_VENUE",
      (candidate) => {
        candidate.market?.book.beginSync();
      },
    ],
  ])("is refused with %s", (error, change) => {
    expect(one("1", change).error).toBe(error);
  });
});

describe("a limit order", () => {
  function limit(price: string, change: (first: Candidate, second: Candidate) => void = () => {}, side: Side = "SELL") {
    const input = closeInput(side, 1, 0);
    input.reset("CLOSE_LIMIT", side, NOW_NS);
    setSizeText(input, "1");
    setLimitText(input, price);
    const first = addHolder(
      input,
      buildMarket(plan("venueone", { instrument: instrumentOf("venueone", { priceStepTicks: 5 }) })),
      100_000,
    );
    const second = addHolder(input, buildMarket(plan("venuetwo", { bids: [[99_980, 500_000]] })), 100_000);
    change(first, second);
    const decision = new Decision();
    decideRoute(input, decision);
    return decision;
  }

  it("has its limit rounded to the protective side and ranks by the maker fee while it rests", () => {
    const decision = limit("10100.1", (first, second) => {
      first.makerFeeMilliBps = 1500;
      second.makerFeeMilliBps = 500;
    });
    expect([decision.selected, decision.results[0]?.priceTicks, decision.results[1]?.priceTicks]).toEqual([
      1, 101_005, 101_001,
    ]);
    expect(decision.results[0]?.walk.filledLots).toBe(0);
  });

  it("that is marketable ranks by its walk and the taker fee, and needs no depth for the rest", () => {
    expect(limit("9990").selected).toBe(0);
    const thin = limit("9999", (first) => {
      first.market?.book.applyBid(99_990, 1000);
      first.market?.book.commit(2, 1, NOW_NS);
    });
    expect([thin.outcome, thin.results[0]?.walk.filledLots, thin.results[0]?.reason]).toEqual(["SELECTED", 1000, ""]);
  });

  it("is routed on a one-sided book, but not on one that is not LIVE", () => {
    const decision = limit("10100", (first, second) => {
      first.market?.book.applyAsk(100_010, 0);
      first.market?.book.applyAsk(100_100, 0);
      first.market?.book.commit(2, 1, NOW_NS);
      second.market?.book.invalidate("x");
    });
    expect([decision.selected, decision.results[1]?.reason]).toEqual([0, "BOOK_INVALID"]);
  });

  it("with a limit below one tick is refused as out of price range", () => {
    expect(limit("0.01", () => {}, "BUY").results[0]?.reason).toBe("PRICE_OUT_OF_RANGE");
  });
});

describe("a public quote", () => {
  it("needs books only", () => {
    const input = closeInput("BUY", 25, 2);
    input.kind = "QUOTE";
    input.addCandidate("venueone", buildMarket(plan("venueone")));
    input.addCandidate("venuetwo", buildMarket(plan("venuetwo", { asks: [[100_005, 500_000]] })));
    const decision = new Decision();
    decideRoute(input, decision);
    expect([decision.outcome, decision.results[0]?.eligible, decision.results[0]?.positionLots]).toEqual([
      "SELECTED",
      true,
      -1,
    ]);
    input.sizeUnits = 1_000_000;
    decideRoute(input, decision);
    expect([decisionErrorCode(decision), decision.results[0]?.reason]).toEqual([
      "NO_ELIGIBLE_VENUE",
      "DEPTH_INSUFFICIENT",
    ]);
  });
});
