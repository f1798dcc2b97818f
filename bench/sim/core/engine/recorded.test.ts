import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { loadRecordedMarket } from "./recorded.js";
import { BTC, limit, testExchange } from "../test/support.js";

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function file(lines: readonly (readonly [number, unknown])[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "recorded-"));
  folders.push(folder);
  const text = lines.map(([ms, frame]) => `${ms}000000 ${JSON.stringify(frame)}`).join("\n");
  await writeFile(join(folder, "market.raw.gz"), gzipSync(`${text}\nnot a frame\n`));
  return join(folder, "market.raw.gz");
}

const diff = (b: unknown[], a: unknown[]): unknown => ({
  stream: "btcusdt@depth",
  data: { e: "depthUpdate", s: "BTCUSDT", b, a },
});

describe("recorded market", () => {
  it("plays snapshot and changes at the recorded pace, and users trade against the levels", async () => {
    const path = await file([
      [1000, diff([["1.0", "1"]], [])],
      [1000, { lastUpdateId: 5, bids: [["100000.0", "1.000"]], asks: [["100000.5", "2.000"]] }],
      [1100, diff([["100000.1", "0.500"]], [["100000.6", "1.000"]])],
      [1200, diff([["100000.0", "0"]], [["100000.12", "1.000"]])],
    ]);
    const recorded = await loadRecordedMarket({ instruments: [BTC], path, speed: 2 });
    const { exchange, clock } = testExchange({ priceSource: recorded.priceSource });
    exchange.desk.createAccount({ accountId: "a", deposit: "100000" });
    expect(exchange.market.mark("BTCUSDT").markE8).toBe(10_000_025_000_000);
    expect(recorded.eventCount).toBe(3);
    expect(recorded.skippedCount).toBe(1);
    recorded.play(exchange);
    expect(exchange.market.book("BTCUSDT").bids.map((level) => [level.priceTicks, level.qtyLots])).toEqual([
      [1_000_000, 1000],
    ]);
    clock.advance(50);
    expect(exchange.market.bestBid("BTCUSDT")?.priceTicks).toBe(1_000_001);
    const bought = exchange.orders.place("a", limit("BUY", 1_000_005, 500));
    expect(bought.ok && bought.value.status).toBe("FILLED");
    expect(exchange.market.bestAsk("BTCUSDT")).toMatchObject({ priceTicks: 1_000_005, qtyLots: 1500 });
    clock.advance(50);
    expect(exchange.market.book("BTCUSDT").bids).toHaveLength(1);
    exchange.step();
    expect(exchange.market.mark("BTCUSDT").indexE8).toBe(10_000_030_000_000);
    recorded.stop();
  });
});
