import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadRecordedMarket } from "./recorded.js";
import { BTC, testExchange } from "../test/support.js";

const FILE = join(import.meta.dirname, "../../../../../shared/data/binance-usdm_btcusdt_20240808.raw.gz");

describe.skipIf(!existsSync(FILE))("recorded market from the shared data (needs ../shared)", () => {
  it("ends with the published golden book", async () => {
    const recorded = await loadRecordedMarket({ instruments: [BTC], path: FILE });
    const { exchange, clock } = testExchange({ priceSource: recorded.priceSource });
    recorded.play(exchange);
    clock.advance(400_000);
    const book = exchange.market.book("BTCUSDT");
    expect(recorded.skippedCount).toBe(0);
    expect([book.bids.length, book.asks.length]).toEqual([5018, 4578]);
    expect(book.bids[0]).toMatchObject({ priceTicks: 616_597, qtyLots: 1486 });
    expect(book.asks[0]).toMatchObject({ priceTicks: 616_598, qtyLots: 981 });
  });
});
