/** Orders over a connection that carries several at once: what is written, and what every kind of answer and loss means. */
import { describe, expect, it } from "vitest";
import type { OrderCommand, PlaceOutcome } from "../../../engine/domain/order.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { AccountLimiter } from "../../shared/net/account-limiter.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { TxSocket } from "./tx-socket.js";
import {
  ACCOUNT,
  API_KEY,
  BTC,
  CLOSE_LONG,
  createHarness,
  type Harness,
  type HarnessOptions,
  OPTIONS,
  type SentTx,
  writtenTx,
} from "../test/trading-harness.js";

type WrittenTx = SentTx & { readonly id: string };

async function flush(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}

interface Bench {
  readonly harness: Harness;
  readonly connection: FakeConnection;
  place(count: number): readonly Promise<PlaceOutcome>[];
  written(): readonly WrittenTx[];
  accept(...txs: readonly WrittenTx[]): Promise<void>;
  refuse(code: number, ...txs: readonly WrittenTx[]): Promise<void>;
}

let clientIds = 0;

function command(): OrderCommand {
  return { ...CLOSE_LONG, clientIdHex: (++clientIds).toString(16).padStart(32, "0") };
}

async function ready(options: HarnessOptions = {}): Promise<Bench> {
  const harness = createHarness({ hasSocket: true, ...options });
  harness.confirmKey();
  const session = harness.open();
  const connection = harness.network.last;
  connection.open();
  // Confirms the key, so that orders start at once.
  const first = harness.trading.orders.place(session, command(), OPTIONS);
  await flush();
  const bench: Bench = {
    harness,
    connection,
    place: (count) => Array.from({ length: count }, () => harness.trading.orders.place(session, command(), OPTIONS)),
    written: () => connection.sent.map(writtenTx),
    async accept(...txs) {
      for (const { id, hash } of txs)
        connection.receive(JSON.stringify({ code: 200, id, tx_hash: hash, type: "jsonapi/sendtx" }));
      await flush();
    },
    async refuse(code, ...txs) {
      for (const { id } of txs) connection.receive(JSON.stringify({ error: { code, message: "refused" }, id }));
      await flush();
    },
  };
  await bench.accept(...bench.written());
  expect(await first).toMatchObject({ outcome: "accepted" });
  return bench;
}

function nonces(txs: readonly WrittenTx[]): unknown[] {
  return txs.map(({ fields }) => fields["Nonce"]);
}

describe("transactions over a connection:", () => {
  it("eight of a key at once, in the order of their nonces, signed, and the next with each answer", async () => {
    const { accept, harness, place, written } = await ready();
    const outcomes = place(10);
    await flush();
    expect(nonces(written())).toEqual([42, 43, 44, 45, 46, 47, 48, 49, 50]);
    expect(written().every(({ isSigned, type }) => isSigned && type === 14)).toBe(true);
    await accept(...written().slice(1, 3));
    expect(nonces(written()).slice(9)).toEqual([51, 52]);
    await accept(...written().slice(3));
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ outcome: "accepted" });
    expect(harness.sent()).toHaveLength(0);
    expect(harness.ackLatency.count).toBe(11);
  });

  it("answers in any order belong to the orders they name", async () => {
    const { connection, place, refuse, accept, written } = await ready();
    const [first, second, third] = place(3);
    await flush();
    const [, one, two, three] = written() as [WrittenTx, WrittenTx, WrittenTx, WrittenTx];
    // As some servers refuse: flat, under the type of the request.
    connection.receive(
      JSON.stringify({ type: "jsonapi/sendtx", code: 21739, message: "not enough margin", id: three.id }),
    );
    await accept(two);
    await refuse(21732, one);
    expect(await third).toMatchObject({
      outcome: "rejected",
      reason: "INSUFFICIENT_MARGIN",
      venueCode: "21739",
      sent: true,
    });
    expect(await second).toMatchObject({ outcome: "accepted" });
    expect(await first).toMatchObject({ outcome: "rejected", reason: "REDUCE_ONLY" });
  });

  it("a refused one in the midst: those behind are signed again and none is lost, without a question", async () => {
    const { accept, harness, place, refuse, written } = await ready();
    const outcomes = place(5);
    await flush();
    const [, one, two, ...behind] = written();
    await accept(one as WrittenTx);
    await refuse(21739, two as WrittenTx);
    await refuse(21104, ...behind);
    // One at a time again, from the nonce that the refused one left.
    expect(nonces(written()).slice(6)).toEqual([44]);
    for (let next = 6; next < written().length; next++) await accept(written()[next] as WrittenTx);
    expect(nonces(written()).slice(6)).toEqual([44, 45, 46]);
    expect((await Promise.all(outcomes)).map(({ outcome }) => outcome)).toEqual([
      "accepted",
      "rejected",
      "accepted",
      "accepted",
      "accepted",
    ]);
    expect(harness.http.requests.map(({ path }) => path.split("?")[0])).toEqual(["/api/v1/apikeys"]);
  });

  it("a lost one in the midst: it alone is unknown; those behind go out after the venue named the nonce", async () => {
    const { accept, harness, place, refuse, written } = await ready();
    const outcomes = place(4);
    await flush();
    const [, one, , ...behind] = written();
    await accept(one as WrittenTx);
    await refuse(21104, ...behind);
    expect(written()).toHaveLength(5);
    harness.http.reply(200, { code: 200, nonce: 44 });
    harness.clock.advance(250);
    await flush();
    expect(harness.http.last.path).toBe(`/api/v1/nextNonce?account_index=${ACCOUNT}&api_key_index=${API_KEY}`);
    for (let next = 5; next < written().length; next++) await accept(written()[next] as WrittenTx);
    expect(nonces(written()).slice(5)).toEqual([44, 45]);
    harness.clock.advance(OPTIONS.timeoutMs);
    expect((await Promise.all(outcomes)).map(({ outcome }) => outcome)).toEqual([
      "accepted",
      "unknown",
      "accepted",
      "accepted",
    ]);
  });

  it("the connection lost between send and answer: all in flight unknown, the next a single request", async () => {
    const { connection, harness, place } = await ready();
    const outcomes = place(10);
    await flush();
    // 45 and the later ones may still reach the venue: it names each nonce up to the last one lost.
    for (const nonce of [45, 46]) {
      harness.http.reply(200, { code: 200, nonce });
      harness.acceptTx();
    }
    connection.end(1006);
    const settled = await Promise.all(outcomes);
    for (const outcome of settled.slice(0, 8))
      expect(outcome).toMatchObject({ outcome: "unknown", cause: "CONNECTION_LOST" });
    expect(settled.slice(8).map(({ outcome }) => outcome)).toEqual(["accepted", "accepted"]);
    expect(harness.sent().map(({ fields }) => fields["Nonce"])).toEqual([45, 46]);
  });

  it("comes back after a loss, and carries what comes then", async () => {
    const { connection, harness, place } = await ready();
    connection.end(1006);
    harness.clock.advance(10_000);
    expect(harness.network.connections.length).toBeGreaterThan(1);
    const next = harness.network.last;
    next.open();
    const [outcome] = place(1);
    await flush();
    const tx = writtenTx(next.sent.at(-1) ?? "");
    expect(tx.fields["Nonce"]).toBe(43);
    next.receive(JSON.stringify({ code: 200, id: tx.id, tx_hash: tx.hash, type: "jsonapi/sendtx" }));
    expect(await outcome).toMatchObject({ outcome: "accepted" });
  });

  it.each<[string, (tx: WrittenTx) => string, string]>([
    ["yes without a hash", ({ id }) => JSON.stringify({ code: 200, id, type: "jsonapi/sendtx" }), "NO_TX_HASH"],
    [
      "yes to another hash",
      ({ id }) => JSON.stringify({ code: 200, id, tx_hash: "00".repeat(40), type: "jsonapi/sendtx" }),
      "TX_HASH",
    ],
    ["a server error", ({ id }) => JSON.stringify({ error: { code: 29500, message: "internal" }, id }), "29500"],
    ["no code at all", ({ id }) => JSON.stringify({ id, type: "jsonapi/sendtx" }), "REPLY_UNREADABLE"],
    ["half a frame", ({ id }) => `{"code":200,"id":"${id}","tx_ha`, "TIMEOUT"],
    ["an error that names none", () => '{"error":{"code":21501,"message":"invalid tx info"}}', "TIMEOUT"],
    [
      "another id",
      ({ hash }) => JSON.stringify({ code: 200, id: "x", tx_hash: hash, type: "jsonapi/sendtx" }),
      "TIMEOUT",
    ],
  ])("%s: unknown; the nonce is read again before the next", async (_what, answer, cause) => {
    const { connection, harness, place, written } = await ready();
    const [outcome] = place(1);
    await flush();
    connection.receive(answer(written()[1] as WrittenTx));
    await flush();
    harness.clock.advance(OPTIONS.timeoutMs);
    expect(await outcome).toMatchObject({ outcome: "unknown", cause });
    harness.http.reply(200, { code: 200, nonce: 99 });
    void place(1);
    await flush();
    expect(nonces(written()).at(-1)).toBe(99);
  });

  it("an answer after its time is no news", async () => {
    const { accept, harness, place, written } = await ready();
    const [outcome] = place(1);
    await flush();
    harness.clock.advance(OPTIONS.timeoutMs);
    expect(await outcome).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    await accept(...written().slice(1));
  });

  it("a connection that lives and answers no transaction is left alone for a while", async () => {
    const { connection, harness, place } = await ready();
    for (let count = 0; count < 2; count++) {
      if (count > 0) harness.http.reply(200, { code: 200, nonce: 43 });
      const [outcome] = place(1);
      await flush();
      harness.clock.advance(OPTIONS.timeoutMs);
      connection.receive('{"type":"pong"}');
      expect(await outcome).toMatchObject({ outcome: "unknown", cause: "TIMEOUT" });
    }
    harness.http.reply(200, { code: 200, nonce: 43 });
    harness.acceptTx();
    expect(await place(1)[0]).toMatchObject({ outcome: "accepted" });
    expect(harness.sent()).toHaveLength(1);
    for (let step = 0; step < 10; step++) {
      harness.clock.advance(1_000);
      connection.receive('{"type":"pong"}');
    }
    const writtenCount = connection.sent.length;
    void place(1);
    await flush();
    expect(connection.sent).toHaveLength(writtenCount + 1);
  });

  it("a silent connection is dropped, and what was on it is unknown", async () => {
    const { connection, harness, place } = await ready();
    const [outcome] = place(1);
    await flush();
    harness.clock.advance(3_999);
    harness.clock.advance(1);
    expect(await outcome).toMatchObject({ outcome: "unknown" });
    harness.clock.advance(12_000);
    expect(connection.isTerminated).toBe(true);
    expect(connection.pingCount).toBeGreaterThan(0);
  });

  it("keeps to the account's limit, unsent, and to what the venue says of too many", async () => {
    const { accept, place, refuse, written } = await ready({ sendsPerMinute: 3 });
    const outcomes = place(3);
    await flush();
    expect(written()).toHaveLength(3);
    await accept(...written().slice(1));
    expect(await outcomes[2]).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: false });
    const limited = await ready();
    const [first] = limited.place(1);
    await flush();
    await limited.refuse(23000, ...limited.written().slice(1));
    expect(await first).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: true });
    expect(await limited.place(1)[0]).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: false });
    void refuse;
  });

  it("closes after as many entries as the account's minute lets through", async () => {
    const { accept, harness, written } = await ready({ sendsPerMinute: 48 });
    const session = harness.open();
    const send = (lane: "trade" | "exit"): Promise<PlaceOutcome> =>
      harness.trading.orders.place(session, command(), { ...OPTIONS, lane });
    const ends: string[] = [];
    for (let count = 0; count < 48; count++) {
      const placed = send("trade");
      await flush();
      await accept(...written().slice(-1));
      ends.push((await placed).outcome);
    }
    // One of the 48 was sent before; a quarter of them is kept for exits.
    expect(ends.filter((outcome) => outcome === "accepted")).toHaveLength(36);
    for (let count = 0; count < 11; count++) {
      const closed = send("exit");
      await flush();
      await accept(...written().slice(-1));
      expect(await closed).toMatchObject({ outcome: "accepted" });
    }
    expect(await send("exit")).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: false });
  });

  it("while the venue fails us, single requests say so", async () => {
    const { connection, harness, place } = await ready();
    harness.isVenueUsable = false;
    const writtenCount = connection.sent.length;
    harness.http.step(() => ({ kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 700 }));
    expect(await place(1)[0]).toMatchObject({ outcome: "rejected", venueCode: "BREAKER_OPEN", sent: false });
    expect(connection.sent).toHaveLength(writtenCount);
  });

  it("cancels and changes go the same way, exits first", async () => {
    const { accept, harness, place, written } = await ready();
    const placed = place(8);
    const session = harness.open();
    const late = harness.trading.orders.place(session, command(), { ...OPTIONS, lane: "trade" });
    const cancel = harness.trading.orders.cancel(session, BTC, { clientIdHex: CLOSE_LONG.clientIdHex }, OPTIONS);
    await flush();
    await accept(...written().slice(1, 3));
    expect(written().map(({ type }) => type)).toEqual([14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 14]);
    await accept(...written().slice(3));
    expect(await cancel).toMatchObject({ outcome: "accepted" });
    expect(await late).toMatchObject({ outcome: "accepted" });
    await Promise.all(placed);
  });

  it("answers the venue's pings, and keeps no frame or key in a log line", async () => {
    const { connection, harness } = await ready();
    connection.receive('{"type":"ping"}');
    expect(connection.sent.at(-1)).toBe('{"type":"pong"}');
    connection.receive("not json");
    connection.receive('{"error":{"code":30009,"message":"Too Many Websocket Messages!"}}');
    expect(harness.logLines.filter((line) => line.includes("venuethree.tx"))).toEqual([
      "venuethree.tx.malformed-frame {}",
      'venuethree.tx.error-frame {"code":30009}',
    ]);
  });

  it("stopping waits for what is unanswered, takes nothing more, and closes everything", async () => {
    const { accept, connection, harness, place, written } = await ready();
    const [answered, lost] = place(2);
    await flush();
    const stopped = harness.txSocket?.stop(2_000);
    expect(harness.txSocket?.way()).toMatchObject({ id: 0 });
    await accept(written()[1] as WrittenTx);
    harness.clock.advance(2_000);
    await stopped;
    expect(await answered).toMatchObject({ outcome: "accepted" });
    expect(await lost).toMatchObject({ outcome: "unknown", cause: "CONNECTION_LOST" });
    expect(connection.isEnded).toBe(true);
  });
});

it("a connection that did not answer twice is used again ten seconds later, however our wall clock is set", async () => {
  for (const stepMs of [0, -3_600_000]) {
    const clock = new VirtualClock(1_790_000_000_000);
    const network = new FakeNetwork();
    const socket = new TxSocket({
      wsUrl: "ws://venue.test/stream",
      connector: network.connector,
      clock,
      random: createSeededRandom(5),
      logger: silentLogger,
      budget: new ConnectionBudget(clock, { maxConnections: 8, connectsPerMinute: 60 }),
      accounts: new AccountLimiter(clock, [{ limit: 100, windowMs: 60_000 }]),
      isVenueUsable: () => true,
    });
    socket.start();
    const connection = network.last;
    connection.open();
    expect(socket.way().width).toBeGreaterThan(1);
    const unanswered = [1, 2].map(() => socket.send(14, "{}", 7, { timeoutMs: 1_000, lane: "exit" }));
    await clock.advanceAsync(1_000);
    expect(await Promise.all(unanswered)).toMatchObject([{ kind: "noResponse" }, { kind: "noResponse" }]);
    expect(socket.way().width).toBe(1);
    clock.stepWall(stepMs);
    for (let second = 0; second < 10; second++) {
      connection.receive('{"type":"ping"}');
      expect([stepMs, second, socket.way().width]).toEqual([stepMs, second, 1]);
      await clock.advanceAsync(1_000);
    }
    expect([stepMs, socket.way().width > 1]).toEqual([stepMs, true]);
    await socket.stop(0);
  }
});
