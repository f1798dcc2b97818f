/** What a split is measured from, what its legs are held to, and when it is none: trade path, fake venues, virtual clock. */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../domain/instrument.js";
import { FakeVenue, type FakeVenueOptions } from "../test/fake-venue.js";
import { closeContext, closeRequest, createHarness, createService, type Harness, seededIds } from "../test/harness.js";
import type { TradeRequest, TradeResult } from "../types.js";

const SPLIT = { allowSplit: true, size: "0.6" } as const;

/** The harness's two venues with a third beside them, whose narrow book lies 5 % below theirs. */
function withThird(
  options: Partial<FakeVenueOptions> = {},
  instrument: Partial<Instrument> = {},
  ofTwo: Partial<FakeVenueOptions> = {},
) {
  const harness = createHarness({ two: { instrument, ...ofTwo } });
  const { clock, one, two } = harness;
  const book = { bidTicks: 949_990, askTicks: 950_010, levelLots: 1_000 };
  const three = new FakeVenue({ venue: "venuethree", clock, ...book, ...options });
  const service = createService({
    clock,
    store: harness.store,
    rooms: [one, two, three].map((venue) => venue.room()),
    events: [],
    logLines: [],
    ids: seededIds(2),
    overrides: {},
  });
  const credentials = {
    ...closeRequest().credentials,
    venuethree: { account: "acct-venuethree", secret: "canary-secret-three-c0ffee" },
  };
  const close = (request: Partial<TradeRequest>): Promise<TradeResult> =>
    harness.run(service.trade(closeRequest({ ...SPLIT, credentials, ...request }), closeContext(clock)));
  return { harness, three, credentials, close };
}

const sentTicks = (harness: Harness) =>
  [...harness.one.log, ...harness.two.log].map(({ command }) => command.priceTicks);

describe("the reference of a split", () => {
  const { venueone, venuetwo } = closeRequest().credentials;

  it.each<[string, (parts: ReturnType<typeof withThird>) => Partial<TradeRequest>]>([
    ["excluded", () => ({ excludeExchanges: ["venuethree"] })],
    ["without credentials", () => ({ credentials: { venueone, venuetwo } })],
    [
      "unhealthy",
      ({ three }) => {
        three.setPosition("acct-venuethree", "LONG", 100);
        three.breaker = "open";
        return {};
      },
    ],
    ["flat", () => ({})],
  ])("is never a venue that is %s", async (_, change) => {
    const parts = withThird();
    const result = await parts.close(change(parts));
    if (!result.ok) throw new Error(result.code);
    // 1 % below the mid of venueone, 100000.
    expect(sentTicks(parts.harness)).toEqual([990_000, 990_000]);
    expect(result.data.routing.reference).toMatchObject({ mid: "100000", exchange: "venueone" });
    expect(result.data.routing.limits.worstPrice).toBe("99000");
  });

  it("is a leg of it, not a venue that could have taken part and does not", async () => {
    const parts = withThird({ bidTicks: 949_999, askTicks: 950_001 });
    parts.three.setPosition("acct-venuethree", "LONG", 400);
    const result = await parts.close({});
    if (!result.ok) throw new Error(result.code);
    expect(parts.three.log).toEqual([]);
    expect(result.data.routing.reference).toMatchObject({ exchange: "venueone" });
    expect(sentTicks(parts.harness)).toEqual([990_000, 990_000]);
  });
});

describe("the bound of a split", () => {
  it("that is reported is as loose as the loosest leg's, where a venue's band narrows the largest one", async () => {
    const harness = createHarness({ one: { instrument: { bandDownPpm: 995_000 } } });
    harness.one.market.ticker.markPrice = "100000";
    harness.one.market.ticker.tsRecvNs = harness.clock.monoNs();
    const dryRun = await harness.closeData({ ...SPLIT, dryRun: true });
    const data = await harness.closeData(SPLIT);
    const [narrow = 0, wide = 0] = sentTicks(harness);
    expect(narrow).toBeGreaterThan(wide);
    expect(wide).toBe(990_000);
    expect(data.routing.limits.worstPrice).toBe("99000");
    expect(dryRun.routing.limits.worstPrice).toBe("99000");
    expect(dryRun.quote?.worstPrice).toBe("99000");
  });
});

describe("a split that", () => {
  it.each([
    // On one venue a third of the size meets its second level: 14 / 3 of 100000 are 0.47 bps, 20 / 3 are 0.67.
    ["saves less than the tie distance", 140, false],
    ["saves more than the tie distance", 200, true],
  ])("%s is one or none", async (_, priceStepTicks, isSplit) => {
    const instrument = { priceStepTicks };
    const harness = createHarness({
      one: { levelLots: 200, instrument },
      two: { bidTicks: 999_900, levelLots: 200, instrument },
    });
    const data = await harness.closeData({ ...SPLIT, size: "0.3" });
    expect(data.routing.split).toBe(isSplit);
    expect(harness.one.log.length + harness.two.log.length).toBe(isSplit ? 2 : 1);
    expect(data.routing.reference).toMatchObject({ exchange: "venueone" });
  });

  it("is refused where more is asked than all venues hold, also by less than a lot of one of them", async () => {
    const harness = createHarness({ two: { instrument: { qtyStepLots: 50 } } });
    expect(await harness.close({ ...SPLIT, size: "0.81" })).toMatchObject({
      ok: false,
      code: "SIZE_EXCEEDS_POSITION",
      details: { maxSingleVenueSize: "0.4", maxTotalSize: "0.8" },
    });
    expect(harness.one.log.length + harness.two.log.length).toBe(0);
  });

  it("is refused where the total is not known, because a venue could not be read", async () => {
    const parts = withThird({}, { qtyStepLots: 50 });
    parts.three.positionFailure = () => "TIMEOUT";
    expect(await parts.close({ size: "0.81" })).toMatchObject({ ok: false, code: "NO_ELIGIBLE_VENUE" });
    expect(sentTicks(parts.harness)).toEqual([]);
  });
});

describe("a leg that is priced again for its venue's band", () => {
  it("does not bring about that another leg's position, which is gone, is closed on a third venue", async () => {
    const parts = withThird(
      { bidTicks: 990_500, askTicks: 990_700 },
      { bandUpPpm: 1_050_000, bandDownPpm: 950_000 },
      {
        askedMark: () => "100000",
      },
    );
    const { one, two } = parts.harness;
    parts.three.setPosition("acct-venuethree", "LONG", 1_000);
    two.setMark("100000");
    // Somebody closes the first leg's position on the way.
    one.fate = () => {
      one.setPosition("acct-venueone", "LONG", 0);
      return { kind: "fill" };
    };
    two.fate = () =>
      two.log.length === 0 ? { kind: "reject", reason: "PRICE_BAND" } : { kind: "fill", liquidity: 0.5 };
    const result = await parts.close({ maxLegs: 2 });
    expect(two.log.map(({ filledLots }) => filledLots)).toEqual([0, 100]);
    expect(parts.three.log).toEqual([]);
    expect(result).toMatchObject({ data: { execution: { state: "PARTIAL", filledSize: "0.1" } } });
  });
});
