/** A room's descriptor and the public schema are written separately; these tests compare them. */
import { describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { DESCRIPTORS } from "../../feeds/registry.js";
import { createAjv } from "../../schemas/validate.js";
import { CONTRACTS } from "../../schemas/venues.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { fakeMarket } from "../test/fake-room.js";

const FIGURES = {
  markPrice: "97421.5",
  lastPrice: "97420",
  indexPrice: "97425",
  prevDayPrice: "96000",
  openPrice: "96000",
  high24h: "98200",
  low24h: "95100",
  volume24h: "123456789.4",
  volumeBase: "10150.4",
  fundingRate: "0.0000125",
  openInterest: "812.44",
  nextFundingTime: 1_790_002_800_000,
  fundingIntervalHours: 1,
};

describe.each(ROUTABLE_VENUES)("the ticker of %s", (venue) => {
  const { schema } = CONTRACTS[venue].ticker;
  const fieldsOf = (figures: object) => {
    const market = fakeMarket(anInstrument({ venue }));
    Object.assign(market.ticker, figures);
    return DESCRIPTORS[venue].ticker(market, "LIVE", 5);
  };

  it("has every field of its schema, and no other", () => {
    expect(Object.keys(fieldsOf(FIGURES)).sort()).toEqual(Object.keys(schema.properties).sort());
  });

  it.each([
    ["with every figure", FIGURES],
    ["before the first frame", {}],
  ])("fits its schema %s", (_, figures) => {
    const validate = createAjv().compile(schema);
    expect(validate(fieldsOf(figures)), JSON.stringify(validate.errors)).toBe(true);
  });
});
