/** The bounds of a trade as they were stated: a stop's own limit, a venue's band around its mark, one bound for all attempts. */
import { describe, expect, it } from "vitest";
import type { OrderCommand } from "../../domain/order.js";
import type { PlaceFate } from "../test/fake-matching.js";
import type { FakeVenue, FakeVenueOptions } from "../test/fake-venue.js";
import { closeContext, closeRequest, createHarness, type Harness } from "../test/harness.js";
import type { TradeRequest } from "../types.js";

/** Two per cent around the mark, as venuetwo has it for its large contracts. */
const BANDED: Partial<FakeVenueOptions> = { instrument: { bandUpPpm: 1_020_000, bandDownPpm: 980_000 } };
const KEY = { idempotencyKey: "k" };

/** The venue judges a plain order's price around the mark that it has, which nobody else need know yet. */
function judgesBy(venue: FakeVenue, markOf: () => number): void {
  venue.fate = (command: OrderCommand): PlaceFate => {
    if (command.trigger !== undefined) return { kind: "fill" };
    const markTicks = markOf() * 10;
    const isOutside =
      command.side === "SELL" ? command.priceTicks < markTicks * 0.98 : command.priceTicks > markTicks * 1.02;
    return isOutside ? { kind: "reject", reason: "PRICE_BAND", venueText: "beyond the floor" } : { kind: "fill" };
  };
}

function stopLimit(limitPrice: string, triggerPrice = "90000"): Partial<TradeRequest> {
  return { orderType: "STOP_LIMIT", triggerPrice, limitPrice, preferredExchange: "venuetwo" };
}

function banded(askedMark?: () => string | null): Harness {
  const harness = createHarness({
    two: { ...BANDED, bidTicks: 999_900, ...(askedMark === undefined ? {} : { askedMark }) },
  });
  harness.two.setMark("100000");
  return harness;
}

const sent = (venue: FakeVenue): number[] => venue.log.map(({ command }) => command.priceTicks);

describe("a stop's limit", () => {
  it("is sent as its caller wrote it, however far today's mark is", async () => {
    const harness = banded();
    const data = await harness.closeData(stopLimit("89000"));
    expect(harness.two.log[0]?.command).toMatchObject({ priceTicks: 890_000, trigger: { priceTicks: 900_000 } });
    expect(data.order).toMatchObject({ price: "89000", triggerPrice: "90000" });
    expect(data.execution.adjustments).toEqual([]);
    expect(data.execution.legs).toMatchObject([{ worstPrice: "89000" }]);
  });

  it("off the venue's grid is refused, not rounded", async () => {
    const harness = banded();
    expect(await harness.close(stopLimit("89000.05"))).toMatchObject({
      ok: false,
      code: "INVALID_PARAMETERS",
      details: { fields: [{ path: "limitPrice", problem: "must be a multiple of 0.1" }] },
    });
    expect(harness.two.calls.place).toBe(0);
    await harness.closeData(stopLimit("89000.100"));
    expect(sent(harness.two)).toEqual([890_001]);
  });

  it("outside the band around its trigger is refused, never moved, and nothing is sent", async () => {
    const harness = banded();
    // 90000 × 0.98 = 88200
    for (const limitPrice of ["88199.9", "70000"]) {
      expect(await harness.close(stopLimit(limitPrice))).toMatchObject({
        ok: false,
        code: "INVALID_PARAMETERS",
        details: { fields: [{ path: "limitPrice", problem: expect.stringContaining("88200") }] },
      });
    }
    expect(harness.two.calls.place).toBe(0);
    await harness.closeData(stopLimit("88200"));
    harness.two.setPosition("acct-venuetwo", "LONG", 0);
    harness.two.setPosition("acct-venuetwo", "SHORT", 400);
    const short = { direction: "SHORT", ...stopLimit("112200.1", "110000") } as const;
    expect(await harness.close(short)).toMatchObject({ ok: false, code: "INVALID_PARAMETERS" });
    await harness.closeData({ ...short, limitPrice: "112200" });
    expect(sent(harness.two)).toEqual([882_000, 1_122_000]);
  });
});

describe("a stop at market", () => {
  it("says the bound that it carries, and none where its venue takes no price with it", async () => {
    const request = { orderType: "STOP_MARKET", triggerPrice: "90000", preferredExchange: "venuetwo" } as const;
    const data = await createHarness().closeData(request);
    expect(data.execution.legs).toMatchObject([{ worstPrice: "89100" }]);
    expect(data.order).toMatchObject({ type: "STOP_MARKET", price: "89100", triggerPrice: "90000" });
    const unpriced = createHarness({ two: { instrument: { marketTriggersUnpriced: true } } });
    const bare = await unpriced.closeData(request);
    expect(bare.execution.legs).toMatchObject([{ worstPrice: null }]);
    // As its venue prints the order: a bound that nobody holds to is none.
    expect(bare.order).toMatchObject({ type: "STOP_MARKET", price: "0", triggerPrice: "90000" });
  });
});

describe("a bound beside the venue's band", () => {
  it("is kept inside by more than the mark moves while the order is on its way", async () => {
    const harness = banded();
    // A quarter of a per cent more than was known of the mark when the order left.
    judgesBy(harness.two, () => 100_250);
    const data = await harness.closeData({ maxSlippageBps: 300, preferredExchange: "venuetwo" });
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect(sent(harness.two)).toEqual([982_500]);
    expect(data.execution.legs).toMatchObject([{ worstPrice: "98250", status: "FILLED" }]);
    expect(data.execution.adjustments).toEqual([{ field: "price", from: "97000", to: "98250", rule: "PRICE_BAND" }]);
  });

  it("leaves a caller's limit alone that the band holds, and brings one inside that it does not", async () => {
    const harness = banded();
    for (const limitPrice of ["98000", "98100", "97000"])
      await harness.closeData({ orderType: "LIMIT", limitPrice, size: "0.1", preferredExchange: "venuetwo" });
    expect(sent(harness.two)).toEqual([980_000, 981_000, 982_500]);
  });

  it("is priced once more by a fresh mark after a refusal for the band, never looser than before", async () => {
    let mark = 100_000;
    const harness = banded(() => String(mark));
    judgesBy(harness.two, () => mark);
    harness.two.fate = ((judge) => (command: OrderCommand, account: string) => {
      if (harness.two.log.length === 0) mark = 101_500;
      return judge(command, account);
    })(harness.two.fate);
    harness.two.setBook(1_014_900, 1_015_100, 1_000);
    const data = await harness.closeData({ maxSlippageBps: 500, preferredExchange: "venuetwo" });
    // 101500 × (0.98 + 0.0025) = 99723.75
    expect(sent(harness.two)).toEqual([982_500, 997_238]);
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.25" });
    expect(data.execution.legs).toMatchObject([
      { attempt: 1, worstPrice: "98250", outcome: "REJECTED", reason: "PRICE_BAND" },
      { attempt: 2, worstPrice: "99723.8", outcome: "CONFIRMED", filledSize: "0.25" },
    ]);
    expect(harness.two.lanes).not.toContain("trade");
  });

  it("is not tried a third time, and not without a fresh mark", async () => {
    const twice = banded(() => "100000");
    twice.two.fate = () => ({ kind: "reject", reason: "PRICE_BAND" });
    const data = await twice.closeData({ maxSlippageBps: 300, preferredExchange: "venuetwo" });
    expect(data.execution).toMatchObject({ state: "REJECTED", filledSize: "0" });
    expect(data.execution.legs).toHaveLength(2);
    for (const askedMark of [undefined, () => null]) {
      const once = banded(askedMark);
      once.two.fate = () => ({ kind: "reject", reason: "PRICE_BAND" });
      await once.closeData({ maxSlippageBps: 300, preferredExchange: "venuetwo" });
      expect(once.two.log).toHaveLength(1);
    }
  });

  it("of a split's legs is mended for all that were refused, at once", async () => {
    const harness = createHarness({
      one: { ...BANDED, askedMark: () => "101000" },
      two: { ...BANDED, bidTicks: 999_900, askedMark: () => "101000" },
    });
    for (const venue of [harness.one, harness.two]) {
      venue.setMark("100000");
      venue.setPosition(`acct-${venue.venue}`, "LONG", 300);
      judgesBy(venue, () => 101_000);
    }
    const data = await harness.closeData({ size: "0.6", maxSlippageBps: 300, allowSplit: true });
    expect(data.execution).toMatchObject({ state: "COMPLETED", filledSize: "0.6" });
    expect(data.execution.legs.map(({ leg, attempt, worstPrice }) => [leg, attempt, worstPrice])).toEqual([
      [0, 1, "98250"],
      [1, 1, "98250"],
      [0, 2, "99232.5"],
      [1, 2, "99232.5"],
    ]);
  });
});

describe("the first decision's bound", () => {
  it("holds for what is sent after a partial fill: nothing goes out beyond it", async () => {
    const harness = createHarness({ two: { bidTicks: 999_900 } });
    harness.one.fate = () => {
      // While the first order is out the market falls by four per cent.
      harness.one.setBook(959_900, 960_100, 1_000);
      harness.two.setBook(959_900, 960_100, 1_000);
      return { kind: "fill", liquidity: 0.4 };
    };
    const data = await harness.closeData();
    expect(data.routing.limits.worstPrice).toBe("99000");
    expect(sent(harness.one)).toEqual([990_000]);
    expect(sent(harness.two)).toEqual([]);
    expect(data.execution).toMatchObject({ state: "PARTIAL", filledSize: "0.1", remainingSize: "0.15" });
    expect(data.execution.legs).toMatchObject([{ worstPrice: "99000" }]);
  });

  it("is carried by a later order where the book still meets it, and its own where that is tighter", async () => {
    for (const [bidTicks, worstPrice] of [
      [991_000, "99000"],
      [1_009_900, "99990"],
    ] as const) {
      const harness = createHarness({ two: { bidTicks: 999_900 } });
      harness.one.fate = () => {
        harness.two.setBook(bidTicks, bidTicks + 200, 1_000);
        harness.one.setBook(bidTicks, bidTicks + 200, 1_000);
        return { kind: "reject", reason: "VENUE_STATE" };
      };
      const data = await harness.closeData();
      expect(data.execution.legs).toMatchObject([
        { exchange: "venueone", worstPrice: "99000" },
        { exchange: "venuetwo", worstPrice, filledSize: "0.25" },
      ]);
      expect(sent(harness.two)).toEqual([Number(worstPrice) * 10]);
    }
  });

  it("is converted where the next venue quotes in another asset", async () => {
    const harness = createHarness({
      two: { bidTicks: 999_900 },
      service: {
        routing: { latencyFactor: 0.5, takerDelayMs: {}, quoteRatePpm: new Map([["USDT", 999_000]]) },
      },
    });
    harness.one.fate = () => {
      harness.two.setBook(992_000, 992_200, 1_000);
      return { kind: "reject", reason: "VENUE_STATE" };
    };
    await harness.closeData();
    const [bound] = sent(harness.one);
    // As much of the common quote: a price in a cheaper asset is a larger number.
    expect(sent(harness.two)).toEqual([Math.ceil((bound ?? 0) / 0.999)]);
  });

  it("holds after a crash, for the order that takes the place of one that got lost", async () => {
    const harness = createHarness();
    harness.one.fate = () => {
      harness.kill();
      return { kind: "loseRequest" };
    };
    void harness.service.trade(closeRequest(), closeContext(harness.clock, KEY));
    await harness.clock.advanceAsync(100);
    expect(sent(harness.one)).toEqual([990_000]);
    const service = await harness.restart();
    harness.one.fate = () => ({ kind: "fill" });
    await harness.clock.advanceAsync(20_000);
    const again = () => harness.run(service.trade(closeRequest(), closeContext(harness.clock, KEY)));
    harness.one.setBook(959_900, 960_100, 1_000);
    harness.two.setBook(959_900, 960_100, 1_000);
    expect(await again()).toMatchObject({ ok: false, code: "SLIPPAGE_CAP" });
    expect([...sent(harness.one), ...sent(harness.two)]).toEqual([990_000]);
    harness.one.setBook(994_900, 995_100, 1_000);
    expect(await again()).toMatchObject({
      ok: true,
      data: { execution: { state: "COMPLETED", legs: [{ worstPrice: "99000" }, { worstPrice: "99000" }] } },
    });
    expect(sent(harness.one)).toEqual([990_000, 990_000]);
  });
});
