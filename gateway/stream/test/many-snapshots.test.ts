/** Many subscribers at once: their snapshots are made over several turns of the event loop, by turns among them. */
import { describe, expect, it } from "vitest";
import { DEFAULT_STREAM_LIMITS } from "../limits.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const { snapshotTurnBytes: TURN_BYTES } = DEFAULT_STREAM_LIMITS;
const CLIENTS = 20;
const KEYS_EACH = 150;
const INTERVALS = [50, 100, 250, 1_000];

/** Every client asks for books of its own, all in one turn. */
function askedAtOnce(
  clientCount = CLIENTS,
  pathBytesMax = Number.POSITIVE_INFINITY,
): {
  readonly stream: VirtualStream;
  readonly clients: readonly VirtualClient[];
} {
  const stream = new VirtualStream({ framesPerSecond: 10_000 });
  stream.load(stream.markets.btcOne, 500);
  stream.load(stream.markets.btcTwo, 500);
  const clients = Array.from({ length: clientCount }, () => stream.connect());
  for (const client of clients) {
    client.pathBytesMax = pathBytesMax;
    client.isReading = pathBytesMax === Number.POSITIVE_INFINITY;
  }
  for (const [index, { connection }] of clients.entries()) {
    const intervalMs = INTERVALS[index % INTERVALS.length];
    const first = Math.floor(index / INTERVALS.length) * KEYS_EACH;
    for (let depth = 1; depth <= KEYS_EACH; depth++) {
      const exchanges = ["venueone", "venuetwo"].slice(0, 1 + Math.floor((first + depth) / 500));
      const frame = {
        op: "subscribe",
        topic: "book",
        symbols: ["BTC"],
        depth: ((first + depth) % 500) + 1,
        intervalMs,
        exchanges,
      };
      stream.hub.receive(connection, Buffer.from(JSON.stringify(frame)), false);
    }
  }
  return { stream, clients };
}

const snapshotsOf = ({ frames }: VirtualClient): number => frames.filter(({ type }) => type === "snapshot").length;

describe("snapshots of thousands of books", () => {
  it("all arrive, and no turn of the event loop makes more than its share", () => {
    const { stream, clients } = askedAtOnce();
    stream.turn();
    // Those that filled a buffer get the rest as they read.
    stream.advance(2_000);
    expect(stream.hub.counts.keys).toBe(CLIENTS * KEYS_EACH);
    for (const client of clients) expect([client.end, client.folds.size]).toEqual([null, KEYS_EACH]);
    // What one turn may hold beside: the last frame of its share, and answers to what was asked.
    const longest = Math.max(...stream.turnBytes);
    const answers = CLIENTS * KEYS_EACH * 200;
    expect(longest).toBeLessThan(TURN_BYTES + answers + 64_000);
    expect(stream.turnBytes.filter((bytes) => bytes > TURN_BYTES / 2).length).toBeGreaterThan(10);
  });

  it("of slow readers, which get them as they read, are no more a turn either", () => {
    const { stream, clients } = askedAtOnce(8, 100_000);
    stream.turn();
    const beforeCount = stream.turnBytes.length;
    // Each reads what is on its way to it, all in the same turn.
    const isWaiting = () => clients.some(({ folds }) => folds.size < KEYS_EACH);
    for (let round = 0; round < 400 && isWaiting(); round++) {
      for (const client of clients) client.read(200_000);
      stream.turn();
      stream.advance(10);
    }
    for (const client of clients) expect([client.end, client.folds.size]).toEqual([null, KEYS_EACH]);
    const longest = Math.max(...stream.turnBytes.slice(beforeCount));
    // Reads, answered pings and deferred work of one step of the test are turns of their own on a real loop.
    expect(longest).toBeLessThan(5 * TURN_BYTES);
  });

  it("come to each subscriber in turn: who asked first does not keep the others waiting", () => {
    const { stream, clients } = askedAtOnce();
    for (const client of clients)
      client.onFrame = () => {
        if (snapshotsOf(client) !== KEYS_EACH || least !== null) return;
        least = Math.min(...clients.map(snapshotsOf));
      };
    let least: number | null = null;
    stream.turn();
    stream.advance(2_000);
    expect(least).toBeGreaterThan(KEYS_EACH / 3);
  });

  it("are sent to who still wants them: one that was unsubscribed meanwhile gets none, one that is asked for again begins once", () => {
    const { stream, clients } = askedAtOnce();
    const [, , last] = clients as [VirtualClient, VirtualClient, VirtualClient];
    const subs = last.connection.subscriptionCount;
    expect(subs).toBe(KEYS_EACH);
    const frame = { op: "unsubscribe", subs: ["book:BTC:venueone:151:250"] };
    stream.hub.receive(last.connection, Buffer.from(JSON.stringify(frame)), false);
    stream.turn();
    stream.advance(2_000);
    // The judge of frames throws on a snapshot out of place, and on an update before its snapshot.
    expect(last.connection.subscriptionCount).toBe(KEYS_EACH - 1);
    expect(last.folds.size).toBe(KEYS_EACH - 1);
  });
});

/** Takes what one turn may make, so that what is asked after it waits for a turn of its own. */
function useUpTurn(stream: VirtualStream): void {
  for (let depth = 300; depth < 320; depth++) {
    const frame = { op: "subscribe", topic: "book", symbols: ["BTC"], depth, exchanges: ["venuetwo"] };
    stream.hub.receive(stream.connect().connection, Buffer.from(JSON.stringify(frame)), false);
  }
}

describe("a snapshot asked for by one that is in step, who falls behind before its turn", () => {
  const SUB = "book:BTC:venueone:500:50";

  it("comes when it reads again", () => {
    const stream = new VirtualStream({ framesPerSecond: 10_000, softBufferBytes: 5_000 });
    stream.load(stream.markets.btcOne, 500);
    stream.load(stream.markets.btcTwo, 500);
    const client = stream.connect();
    client.op({
      op: "subscribe",
      topic: "book",
      symbols: ["BTC"],
      depth: 500,
      intervalMs: 50,
      exchanges: ["venueone"],
    });
    stream.advance(200);
    expect(client.folds.has(SUB)).toBe(true);
    client.isReading = false;
    client.pathBytesMax = 100;

    useUpTurn(stream);
    const resume = { op: "resume", subs: [{ sub: SUB, epoch: "another", seq: 1 }] };
    stream.hub.receive(client.connection, Buffer.from(JSON.stringify(resume)), false);
    expect(client.connection.isLagging).toBe(false);
    // An update for the shared channel fills its buffer, in the same turn.
    stream.load(stream.markets.btcOne, 500, 900);
    stream.clock.advance(100);
    expect(client.connection.isLagging).toBe(true);
    // Its turn, while it reads nothing.
    stream.turn();

    for (let round = 0; round < 50; round++) {
      client.read(1_000_000);
      stream.advance(10);
    }
    expect(client.connection.isLagging).toBe(false);
    const told = client.frames.map(({ type, ...frame }) => ("reason" in frame ? `${type} ${frame.reason}` : type));
    expect(told).toContain("snapshot RESUME_MISS");
  });
});
