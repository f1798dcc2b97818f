import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { BOOK_INVALID, BOOK_LIVE, INVALID_GAP } from "../../engine/market/book.js";
import { replayFile, UnplayableFile } from "./replay.js";
import { createRawPlayer, linesOf, playChunks, playRaw, TAPE, TAPE_BOOK, TAPE_PATH } from "./test/tape-fixture.js";

const folder = mkdtempSync(join(tmpdir(), "unwind-replay-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function play(path: string) {
  return replayFile(path, { clock: new VirtualClock(), speed: "max" });
}

const LINES = linesOf(TAPE);
const DEPTH_LINES = LINES.flatMap((line, index) => (line.includes('"depthUpdate"') ? [index] : []));
const SNAPSHOT_LINE = LINES.findIndex((line) => line.includes("lastUpdateId"));

describe("replay of the fixture tape", () => {
  it("ends with the book of the recording's reference, and counts every frame", async () => {
    const { report, counts, format } = await play(TAPE_PATH);
    expect(format).toBe("raw-ws-lines");
    expect(report).toMatchObject({
      frames: 221,
      levelUpdates: 599,
      gaps: 0,
      crossings: 0,
      symbols: { KEEPUSDT: TAPE_BOOK },
    });
    expect(counts).toMatchObject({ books: 136, touches: 75, trades: 5, others: 5, malformed: 0, drifts: 0 });
  });

  it("prints the keys of the report in the order of its interface", async () => {
    const { report } = await play(TAPE_PATH);
    expect(Object.keys(report)).toEqual(["frames", "levelUpdates", "framesPerSecond", "gaps", "crossings", "symbols"]);
    expect(Object.keys(report.symbols["KEEPUSDT"] ?? {})).toEqual([
      "bestBid",
      "bestAsk",
      "bidLevels",
      "askLevels",
      "lastU",
    ]);
  });

  it("plays plain and gzipped files alike", async () => {
    const plain = await play(file("keep.raw", TAPE));
    expect(plain.report.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
  });

  it("plays a file cut in the middle of a frame up to the cut", async () => {
    const lastFrameAt = TAPE.lastIndexOf("depthUpdate");
    const { report, counts } = await play(file("cut.raw", TAPE.subarray(0, lastFrameAt)));
    expect(counts.malformed).toBe(1);
    expect(report.gaps).toBe(0);
    expect(report.symbols["KEEPUSDT"]?.bidLevels).toBeGreaterThan(390);
  });

  it("plays a gzip stream cut short up to the cut", async () => {
    const packed = gzipSync(TAPE);
    const { report } = await play(file("cut.raw.gz", packed.subarray(0, Math.floor(packed.length * 0.9))));
    expect(report.gaps).toBe(0);
    expect(report.symbols["KEEPUSDT"]?.lastU).toBeGreaterThan(600859619434);
    expect(report.symbols["KEEPUSDT"]?.lastU).toBeLessThan(TAPE_BOOK.lastU);
  });

  it("plays a gzip stream whose checksum fails, and says so", async () => {
    // Many copies, so that chunks come out before the checksum at the end is reached.
    const packed = gzipSync(Buffer.concat(Array.from({ length: 40 }, () => TAPE)));
    packed.fill(0xff, packed.length - 8);
    const { notes } = await play(file("broken.raw.gz", packed));
    expect(notes).toEqual(["the compressed data is broken: played up to the break"]);
  });

  it("counts garbage lines and ends with the same book", async () => {
    const garbage = [
      "",
      "not a line",
      "123",
      "1626992741310512800 ",
      "1626992741310512800 {",
      "1626992741310512800 [1,2]x",
      "\u0000\u0001",
      "{}",
    ];
    const mixed = LINES.flatMap((line, index) => [garbage[index % garbage.length] ?? "", line]);
    const { report, counts } = await play(file("garbage.raw", mixed.join("\r\n")));
    expect(report.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
    expect(counts.malformed).toBeGreaterThan(LINES.length / 2);
  });

  it("paces by the receive times: at ten times the speed 30 s take 3 s", async () => {
    const clock = new VirtualClock();
    const startNs = clock.monoNs();
    let isDone = false;
    const result = replayFile(TAPE_PATH, { clock, speed: 10 }).finally(() => {
      isDone = true;
    });
    // Reading the file is real I/O: the virtual clock is moved on only while a wait of the replay is pending.
    while (!isDone) {
      if (clock.pendingTimerCount > 0) await clock.advanceAsync(5);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await result).report.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
    const seconds = (clock.monoNs() - startNs) / 1e9;
    expect(seconds).toBeGreaterThan(2.5);
    expect(seconds).toBeLessThan(3.5);
  });
});

describe("replay properties", () => {
  it("gives the same book however the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 60 }), (sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, index = 0; at < TAPE.length; index++) {
          const size = sizes[index % sizes.length] ?? 1;
          chunks.push(TAPE.subarray(at, at + size));
          at += size;
        }
        const outcome = playChunks(createRawPlayer(), chunks).outcome();
        expect(outcome.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
        expect(outcome).toMatchObject({ frames: 221, gaps: 0, crossings: 0 });
      }),
      { numRuns: 40, seed: 11 },
    );
  });

  it("gives the same book when frames come twice, at once or late", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(LINES.length - 1), fc.nat(40)), { maxLength: 80 }), (copies) => {
        const lines = [...LINES];
        // From the back, so that earlier positions keep their meaning.
        for (const [index, delay] of [...copies].sort((left, right) => right[0] - left[0])) {
          const line = LINES[index];
          if (line !== undefined) lines.splice(Math.min(lines.length, index + 1 + delay), 0, line);
        }
        const outcome = playRaw(lines).outcome();
        expect(outcome.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
        expect(outcome.gaps).toBe(0);
      }),
      { numRuns: 60, seed: 12 },
    );
  });

  it("finds a removed diff, invalidates, and never goes LIVE again without a snapshot", () => {
    const inside = DEPTH_LINES.filter((index) => index > SNAPSHOT_LINE).slice(1, -1);
    fc.assert(
      fc.property(fc.constantFrom(...inside), (removed) => {
        const player = playRaw(LINES.filter((_, index) => index !== removed));
        const outcome = player.outcome();
        const book = player.venue.book("KEEPUSDT");
        expect(outcome.gaps).toBe(1);
        expect(book?.state).toBe(BOOK_INVALID);
        expect(book?.invalidReason).toBe(INVALID_GAP);
        expect(outcome.symbols["KEEPUSDT"]).toEqual({
          bestBid: null,
          bestAsk: null,
          bidLevels: 0,
          askLevels: 0,
          lastU: null,
        });
      }),
      { numRuns: 60, seed: 13 },
    );
  });

  it("goes LIVE again with a snapshot that bridges the diffs after the gap", () => {
    // The book a snapshot would show later on: that of the whole tape, at its last update.
    const whole = playRaw(LINES);
    const book = whole.venue.book("KEEPUSDT");
    if (book === null) throw new Error("no book");
    const side = (count: number, ticks: (index: number) => number, lots: (index: number) => number) =>
      Array.from({ length: count }, (_, index) => [(ticks(index) / 1e4).toFixed(4), String(lots(index))]);
    const snapshot = JSON.stringify({
      lastUpdateId: book.seq,
      E: 1,
      T: 1,
      bids: side(
        book.bidCount,
        (index) => book.bidTicks(index),
        (index) => book.bidLots(index),
      ),
      asks: side(
        book.askCount,
        (index) => book.askTicks(index),
        (index) => book.askLots(index),
      ),
    });
    const removed = DEPTH_LINES.find((index) => index > SNAPSHOT_LINE + 20) ?? 0;
    const lines = [...LINES.filter((_, index) => index !== removed), `1626992771310512800 ${snapshot}`];
    const player = playRaw(lines);
    expect(player.outcome().gaps).toBe(1);
    expect(player.venue.book("KEEPUSDT")?.state).toBe(BOOK_LIVE);
    expect(player.outcome().symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
  });
});

describe("formats", () => {
  it.each([
    [
      "csv-book10",
      "aster_abcusdt_book10.csv",
      [
        "unix_timestamp,lastUpdateId,bid_price_0,bid_qty_0,",
        `1758739035.5,77,${row(2.5, -0.1, 10)},${row(2.6, 0.1, 10)}`,
      ],
      { books: 1 },
    ],
    [
      "csv-bbo",
      "aster_abcusdt_bbo.csv",
      ["unix_timestamp,bid,ask,mid", "1758699465.13,2.2884,2.2891,2.28875"],
      { touches: 1 },
    ],
    [
      "csv-trades",
      "aster_abcusdt_trades.csv",
      ["id,unix_timestamp_ms,side,price,quantity", "3593774,1758715675162,buy,2.241200,2328.190000"],
      { trades: 1 },
    ],
    [
      "csv-bbo-sided",
      "hl_abcusdt_bbo.csv",
      ["timestamp,price,size,side,exchange_timestamp", "1756904112.79,208.98,1771.08,bid,1756904112363"],
      { touches: 1 },
    ],
    [
      "csv-trades-venueone",
      "hl_abcusdt_trades.csv",
      [
        "timestamp,price,size,side,trade_id,exchange_timestamp",
        "1756904112.79,208.94,0.81,sell,367141310672676,1756904088568",
      ],
      { trades: 1 },
    ],
    [
      "csv-bbo-venuethree",
      "lt_abcusdt_bbo.csv",
      [
        "timestamp,bid_price,bid_size,ask_price,ask_size,market_id",
        "2025-09-15T22:56:16.839832,115303.2,1e-05,115303.3,0.00216,1",
      ],
      { touches: 1 },
    ],
    [
      "csv-trades-venuethree",
      "lt_abcusdt_trades.csv",
      [
        "timestamp,price,size,side,trade_id,usd_amount",
        "2025-09-15T22:56:17.18,115302.8,1e-05,sell,123888400,1.153028",
      ],
      { trades: 1 },
    ],
  ])("plays %s and counts a broken row", async (format, name, lines, counts) => {
    const result = await play(file(name, [...lines, "1,broken", "x"].join("\n")));
    expect(result.format).toBe(format);
    expect(result.report.frames).toBe(1);
    expect(result.counts).toMatchObject(counts);
    expect(result.counts.malformed).toBeGreaterThanOrEqual(1);
    expect(Object.keys(result.report.symbols)).toEqual(["ABCUSDT"]);
  });

  it("shows the whole book of the last partial-depth row without padding", async () => {
    const rows = [
      "unix_timestamp,lastUpdateId,bid_price_0,bid_qty_0,",
      `1758739035.5,77,${row(2.5, -0.1, 10)},${row(2.6, 0.1, 10)}`,
    ];
    const { report } = await play(file("aster_xyzusdt_book10.csv", rows.join("\n")));
    expect(report.symbols["XYZUSDT"]).toEqual({
      bestBid: ["2.5", "1.5"],
      bestAsk: ["2.6", "1.5"],
      bidLevels: 10,
      askLevels: 10,
      lastU: 77,
    });
  });

  it("plays venueone frames through that room's decoder", async () => {
    const book = (time: number, bid: string) =>
      JSON.stringify({
        channel: "l2Book",
        data: { coin: "BTC", time, levels: [[{ px: bid, sz: "1.5", n: 1 }], [{ px: "105.0", sz: "2", n: 1 }]] },
      });
    const lines = [
      `1737918843893903000 ${book(5, "104.0")}`,
      `1737918843993903000 ${book(9, "104.5")}`,
      `1737918843993903000 ${book(7, "103.0")}`,
    ];
    const { report, counts } = await play(file("one.raw", lines.join("\n")));
    expect(counts).toMatchObject({ books: 3, ignored: 1 });
    expect(report.symbols["BTC"]).toMatchObject({ bestBid: ["104.5", "1.5"], bestAsk: ["105.0", "2.0"] });
  });

  it("plays venuethree frames through that room's decoder and chain, and names the market that no frame names", async () => {
    const tape = readFileSync(new URL("../venuethree/fixtures/tape.jsonl", import.meta.url), "utf8");
    const { report, counts, format } = await play(file("collector_crv_frames.jsonl", tape));
    expect(format).toBe("jsonl-frames (venuethree)");
    expect(counts).toMatchObject({ books: 7, touches: 1, trades: 1, others: 8, malformed: 0, drifts: 0, ignored: 0 });
    expect(report).toMatchObject({ frames: 17, levelUpdates: 94, gaps: 0, crossings: 0 });
    expect(report.symbols["CRV"]?.lastU).toBe(18032384785);
    const lines = tape.trimEnd().split("\n");
    const gapped = lines.filter((_line, index) => index !== 3);
    const broken = await play(file("gap_crv_frames.jsonl", [...gapped, "{", "garbage"].join("\n")));
    expect([broken.report.gaps, broken.report.symbols["CRV"]?.bestBid, broken.counts.malformed]).toEqual([1, null, 2]);
  });

  it("plays a cryptofeed file with the snapshots of its companion, ordered by time", async () => {
    const frames = LINES.filter((line) => !line.includes("lastUpdateId"));
    const snapshot = LINES[SNAPSHOT_LINE] ?? "";
    const seconds = (line: string) => (Number(line.slice(0, line.indexOf(" "))) / 1e9).toFixed(6);
    const body = (line: string) => line.slice(line.indexOf(" ") + 1);
    const ws = [
      "wss://host/stream?streams=a <-> 1626992740.17",
      ...frames.map((line) => `${seconds(line)}: ${body(line)}`),
    ];
    const path = file("keep.ws", ws.join("\n"));
    const without = await play(path);
    expect(without.report.symbols["KEEPUSDT"]?.bestBid).toBeNull();
    expect(without.notes[0]).toContain("companion");
    file(
      "keep.http",
      `https://host/fapi/v1/depth?symbol=KEEPUSDT&limit=1000 -> ${seconds(snapshot)}: ${body(snapshot)}\n\n`,
    );
    const { report, counts } = await play(path);
    expect(report.symbols["KEEPUSDT"]).toEqual(TAPE_BOOK);
    expect(counts.malformed).toBe(0);
  });

  it("plays a cryptofeed companion by itself: the books of its snapshots", async () => {
    const snapshot = LINES[SNAPSHOT_LINE] ?? "";
    const body = snapshot.slice(snapshot.indexOf(" ") + 1);
    const url = "https://host/fapi/v1/depth?symbol=KEEPUSDT&limit=1000";
    const path = file("alone.http", `${url} -> 1626992741.301402: ${body}\nhttps://host/time -> 1626992741.4: {}\n\n`);
    const { report, counts, format } = await play(path);
    const { bids, asks, lastUpdateId } = JSON.parse(body) as { bids: unknown[]; asks: unknown[]; lastUpdateId: number };
    expect(format).toBe("cryptofeed-http-lines");
    expect(counts).toMatchObject({ books: 1, others: 1, malformed: 0 });
    expect(report).toMatchObject({ frames: 1, gaps: 0, crossings: 0 });
    expect(report.symbols).toEqual({
      KEEPUSDT: {
        bestBid: bids[0],
        bestAsk: asks[0],
        bidLevels: bids.length,
        askLevels: asks.length,
        lastU: lastUpdateId,
      },
    });
  });

  it.each([
    ["printed over many lines", 2],
    ["on one line", 0],
  ])("says of one JSON document %s what it is and what to do", async (_name, indent) => {
    const frame = { channel: "allDexsAssetCtxs", data: { ctxs: [["", [{ funding: "0.1" }]]] } };
    const path = file(`contexts${indent}.json`, JSON.stringify(frame, null, indent));
    await expect(play(path)).rejects.toThrow(
      new UnplayableFile(
        `contexts${indent}.json: one JSON document (channel allDexsAssetCtxs), not a recording: write each frame on a line ` +
          "of its own behind its receive time, `<ns since epoch> <frame>`",
      ),
    );
  });

  it.each([
    ["anything else", "any.txt", "hello\nworld", /not one of the recorded formats/],
    ["an empty file", "empty.raw", "", /not one of the recorded formats/],
  ])("refuses %s with a clear message", async (_name, name, content, message) => {
    await expect(play(file(name, content))).rejects.toThrow(message);
  });

  it("refuses a missing file", async () => {
    await expect(play(join(folder, "nothing"))).rejects.toThrow(UnplayableFile);
  });
});

function row(first: number, step: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `${(first + step * index).toFixed(6)},1.500000`).join(",");
}
