/** Examples of the AsyncAPI document by message name. A test validates each against its schema. */
const TICKER_SUB = "ticker:BTC:venueone,venuetwo:100";
const BOOK_SUB = "book:BTC:venuetwo:20:0";
const EPOCH = "k3v9a1";

export const STREAM_EXAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  SubscribeTicker: [
    {
      op: "subscribe",
      id: "2",
      topic: "ticker",
      symbols: ["BTC"],
      exchanges: ["venueone", "venuetwo"],
      intervalMs: 100,
    },
  ],
  SubscribeBook: [
    { op: "subscribe", id: "3", topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], depth: 20, intervalMs: 0 },
  ],
  SubscribeStatus: [{ op: "subscribe", id: "4", topic: "status" }],
  Unsubscribe: [{ op: "unsubscribe", id: "5", subs: [TICKER_SUB] }],
  Resume: [{ op: "resume", id: "6", subs: [{ sub: BOOK_SUB, epoch: EPOCH, seq: 41 }] }],
  Ping: [{ op: "ping", id: "7" }],
  Subscribed: [{ type: "subscribed", id: "2", subs: [{ sub: TICKER_SUB, epoch: EPOCH, seq: 0 }] }],
  Resumed: [{ type: "resumed", id: "6", subs: [{ sub: BOOK_SUB, epoch: EPOCH, seq: 57, missed: true }] }],
  Unsubscribed: [{ type: "unsubscribed", id: "5", subs: [TICKER_SUB] }],
  TickerUpdate: [
    {
      type: "update",
      sub: TICKER_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_000_600,
      data: { venueone: { markPrice: "97422", timestamp: 1_790_000_000_560, ageMs: 41 } },
    },
  ],
  BookSnapshot: [
    {
      type: "snapshot",
      sub: BOOK_SUB,
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_501,
      data: {
        symbol: "BTC",
        venuetwo: {
          bids: [["97418", "1.2"]],
          asks: [["97418.1", "0.8"]],
          venueSeq: "990817263",
          state: "LIVE",
          crc: 3_536_425_790,
        },
      },
    },
  ],
  BookUpdate: [
    {
      type: "update",
      sub: BOOK_SUB,
      epoch: EPOCH,
      seq: 2,
      prevSeq: 1,
      ts: 1_790_000_000_551,
      data: { venuetwo: { bids: [["97418", "0"]], asks: [], venueSeq: "990817270" } },
    },
  ],
  StatusSnapshot: [
    {
      type: "snapshot",
      sub: "status",
      epoch: EPOCH,
      seq: 1,
      ts: 1_790_000_000_501,
      data: { service: { state: "LIVE" }, feeds: { venueone: { state: "LIVE", ageMs: 40 } } },
    },
  ],
  Heartbeat: [
    {
      type: "heartbeat",
      ts: 1_790_000_005_500,
      n: 12,
      heads: { [TICKER_SUB]: 52 },
      feeds: { venueone: { state: "LIVE", ageMs: 40 }, venuetwo: { state: "STALE", ageMs: 6100 } },
    },
  ],
  Lagging: [{ type: "lagging", ts: 1_790_000_005_500 }],
  Notice: [{ type: "status", ts: 1_790_000_005_500, reason: "RESTART", retryAfterMs: 1000 }],
  StreamError: [
    {
      type: "error",
      id: "2",
      code: "UNKNOWN_SYMBOL",
      error: "Unknown symbol XYZ. Available: BTC, ETH",
      details: { symbol: "XYZ", availableSymbols: ["BTC", "ETH"] },
    },
  ],
  Pong: [{ type: "pong", id: "7", ts: 1_790_000_005_600 }],
};
