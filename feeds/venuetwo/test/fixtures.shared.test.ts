import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Book, BOOK_LIVE } from "../../../engine/market/book.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { BookSync } from "../market/sync.js";
import { VenuetwoDecoder } from "../market/decode.js";
import {
  decodeBookTickers,
  decodePremiumIndexes,
  decodeSlowFrame,
  decodeTickers24h,
  decodeUserEvent,
} from "../market/decode-slow.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH, FRAME_MALFORMED, FRAME_OTHER, FRAME_TRADE } from "../market/frame.js";
import { normalizeFill, normalizeOrderUpdate, normalizePositionUpdate } from "../account/normalize-pushed.js";
import { normalizeExchangeInfo, normalizeFundingInfo } from "../market/symbols.js";

const FOLDER = join(fileURLToPath(new URL("../../../", import.meta.url)), "..", "shared", "fixtures", "venuetwo");
const HAS_FIXTURES = existsSync(FOLDER);

type Fields = Readonly<Record<string, unknown>>;

function load(file: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
}

/** Decimals wide enough for every sample, so that only shape decides. */
const WIDE_DECIMALS = 8;

function instrumentFor(nativeSymbol: string): Instrument {
  const rows = load("aster/rest-fapi-v3-exchangeInfo-2026-01.json");
  const btc = normalizeExchangeInfo(rows)?.instruments.get("BTC");
  if (btc === undefined) throw new Error("no BTC in the fixture");
  return { ...btc, nativeSymbol, priceDecimals: WIDE_DECIMALS, qtyDecimals: WIDE_DECIMALS };
}

/** Vendor samples that are cut: arrays of one element, so levels without a quantity. */
const CUT_SAMPLES: ReadonlySet<string> = new Set(["partialBookDepthStreams", "rpiDiffBookDepthStreams"]);

/** Decodes one market frame the way the stream does and says which kind it found. */
function marketKind(frame: unknown, name: string): string {
  const decoder = new VenuetwoDecoder();
  const data = (frame as { data?: Fields }).data ?? (frame as Fields);
  const symbol = (data as Fields)["s"];
  if (typeof symbol === "string") decoder.register(symbol, WIDE_DECIMALS, WIDE_DECIMALS);
  const bytes = Buffer.from(JSON.stringify(frame));
  const kind = decoder.decodeFrame(bytes, 0, bytes.length);
  if (kind === FRAME_DEPTH) return "depth";
  if (kind === FRAME_BOOK_TICKER) return "bookTicker";
  if (kind === FRAME_TRADE) return "trade";
  if (kind === FRAME_MALFORMED) return CUT_SAMPLES.has(name) ? "cut" : "malformed";
  expect(kind).toBe(FRAME_OTHER);
  return decodeSlowFrame(bytes.toString("utf8"))
    .map((slow) => slow.kind)
    .join(",");
}

/** Decodes and normalises one user event; an unknown or malformed one throws. */
function userKind(event: unknown): string {
  const wire = decodeUserEvent(JSON.stringify(event));
  if (wire.kind === "order") {
    const instrument = instrumentFor(wire.order.s);
    const order = normalizeOrderUpdate(wire.order, instrument);
    expect(order.filledLots).toBeLessThanOrEqual(order.qtyLots);
    const fill = normalizeFill(wire.order, order, instrument);
    if (wire.order.x === "TRADE") expect(fill).not.toBeNull();
  } else if (wire.kind === "account") {
    for (const row of wire.positions) normalizePositionUpdate(row, instrumentFor(row.s), wire.tsEventMs, null);
  }
  return wire.kind;
}

const MARKET_FRAMES: Readonly<Record<string, string>> = {
  "nt-py-ws_futures_book_ticker.json": "bookTicker",
  "nt-py-ws_futures_depth_diff_update.json": "depth",
  "nt-py-ws_futures_depth_update.json": "depth",
  "nt-py-ws_futures_ticker_24hr.json": "ticker",
  "nt-rs-agg_trade_stream.json": "trade",
  "nt-rs-book_ticker_stream.json": "bookTicker",
  "nt-rs-depth_update_stream.json": "depth",
  "nt-rs-kline_stream_open.json": "ignored",
  "nt-rs-mark_price_stream.json": "markPrice",
};

/** Files that other parts of the room own: signed REST answers. */
const REST_ACCOUNT = /^(nt-py-http_futures_(account|wallet)_|nt-rs-order_response)/;
/** Public REST answers that nothing here asks for. */
const NOT_ASKED =
  /^nt-py-http_futures_market_(agg_trades|asset_index|historical_trades|index_price_klines|klines|open_interest|trades)\.json$/;

describe.skipIf(!HAS_FIXTURES)("recorded fixtures (needs ../shared)", () => {
  const files = HAS_FIXTURES ? readdirSync(join(FOLDER, "binance-usdm")) : [];

  it.for(files)("binance-usdm/%s", (name) => {
    const content = load(`binance-usdm/${name}`);
    if (name in MARKET_FRAMES) {
      expect(marketKind(content, name)).toBe(MARKET_FRAMES[name]);
    } else if (
      /^nt-(py-ws_futures|rs)_?-?(order_update|account_update|algo_update|trade_lite)|^nt-py-ws_futures_(order_update|algo_update|trade_lite)/.test(
        name,
      )
    ) {
      const kind = userKind(content);
      const wanted = /trade_lite|algo_update/.test(name)
        ? "ignored"
        : name.includes("account_update")
          ? "account"
          : "order";
      expect(kind).toBe(wanted);
    } else if (name === "nt-py-http_futures_market_depth.json") {
      const decoder = new VenuetwoDecoder();
      const slot = decoder.register("X", WIDE_DECIMALS, WIDE_DECIMALS);
      const bytes = Buffer.from(JSON.stringify(content));
      expect(decoder.decodeSnapshot(bytes, 0, bytes.length, slot)).toBe(FRAME_DEPTH);
    } else if (name === "nt-py-http_futures_market_ticker_24hr.json") {
      expect(decodeTickers24h(JSON.stringify(content))?.length).toBe(1);
    } else if (name.includes("xchange_info") || name.includes("xchangeInfo")) {
      const loaded = normalizeExchangeInfo(content);
      expect(loaded?.instruments.size).toBeGreaterThan(0);
      expect(loaded?.skipped.filter(({ reason }) => reason === "malformed" || reason === "unsafeRange")).toEqual([]);
    } else if (name.startsWith("capture-")) {
      expectCapture(content as Capture);
    } else if (name === "vendor-sdk-stream-examples.json") {
      const kinds = Object.entries(content as Fields).map(([stream, frame]) => [stream, marketKind(frame, stream)]);
      expect(kinds.filter(([, kind]) => kind === "malformed" || kind === "unknown")).toEqual([]);
    } else if (name === "vendor-sdk-rest-examples.json") {
      // Generated answers of every endpoint of the sister venue; the account ones are covered by their own tests.
      expect(Object.keys(content as Fields).length).toBeGreaterThan(10);
    } else if (!REST_ACCOUNT.test(name) && !NOT_ASKED.test(name)) {
      throw new Error(`unknown kind of fixture: ${name}`);
    }
  });

  it("every real stream sample of the venue decodes to its kind", () => {
    const samples = load("aster/cx-recorded-stream-samples.json") as Fields;
    const kinds: Record<string, string> = {};
    for (const [name, frame] of Object.entries(samples)) {
      kinds[name] =
        name === "accountUpdate" ? userKind(frame) : name === "spotAccountPosition" ? "spot" : marketKind(frame, name);
    }
    expect(kinds).toEqual({
      ticker: "ticker",
      markPrice: "markPrice",
      bookTicker: "bookTicker",
      aggTrade: "trade",
      depthUpdate: "depth",
      kline: "ignored",
      accountUpdate: "account",
      // Never subscribed: the room streams futures only.
      spotAccountPosition: "spot",
    });
  });

  it("real REST samples of the venue decode", () => {
    const samples = load("aster/cx-recorded-rest-samples.json") as Fields;
    expect(decodeTickers24h(JSON.stringify(samples["ticker24hr"]))?.length).toBe(1);
    expect(decodePremiumIndexes(JSON.stringify(samples["premiumIndex"]))?.length).toBe(1);
    expect(decodeBookTickers(JSON.stringify(samples["bookTicker"]))).toMatchObject([
      { askPrice: "0.000000", askQty: "0.0" },
    ]);
    expect([...normalizeFundingInfo([samples["fundingInfoRow"]])]).toEqual([["INJUSDT", 8]]);
  });

  it("the documentation's stream and event examples decode", () => {
    for (const file of ["aster/doc-examples-v1-futures.json", "aster/doc-examples-v3-futures.json"]) {
      for (const [title, example] of Object.entries(load(file) as Fields)) {
        for (const frame of Array.isArray(example) ? (example as unknown[]) : [example]) {
          const event = typeof frame === "object" && frame !== null ? (frame as Fields)["e"] : undefined;
          if (typeof event !== "string") continue;
          const isUser = /^[A-Z_]+$/.test(event) || event === "listenKeyExpired" || event === "announcement";
          const kind = isUser ? userKind(frame) : marketKind(frame, title);
          expect([title, kind].join(": ")).not.toMatch(/: (malformed|unknown)/);
        }
      }
    }
  });

  it("the real listing loads whole: 287 perpetuals, none refused", () => {
    const loaded = normalizeExchangeInfo(load("aster/rest-fapi-v3-exchangeInfo-2026-01.json"));
    expect(loaded?.instruments.size).toBe(287);
    expect(loaded?.skipped.map(({ reason }) => reason)).toEqual(["notPerpetual", "notPerpetual", "notPerpetual"]);
    const trading = [...(loaded?.instruments.values() ?? [])].filter(({ status }) => status === "TRADING");
    expect(trading.length).toBe(221);
    expect(new Set(trading.map(({ minNotional }) => minNotional))).toEqual(new Set(["5"]));
  });
});

interface Capture {
  readonly symbol: string;
  readonly snapshot: { readonly receivedAt: number; readonly body: Fields };
  readonly frames: readonly {
    readonly receivedAt: number;
    readonly frame: { readonly stream: string; readonly data: Fields };
  }[];
  readonly expectedBook: {
    readonly droppedBeforeSnapshot: number;
    readonly finalUpdateId: number;
    readonly finalLevels: { readonly bids: number; readonly asks: number };
    readonly finalTop10: {
      readonly bids: readonly (readonly [string, string])[];
      readonly asks: readonly (readonly [string, string])[];
    };
  };
}

/** The captured contracts print at most five, and whole contracts. */
const CAPTURE_PRICE_DECIMALS = 5;

/** The whole path on a real capture: buffer, snapshot, bridge, chain, and the expected final book. */
function expectCapture(capture: Capture): void {
  const decoder = new VenuetwoDecoder();
  const slot = decoder.register(capture.symbol, CAPTURE_PRICE_DECIMALS, 0);
  const book = new Book();
  const sync = new BookSync(book, () => {});
  sync.begin();
  let isSnapshotDue = true;
  for (const { receivedAt, frame } of capture.frames) {
    if (isSnapshotDue && receivedAt > capture.snapshot.receivedAt) {
      isSnapshotDue = false;
      const body = Buffer.from(JSON.stringify(capture.snapshot.body));
      expect(decoder.decodeSnapshot(body, 0, body.length, slot)).toBe(FRAME_DEPTH);
      sync.onSnapshot(decoder.frame, receivedAt);
    }
    const bytes = Buffer.from(JSON.stringify(frame));
    const kind = decoder.decodeFrame(bytes, 0, bytes.length);
    expect(kind).not.toBe(FRAME_MALFORMED);
    if (kind === FRAME_DEPTH) sync.onDiff(decoder.frame, receivedAt);
  }
  const { finalUpdateId, finalLevels, finalTop10 } = capture.expectedBook;
  expect([book.state, book.seq, sync.gapCount]).toEqual([BOOK_LIVE, finalUpdateId, 0]);
  expect([book.bidCount, book.askCount]).toEqual([finalLevels.bids, finalLevels.asks]);
  const scale = 10 ** CAPTURE_PRICE_DECIMALS;
  for (const [index, [price, qty]] of finalTop10.bids.entries()) {
    expect([book.bidTicks(index) / scale, book.bidLots(index)]).toEqual([Number(price), Number(qty)]);
  }
  for (const [index, [price, qty]] of finalTop10.asks.entries()) {
    expect([book.askTicks(index) / scale, book.askLots(index)]).toEqual([Number(price), Number(qty)]);
  }
}
