/** One client, virtual time and sockets that a test scripts: the base of the connection's tests. */
import { StreamClient, type SubscriptionListener, type SubscriptionView } from "../stream/stream-client.js";
import { createVirtualTime, FakeSocket } from "./virtual.js";

export const KEY = "ticker:BTC:venueone:100";
export const BOOK = "book:BTC:venueone:20:100";
export const TICKER = { topic: "ticker", symbols: ["BTC"] } as const;

export function setUp(dice: () => number = () => 0.5) {
  const time = createVirtualTime();
  const sockets: FakeSocket[] = [];
  const client = new StreamClient({
    url: "ws://test/ws",
    clock: time,
    random: dice,
    openSocket: (_, events) => {
      const socket = new FakeSocket(events);
      sockets.push(socket);
      return socket;
    },
  });
  const views: SubscriptionView[] = [];
  const refusals: string[] = [];
  const listener: SubscriptionListener = {
    changed: (view) => void views.push(view),
    refused: (code) => void refusals.push(code),
  };
  const socket = () => sockets.at(-1) as FakeSocket;
  return { time, sockets, socket, client, views, refusals, listener, last: () => views.at(-1) as SubscriptionView };
}

export const snapshot = (seq = 1, epoch = "e1") => ({
  type: "snapshot",
  sub: KEY,
  epoch,
  seq,
  ts: 1_790_000_000_000,
  data: { symbol: "BTC", venueone: { markPrice: "1", state: "LIVE", ageMs: 40 } },
});
export const update = (seq: number, prevSeq = seq - 1, epoch = "e1", markPrice = String(seq)) => ({
  type: "update",
  sub: KEY,
  epoch,
  seq,
  prevSeq,
  ts: 1_790_000_000_100,
  data: { venueone: { markPrice } },
});
export const heartbeat = (heads: Record<string, number>) => ({
  type: "heartbeat",
  ts: 1_790_000_005_000,
  n: 1,
  heads,
  feeds: {
    venueone: { state: "LIVE", ageMs: 40, breaker: "open" },
    // An older service does not report breakers.
    venuetwo: { state: "DOWN", ageMs: null },
  },
});

/** Connected, subscribed, snapshot received. */
export function live(dice?: () => number) {
  const set = setUp(dice);
  const end = set.client.subscribe(TICKER, set.listener);
  set.client.start();
  set.socket().opened();
  const [op] = set.socket().take();
  set.socket().says({ type: "subscribed", id: op?.id, subs: [{ sub: KEY, epoch: "e1", seq: 0 }] });
  set.socket().says(snapshot());
  return { ...set, end };
}
