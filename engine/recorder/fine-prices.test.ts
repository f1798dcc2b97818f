/**
 * Prices of contracts of a million units, with thirteen decimals and more, are kept in full; digits that no column
 * holds are counted.
 */
import { describe, expect, it } from "vitest";
import { readRows, type ReadValue } from "./test/read-row.js";
import { setBook, testMarket } from "./test/markets.js";
import { createWorld, tableStatus } from "./test/world.js";
import type { RecordTableName } from "../storage/records/record-table.js";

/** First rows and counts of a market whose prices have `priceDecimals`, of a contract of 10^multiplierExp10 units. */
async function recordedRows(priceDecimals: number, multiplierExp10: number) {
  const world = await createWorld();
  const market = testMarket({ symbol: "FINE", priceDecimals, qtyDecimals: 0, multiplierExp10 });
  world.recorder.watch(market);
  market.ticker.markPrice = `0.${"0".repeat(priceDecimals - 1)}1`;
  setBook(market, [[12_345, 1]], [[12_346, 1]], { rxNs: world.clock.monoNs() });
  world.recorder.beforeRoute(market);
  market.signal.traded(market, "BUY", 12_345, 2, "t1", world.clock.wallMs(), world.clock.monoNs());
  await world.until(() => world.store.rowCount("book_snapshots") > 0 && world.store.rowCount("trades") > 0);
  world.remove();
  const figures = (table: RecordTableName): readonly ReadValue[] =>
    [...world.store.batches.values()]
      .filter((batch) => batch.table === table)
      .flatMap(({ bytes }) => readRows(table, bytes))
      .slice(0, 1)
      .flatMap((row) => Object.values(row));
  const cut = Object.fromEntries(
    (["ticks", "trades", "book_snapshots"] as const).map((table) => [table, tableStatus(world.recorder, table).cut]),
  );
  return { figures, cut };
}

describe("prices of contracts of a million units", () => {
  it("are recorded with all their digits, in ticks, trades and snapshots", async () => {
    const { figures, cut } = await recordedRows(7, 6);
    expect(figures("ticks")).toContain("0.0000000012345");
    expect(figures("ticks")).toContain("0.0000000000001");
    expect(figures("trades")).toContain("0.0000000012345");
    expect(figures("book_snapshots")).toContainEqual(["0.0000000012345"]);
    expect(cut).toEqual({ ticks: 0, trades: 0, book_snapshots: 0 });
  });

  it("are counted where they are finer than their column", async () => {
    const { figures, cut } = await recordedRows(13, 6);
    expect(figures("trades")).toContain("0.000000000000001234");
    expect(cut).toEqual({ ticks: 3, trades: 1, book_snapshots: 2 });
  });
});
