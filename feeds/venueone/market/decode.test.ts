import { describe, expect, it } from "vitest";
import { Ticker } from "../../../engine/market/ticker.js";
import { decodeAccountFrame } from "../account/frames.js";
import { frameFixture, frameFixtures } from "../fixtures/market/load.js";
import { applyContext, applyLastTrade, nextFundingMs, normalizeTrade } from "./normalize.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";

const decode = (text: string) => decodeAccountFrame(Buffer.from(text));

/** What each recorded frame must come out as. */
const EXPECTED_KINDS: Readonly<Record<string, string>> = {
  probe_sub_ack_l2Book_fast: "subscribed",
  probe_l2Book_kPEPE: "book",
  probe_l2Book_delisted: "book",
  tardis_l2Book_1: "book",
  probe_bbo_BTC: "bbo",
  bytex_bbo: "bbo",
  probe_trades_BTC: "trades",
  tardis_trades_3: "trades",
  probe_activeAssetCtx_BTC: "context",
  tardis_activeAssetCtx_0: "context",
  tardis_activeSpotAssetCtx_0: "ignored",
  bytex_candle: "ignored",
  probe_pong: "pong",
  probe_error_already_subscribed: "error",
  probe_error_parse: "error",
  probe_unsub_ack_l2Book_sigfigs: "subscribed",
  bytex_orderUpdates_open: "orderUpdates",
  bytex_user_fill: "userEvents",
  nautilus_ws_user_fill_liquidation: "userEvents",
  nautilus_ws_allmids: "ignored",
};

describe("decodeFrame", () => {
  it("reads every recorded frame as what it is", () => {
    const kinds = Object.fromEntries(frameFixtures().map(({ name, text }) => [name, decode(text).kind]));
    expect(kinds).toEqual(EXPECTED_KINDS);
  });

  it("keeps trade ids of sixteen digits exact", () => {
    expect(decode(frameFixture("probe_trades_BTC"))).toMatchObject({
      trades: [{ tid: 1_045_359_869_404_765, side: "A", px: "84143.0" }],
    });
  });

  it("takes the greeting and other text for text, and half a frame for malformed", () => {
    expect(decode("Websocket connection established.").kind).toBe("text");
    expect(decode("").kind).toBe("text");
    expect(decode('{"channel":"l2Bo').kind).toBe("malformed");
    expect(decode("[1,2]").kind).toBe("malformed");
    expect(decode("{}").kind).toBe("malformed");
  });

  it("names coin or user of a payload that does not fit, so that it can be doubted", () => {
    expect(
      decode('{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"x","sz":"1","n":1}],[]]}}'),
    ).toMatchObject({
      kind: "malformed",
      channel: "l2Book",
      subject: "BTC",
    });
    expect(decode('{"channel":"clearinghouseState","data":{"user":"0xab","clearinghouseState":null}}')).toMatchObject({
      kind: "malformed",
      subject: "0xab",
    });
  });

  it.each([
    [
      "a side that is neither A nor B",
      '{"channel":"trades","data":[{"coin":"BTC","side":"S","px":"1","sz":"1","time":1,"tid":1}]}',
    ],
    ["a price as number", '{"channel":"bbo","data":{"coin":"BTC","time":1,"bbo":[{"px":1,"sz":"1","n":1},null]}}'],
    ["a negative size", '{"channel":"bbo","data":{"coin":"BTC","time":1,"bbo":[{"px":"1","sz":"-1","n":1},null]}}'],
    ["a fractional time", '{"channel":"l2Book","data":{"coin":"BTC","time":1.5,"levels":[[],[]]}}'],
    [
      "an unreadable position",
      '{"channel":"clearinghouseState","data":{"user":"0xab","clearinghouseState":{"time":1,"withdrawable":"0","marginSummary":{"accountValue":"0"},"assetPositions":[{"type":"oneWay"}]}}}',
    ],
  ])("refuses %s instead of guessing", (_what, text) => {
    expect(decode(text).kind).toBe("malformed");
  });

  it("counts a channel nobody knows as unknown", () => {
    expect(decode('{"channel":"bookV3","data":{}}')).toEqual({ kind: "unknown", channel: "bookV3" });
  });
});

describe("ticker", () => {
  const context = () => {
    const frame = decode(frameFixture("probe_activeAssetCtx_BTC"));
    if (frame.kind !== "context") throw new Error("not a context");
    return frame.context;
  };

  it("takes mark, mid as last, previous day, volume, funding and open interest, and the next whole hour", () => {
    const ticker = new Ticker();
    applyContext(ticker, context(), 1_790_232_237_000, 5);
    expect(ticker).toMatchObject({
      markPrice: "84148.0",
      lastPrice: "84143.5",
      indexPrice: "84198.0",
      prevDayPrice: "86627.0",
      volume24h: "4161029539.6949653625",
      fundingRate: "0.0000018952",
      openInterest: "36585.31848",
      nextFundingTime: 1_790_233_200_000,
      fundingIntervalHours: 1,
      tsVenueMs: 1_790_232_237_000,
      tsRecvNs: 5,
    });
  });

  it("falls back to the last trade only while there is no mid", () => {
    const ticker = new Ticker();
    const trade = { coin: "BTC", side: "B", px: "84000.0", sz: "1", time: 9, tid: 1 } as const;
    applyContext(ticker, { ...context(), midPx: null }, 1, 1);
    applyLastTrade(ticker, trade, false, 2);
    expect(ticker.lastPrice).toBe("84000.0");
    applyContext(ticker, context(), 3, 3);
    applyLastTrade(ticker, { ...trade, px: "1" }, true, 4);
    expect(ticker.lastPrice).toBe("84143.5");
  });

  it("takes the hour after a whole hour as the next funding", () => {
    expect(nextFundingMs(3_600_000)).toBe(7_200_000);
    expect(nextFundingMs(3_599_999)).toBe(3_600_000);
  });
});

describe("trades", () => {
  it("become ticks, lots and the aggressor's side; a number too fine is no trade", () => {
    const meta = { universe: [{ name: "BTC", szDecimals: 5, maxLeverage: 40, isDelisted: false }], collateralToken: 0 };
    const btc = buildInstruments(meta, DEFAULT_FEES).bySymbol.get("BTC");
    if (btc === undefined) throw new Error("BTC is missing");
    const wire = { coin: "BTC", side: "A", px: "84143.0", sz: "0.00036", time: 5, tid: 7 } as const;
    expect(normalizeTrade(wire, btc, 9)).toMatchObject({
      side: "SELL",
      priceTicks: 841_430,
      qtyLots: 36,
      tradeId: "7",
      tsVenueMs: 5,
      tsRecvNs: 9,
    });
    expect(normalizeTrade({ ...wire, px: "84143.05" }, btc, 9)).toBeNull();
    expect(normalizeTrade({ ...wire, sz: "0" }, btc, 9)).toBeNull();
  });
});
