/** One answer or frame of the local venue for each recorded shape, under the same name. */
import type { Frame, Listener } from "../../core/test/listener.js";
import { shownAccountShapes } from "./account-shapes.js";
import { connect, get, startTestVenue, subscribe } from "./support.js";

export async function shownShapes(): Promise<Readonly<Record<string, unknown>>> {
  const { venue, clock } = await startTestVenue();
  try {
    const v1 = async (path: string): Promise<unknown> => (await get(venue, `/api/v1/${path}`)).json;
    const recentTradesNull = await v1("recentTrades?market_id=1&limit=5");
    clock.advance(3_000);
    const listener = await connect(venue);
    const channels = ["order_book/1", "ticker/1", "market_stats/1", "trade/1", "candle/1/1m", "height"];
    for (const channel of channels) await subscribe(listener, channel);
    for (let turn = 0; turn < 60; turn++) clock.advance(50);
    for (const channel of ["order_book/", "order_book/1", "account_all_orders/1"]) await subscribe(listener, channel);
    listener.send({ type: "ping" });
    listener.send({ type: "unsubscribe", channel: "order_book/1" });
    await listener.drained();
    const ofType = finder(listener);
    venue.room.setQuirks({ beginNonce: false, emptySnapshots: true });
    await subscribe(listener, "ticker/141");
    await subscribe(listener, "order_book/1");
    const updateCount = listener.frames.length;
    for (let turn = 0; turn < 4; turn++) clock.advance(50);
    await listener.drained();
    const late = listener.frames.slice(updateCount).find((frame) => frame.type === "update/order_book");
    listener.socket.terminate();
    const now = venue.exchange.nowMs();
    const range = `market_id=1&start_timestamp=${now - 7_200_000}&end_timestamp=${now}&count_back=0`;
    return {
      ...(await shownAccountShapes()),
      controlFrames: [ofType("connected"), ofType("pong"), ofType("unsubscribed")],
      errors: listener.frames.filter((frame) => frame.error !== undefined),
      orderBookSnapshot: ofType("subscribed/order_book"),
      orderBookUpdate: ofType("update/order_book"),
      orderBookUpdate2025: late,
      ticker: ofType("update/ticker"),
      tickerEmpty: listener.frames.find((frame) => frame.channel === "ticker:141"),
      marketStats: ofType("subscribed/market_stats"),
      trade: feesFirst(ofType("subscribed/trade")),
      candle: ofType("update/candle"),
      height: ofType("update/height"),
      orderBooks: await v1("orderBooks"),
      orderBookDetails: await v1("orderBookDetails"),
      recentTrades: feesFirst(await v1("recentTrades?market_id=1&limit=50")),
      recentTradesNull,
      candles: await v1(`candles?${range}&resolution=1m`),
      candlesticks: await v1(`candlesticks?${range}&resolution=1m`),
      fundingRates: await v1("funding-rates"),
      fundings: await v1(`fundings?${range}&resolution=1h`),
      assetDetails: await v1("assetDetails"),
      status: (await get(venue, "/")).json,
    };
  } finally {
    await venue.stop();
  }
}

function finder(listener: Listener): (type: string) => Frame | undefined {
  return (type) => listener.frames.find((frame) => frame.type === type);
}

/** Fees are left out when zero: a row that shows both comes first. */
function feesFirst(answer: unknown): unknown {
  const { trades, ...rest } = answer as { trades: Readonly<Record<string, unknown>>[] };
  const both = trades.filter((row) => row.taker_fee !== undefined && row.maker_fee !== undefined);
  return { ...rest, trades: both };
}
