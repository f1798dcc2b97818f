/** Every recorded message of this venue is decoded by the half that reads it; an unknown file fails. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { createMarket } from "../../../engine/market/market.js";
import { asFields, decodeWith, type Fields } from "../../shared/room/wire-fields.js";
import { decodeAccountFrame } from "../account/frames.js";
import {
  decodeAccount,
  decodeFillPage,
  decodeFundingPage,
  decodeOpenOrders,
  decodeOrderEvents,
  decodeOrderId,
  decodeOrderPage,
  decodePositions,
  decodeSettings,
} from "../account/wire.js";
import { decodeBook, decodeFrame, decodeMarkets, decodeRestTrades } from "../market/decode.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK, SCAN_OTHER } from "../market/scan.js";
import { classifyError, readError } from "../rules/errors.js";
import { APPLIED, PROVEN } from "../market/applied.js";
import { MarketApplier } from "../market/apply.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";
import { integersBack } from "./trading-harness.js";

const FOLDER = join(import.meta.dirname, "..", "..", "..", "..", "shared", "fixtures", "venuefour");

type Decode = (data: unknown) => unknown;

/** REST bodies of the market half. */
const BODIES: Readonly<Record<string, Decode>> = {
  "ccxt-book.json": decodeBook,
  "doc-rest-trades.json": decodeRestTrades,
  "rest-book.json": decodeBook,
  "rest-info-all-markets.json": decodeMarkets,
};

/** Socket recordings, with the kinds their frames must decode as. */
const FRAMES: Readonly<Record<string, readonly string[]>> = {
  "doc-ws-account-margin-leverage.json": ["ignored"],
  "doc-ws-account-orders.json": ["ignored"],
  "doc-ws-account-positions-two-rows.json": ["ignored"],
  "doc-ws-account-positions.json": ["subscribed", "ignored"],
  "doc-ws-account-trades.json": ["ignored"],
  "doc-ws-bbo-book-trades.json": ["bbo", "book", "trades"],
  "doc-ws-candles.json": ["ignored"],
  "ws-bbo-sequence.json": ["bbo"],
  "ws-book-sequence.json": ["book"],
  "ws-limit-create-cancel.json": ["subscribed", "ignored"],
  "ws-pong.json": ["pong"],
  "ws-trades.json": ["trades"],
};

/** Refusals: each must be classified by name. */
const ERRORS: readonly string[] = ["live-rest-error-bodies.json", "live-rest-not-found-bodies.json"];

/** Answers about accounts and orders; the recorder of the `ccxt` ones turned integers into text. */
const ACCOUNT_BODIES: Readonly<Record<string, (envelope: Fields) => unknown>> = {
  "ccxt-account-before-spot.json": decodeAccount,
  "ccxt-create-stop.json": decodeOrderId,
  "ccxt-open-orders.json": decodeOpenOrders,
  "ccxt-positions-one-short.json": decodePositions,
  "doc-rest-order-history-by-id.json": decodeOrderEvents,
  "doc-rest-orders-history.json": decodeOrderPage,
  "doc-rest-positions.json": decodePositions,
  "doc-rest-trade-history.json": decodeFillPage,
  "rest-orders-empty.json": decodeOpenOrders,
  "rest-positions-one-long.json": decodePositions,
};

/** Of these the account stream reads what concerns it. */
const ACCOUNT_FRAMES: Readonly<Record<string, readonly string[]>> = {
  "doc-ws-account-margin-leverage.json": ["settings"],
  "doc-ws-account-orders.json": ["ignored"],
  "doc-ws-account-positions-two-rows.json": ["positions"],
  "doc-ws-account-positions.json": ["echo", "positions"],
  "doc-ws-account-trades.json": ["fills"],
  "ws-limit-create-cancel.json": ["echo", "positions", "ignored", "orders"],
};

/** What no call of ours asks for, or what says nothing beyond success; several bodies in one file are read below. */
const NOT_READ: ReadonlySet<string> = new Set([
  "ccxt-batch-cancel-all-failed.json",
  "ccxt-position-tpsl.json",
  "doc-rest-account-settings-both-shapes.json",
  "doc-rest-funding.json",
  "live-rest-api-config-keys.json",
  "index.json",
]);

const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as unknown;

/** A list of frames, a capture of both directions, or a list of captures' parts. */
function framesOf(file: string): readonly object[] {
  const value = readJson(file);
  if (Array.isArray(value)) return value as readonly object[];
  const { received, frames } = value as { readonly received?: readonly object[]; readonly frames?: readonly object[] };
  return received ?? frames ?? [value as object];
}

describe.skipIf(!existsSync(FOLDER))("recorded messages of venuefour (needs ../shared)", () => {
  const files = existsSync(FOLDER) ? (readJson("index.json") as readonly { readonly file: string }[]) : [];

  it("are all known", () => {
    const known = new Set([
      ...Object.keys(BODIES),
      ...Object.keys(ACCOUNT_BODIES),
      ...Object.keys(FRAMES),
      ...ERRORS,
      ...NOT_READ,
    ]);
    expect(files.length).toBeGreaterThan(30);
    expect(files.map(({ file }) => file).filter((file) => !known.has(file))).toEqual([]);
  });

  it.each(Object.entries(BODIES))("%s is read", (file, decode) => {
    const { body } = readJson(file) as { readonly body: unknown };
    expect(readError(200, JSON.stringify(body))).toBeNull();
    expect(decodeWith(asFields(body, "body")["data"], decode)).toMatchObject({ ok: true });
  });

  it.each(Object.entries(FRAMES))("%s decodes as its kinds", (file, kinds) => {
    const seen = new Set<string>();
    for (const frame of framesOf(file)) {
      const bytes = Buffer.from(JSON.stringify(frame));
      const decoded = decodeFrame(bytes);
      seen.add(decoded.kind);
      // Whatever the scanner takes it takes for the same, and it takes every recorded book and touch.
      const scanned = new DepthScanner().scan(bytes);
      if (decoded.kind === "book") expect(scanned).toBe(SCAN_BOOK);
      else expect(scanned).toBe(decoded.kind === "bbo" ? SCAN_BBO : SCAN_OTHER);
    }
    expect([...seen].sort()).toEqual([...kinds].sort());
  });

  it.each(Object.entries(ACCOUNT_BODIES))("%s is read by the account half", (file, decode) => {
    const { body } = readJson(file) as { readonly body: unknown };
    const envelope = asFields(file.startsWith("ccxt") ? integersBack(body) : body, "body");
    expect(decodeWith(envelope, () => decode(envelope))).toMatchObject({ ok: true });
  });

  it("files with several bodies are read by the account half", () => {
    const bodies = (file: string): readonly Fields[] =>
      (readJson(file) as readonly { readonly body: unknown }[]).map(({ body }) => asFields(body, "body"));
    const settings = bodies("doc-rest-account-settings-both-shapes.json").map((body) => decodeSettings(body));
    expect(settings[0]).toEqual(settings[1]);
    const payments = bodies("doc-rest-funding.json")[1];
    expect(payments === undefined ? null : decodeFundingPage(payments).rows).toHaveLength(1);
  });

  it.each(Object.entries(ACCOUNT_FRAMES))("%s reaches the account stream as its kinds", (file, kinds) => {
    const seen = framesOf(file).map((frame) => decodeAccountFrame(JSON.stringify(frame)).kind);
    expect([...new Set(seen)].sort()).toEqual([...kinds].sort());
  });

  it.each(ERRORS)("%s are refusals with a name", (file) => {
    for (const { body } of readJson(file) as readonly { readonly body: object }[]) {
      const error = readError(200, JSON.stringify(body));
      expect(error).not.toBeNull();
      if (error !== null) expect(classifyError(200, error).code).not.toBe("REFUSED");
    }
  });

  it("the whole market list gives one instrument for each perpetual", () => {
    const { body } = readJson("rest-info-all-markets.json") as { readonly body: { readonly data: unknown } };
    const { markets, badCount } = decodeMarkets(body.data);
    const { bySymbol, skipped } = buildInstruments(markets, DEFAULT_FEES);
    expect([markets.length, badCount, bySymbol.size, skipped]).toEqual([81, 0, 77, []]);
    for (const instrument of bySymbol.values()) {
      const row = markets.find(({ symbol }) => symbol === instrument.nativeSymbol);
      expect(Number(row?.tick_size)).toBeCloseTo(instrument.priceStepTicks / 10 ** instrument.priceDecimals, 12);
      expect(Number(row?.lot_size)).toBeCloseTo(instrument.qtyStepLots / 10 ** instrument.qtyDecimals, 12);
    }
  });

  it("the recorded books play into a book that is never crossed, five changes and seven repeats", () => {
    const { body } = readJson("rest-info-all-markets.json") as { readonly body: { readonly data: unknown } };
    const btc = buildInstruments(decodeMarkets(body.data).markets, DEFAULT_FEES).bySymbol.get("BTC");
    if (btc === undefined) throw new Error("BTC is missing");
    const applier = new MarketApplier(createMarket(btc, { deepTier: false, maxBookAgeMs: 1_500, maxDeepAgeMs: 0 }));
    const scanner = new DepthScanner();
    const counts = { applied: 0, proven: 0 };
    for (const [index, frame] of framesOf("ws-book-sequence.json").entries()) {
      expect(scanner.scan(Buffer.from(JSON.stringify(frame)))).toBe(SCAN_BOOK);
      const applied = applier.applyBook(scanner, index + 1, 0, 1);
      if (applied === APPLIED) counts.applied++;
      else if (applied === PROVEN) counts.proven++;
      const { book } = applier.market;
      expect([book.state, book.bidCount, book.askCount]).toEqual([BOOK_LIVE, 10, 10]);
      expect(book.bidTicks(0)).toBeLessThan(book.askTicks(0));
    }
    expect(counts).toEqual({ applied: 5, proven: 7 });
  });
});
