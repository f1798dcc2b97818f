/** What the benchmarks know of venuefour. */
import { createPrivateKey, sign as signBytes } from "node:crypto";
import { NameTable } from "../../feeds/shared/book/name-table.js";
import { MarketApplier, REST_LINK } from "../../feeds/venuefour/market/apply.js";
import { DepthScanner, SCAN_BOOK } from "../../feeds/venuefour/market/scan.js";
import { decodeBase58 } from "../../feeds/venuefour/sign/base58.js";
import { canonicalJson, type Operation, signedBody, SigningKey } from "../../feeds/venuefour/sign/sign.js";
import { frameOf, type Tape, walkingBooks } from "../lib/format-tapes.js";
import { LOCAL_VENUES } from "../sim/venues.js";
import { type DirectOrders, JSON_TYPE, sendDirectly, SIZE } from "./direct-orders.js";
import {
  type Ingest,
  marketOf,
  SENT_DIRECTLY,
  SIGNED_AT_MS,
  type Signing,
  SIGNING_KEY,
  type VenueBench,
} from "./venue-bench.js";

/** DER head of a bare Ed25519 key (RFC 8410). */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

export const venuefour: VenueBench = {
  close: {
    offered: { 1: 2, 50: 100, 500: 200 },
    peerName: SENT_DIRECTLY,
    startDirect: async (target) => sendDirectly(directOrders(), target),
  },
  signings: async () => [orderSigning()],
  formats: (_, count) => [
    {
      venue: "venuefour",
      tape: generatedBooks(count),
      ccxtClass: "pacifica",
      ccxtMarketId: "BTC",
      priceDecimals: 0,
      qtyDecimals: 5,
      open: openIngest,
    },
  ],
};

function directOrders(): DirectOrders {
  const { apiSecret, walletAddress } = LOCAL_VENUES.venuefour.trader;
  const secret = decodeBase58(apiSecret);
  if (secret === null) throw new Error("the demo key is not base58");
  const key = new SigningKey(secret.subarray(0, 32));
  return {
    next() {
      const body = signedBody(
        {
          type: "create_market_order",
          timestamp: Date.now(),
          expiryWindow: 5_000,
          payload: { symbol: "BTC", reduce_only: true, amount: SIZE, side: "ask", slippage_percent: "5" },
        },
        walletAddress,
        key,
      );
      return { path: "/api/v1/orders/create_market", headers: JSON_TYPE, body: JSON.stringify(body) };
    },
    isTaken: (text) => text.includes('"order_id"'),
  };
}

function orderSigning(): Signing {
  const key = new SigningKey(SIGNING_KEY);
  const plain = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, SIGNING_KEY]), format: "der", type: "pkcs8" });
  const operationOf = (index: number): Operation => ({
    type: "create_market_order",
    timestamp: SIGNED_AT_MS + index,
    expiryWindow: 5_000,
    payload: {
      symbol: "BTC",
      reduce_only: true,
      amount: "0.25",
      side: "ask",
      slippage_percent: "1",
      client_order_id: "01234567-89ab-4def-8123-456789abcdef",
    },
  });
  const { payload, expiryWindow, timestamp, type } = operationOf(0);
  const ready = Buffer.from(canonicalJson({ type, timestamp, expiry_window: expiryWindow, data: payload }));
  return {
    what: "venuefour: order written in canonical form and signed",
    ours: (index) => signedBody(operationOf(index), key.publicKey, key),
    peerName: "node:crypto Ed25519 alone",
    peer: () => signBytes(null, ready, plain),
    goalUs: null,
    detail: "the peer is handed the canonical text",
  };
}

function openIngest(priceDecimals: number, qtyDecimals: number): Ingest {
  const scanner = new DepthScanner();
  const market = marketOf("venuefour", priceDecimals, qtyDecimals);
  const symbols = new NameTable<MarketApplier>();
  const applier = new MarketApplier(market);
  symbols.set("BTC", applier);
  return {
    book: market.book,
    restart: () => applier.reset(),
    take({ bytes }) {
      if (scanner.scan(bytes) !== SCAN_BOOK) throw new Error("the scanner declined a frame");
      symbols.find(bytes, scanner.symbolStart, scanner.symbolEnd)?.applyBook(scanner, 0, 0, REST_LINK);
    },
  };
}

/** The venue sends ten levels a side, prices on its grid without trailing zeros. */
function generatedBooks(count: number): Tape {
  const level = (price: number, size: string, orders: number) => ({ a: size, n: orders, p: String(price) });
  const frames = walkingBooks(count, 10, level).map(({ bids, asks, timeMs }, index) =>
    frameOf(
      "depth",
      JSON.stringify({ channel: "book", data: { l: [bids, asks], li: 1_559_885_104 + index, s: "BTC", t: timeMs } }),
    ),
  );
  return { what: "generated books of 10 levels", frames };
}
