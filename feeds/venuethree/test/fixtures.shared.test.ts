/** Every public payload of the shared fixtures through this room's decoders; private ones are named and left to the account half. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Ticker } from "../../../engine/market/ticker.js";
import { VenuethreeDecoder } from "../market/decode.js";
import { decodeDetails, decodeSlowFrame } from "../market/decode-slow.js";
import { FRAME_MALFORMED, FRAME_OTHER, FRAME_SNAPSHOT, FRAME_TICKER, FRAME_UPDATE } from "../market/frame.js";
import { applyStats } from "../market/normalize.js";
import { buildInstruments } from "../market/symbols.js";
import type { VenuethreeSlowFrame } from "../market/wire.js";

const FOLDER = join(fileURLToPath(new URL("../../../", import.meta.url)), "..", "shared", "fixtures", "venuethree");
const HAS_FIXTURES = existsSync(FOLDER);

/** Not read by the market half: accounts, orders, and calls that the room does not make. */
const OTHERS =
  /account|user-stats|send-tx|next-nonce|apikeys|auth-deadline|candle|asset-details|funding|status|recent-trades|order-book-depth|http-order-books/;
/** Wide enough for every sample, so that only shape decides. */
const WIDE_DECIMALS = 8;

function load(file: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
}

function frames(file: string): readonly unknown[] {
  const content = load(file);
  return Array.isArray(content) ? (content as unknown[]) : [content];
}

function decoder(): VenuethreeDecoder {
  const wide = new VenuethreeDecoder();
  for (const marketId of [0, 1, 36, 39]) wide.register(marketId, WIDE_DECIMALS, WIDE_DECIMALS);
  return wide;
}

function decode(wide: VenuethreeDecoder, frame: unknown): number {
  const bytes = Buffer.from(JSON.stringify(frame));
  return wide.decodeFrame(bytes, 0, bytes.length);
}

function slow(file: string): readonly VenuethreeSlowFrame[] {
  return frames(file).map((frame) => {
    expect(decode(decoder(), frame)).toBe(FRAME_OTHER);
    return decodeSlowFrame(JSON.stringify(frame));
  });
}

const FILES = HAS_FIXTURES ? readdirSync(FOLDER).filter((file) => file !== "index.json") : [];
const MARKET_FILES = FILES.filter((file) => !OTHERS.test(file));

describe.skipIf(!HAS_FIXTURES)("shared fixtures of venuethree (needs ../shared)", () => {
  it("has a reader here for each public payload", () => {
    expect(MARKET_FILES.sort()).toEqual(
      [
        "ccxt-http-order-book-details.json",
        "ccxt-ws-market-stats-update.json",
        "ccxt-ws-order-book-update-no-begin-nonce.json",
        "ccxt-ws-trade-subscribed.json",
        "doc-ws-market-stats-update.json",
        "goltr-http-order-book-details.json",
        "live-ws-control-frames.json",
        "live-ws-errors.json",
        "live-ws-height-update.json",
        "live-ws-order-book-sequence-crv.json",
        "live-ws-ticker-update-btc.json",
        "nt-http-order-book-details.json",
        "nt-ws-height-update.json",
        "nt-ws-market-stats-subscribed-single.json",
        "nt-ws-market-stats-update-single.json",
        "nt-ws-spot-market-stats-subscribed-single.json",
        "nt-ws-spot-market-stats-update-all.json",
        "nt-ws-spot-market-stats-update-single.json",
        "nt-ws-ticker-subscribed-empty.json",
        "nt-ws-ticker-update.json",
        "nt-ws-trade-subscribed.json",
        "pyb-ws-order-book-sequence.json",
      ].sort(),
    );
  });

  it.for(MARKET_FILES.filter((file) => file.includes("order-book") && file.includes("-ws-")))(
    "%s: books, on the fast path",
    (file) => {
      const wide = decoder();
      for (const frame of frames(file)) expect([FRAME_SNAPSHOT, FRAME_UPDATE]).toContain(decode(wide, frame));
      expect([wide.carefulCount, wide.driftCount, wide.malformedCount]).toEqual([0, 0, 0]);
      if (file.includes("no-begin-nonce")) expect(wide.frame.beginNonce).toBe(-1);
    },
  );

  it.for(MARKET_FILES.filter((file) => file.includes("-ticker-")))("%s: touch", (file) => {
    const wide = decoder();
    for (const frame of frames(file)) expect(decode(wide, frame)).toBe(FRAME_TICKER);
    expect(wide.frame.nonce).toBeGreaterThan(0);
    expect(wide.frame.touchBidLots > 0).toBe(!file.includes("empty"));
  });

  it.for(MARKET_FILES.filter((file) => file.includes("-trade-")))("%s: prints", (file) => {
    for (const frame of slow(file)) {
      expect(frame).toMatchObject({ kind: "trades", marketId: 0, isSnapshot: true, brokenCount: 0 });
      if (frame.kind === "trades") expect(frame.trades).toHaveLength(1);
    }
  });

  it.for(MARKET_FILES.filter((file) => file.includes("ws-market-stats")))("%s: statistics", (file) => {
    for (const frame of slow(file)) {
      if (frame.kind !== "stats") throw new Error(frame.kind);
      expect([frame.rows.length, frame.brokenCount]).toEqual([1, 0]);
      const ticker = new Ticker();
      for (const row of frame.rows) applyStats(ticker, row, 2, frame.tsVenueMs || 1, 1);
      for (const text of [
        ticker.markPrice,
        ticker.indexPrice,
        ticker.lastPrice,
        ticker.prevDayPrice,
        ticker.fundingRate,
      ]) {
        expect(text).toMatch(/^-?\d+(\.\d+)?$/);
      }
      // Percent per hour and fraction differ by a hundred: no rate of the samples is beyond 0.01 % an hour.
      expect(Math.abs(Number(ticker.fundingRate))).toBeLessThan(0.0001);
    }
  });

  it.for(MARKET_FILES.filter((file) => /control|errors|height|spot/.test(file)))("%s: control", (file) => {
    for (const { kind } of slow(file)) expect(["malformed", "unknown"]).not.toContain(kind);
  });

  it.for(MARKET_FILES.filter((file) => file.includes("order-book-details")))("%s: instruments", (file) => {
    const details = decodeDetails(readFileSync(join(FOLDER, file), "utf8"));
    expect(details?.broken).toEqual([]);
    const { bySymbol, skipped } = buildInstruments(details?.markets ?? [], {
      takerFeeMilliBps: 0,
      makerFeeMilliBps: 0,
    });
    expect(skipped).toEqual([]);
    expect(bySymbol.get("ETH")).toMatchObject({ nativeId: 0, priceDecimals: 2, qtyDecimals: 4, status: "TRADING" });
  });

  it.for(FILES.filter((file) => OTHERS.test(file) && file.includes("-ws-")))(
    "%s: not for this half, and nothing breaks",
    (file) => {
      for (const frame of frames(file)) {
        expect(decode(decoder(), frame)).not.toBe(FRAME_MALFORMED);
        expect(decodeSlowFrame(JSON.stringify(frame)).kind).toBe("ignored");
      }
    },
  );
});
