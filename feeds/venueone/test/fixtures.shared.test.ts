/** Every recorded message of this venue that concerns market data or account streams is decoded; an unknown kind fails. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { createMarket } from "../../../engine/market/market.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import { decodeAccount, decodeFills, decodeOpenOrders, decodePosition } from "../account/wire.js";
import { decodeBook, decodeMeta, decodeTrades, decodeUniverse } from "../market/decode.js";
import { decodeAccountFrame, type VenueoneAccountFrame } from "../account/frames.js";
import { DepthScanner, SCAN_BOOK, SCAN_OTHER } from "../market/scan.js";
import { APPLIED, MarketApplier, OUTDATED, TIER_FAST } from "../market/apply.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";

const SHARED = join(import.meta.dirname, "..", "..", "..", "..", "shared");
const FOLDER = join(SHARED, "fixtures", "venueone");

interface Entry {
  readonly file: string;
  readonly kind: "ws" | "rest-info" | "rest-exchange" | "rest-body";
  readonly real: boolean;
}

type Decode = (value: unknown) => unknown;

/** `/info` types this half of the room reads. */
const READ: Readonly<Record<string, Decode>> = {
  l2Book: (value) => (value === null ? null : decodeBook(value)),
  meta: decodeMeta,
  metaAndAssetCtxs: decodeUniverse,
  recentTrades: decodeTrades,
  clearinghouseState: decodeAccount,
  openOrders: decodeOpenOrders,
  frontendOpenOrders: decodeOpenOrders,
  userFills: decodeFills,
  userFillsByTime: decodeFills,
};

/** `/info` types known and not read here: other halves of the room, or nothing this service uses. */
const NOT_READ: ReadonlySet<string> = new Set([
  "activeAssetData",
  "allMids",
  "candleSnapshot",
  "delegatorHistory",
  "fundingHistory",
  "orderStatus",
  "perpDeployAuctionStatus",
  "perpDexLimits",
  "perpDexStatus",
  "perpDexs",
  "portfolio",
  "spotClearinghouseState",
  "spotMeta",
  "spotMetaAndAssetCtxs",
  "userFunding",
  "userNonFundingLedgerUpdates",
  "userRole",
  "userTwapSliceFills",
  "userVaultEquities",
]);

/** Bodies without their request: the name tells the type. Null means of the other half of the room. */
const BODIES: Readonly<Record<string, Decode | null>> = {
  rest_bytex_clearinghouseState_long: decodeAccount,
  rest_bytex_exchange: null,
  rest_bytex_info_unknown_type: null,
  rest_bytex_l2Book: decodeBook,
  rest_bytex_meta_first6: decodeMeta,
  rest_ccxt_order_tpsl_group: null,
  rest_ccxt_userFills: decodeFills,
  // Its source left the ids out.
  rest_info_probe_frontendOpenOrders_clamped: (value) =>
    decodeOpenOrders((value as object[]).map((row) => ({ oid: 1, ...row }))),
  rest_info_probe_openOrders_tp_looks_plain: decodeOpenOrders,
  rest_info_study_openOrders_reduceonly: decodeOpenOrders,
  rest_info_study_position_small_long: decodePosition,
  rest_info_study_userRole_agent: null,
  rest_nautilus_http_all_perp_metas: (value) => (value as unknown[]).map(decodeMeta),
  rest_nautilus_http_clearinghouse_state: decodeAccount,
  rest_nautilus_http_l2_book: decodeBook,
  rest_nautilus_http_meta_perp: decodeMeta,
  rest_nautilus_http_recent_trades: decodeTrades,
  rest_nautilus_http_spot_clearinghouse: null,
  rest_nautilus_http_user_fills: decodeFills,
};

/** What a socket fixture must come out as, by what its name says. */
const FRAME_KINDS: readonly (readonly [string, VenueoneAccountFrame["kind"]])[] = [
  ["sub_ack", "subscribed"],
  ["error_", "error"],
  ["pong", "pong"],
  ["l2Book", "book"],
  ["book_data", "book"],
  ["bbo", "bbo"],
  ["trades", "trades"],
  ["activeAssetCtx", "context"],
  ["activeSpotAssetCtx", "ignored"],
  ["candle", "ignored"],
  ["all_dexs_asset_ctxs", "ignored"],
  ["allmids", "ignored"],
  ["orderUpdates", "orderUpdates"],
  ["user_fill", "userEvents"],
];

const readJson = (file: string): unknown => JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as unknown;

describe.skipIf(!existsSync(FOLDER))("recorded messages of venueone (needs ../shared)", () => {
  const entries = existsSync(FOLDER) ? (readJson("index.json") as readonly Entry[]) : [];

  it("are all there", () => {
    expect(entries.length).toBeGreaterThan(80);
  });

  it.each(entries.filter((entry) => entry.kind === "ws").map((entry) => entry.file))(
    "%s decodes as its kind",
    (file) => {
      const value = readJson(file) as Readonly<Record<string, unknown>>;
      // One sample came without its envelope.
      const text = JSON.stringify("channel" in value ? value : { channel: "l2Book", data: value });
      const expected = FRAME_KINDS.find(([part]) => file.includes(part))?.[1];
      expect(expected, `no kind known for ${file}`).toBeDefined();
      const frame = decodeAccountFrame(Buffer.from(text));
      expect(frame.kind).toBe(expected);
      // Whatever the scanner takes it takes for the same.
      const scanned = new DepthScanner().scan(Buffer.from(text));
      if (scanned !== SCAN_OTHER) expect(frame.kind).toBe(scanned === SCAN_BOOK ? "book" : "bbo");
      else expect(["book", "bbo"]).not.toContain(frame.kind);
    },
  );

  it.each(entries.filter((entry) => entry.kind === "rest-info").map((entry) => entry.file))(
    "%s is read or known",
    (file) => {
      const { request, response } = readJson(file) as {
        readonly request: { readonly body: { readonly type: string } };
        readonly response: { readonly status: number; readonly body: unknown };
      };
      const { type } = request.body;
      const decode = READ[type];
      if (decode === undefined) {
        expect(NOT_READ.has(type), `unhandled /info type ${type}`).toBe(true);
        return;
      }
      expect(response.status).toBe(200);
      expect(decodeWith(response.body, decode)).toMatchObject({ ok: true });
    },
  );

  it.each(entries.filter((entry) => entry.kind === "rest-body").map((entry) => entry.file))(
    "%s is read or known",
    (file) => {
      const known = Object.entries(BODIES).find(([prefix]) => file.startsWith(prefix));
      expect(known, `unhandled body ${file}`).toBeDefined();
      const decode = known?.[1];
      if (decode === null || decode === undefined) return;
      expect(decodeWith(readJson(file), decode)).toMatchObject({ ok: true });
    },
  );

  it("every recorded universe gives instruments, exactly one per listed asset of the first dex", () => {
    for (const entry of entries.filter(({ file }) => file.startsWith("rest_info_meta_"))) {
      const { response } = readJson(entry.file) as { readonly response: { readonly body: unknown } };
      const meta = decodeWith(response.body, decodeMeta);
      if (!meta.ok) throw new Error(meta.problem);
      const { bySymbol, skipped } = buildInstruments(meta.value, DEFAULT_FEES);
      const listed = meta.value.universe.filter((asset) => !asset.isDelisted);
      expect(bySymbol.size + skipped.length).toBeGreaterThanOrEqual(listed.length - 3);
      for (const instrument of bySymbol.values())
        expect(meta.value.universe[instrument.nativeId]?.name).toBe(instrument.nativeSymbol);
    }
  });
});

const TAPE = join(SHARED, "data", "hyperliquid_btc_20250126.raw.gz");

describe.skipIf(!existsSync(TAPE))("recorded BTC tape (needs ../shared)", () => {
  it("plays into a book that is never crossed, by the scanner as by the reference, and ends at the last frame's touch", () => {
    const meta = { universe: [{ name: "BTC", szDecimals: 5, maxLeverage: 40, isDelisted: false }], collateralToken: 0 };
    const btc = buildInstruments(meta, DEFAULT_FEES).bySymbol.get("BTC");
    if (btc === undefined) throw new Error("BTC is missing");
    const limits = { deepTier: true, maxBookAgeMs: 2_000, maxDeepAgeMs: 7_000 };
    const fast = new MarketApplier(createMarket(btc, limits));
    const slow = new MarketApplier(createMarket(btc, limits));
    const scanner = new DepthScanner();
    let books = 0;
    let trades = 0;
    for (const line of gunzipSync(readFileSync(TAPE)).toString("utf8").split("\n")) {
      if (line === "") continue;
      const bytes = Buffer.from(line.slice(line.indexOf(" ") + 1));
      const frame = decodeAccountFrame(bytes);
      if (frame.kind === "trades") trades++;
      if (frame.kind !== "book") {
        expect(["trades", "subscribed"]).toContain(frame.kind);
        continue;
      }
      books++;
      expect(scanner.scan(bytes)).toBe(SCAN_BOOK);
      const applied = fast.applyBook(scanner, TIER_FAST, books, 0);
      expect([APPLIED, OUTDATED]).toContain(applied);
      expect(slow.applyDecodedBook(frame.book, TIER_FAST, books, 0)).toBe(applied);
      const { book } = fast.market;
      expect(book.state).toBe(BOOK_LIVE);
      expect(book.bidTicks(0)).toBeLessThan(book.askTicks(0));
      expect([book.bidCount, book.askCount]).toEqual([20, 20]);
      for (let level = 0; level < 20; level++) {
        expect([book.bidTicks(level), book.askLots(level)]).toEqual([
          slow.market.book.bidTicks(level),
          slow.market.book.askLots(level),
        ]);
      }
    }
    expect([books > 40, trades > 0]).toEqual([true, true]);
  });
});
