/** The judge of the record on one order of a venue's log: it accepts right rows and finds planted faults. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { systemRandom } from "../../../engine/domain/random.js";
import { createRecorder } from "../../../engine/recorder/recorder.js";
import { testMarket } from "../../../engine/recorder/test/markets.js";
import { seededIds } from "../../../engine/recorder/test/world.js";
import type { RecordsStore } from "../../../engine/storage/records/records-store.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { CHDB_MISSING, NEEDS_CHDB, SidecarBench } from "../../../gateway/children/test/sidecar.js";
import {
  judgeRecords,
  readRecords,
  RECORD_CHECKS,
  type RecordCheck,
  type StoredRecords,
  type TextRow,
} from "../support/record-judge.js";
import type { LocalPair, Trader } from "../support/local-pair.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";

const ORDER = {
  ...{ action: "place", orderId: "91", clientId: "c-1", symbol: "BTC", side: "SELL", status: "FILLED" },
  ...{ qty: "0.25", filledQty: "0.25", averagePrice: "97421.5" },
} as unknown as SimRequestRecord;

/** The log of one account of one venue: the part of a pair that the judge uses. */
const PAIR = Object.fromEntries(
  (["venueone", "venuetwo"] as const).map((venue) => [
    venue,
    {
      log: { records: () => (venue === "venueone" ? [ORDER] : []) },
      exchange: { instruments: new Map([["BTC", { priceDecimals: 1 }]]) },
    },
  ]),
) as unknown as LocalPair;

const TRADER = { venueone: { address: "0x1" }, venuetwo: { accountId: "2" } } as unknown as Trader;

const FILL: TextRow = {
  ...{ venue: "venueone", symbol: "BTC", fill_id: "91", order_key: "k", route_id: "rt", ver: "3", intent: "CLOSE" },
  ...{ side: "SELL", px: "97421.5", qty: "0.25", ordered_qty: "0.25" },
};

/** Six trades of one minute. */
const MINUTE: TextRow = {
  ...{ venue: "venuetwo", symbol: "ETH", minute: "2026-11-22 20:00:00" },
  ...{ trades: "6", volume: "1.5", top: "3010.5", bottom: "2999" },
};

const RIGHT: StoredRecords = {
  ...{ fills: [FILL], fillsFinal: 1, orderEvents: [], ordersLatest: [], decisions: [] },
  ...{ candles: [MINUTE], tradedMinutes: [MINUTE] },
};

/** Returns the judge's findings without these checks; the record has no events of the order. */
function faults(stored: Partial<StoredRecords>, without: readonly RecordCheck[] = []): readonly string[] {
  return judgeRecords(PAIR, [TRADER], [], { ...RIGHT, ...stored }, ["events", ...without]).violations;
}

describe("the judge of the record", () => {
  it("has nothing to say of a record that is right, nor of a fill whose price came with a later version", () => {
    expect(faults({})).toEqual([]);
    expect(
      faults({
        fills: [
          { ...FILL, px: "" },
          { ...FILL, ver: "4" },
        ],
      }),
    ).toEqual([]);
  });

  const fills = (...rows: TextRow[]): Partial<StoredRecords> => ({ fills: rows });
  const mutants: readonly (readonly [string, Partial<StoredRecords>, RecordCheck, RegExp])[] = [
    ["a fill at 0", fills({ ...FILL, px: "0" }), "fill price", /: at 0, the venue says 97421\.5/],
    [
      "a fill with the price of an earlier version",
      fills({ ...FILL, ver: "4", px: "1" }, FILL),
      "fill price",
      /: at 1, the venue says/,
    ],
    ["a close recorded as an entry", fills({ ...FILL, intent: "OPEN" }), "fill intent", /recorded as OPEN/],
    ["a fill of another size", fills({ ...FILL, qty: "0.5" }), "fill figures", /0\.5 filled, the venue says 0\.25/],
    ["a fill twice in one version", fills(FILL, FILL), "fill once", /fill twice/],
    ["a fill that is lost", { fills: [], fillsFinal: 0 }, "fill there", /no fill row/],
    [
      "replayed trades counted again",
      { candles: [{ ...MINUTE, trades: "11", volume: "2.75" }] },
      "candles",
      /trades 11, its trades say 6/,
    ],
    ["a candle that lost a trade", { candles: [{ ...MINUTE, trades: "5" }] }, "candles", /trades 5, its trades say 6/],
    ["a minute without its candle", { candles: [] }, "candles", /: missing/],
    ["a candle of no trade", { tradedMinutes: [] }, "candles", /of no trade/],
  ];

  it.each(mutants)("sees %s, and not without its check", (_name, stored, check, seen) => {
    expect(faults(stored).some((text) => seen.test(text))).toBe(true);
    expect(faults(stored, [check])).toEqual([]);
    for (const other of RECORD_CHECKS)
      if (other !== check) expect(faults(stored, [other]).length, other).toBeGreaterThan(0);
  });
});

describe.skipIf(CHDB_MISSING)(`the judge of the record on the real engine ${NEEDS_CHDB}`, () => {
  let bench: SidecarBench;
  let store: RecordsStore;

  beforeAll(async () => {
    bench = new SidecarBench();
    store = bench.store(await bench.sidecar());
    expect(await store.start()).toMatchObject({ state: "on" });
  }, 240_000);
  afterAll(async () => {
    await bench.dispose();
  });

  /** Two lives of the recorder that receive the same six trades; returns the judge's findings on their candles. */
  async function twoLives(symbol: string, through: RecordsStore): Promise<readonly string[]> {
    const { clock } = bench;
    const exMs = clock.wallMs() - 120_000;
    for (const life of [1, 2]) {
      const recorder = createRecorder({
        ...{ store: through, stateStore: createMemoryStore(), clock, random: systemRandom, logger: silentLogger },
        spoolDirectory: join(bench.directory, `spool-${symbol}`),
        randomIds: seededIds(life + symbol.length),
        nodeId: "node-1",
      });
      await recorder.start();
      const market = testMarket({ symbol });
      recorder.watch(market);
      for (let number = 1; number <= 6; number++)
        market.signal.traded(market, "BUY", 1000, 1, number, exMs, clock.monoNs());
      await recorder.stop(90_000);
    }
    const stored = await readRecords(store);
    const ofSymbol = (row: TextRow): boolean => row["symbol"] === symbol;
    return faults({
      candles: stored.candles.filter(ofSymbol),
      tradedMinutes: stored.tradedMinutes.filter(ofSymbol),
    });
  }

  it("sees a recorder that records again what a venue repeats after a restart, and is silent of ours", async () => {
    expect(await twoLives("ONCE", store)).toEqual([]);
    const forgetful: RecordsStore = {
      start: () => store.start(),
      insert: (batch) => store.insert(batch),
      // The planted fault: the recorder knows no earlier trade.
      query: async () => ({ ok: true, rows: [] }),
      queryStream: (...args) => store.queryStream(...args),
      state: () => store.state(),
      close: async () => {},
    };
    const seen = await twoLives("TWICE", forgetful);
    expect(seen.some((text) => /trades 12, its trades say 6/.test(text))).toBe(true);
  }, 240_000);
});
