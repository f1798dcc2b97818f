/** Gaps, broken books and silent stalls: first marked as not current, then one recovery. */
import { describe, expect, it } from "vitest";
import { BOOK, heartbeat, KEY, live, setUp, snapshot, update } from "../test/scenario.js";

describe("gaps in a subscription", () => {
  it("do not arise from an update that skips numbers but follows the last one", () => {
    const { socket, last } = live();
    socket().says(update(9, 1));
    expect(last()).toMatchObject({ seq: 9, current: true });
  });

  it("mark the subscription first, resume it once, and end with the snapshot", () => {
    const { socket, last, views, client } = live();
    socket().says(update(4, 3));
    socket().says(update(5, 4));
    expect(last()).toMatchObject({ current: false, staleReason: "gap", seq: 1 });
    const ops = socket().take();
    expect(ops).toMatchObject([{ op: "resume", subs: [{ sub: KEY, epoch: "e1", seq: 1 }] }]);
    socket().says({ type: "resumed", id: ops[0]?.id, subs: [{ sub: KEY, epoch: "e1", seq: 5, missed: true }] });
    expect(last().current).toBe(false);
    socket().says(snapshot(5));
    socket().says(update(6));
    expect(last()).toMatchObject({ current: true, seq: 6 });
    expect(client.counts.gaps).toBe(1);
    // Waiting, gap, snapshot, update: no view with a gap was ever marked current.
    expect(views.map((view) => [view.seq, view.current])).toEqual([
      [1, true],
      [1, false],
      [5, true],
      [6, true],
    ]);
  });

  it("do not arise from repeated updates, which are ignored", () => {
    const { socket, last, client } = live();
    socket().says(update(2));
    socket().says(update(2));
    expect(last()).toMatchObject({ seq: 2, current: true });
    expect(client.counts.ignored).toBe(1);
  });

  it("arise from another epoch, whatever its numbers", () => {
    const { socket, last } = live();
    socket().says(update(2, 1, "e2"));
    expect(last()).toMatchObject({ current: false, staleReason: "epoch" });
    expect(socket().take()).toMatchObject([{ op: "resume" }]);
    socket().says(snapshot(7, "e2"));
    socket().says(update(8, 7, "e2"));
    expect(last()).toMatchObject({ current: true, epoch: "e2", seq: 8 });
  });

  it("end where a resume shows that nothing was missed", () => {
    const { socket, last } = live();
    socket().says(heartbeat({ [KEY]: 3 }));
    expect(last()).toMatchObject({ current: false, staleReason: "stalled" });
    const [op] = socket().take();
    socket().says({ type: "resumed", id: op?.id, subs: [{ sub: KEY, epoch: "e1", seq: 1, missed: false }] });
    expect(last()).toMatchObject({ current: true, seq: 1 });
  });

  it("lead to a new subscription where a resume is refused", () => {
    const { socket } = live();
    socket().says(update(4, 3));
    const [op] = socket().take();
    socket().says({ type: "error", id: op?.id, code: "INVALID_PARAMETERS", error: "no", details: {} });
    expect(socket().take()).toMatchObject([
      { op: "unsubscribe", subs: [KEY] },
      { op: "subscribe", topic: "ticker", symbols: ["BTC"] },
    ]);
  });

  it("end the connection when recovery fails again and again", () => {
    const { socket, time, client, sockets } = live();
    socket().says(update(4, 3));
    const first = socket();
    for (let beat = 0; beat < 8 && first.closedWith === null; beat++) {
      time.advance(2_500);
      first.says({ type: "pong", ts: 1 });
    }
    expect(first.closedWith).toBe(4000);
    expect(client.status).toMatchObject({ phase: "waiting", reason: "no answer" });
    time.advance(2_000);
    expect(sockets).toHaveLength(2);
  });
});

describe("a book that cannot be trusted", () => {
  function liveBook() {
    const set = setUp();
    set.client.subscribe({ topic: "book", symbols: ["BTC"] }, set.listener);
    set.client.start();
    set.socket().opened();
    const [op] = set.socket().take();
    set.socket().says({ type: "subscribed", id: op?.id, subs: [{ sub: BOOK, epoch: "e1", seq: 0 }] });
    set.socket().says(bookFrame("snapshot", [["100.0", "1"]], [["101", "2"]], 1, { state: "LIVE" }));
    return set;
  }
  function bookFrame(type: string, bids: unknown, asks: unknown, seq: number, more: Record<string, unknown> = {}) {
    const data = { symbol: "BTC", venueone: { bids, asks, venueSeq: null, ...more } };
    return { type, sub: BOOK, epoch: "e1", seq, prevSeq: seq - 1, ts: 1, data };
  }

  it("is subscribed again after a checksum mismatch, and not shown as current meanwhile", () => {
    const { socket, last, client } = liveBook();
    expect(last().current).toBe(true);
    socket().says(bookFrame("update", [["100.0", "5"]], [], 2, { crc: 1 }));
    expect(last()).toMatchObject({ current: false, staleReason: "checksum" });
    expect(socket().take()).toMatchObject([
      { op: "unsubscribe" },
      { op: "subscribe", topic: "book", symbols: ["BTC"] },
    ]);
    // Fits the sequence of the broken book, which is still not trusted.
    socket().says(bookFrame("update", [["99", "5"]], [], 2));
    expect(last().current).toBe(false);
    socket().says(bookFrame("snapshot", [["100.0", "5"]], [["101", "2"]], 3, { state: "LIVE" }));
    expect(last().current).toBe(true);
    expect(client.counts.checksumMismatches).toBe(1);
  });

  it.each([
    ["a size that is no decimal", [["100", "1e3"]]],
    ["a negative price", [["-1", "1"]]],
    ["a level that is no pair", ["100"]],
    ["levels that are no list", { "100": "1" }],
  ])("is subscribed again after %s", (_, bids) => {
    const { socket, last } = liveBook();
    socket().says(bookFrame("update", bids, [], 2));
    expect(last()).toMatchObject({ current: false, staleReason: "malformed" });
  });

  it("is refused as a snapshot when its levels are out of order, and requested again only after a wait", () => {
    const { socket, last, time } = liveBook();
    const broken = bookFrame(
      "snapshot",
      [
        ["100", "1"],
        ["101", "1"],
      ],
      [],
      2,
      { state: "LIVE" },
    );
    socket().says(broken);
    expect(last()).toMatchObject({ current: false, staleReason: "malformed" });
    expect(socket().take()).toHaveLength(2);
    for (let index = 0; index < 20; index++) socket().says(broken);
    time.advance(1_000);
    expect(socket().take()).toEqual([]);
  });
});

describe("silent stalls of the stream", () => {
  it("show in the heads of a heartbeat, and are resumed", () => {
    const { socket, last, client } = live();
    socket().says(heartbeat({ [KEY]: 1 }));
    expect(last().current).toBe(true);
    socket().says(heartbeat({ [KEY]: 4 }));
    expect(last()).toMatchObject({ current: false, staleReason: "stalled" });
    expect(socket().take()).toMatchObject([{ op: "resume" }]);
    expect(client.counts.stalls).toBe(1);
  });

  it("are noticed where the server has lost a subscription", () => {
    const { socket, last } = live();
    socket().says(heartbeat({}));
    expect(last()).toMatchObject({ current: false, staleReason: "stalled" });
    expect(socket().take()).toMatchObject([{ op: "unsubscribe" }, { op: "subscribe" }]);
  });

  it("of the whole connection end it after 12 s", () => {
    const { socket, time, client, last } = live();
    time.advance(11_750);
    expect(client.status.phase).toBe("open");
    time.advance(500);
    expect(socket().closedWith).toBe(4000);
    expect(client.status).toMatchObject({ phase: "waiting", reason: "silence" });
    expect(last()).toMatchObject({ current: false, staleReason: "disconnected", data: { topic: "ticker" } });
  });
});
