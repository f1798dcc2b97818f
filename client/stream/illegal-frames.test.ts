/** Whatever a server sends, nothing throws, and a legal server is enough to recover. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BOOK, KEY, live, snapshot, update } from "../test/scenario.js";

describe("illegal frames to the client", () => {
  const field = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(KEY, BOOK, "e1", "BTC", -1, 0, 1, 2, 3, 1.5, Number.MAX_SAFE_INTEGER, "__proto__", "constructor"),
  );
  const frame = fc.record(
    {
      type: fc.oneof(
        fc.constantFrom(
          "snapshot",
          "update",
          "heartbeat",
          "subscribed",
          "resumed",
          "unsubscribed",
          "error",
          "status",
          "lagging",
          "pong",
        ),
        field,
      ),
      id: fc.oneof(fc.constantFrom("1", "2", "3"), field),
      sub: fc.oneof(fc.constantFrom(KEY, BOOK), field),
      epoch: field,
      seq: field,
      prevSeq: field,
      ts: field,
      heads: fc.oneof(fc.dictionary(fc.constantFrom(KEY, BOOK, "__proto__"), field), field),
      feeds: fc.oneof(fc.dictionary(fc.constantFrom("venueone", "__proto__", "x"), field), field),
      subs: fc.oneof(
        fc.array(fc.oneof(field, fc.record({ sub: field, epoch: field, seq: field, missed: field }))),
        field,
      ),
      data: fc.oneof(
        fc.dictionary(
          fc.constantFrom("venueone", "venuetwo", "symbol", "feeds", "service", "__proto__"),
          fc.oneof(
            field,
            fc.dictionary(
              fc.constantFrom("bids", "asks", "crc", "state", "markPrice", "ageMs"),
              fc.oneof(field, fc.array(fc.array(field))),
            ),
          ),
        ),
        field,
      ),
      retryAfterMs: field,
      details: field,
    },
    { requiredKeys: ["type"] },
  );
  const text = fc.oneof(
    frame.map((one) => JSON.stringify(one)),
    fc.jsonValue().map((one) => JSON.stringify(one)),
    fc.string(),
    fc.constantFrom("", "{", "null", '{"type":"snapshot"', '{"type":"update","sub":"__proto__"}'),
  );

  it("never throw, never pollute an object, and leave a client that can recover", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 60 }), (texts) => {
        const set = live();
        set.client.subscribe({ topic: "book", symbols: ["BTC"] }, set.listener);
        for (const one of texts) {
          set.socket().says(one);
          set.time.advance(100);
        }
        expect(({} as Record<string, unknown>).markPrice).toBeUndefined();
        // A new connection to a legal server is enough, whatever was sent before.
        set.client.stop();
        set.client.start();
        set.socket().opened();
        for (let turn = 0; turn < 20; turn++) {
          for (const op of set.socket().take()) {
            if (op.op === "unsubscribe") continue;
            const names =
              op.op === "resume"
                ? (op.subs as { sub: string }[]).map((one) => one.sub)
                : [op.topic === "book" ? BOOK : KEY];
            const type = op.op === "resume" ? "resumed" : "subscribed";
            set
              .socket()
              .says({ type, id: op.id, subs: names.map((sub) => ({ sub, epoch: "e9", seq: 1, missed: true })) });
            if (names.includes(KEY)) set.socket().says(snapshot(1, "e9"));
          }
          set.time.advance(250);
        }
        const ticker = set.views.filter((view) => view.key === KEY).at(-1);
        expect(ticker).toMatchObject({ current: true, epoch: "e9", seq: 1 });
      }),
      { numRuns: 120 },
    );
  });

  it("are counted as undecodable", () => {
    const { socket, client } = live();
    for (const one of [
      "{",
      "[]",
      "null",
      "7",
      JSON.stringify({ type: "gossip" }),
      JSON.stringify({ ...update(2), prevSeq: 2 }),
    ])
      socket().says(one);
    socket().saysBytes(new ArrayBuffer(8));
    expect(client.counts.undecodable).toBe(7);
  });
});
