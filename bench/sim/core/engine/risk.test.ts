import { describe, expect, it } from "vitest";
import { moneyText } from "../model/fixed.js";
import { BTC, limit, market, testExchange } from "../test/support.js";
import type { PriceSource } from "../market/factor-model.js";
import type { SimExchange } from "./exchange.js";

/** A price that the test moves. */
function steered(startPrice: number): PriceSource & { price: number } {
  return { price: startPrice, fairPrice: () => source.price } as PriceSource & { price: number };
}
let source: PriceSource & { price: number };

function venue(startPrice = 100_000): { exchange: SimExchange; clock: ReturnType<typeof testExchange>["clock"] } {
  source = steered(startPrice);
  const made = testExchange({ priceSource: source });
  made.exchange.desk.createAccount({ accountId: "a", deposit: "1000" });
  return made;
}

describe("liquidation", () => {
  it("sells a cross position below its maintenance margin, cancels its orders first, and never leaves a negative wallet", () => {
    const { exchange } = venue();
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", 1_000_000, 1000);
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", 880_000, 100_000);
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 100, 1_000_000);
    const resting = exchange.orders.place("a", limit("SELL", 1_100_000, 10, { reduceOnly: true }));
    const before = exchange.accounts.conservedE12();
    exchange.step();
    expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(100);
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", 1_000_000, 0);
    source.price = 90_200;
    exchange.step();
    expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(0);
    expect(resting.ok && resting.value).toMatchObject({ status: "CANCELED", endReason: "LIQUIDATION" });
    const order = exchange.orders.all("a").find((candidate) => candidate.origin === "LIQUIDATION");
    expect(order?.clientId).toMatch(/^autoclose-/);
    expect(exchange.accounts.fills("a").every((fill) => fill.liquidation)).toBe(true);
    expect(moneyText(exchange.accounts.margin("a").walletE12, 8)).toBe("0.00000000");
    expect(exchange.accounts.income("a").some((row) => row.type === "INSURANCE_CLEAR")).toBe(true);
    expect(exchange.accounts.conservedE12()).toBe(before);
  });

  it("meets the shown liquidation price: above it the position lives, below it is sold", () => {
    const { exchange } = venue();
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 100, 1_000_000);
    const position = exchange.accounts.position("a", "BTCUSDT", "BOTH");
    if (position === null) throw new Error("no position");
    const shown = exchange.accounts.positionFigures(position).liquidationPriceE12;
    // (1000 + 10 000 × … ): wallet 1000, long 0.1 at 100 000, 0.4 %: (1000 − 10000) / (0.1 × 0.004 − 0.1) = 90361.44…
    expect(moneyText(shown ?? 0n, 2)).toBe("90361.44");
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", 900_000, 1000);
    source.price = 90_362;
    exchange.step();
    expect(position.qtyLots).toBe(100);
    source.price = 90_360;
    exchange.step();
    expect(position.qtyLots).toBe(0);
  });

  it("takes an isolated position alone and at most its collateral", () => {
    const { exchange } = venue();
    expect(exchange.desk.setMarginMode("a", "BTCUSDT", "isolated").ok).toBe(true);
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 100, 1_000_000);
    expect(moneyText(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.isolatedE12 ?? 0n, 2)).toBe("500.00");
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", 800_000, 100_000);
    source.price = 95_100;
    exchange.step();
    expect(exchange.accounts.position("a", "BTCUSDT", "BOTH")?.qtyLots).toBe(0);
    expect(moneyText(exchange.accounts.margin("a").walletE12, 2)).toBe("500.00");
  });
});

describe("funding", () => {
  it("is charged at each settlement on the position, long pays a positive rate, and conserves money", () => {
    const { exchange, clock } = venue();
    exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 100, 1_000_000);
    const before = exchange.accounts.conservedE12();
    const next = exchange.market.mark("BTCUSDT").nextFundingMs;
    clock.advance(next - clock.wallMs() + 10);
    exchange.step();
    const [row] = exchange.accounts.income("a").filter((income) => income.type === "FUNDING_FEE");
    // 10 000 USDT at 0.01 %.
    expect(row).toMatchObject({ amountE12: -(10n ** 12n), fundingRateE8: 10_000, positionLots: 100 });
    expect(exchange.accounts.conservedE12()).toBe(before);
    expect(exchange.market.mark("BTCUSDT").nextFundingMs).toBe(next + BTC.fundingIntervalMs);
  });
});

describe("margin settings", () => {
  it("refuses mode changes under orders or positions and leverage outside the brackets", () => {
    const { exchange } = venue();
    exchange.controls.setHouseLevel("BTCUSDT", "SELL", 1_000_000, 1000);
    expect(exchange.desk.setLeverage("a", "BTCUSDT", 101)).toEqual({ ok: false, reason: "LEVERAGE" });
    expect(exchange.desk.setLeverage("a", "BTCUSDT", 0)).toEqual({ ok: false, reason: "LEVERAGE" });
    expect(exchange.orders.place("a", limit("BUY", 900_000, 1)).ok).toBe(true);
    expect(exchange.desk.setHedgeMode("a", true)).toEqual({ ok: false, reason: "HAS_ORDERS" });
    expect(exchange.desk.setMarginMode("a", "BTCUSDT", "isolated")).toEqual({ ok: false, reason: "HAS_ORDERS" });
    exchange.orders.cancel("a", exchange.orders.open("a")[0]?.orderId ?? 0);
    expect(exchange.orders.place("a", market("BUY", 100)).ok).toBe(true);
    expect(exchange.desk.setHedgeMode("a", true)).toEqual({ ok: false, reason: "HAS_POSITION" });
    expect(exchange.desk.setLeverage("a", "BTCUSDT", 5)).toEqual({ ok: false, reason: "MARGIN" });
    expect(exchange.desk.setMarginMode("a", "BTCUSDT", "cross")).toEqual({ ok: false, reason: "NO_CHANGE" });
  });
});
