/** Client errors: each gets an error frame, or ends that connection and nothing else. */
import { describe, expect, it } from "vitest";
import { streamSuite } from "./stream-suite.js";

const suite = streamSuite("shared");
const TICKER = "ticker:BTC:venueone,venuetwo:100";

describe("a client's frame", () => {
  it.each([
    [{ op: "subscribe", topic: "ticker" }, "MISSING_PARAMETERS"],
    [{ op: "subscribe" }, "MISSING_PARAMETERS"],
    [{}, "MISSING_PARAMETERS"],
    [{ op: "shout" }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "weather", symbols: ["BTC"] }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: [] }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: "BTC" }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: ["BTC"], intervalMs: 99 }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: [] }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: ["venuefive"] }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "book", symbols: ["BTC"], depth: 0 }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "book", symbols: ["BTC"], depth: 501 }, "INVALID_PARAMETERS"],
    [{ op: "subscribe", topic: "ticker", symbols: ["NOPE"] }, "UNKNOWN_SYMBOL"],
    [{ op: "subscribe", topic: "ticker", symbols: ["BTC", "NOPE"] }, "UNKNOWN_SYMBOL"],
    [{ op: "subscribe", topic: "ticker", symbols: ["ETH"], exchanges: ["venuetwo"] }, "UNKNOWN_SYMBOL"],
    [{ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: ["venuefour"] }, "VENUE_UNAVAILABLE"],
    [
      { op: "subscribe", topic: "positions", walletAddress: "0xabc", credentials: { venueone: { privateKey: "0xk" } } },
      "NOT_SUPPORTED",
    ],
    [{ op: "subscribe", topic: "orders" }, "NOT_SUPPORTED"],
    [{ op: "subscribe", topic: "transfers" }, "NOT_SUPPORTED"],
    [{ op: "unsubscribe" }, "MISSING_PARAMETERS"],
    [{ op: "unsubscribe", subs: ["nothing"] }, "UNKNOWN_SUBSCRIPTION"],
    [{ op: "resume", subs: [{ sub: TICKER }] }, "MISSING_PARAMETERS"],
    [{ op: "resume", subs: [{ sub: TICKER, epoch: "a", seq: -1 }] }, "INVALID_PARAMETERS"],
    [{ op: "auth" }, "MISSING_PARAMETERS"],
  ])("%j is refused with %s, and the connection stays open", async (frame, code) => {
    const client = await suite.open();
    const answer = await client.ask(frame);
    expect([answer.type, answer.code]).toEqual(["error", code]);
    expect(JSON.stringify(answer)).not.toContain("0xk");
    expect(await client.ask({ op: "ping" })).toMatchObject({ type: "pong" });
    expect(suite.harness.server.streamCounts).toMatchObject({ keys: 0, subscriptions: 0, connections: 1 });
  });

  it("with an id that is no text, or too long, is refused, and the id is not repeated", async () => {
    const client = await suite.open();
    for (const id of [7, "x".repeat(65), null, {}]) {
      const seen = client.frames.length;
      client.raw(JSON.stringify({ op: "ping", id }));
      const answer = await client.next((frame) => frame.type === "error", seen);
      expect([answer.code, answer.id]).toEqual([id === null ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", undefined]);
    }
  });

  it("with a key in public mode is refused as unknown, and ends the connection with 4401", async () => {
    const client = await suite.open();
    const answer = await client.ask({ op: "auth", apiKey: "pk_1", timestamp: 1, signature: "ab" });
    expect([answer.code, answer.details["mode"]]).toEqual(["AUTH_UNKNOWN_KEY", "public"]);
    expect(answer.details["serverTime"]).toBeTypeOf("number");
    expect(await client.closed).toEqual({ code: 4401, reason: "AUTH_FAILED" });
  });

  it.each([
    ["not JSON", "hello"],
    ["an array", "[]"],
    ["null", "null"],
    ["empty", ""],
    ["the same key twice", '{"op":"ping","op":"auth"}'],
    ["nested absurdly", `{"op":${"[".repeat(5000)}${"]".repeat(5000)}}`],
    ["binary", Buffer.from('{"op":"ping"}')],
    ["larger than 64 KiB", JSON.stringify({ op: "ping", pad: "x".repeat(65_536) })],
  ])("that is %s gets an error and 4400", async (_, data) => {
    const client = await suite.open();
    client.raw(data);
    expect(await client.closed).toEqual({ code: 4400, reason: "BAD_FRAME" });
    expect(client.frames.map((frame) => frame.code)).toEqual(["BAD_FRAME"]);
    expect(suite.harness.server.streamCounts.connections).toBe(0);
  });

  it("of exactly 64 KiB is accepted", async () => {
    const client = await suite.open();
    const head = '{"op":"ping","id":"big","pad":"';
    client.raw(`${head}${"x".repeat(65_536 - head.length - 2)}"}`);
    expect(await client.next((frame) => frame.id === "big")).toMatchObject({ type: "pong" });
  });

  it("that is far too large ends its connection, and nothing else", async () => {
    const client = await suite.open();
    client.raw("x".repeat(300 * 1024));
    await client.closed;
    expect((await suite.harness.client.get("/health")).status).toBe(200);
  });
});
