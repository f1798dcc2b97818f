/** A request names many symbols; if one of them is missing, only that one is requested again. */
import { describe, expect, it } from "vitest";
import { setUp } from "../test/scenario.js";

const SYMBOLS = ["BTC", "ETH", "SOL"];

/** One request subscribed to three symbols; only BTC's snapshot came. */
function oneSnapshotOfThree(topic: "ticker" | "book") {
  const set = setUp();
  const shape = topic === "ticker" ? "100" : "20:100";
  const keyOf = (symbol: string) => `${topic}:${symbol}:venueone:${shape}`;
  set.client.subscribe({ topic, symbols: SYMBOLS }, set.listener);
  set.client.start();
  set.socket().opened();
  const [op] = set.socket().take();
  const subs = SYMBOLS.map((symbol) => ({ sub: keyOf(symbol), epoch: "e1", seq: 0 }));
  set.socket().says({ type: "subscribed", id: op?.id, subs });
  const venueone =
    topic === "ticker"
      ? { markPrice: "1", state: "LIVE", ageMs: 4 }
      : { bids: [], asks: [], venueSeq: null, state: "LIVE" };
  set
    .socket()
    .says({ type: "snapshot", sub: keyOf("BTC"), epoch: "e1", seq: 1, ts: 1, data: { symbol: "BTC", venueone } });
  return { ...set, keyOf };
}

describe("a symbol whose first snapshot does not come", () => {
  it.each(["ticker", "book"] as const)("is requested alone, not with the whole list of its %s request", (topic) => {
    const { time, socket, keyOf } = oneSnapshotOfThree(topic);
    socket().take();
    for (let second = 0; second < 5; second++) {
      time.advance(1_000);
      socket().says({ type: "pong", ts: 1 });
    }
    const ops = socket().take();
    const asked = ops.filter(({ op }) => op === "subscribe").map(({ symbols }) => symbols);
    expect(asked).toEqual([["ETH"], ["SOL"]]);
    expect(ops.filter(({ op }) => op === "unsubscribe")).toMatchObject([
      { subs: [keyOf("ETH")] },
      { subs: [keyOf("SOL")] },
    ]);
  });
});
