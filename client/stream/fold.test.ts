/** The fold compared with a server that keeps plain maps: however frames are merged, cut or resumed, both end equal. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK_KEY, ModelBook, ModelTicker, TICKER_KEY } from "../test/model-server.js";
import { createVirtualTime, FakeSocket } from "../test/virtual.js";
import { bookCrc, crc32 } from "./book-crc.js";
import { StreamClient, type SubscriptionView } from "./stream-client.js";

const VENUES = ["venueone", "venuetwo"] as const;
const venue = fc.constantFrom(...VENUES);

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("level" as const),
      venue,
      bid: fc.boolean(),
      ticks: fc.integer({ min: 1, max: 40 }),
      size: fc.nat({ max: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("field" as const),
      venue,
      name: fc.constantFrom("markPrice", "lastPrice", "fundingRate"),
      value: fc.integer({ min: 1, max: 99 }).map(String),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("send" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("skip" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("lose" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("repeat" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);

/** A connection between a client and two model topics that answer like the server. */
function connect() {
  const time = createVirtualTime();
  const book = new ModelBook();
  const ticker = new ModelTicker();
  for (const name of VENUES) {
    ticker.change([name, "markPrice", "1"]);
    book.set(name, "bids", 2, 1);
    book.set(name, "asks", 60, 1);
  }
  const views = new Map<string, SubscriptionView>();
  const sockets: FakeSocket[] = [];
  const client = new StreamClient({
    url: "ws://test/ws",
    clock: time,
    random: () => 0.5,
    openSocket: (_, events) => {
      const socket = new FakeSocket(events);
      sockets.push(socket);
      return socket;
    },
  });
  const seen = { changed: (view: SubscriptionView) => void views.set(view.key, view) };
  client.subscribe({ topic: "ticker", symbols: ["BTC"] }, seen);
  client.subscribe({ topic: "book", symbols: ["BTC"], depth: 50, intervalMs: 0 }, seen);
  client.start();
  const topics = new Map<string, ModelBook | ModelTicker>([
    [TICKER_KEY, ticker],
    [BOOK_KEY, book],
  ]);
  const socket = () => sockets.at(-1) as FakeSocket;

  /** Answers everything the client has sent, at once. */
  function answer(): void {
    for (const op of socket().take()) {
      const keys =
        op.op === "subscribe"
          ? [op.topic === "book" ? BOOK_KEY : TICKER_KEY]
          : (op.subs as (string | { sub: string })[]).map((one) => (typeof one === "string" ? one : one.sub));
      const held = keys.map((key) => topics.get(key) as ModelBook | ModelTicker);
      const heads = held.map(({ key, epoch, seq }) => ({ sub: key, epoch, seq, missed: true }));
      if (op.op === "unsubscribe") socket().says({ type: "unsubscribed", id: op.id, subs: keys });
      else {
        socket().says({ type: op.op === "resume" ? "resumed" : "subscribed", id: op.id, subs: heads });
        for (const topic of held) socket().says(topic.snapshot());
      }
    }
  }
  function reconnect(): void {
    const before = sockets.length;
    while (sockets.length === before) time.advance(250);
    socket().opened();
  }
  socket().opened();
  answer();
  return { time, book, ticker, views, client, socket, answer, reconnect };
}

describe("a client's folded state", () => {
  it("equals the server's after any changes, merged frames, lost frames, cuts and restarts, or is marked as not current", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const { book, ticker, views, socket, answer, reconnect, time, client } = connect();
        let last: Record<string, unknown> | null = null;
        for (const one of steps) {
          switch (one.kind) {
            case "level":
              // Bids and asks are kept apart.
              book.set(one.venue, one.bid ? "bids" : "asks", one.bid ? one.ticks : one.ticks + 100, one.size);
              break;
            case "field":
              ticker.change([one.venue, one.name, one.value]);
              break;
            case "send":
              for (const topic of [book, ticker]) {
                const frame = topic.update();
                if (frame !== null) socket().says(frame);
                last = frame ?? last;
              }
              break;
            case "skip":
              book.skip();
              ticker.skip();
              break;
            case "lose":
              book.update();
              ticker.update();
              break;
            case "repeat":
              if (last !== null) socket().says(last);
              break;
            case "cut":
              socket().cut();
              reconnect();
              break;
            case "restart":
              socket().cut(1012);
              book.restart();
              ticker.restart();
              last = null;
              reconnect();
              break;
          }
          // Refills the number of frames that the client may send.
          time.advance(250);
          answer();
          for (const view of views.values())
            if (view.current) expectServerState(view, view.topic === "book" ? book : ticker);
        }
        // A heartbeat reveals a loss that no later frame shows.
        for (const topic of [book, ticker]) {
          const frame = topic.update();
          if (frame !== null) socket().says(frame);
        }
        socket().says({
          type: "heartbeat",
          ts: 1,
          n: 1,
          heads: { [BOOK_KEY]: book.lastSent, [TICKER_KEY]: ticker.lastSent },
          feeds: {},
        });
        time.advance(1_000);
        answer();
        for (const key of [BOOK_KEY, TICKER_KEY]) {
          const view = views.get(key) as SubscriptionView;
          expect(view.current).toBe(true);
          const topic = key === BOOK_KEY ? book : ticker;
          expect(view.seq).toBe(topic.lastSent);
          expectServerState(view, topic);
        }
        expect(client.counts.undecodable).toBe(0);
        expect(client.counts.checksumMismatches).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  /** A view that is current shows what the server held at that sequence number. */
  function expectServerState(view: SubscriptionView, topic: ModelBook | ModelTicker): void {
    const held = topic.history.get(`${view.epoch}:${view.seq}`) as Record<string, Record<string, unknown>>;
    if (view.data === null || !("venues" in view.data)) expect.unreachable("another topic");
    expect(view.data.symbol).toBe("BTC");
    for (const name of VENUES) {
      const shown = view.data.venues.get(name);
      if (shown !== undefined && "bids" in shown) {
        expect(shown.bids).toEqual(held[name]?.bids);
        expect(shown.asks).toEqual(held[name]?.asks);
      } else expect(shown?.fields).toEqual(held[name]);
    }
  }
});

describe("the checksum of a book", () => {
  it("is CRC-32 as zlib computes it", () => {
    expect(crc32("123456789")).toBe(0xcbf43926);
    expect(crc32("")).toBe(0);
  });

  it("covers ten levels of each side, as sent", () => {
    const bids = Array.from({ length: 12 }, (_, index) => [`${100 - index}.0`, "1"] as const);
    const asks = [["101", "0.50"] as const];
    const text = [...bids.slice(0, 10), ...asks].map(([price, size]) => `${price}:${size}`).join("|");
    expect(bookCrc(bids, asks)).toBe(crc32(text));
  });
});
