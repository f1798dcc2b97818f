/** The client imports only the schemas' types; these tests compare the values that it repeats with the schemas. */
import { describe, expect, it } from "vitest";
import * as schemaData from "../../schemas/stream-data.js";
import {
  pingSchema,
  resumeSchema,
  SUBSCRIPTIONS_MAX,
  subscribeBookSchema,
  subscribeStatusSchema,
  subscribeTickerSchema,
  unsubscribeSchema,
} from "../../schemas/stream.js";
import { compileValidator } from "../../schemas/validate.js";
import { createVirtualTime, FakeSocket } from "../test/virtual.js";
import { CRC_LEVELS } from "./book-crc.js";
import { MAX_SUBSCRIPTIONS } from "./state.js";
import { StreamClient, type SubscriptionListener } from "./stream-client.js";

describe("the client's copy of the contract", () => {
  it("equals the schemas", () => {
    expect(CRC_LEVELS).toBe(schemaData.CRC_LEVELS);
    expect(MAX_SUBSCRIPTIONS).toBe(SUBSCRIPTIONS_MAX);
  });

  it("sends frames that the schemas accept", () => {
    const validators: Readonly<Record<string, (value: unknown) => { ok: boolean }>> = {
      ticker: compileValidator(subscribeTickerSchema),
      book: compileValidator(subscribeBookSchema),
      status: compileValidator(subscribeStatusSchema),
      unsubscribe: compileValidator(unsubscribeSchema),
      resume: compileValidator(resumeSchema),
      ping: compileValidator(pingSchema),
    };
    const time = createVirtualTime();
    const sockets: FakeSocket[] = [];
    const client = new StreamClient({
      url: "ws://test/ws",
      clock: time,
      random: () => 0,
      openSocket: (_, events) => {
        const socket = new FakeSocket(events);
        sockets.push(socket);
        return socket;
      },
    });
    const listener: SubscriptionListener = { changed: () => {} };
    client.subscribe({ topic: "ticker", symbols: ["BTC", "ETH"], exchanges: ["venueone"], intervalMs: 0 }, listener);
    client.subscribe({ topic: "book", symbols: ["BTC"], depth: 500 }, listener);
    const end = client.subscribe({ topic: "status" }, listener);
    client.start();
    const socket = sockets[0] as FakeSocket;
    socket.opened();
    const asked = socket.take();
    const status = asked.find((op) => op.topic === "status");
    socket.says({ type: "subscribed", id: status?.id, subs: [{ sub: "status", epoch: "e", seq: 0 }] });
    socket.says({
      type: "snapshot",
      sub: "status",
      epoch: "e",
      seq: 1,
      ts: 1,
      data: { service: { state: "LIVE" }, feeds: {} },
    });
    socket.says({ type: "update", sub: "status", epoch: "e", seq: 4, prevSeq: 3, ts: 1, data: {} });
    const resumed = socket.take();
    end();
    const sent = [...asked, ...resumed, ...socket.take()];
    expect(sent.map((op) => op.op)).toEqual(["subscribe", "subscribe", "subscribe", "resume", "unsubscribe"]);
    for (const op of sent)
      expect(validators[String(op.op === "subscribe" ? op.topic : op.op)]?.(op), JSON.stringify(op)).toMatchObject({
        ok: true,
      });
  });
});
