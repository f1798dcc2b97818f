import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { replayFile } from "./replay.js";

const DATA = join(fileURLToPath(new URL("../../", import.meta.url)), "..", "shared", "data");

interface IndexedFile {
  readonly file: string;
  readonly format: string;
  readonly symbol: string;
  readonly rows: number;
  readonly level_changes?: number;
  readonly frames_by_kind?: Readonly<Record<string, number>>;
  readonly golden_replay?: {
    readonly sequence_gaps: number;
    readonly final: {
      readonly lastU: number;
      readonly bid_levels: number;
      readonly ask_levels: number;
      readonly best_bid: readonly string[];
      readonly best_ask: readonly string[];
    };
  };
}

function indexedFiles(): readonly IndexedFile[] {
  if (!existsSync(DATA)) return [];
  const index = JSON.parse(readFileSync(join(DATA, "index.json"), "utf8")) as {
    readonly files: readonly IndexedFile[];
  };
  return index.files;
}

const FILES = indexedFiles();
const play = (file: string) => replayFile(join(DATA, file), { clock: new VirtualClock(), speed: "max" });

describe.skipIf(!existsSync(DATA))("replay of the recorded data (needs ../shared)", () => {
  it.for(FILES.filter((entry) => entry.golden_replay !== undefined))(
    "$file ends with the golden book",
    async ({ file, symbol, golden_replay, rows, level_changes }) => {
      const { report, counts } = await play(file);
      const golden = golden_replay?.final;
      expect(report).toMatchObject({ frames: rows, levelUpdates: level_changes, gaps: 0, crossings: 0 });
      expect(counts).toMatchObject({ malformed: 0, drifts: 0, others: 0 });
      expect(report.symbols).toEqual({
        [symbol]: {
          bestBid: golden?.best_bid,
          bestAsk: golden?.best_ask,
          bidLevels: golden?.bid_levels,
          askLevels: golden?.ask_levels,
          lastU: golden?.lastU,
        },
      });
    },
  );

  it("four books on one socket agree with the captures' expected finals", async () => {
    const { report, counts } = await play("binance-usdm_4symbols_20210722.ws.gz");
    expect(report).toMatchObject({ frames: 1_539, levelUpdates: 6_297, gaps: 0, crossings: 0 });
    expect(counts).toMatchObject({ books: 768, touches: 613, trades: 91, others: 67, malformed: 0 });
    expect(report.symbols["AKROUSDT"]).toMatchObject({ bidLevels: 613, askLevels: 761, lastU: 600860423964 });
    expect(report.symbols["CTKUSDT"]).toMatchObject({ bidLevels: 486, askLevels: 742, lastU: 600860423222 });
    expect(report.symbols["KEEPUSDT"]).toMatchObject({ bidLevels: 401, askLevels: 614, lastU: 600860420312 });
    expect(report.symbols["SUSHIUSDT"]?.bestBid).not.toBeNull();
  });

  it.for(FILES.filter((entry) => entry.format.startsWith("csv-") || entry.file.startsWith("hyperliquid_btc_20250126")))(
    "$file plays every row",
    async ({ file, rows, format, frames_by_kind, level_changes }) => {
      const { report, counts } = await play(file);
      expect(counts.malformed).toBe(0);
      expect(report).toMatchObject({ frames: rows, gaps: 0, crossings: 0 });
      expect(counts.books + counts.touches + counts.trades).toBeGreaterThanOrEqual(rows);
      if (frames_by_kind?.["l2Book"] !== undefined) expect(counts.books).toBe(frames_by_kind["l2Book"]);
      if (level_changes !== undefined && format === "raw-ws-lines") expect(report.levelUpdates).toBe(level_changes);
    },
  );

  it("the answers of the four books play by themselves", async () => {
    const { report, counts } = await play("binance-usdm_4symbols_20210722.http.gz");
    expect(counts).toMatchObject({ books: 4, malformed: 0 });
    expect(Object.keys(report.symbols).sort()).toEqual(["AKROUSDT", "CTKUSDT", "KEEPUSDT", "SUSHIUSDT"]);
    for (const { bidLevels, askLevels } of Object.values(report.symbols)) {
      expect(Math.min(bidLevels, askLevels)).toBeGreaterThan(100);
    }
  });

  it("every file is played, or named for what it is", async () => {
    for (const { file, format } of FILES) {
      if (!format.startsWith("json (")) continue;
      await expect(play(file)).rejects.toThrow(/one JSON document \(channel allDexsAssetCtxs\), not a recording/);
    }
  });

  it("venuethree's frames end with the book of their chain", async () => {
    const { report, counts, format } = await play("lighter_crv_frames_20260729.jsonl.gz");
    const entry = FILES.find(({ file }) => file === "lighter_crv_frames_20260729.jsonl.gz");
    expect(format).toBe("jsonl-frames (venuethree)");
    expect(report).toMatchObject({ frames: entry?.rows, levelUpdates: entry?.level_changes, gaps: 0, crossings: 0 });
    expect(counts).toMatchObject({ books: 7, touches: 1, trades: 1, others: 7, malformed: 0, drifts: 0, ignored: 0 });
    expect(report.symbols["CRV"]).toEqual(naiveBook("lighter_crv_frames_20260729.jsonl.gz"));
    expect(report.symbols["BTC"]?.bestBid).toBeNull();
  });
});

interface WireLevel {
  readonly price: string;
  readonly size: string;
}

/** The same frames through JSON.parse and two maps. */
function naiveBook(file: string): unknown {
  const sides = { bids: new Map<string, string>(), asks: new Map<string, string>() };
  let lastU = 0;
  for (const line of gunzipSync(readFileSync(join(DATA, file)))
    .toString("utf8")
    .split("\n")) {
    if (!line.includes('"order_book:36"')) continue;
    const { order_book: book } = JSON.parse(line) as {
      order_book: { bids: WireLevel[]; asks: WireLevel[]; nonce: number };
    };
    for (const side of ["bids", "asks"] as const) {
      for (const { price, size } of book[side]) {
        if (Number(size) === 0) sides[side].delete(price);
        else sides[side].set(price, size);
      }
    }
    lastU = book.nonce;
  }
  const byPrice = (left: [string, string], right: [string, string]): number => Number(left[0]) - Number(right[0]);
  return {
    bestBid: [...sides.bids].sort(byPrice).at(-1),
    bestAsk: [...sides.asks].sort(byPrice)[0],
    bidLevels: sides.bids.size,
    askLevels: sides.asks.size,
    lastU,
  };
}
