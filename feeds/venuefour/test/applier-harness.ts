/** One market's applier behind the scanner, and frames of books and touches, for tests. */
import { createMarket, type Market } from "../../../engine/market/market.js";
import type { Applied } from "../market/applied.js";
import { MarketApplier } from "../market/apply.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK } from "../market/scan.js";
import { buildInstruments, DEFAULT_FEES } from "../market/symbols.js";

type Rows = readonly (readonly [price: string, qty: string])[];
export interface BookFrame {
  readonly t: number;
  readonly bids: Rows;
  readonly asks: Rows;
  readonly li?: number;
}

export function btcMarket(): Market {
  const row = { symbol: "BTC", instrument_type: "perpetual", tick_size: "1", lot_size: "0.00001" };
  const instrument = buildInstruments([{ ...row, max_leverage: 50, min_order_size: "10" }], DEFAULT_FEES).bySymbol.get(
    "BTC",
  );
  if (instrument === undefined) throw new Error("BTC is missing");
  return createMarket(instrument, { deepTier: false, maxBookAgeMs: 1_500, maxDeepAgeMs: 0 });
}

export function bookBytes({ t, bids, asks, li = 1 }: BookFrame): Buffer {
  const side = (rows: Rows) => rows.map(([p, a]) => ({ a, n: 1, p }));
  return Buffer.from(JSON.stringify({ channel: "book", data: { l: [side(bids), side(asks)], li, s: "BTC", t } }));
}

export function bboBytes(t: number, bid: readonly [string, string], ask: readonly [string, string], li = 1): Buffer {
  const data = { A: ask[1], B: bid[1], a: ask[0], b: bid[0], i: 9, li, s: "BTC", t };
  return Buffer.from(JSON.stringify({ channel: "bbo", data }));
}

export function setup() {
  const market = btcMarket();
  const applier = new MarketApplier(market);
  const scanner = new DepthScanner();
  applier.reset();
  const scanned = (frame: Buffer, kind: number): void => {
    if (scanner.scan(frame) !== kind) throw new Error("the scanner declined the frame");
  };
  return {
    market,
    applier,
    book(frame: BookFrame | Buffer, tsRecvNs = 1, linkId = 1, lateNs = 0): Applied {
      scanned(Buffer.isBuffer(frame) ? frame : bookBytes(frame), SCAN_BOOK);
      return applier.applyBook(scanner, tsRecvNs, lateNs, linkId);
    },
    touch(frame: Buffer, tsRecvNs = 1): Applied {
      scanned(frame, SCAN_BBO);
      return applier.touch.apply(scanner, tsRecvNs);
    },
  };
}

export const GOOD: BookFrame = {
  t: 1_000,
  bids: [
    ["63515", "0.15744"],
    ["63509.0", "0.07873"],
  ],
  asks: [["63529", "0.13874"]],
};
export const NEXT: BookFrame = { t: 2_000, bids: [["63500", "1"]], asks: [["63530", "2"]] };
