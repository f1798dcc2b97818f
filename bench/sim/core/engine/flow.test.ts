import { describe, expect, it } from "vitest";
import { createFactorModel } from "../market/factor-model.js";
import { moneyText } from "../model/fixed.js";
import { BTC, ETH, testExchange } from "../test/support.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";

const FLOW = { stepMs: 50, levelCount: 120 };

describe("synthetic market", () => {
  it("keeps deep, uncrossed, sorted books around the fair price for ten minutes", () => {
    const { exchange, clock } = testExchange({ instruments: [BTC, ETH], flow: FLOW });
    exchange.start();
    let trades = 0;
    exchange.addListener({ onTrade: () => trades++ });
    for (let second = 0; second < 600; second++) {
      clock.advance(1000);
      for (const symbol of ["BTCUSDT", "ETHUSDT"]) {
        const book = exchange.market.book(symbol);
        const bid = book.bids[0]?.priceTicks ?? 0;
        const ask = book.asks[0]?.priceTicks ?? 0;
        expect(bid).toBeLessThan(ask);
        expect(((ask - bid) / bid) * 10_000).toBeLessThan(6);
        expect(book.bids.length).toBeGreaterThan(80);
        expect(book.asks.length).toBeGreaterThan(80);
        expect(
          book.bids.every((level, index) => index === 0 || level.priceTicks < (book.bids[index - 1]?.priceTicks ?? 0)),
        ).toBe(true);
        expect(
          book.asks.every((level, index) => index === 0 || level.priceTicks > (book.asks[index - 1]?.priceTicks ?? 0)),
        ).toBe(true);
      }
    }
    expect(trades).toBeGreaterThan(1000);
  });

  it("is the same market for the same seed, and another for another", () => {
    const run = (seed: number): string => {
      const { exchange, clock } = testExchange({ flow: FLOW, seed, seqJumpMax: 900 });
      exchange.start();
      clock.advance(30_000);
      return JSON.stringify([
        exchange.market.book("BTCUSDT"),
        exchange.market.trades("BTCUSDT"),
        exchange.market.mark("BTCUSDT"),
        exchange.market.engineSeq(),
      ]);
    };
    expect(run(5)).toBe(run(5));
    expect(run(5)).not.toBe(run(6));
  });

  it("moves the same base together on two venues, each with a small basis of its own", () => {
    const clock = new VirtualClock();
    const priceSource = createFactorModel({ seed: 3, startMs: clock.wallMs(), marketVolatility: 3 });
    const one = testExchange({ venue: "a", clock, priceSource, flow: FLOW }).exchange;
    const two = testExchange({ venue: "b", clock, priceSource, flow: FLOW }).exchange;
    one.start();
    two.start();
    const middle = (exchange: typeof one): number =>
      ((exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0) + (exchange.market.bestAsk("BTCUSDT")?.priceTicks ?? 0)) /
      2;
    const start = middle(one);
    let largestBasis = 0;
    let differing = 0;
    for (let second = 0; second < 300; second++) {
      clock.advance(1000);
      const basisBps = Math.abs(middle(one) / middle(two) - 1) * 10_000;
      largestBasis = Math.max(largestBasis, basisBps);
      if (basisBps > 0.05) differing++;
    }
    expect(Math.abs(middle(one) / start - 1) * 10_000).toBeGreaterThan(5);
    expect(largestBasis).toBeLessThan(8);
    expect(differing).toBeGreaterThan(200);
  });

  it("moves one venue's whole market by the skew, at once or over a ramp, and keeps it uncrossed", () => {
    const { exchange, clock } = testExchange({ flow: FLOW });
    exchange.start();
    clock.advance(1000);
    const before = exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0;
    exchange.controls.setPriceSkew(50, 0);
    exchange.step();
    const after = exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0;
    expect((after / before - 1) * 10_000).toBeGreaterThan(45);
    expect((after / before - 1) * 10_000).toBeLessThan(55);
    exchange.controls.setPriceSkew(-50, 10_000);
    clock.advance(5_000);
    expect(Math.abs(exchange.controls.priceSkewBps())).toBeLessThan(1);
    clock.advance(6_000);
    const end = exchange.market.book("BTCUSDT");
    expect(((end.bids[0]?.priceTicks ?? 0) / before - 1) * 10_000).toBeLessThan(-40);
    expect(end.bids[0]?.priceTicks ?? 0).toBeLessThan(end.asks[0]?.priceTicks ?? 0);
    expect(end.bids.length).toBeGreaterThan(80);
  });

  it("fills a user's quote beyond the fair price, and conserves money and positions", () => {
    const { exchange, clock } = testExchange({ flow: FLOW });
    exchange.start();
    exchange.desk.createAccount({ accountId: "a", deposit: "1000000" });
    const before = exchange.accounts.conservedE12();
    const ask = exchange.market.bestAsk("BTCUSDT")?.priceTicks ?? 0;
    for (let round = 0; round < 20; round++) {
      exchange.orders.place("a", {
        symbol: "BTCUSDT",
        side: round % 2 === 0 ? "BUY" : "SELL",
        type: "LIMIT",
        timeInForce: "GTC",
        priceTicks: ask + (round % 2 === 0 ? 30 : -30),
        qtyLots: 5000,
        reduceOnly: false,
        positionSide: "BOTH",
        clientId: null,
        trigger: null,
        closePosition: false,
      });
      clock.advance(2000);
    }
    expect(exchange.accounts.fills("a").some((fill) => fill.maker)).toBe(true);
    expect(moneyText(exchange.accounts.conservedE12(), 12)).toBe(moneyText(before, 12));
    expect(exchange.accounts.netLots("BTCUSDT")).toBe(0);
  });

  it("shows a past: candles, 24 h ticker and funding history exist from the first moment and agree", () => {
    const { exchange, clock } = testExchange({ flow: FLOW });
    exchange.start();
    clock.advance(120_000);
    const minutes = exchange.market.candles("BTCUSDT", 60_000);
    const hours = exchange.market.candles("BTCUSDT", 3_600_000);
    expect(minutes.length).toBe(1500);
    expect(hours[hours.length - 1]?.closeTicks).toBe(minutes[minutes.length - 1]?.closeTicks);
    const ticker = exchange.market.ticker("BTCUSDT");
    expect(ticker.lowTicks).toBeLessThanOrEqual(ticker.lastTicks);
    expect(ticker.highTicks).toBeGreaterThanOrEqual(ticker.lastTicks);
    const day = minutes.slice(-1440);
    expect(ticker.volumeLots).toBe(day.reduce((sum, candle) => sum + candle.volumeLots, 0));
    expect(exchange.market.fundingHistory("BTCUSDT").length).toBe(200);
    expect(exchange.market.mark("BTCUSDT").nextFundingMs % BTC.fundingIntervalMs).toBe(0);
  });
});
