/** One answer or frame of the local venue for each recorded shape, under the same name. */
import { connect, get, startTestVenue, subscribe } from "./support.js";

export async function shownShapes(): Promise<Readonly<Record<string, unknown>>> {
  const { venue, clock } = await startTestVenue();
  try {
    const read = async (path: string): Promise<unknown> => (await get(venue, path)).json;
    const listener = await connect(venue);
    for (const source of ["book", "bbo", "trades"]) await subscribe(listener, { source, symbol: "BTC" });
    for (const source of ["candle", "mark_price_candle"])
      await subscribe(listener, { source, symbol: "BTC", interval: "1m" });
    listener.send({ method: "ping" });
    clock.advance(5_000);
    await listener.drained();
    listener.socket.terminate();
    const ofChannel = (channel: string): unknown => listener.frames.find((frame) => frame.channel === channel);
    const restFunding = (await read("funding_rate/history?symbol=BTC")) as object;
    venue.faults.add({ kind: "errorBefore", status: 500, count: 1 });
    return {
      book: ofChannel("book"),
      bbo: ofChannel("bbo"),
      trades: ofChannel("trades"),
      pong: ofChannel("pong"),
      candle: ofChannel("candle"),
      markPriceCandle: ofChannel("mark_price_candle"),
      // The echo repeats what was sent: its own keys are not the venue's.
      subscribeEcho: { ...(ofChannel("subscribe") as object), data: { account: "", source: "" } },
      errorBody: await read("info"),
      restBook: await read("book?symbol=BTC"),
      restTrades: await read("trades?symbol=BTC"),
      restFunding,
      info: await read("info"),
    };
  } finally {
    await venue.stop();
  }
}
