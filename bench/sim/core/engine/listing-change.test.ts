/** A market that is put on another grid while it runs. */
import { expect, it } from "vitest";
import { changeListing } from "./listing-change.js";
import { BTC, testExchange } from "../test/support.js";
import type { SimGrid } from "../model/types.js";

const FINER: SimGrid = { priceDecimals: 2, qtyDecimals: 4, priceStepTicks: 1, qtyStepLots: 1 };

it("a market that changes its grid is emptied, reports each level of it, and opens on the new one with ids that go on", async () => {
  const { exchange, clock } = testExchange({ instruments: [{ ...BTC }], flow: { levelCount: 10 } });
  const shown = new Set<string>();
  const show = (side: string, priceTicks: number): string => `${side} ${priceTicks}`;
  const { bids, asks, seq } = exchange.market.book("BTCUSDT");
  for (const { priceTicks } of bids) shown.add(show("BUY", priceTicks));
  for (const { priceTicks } of asks) shown.add(show("SELL", priceTicks));
  expect(shown.size).toBeGreaterThan(10);
  const before = bids[0]?.priceTicks ?? 0;
  exchange.addListener({
    onLevel: (_symbol, side, priceTicks, qtyLots) => {
      if (qtyLots === 0) shown.delete(show(side, priceTicks));
    },
  });
  const changed = changeListing(exchange, "BTCUSDT", { priceStep: "0.01" }, () => ({ ...BTC, ...FINER }));
  expect([shown.size, exchange.market.book("BTCUSDT").bids.length]).toEqual([0, 0]);
  await clock.advanceAsync(1_000);
  await changed;
  const best = exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0;
  expect(best / before).toBeGreaterThan(9.9);
  expect(best / before).toBeLessThan(10.1);
  expect(exchange.market.seq("BTCUSDT")).toBeGreaterThan(seq);
  expect(exchange.instruments.get("BTCUSDT")).toMatchObject(FINER);
});

it("a market stays on its grid while anything rests or is held on it", () => {
  const { exchange } = testExchange({ instruments: [{ ...BTC }], flow: null });
  const refusal = "on the present grid";
  exchange.controls.setHouseLevel("BTCUSDT", "BUY", 1_000_000, 5);
  expect(() => exchange.controls.setGrid("BTCUSDT", FINER)).toThrow(refusal);
  exchange.controls.setHouseLevel("BTCUSDT", "BUY", 1_000_000, 0);
  exchange.desk.createAccount({ accountId: "a", deposit: "100000" });
  exchange.desk.setPosition("a", "BTCUSDT", "BOTH", 5, 1_000_000);
  expect(() => exchange.controls.setGrid("BTCUSDT", FINER)).toThrow(refusal);
  expect(exchange.instruments.get("BTCUSDT")?.priceDecimals).toBe(1);
});
