/** Every recorded payload of the reference material has its counterpart on the local venue. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { shapeProblems } from "../../core/test/shape.js";
import { shownShapes } from "./shapes.js";

const repoRoot = fileURLToPath(new URL("../../../..", import.meta.url));
const folder = join(repoRoot, "..", "shared", "fixtures", "venuethree");

/** File, entry of a list or null, and the name of the shape here. */
const PAIRS: readonly (readonly [file: string, index: number | null, shape: string])[] = [
  ["live-ws-order-book-sequence-crv.json", 0, "orderBookSnapshot"],
  ["live-ws-order-book-sequence-crv.json", 1, "orderBookUpdate"],
  ["pyb-ws-order-book-sequence.json", 0, "orderBookUpdate"],
  ["ccxt-ws-order-book-update-no-begin-nonce.json", null, "orderBookUpdate2025"],
  ["live-ws-ticker-update-btc.json", null, "ticker"],
  ["nt-ws-ticker-update.json", null, "ticker"],
  ["nt-ws-ticker-subscribed-empty.json", null, "tickerEmpty"],
  ["live-ws-height-update.json", null, "height"],
  ["nt-ws-market-stats-subscribed-single.json", null, "marketStats"],
  ["nt-ws-market-stats-update-single.json", null, "marketStats"],
  ["doc-ws-market-stats-update.json", null, "marketStats"],
  ["nt-ws-trade-subscribed.json", null, "trade"],
  ["nt-ws-candle-update.json", null, "candle"],
  ["live-ws-control-frames.json", null, "controlFrames"],
  ["live-ws-errors.json", null, "errors"],
  ["live-http-order-books.json", null, "orderBooks"],
  ["nt-http-order-books.json", null, "orderBooks"],
  ["nt-http-order-book-details.json", null, "orderBookDetails"],
  ["goltr-http-order-book-details.json", null, "orderBookDetails"],
  ["ccxt-http-order-book-details.json", null, "orderBookDetails"],
  ["nt-http-recent-trades.json", null, "recentTrades"],
  ["nt-http-recent-trades-null.json", null, "recentTradesNull"],
  ["nt-http-candles.json", null, "candles"],
  ["ccxt-http-candlesticks-legacy.json", null, "candlesticks"],
  ["ccxt-http-funding-rates.json", null, "fundingRates"],
  ["nt-http-fundings.json", null, "fundings"],
  ["ccxt-http-asset-details.json", null, "assetDetails"],
  ["ccxt-http-status.json", null, "status"],
  ["live-http-account-active-orders.json", null, "accountActiveOrders"],
  ["live-http-account-active-orders-empty-and-unauthorised.json", 0, "accountActiveOrders"],
  ["live-http-account-active-orders-empty-and-unauthorised.json", 1, "accountUnauthorised"],
  ["live-http-auth-deadline-too-far.json", null, "authDeadlineTooFar"],
  ["live-http-send-tx-invalid-nonce.json", null, "invalidNonce"],
  ["live-ws-account-all-orders-subscribed.json", null, "accountAllOrders"],
  ["live-ws-account-all-positions-update-flat.json", null, "accountAllPositions"],
  ["live-ws-account-all-trades-subscribed.json", null, "accountAllTrades"],
  ["nt-ws-account-all-trades-update.json", null, "accountAllTradesUpdate"],
  ["nt-ws-account-orders-update.json", null, "accountOrders"],
  ["nt-ws-account-all-assets-update.json", null, "accountAllAssets"],
  ["nt-ws-account-all-assets-with-position.json", null, "accountAllAssets"],
  ["nt-ws-user-stats-update.json", null, "userStats"],
  ["nt-ws-user-stats-with-position.json", null, "userStats"],
  ["nt-http-next-nonce.json", null, "nextNonce"],
];

describe.skipIf(!existsSync(folder))("recorded payloads of venuethree (needs ../shared)", () => {
  let shown: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    shown = await shownShapes();
  });

  it.each(PAIRS)("%s %s looks like %s", (file, index, shape) => {
    const whole = JSON.parse(readFileSync(join(folder, file), "utf8")) as unknown;
    const recorded = index === null ? whole : (whole as unknown[])[index];
    expect(recorded).toBeDefined();
    expect(shapeProblems(recorded, shown[shape])).toEqual([]);
  });
});
