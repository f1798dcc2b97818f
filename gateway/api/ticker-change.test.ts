/** venuefour's 24 h change and open interest: `yesterday_price` is an oracle price (fact sheet 4, `/info/prices`). */
import { describe, expect, it } from "vitest";
import { applyPrice } from "../../feeds/venuefour/market/normalize.js";
import { tickerFields as venuefourFields } from "../../feeds/venuefour/ticker.js";
import { tickerFields as venuethreeFields } from "../../feeds/venuethree/ticker.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { fakeMarket } from "../test/fake-room.js";

const ROW = {
  symbol: "BTC",
  mark: "97421",
  mid: "97420.5",
  oracle: "97425",
  funding: "0.0000125",
  next_funding: "0.00001",
  open_interest: "812.44",
  volume_24h: "123456789.4",
  yesterday_price: "96000",
  timestamp: 1_790_000_000_398,
};

function tickerOf(lastPrice: string, wire: Partial<typeof ROW> = {}, multiplierExp10 = 0) {
  const market = fakeMarket(anInstrument({ venue: "venuefour", multiplierExp10 }));
  market.ticker.lastPrice = lastPrice;
  applyPrice(market.ticker, { ...ROW, ...wire }, lastPrice !== "", ROW.timestamp, 1);
  return venuefourFields(market, "LIVE", 0);
}

describe("venuefour's 24 h change", () => {
  it("compares the oracle price with the oracle price of yesterday, not a last trade far from it", () => {
    expect(tickerOf("99000")).toMatchObject({
      lastPrice: "99000",
      prevDayPrice: "96000",
      change24h: "1.4844",
      change24hAbs: "1425",
    });
  });

  it("is the same before the first trade, when the mid is taken for the last price", () => {
    expect(tickerOf("")).toMatchObject({ lastPrice: "97420.5", change24h: "1.4844", change24hAbs: "1425" });
  });

  it("is that of one base unit where the contract counts thousands", () => {
    const wire = { oracle: "0.0071237", yesterday_price: "0.007" };
    expect(tickerOf("0.008", wire, 3)).toMatchObject({ change24h: "1.7671", change24hAbs: "0.0000001237" });
  });
});

describe("a change that the venue prints itself", () => {
  it.each([
    ["0.4710228936502858", "0.471"],
    ["-4.366136694955931", "-4.3661"],
    ["-0.00006", "-0.0001"],
    ["-0.00004", "0"],
    ["-0.315", "-0.315"],
    ["2", "2"],
  ])("%s has four decimals at most", (printed, shown) => {
    const market = fakeMarket(anInstrument({ venue: "venuethree" }));
    Object.assign(market.ticker, { lastPrice: "97420", markPrice: "97421", change24h: printed });
    expect(venuethreeFields(market, "LIVE", 0)).toMatchObject({ change24h: shown });
  });
});

describe("venuefour's open interest", () => {
  it("is printed as it came, also where the contract counts thousands: its unit is disputed", () => {
    expect(tickerOf("", { open_interest: "5000" }, 3).openInterest).toBe("5000");
  });
});
