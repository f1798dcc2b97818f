/** Account streams of venuethree on a virtual clock: tokens, renewal, refusals, bounds, failed reads. */
import { describe, expect, it } from "vitest";
import type { AccountEvent, AccountSession } from "../../../engine/ports.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import type { VenuethreeAccountStreams } from "./streams.js";
import { VenuethreeSession } from "./session.js";
import { accountStreamsOf } from "../test/account-streams.js";
import { ACCOUNT, API_KEY, createHarness, type Harness, PUBLIC_KEY } from "../test/trading-harness.js";

const CHANNELS = ["account_all_orders", "account_all_trades", "account_all_positions"];

interface Bench {
  readonly harness: Harness;
  readonly network: FakeNetwork;
  readonly streams: VenuethreeAccountStreams;
  readonly events: AccountEvent[];
  readonly session: AccountSession;
  /** Calls by name; those in `failing` are answered 500. */
  readonly calls: string[];
  readonly failing: Set<string>;
  open(session?: AccountSession): ReturnType<VenuethreeAccountStreams["openAccountStream"]>;
}

function start(maxAccounts = 2): Bench {
  const harness = createHarness();
  const { http } = harness;
  const network = new FakeNetwork();
  const calls: string[] = [];
  const failing = new Set<string>();
  const answer = (request: HttpRequest) => {
    const name = /v1\/(\w+)/.exec(request.path)?.[1] ?? "";
    calls.push(name);
    http.step(answer);
    if (failing.has(name)) return http.response(500, "");
    const accountIndex = Number(/(?:account_index|value)=(\d+)/.exec(request.path)?.[1]);
    const account = {
      index: accountIndex,
      l1_address: "0x",
      available_balance: "1",
      collateral: "1",
      total_asset_value: "1",
      positions: [],
    };
    const key = { account_index: accountIndex, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY };
    return http.response(200, { code: 200, orders: [], trades: [], accounts: [account], api_keys: [key] });
  };
  http.step(answer);
  const events: AccountEvent[] = [];
  const streams = accountStreamsOf(harness, network, { seed: 9, maxAccounts });
  const session = harness.open();
  return {
    harness,
    network,
    streams,
    events,
    session,
    calls,
    failing,
    open: (given = session) => streams.openAccountStream(given, (event) => events.push(event)),
  };
}

/** Lets everything that is due happen, in the order of the clock. */
async function run({ harness }: Bench, ms = 0): Promise<void> {
  for (let left = ms; ; left -= 250) {
    for (let turn = 0; turn < 40; turn++) await Promise.resolve();
    if (left <= 0) return;
    harness.clock.advance(Math.min(250, left));
  }
}

interface ClientFrame {
  readonly type: string;
  readonly channel?: string;
  readonly auth?: string;
}

function framesOf(connection: FakeConnection): readonly ClientFrame[] {
  return connection.sent.map((text) => JSON.parse(text) as ClientFrame).filter(({ type }) => type !== "ping");
}

function acknowledge(connection: FakeConnection, accountIndex = ACCOUNT): void {
  for (const name of CHANNELS) {
    const key = name.replace("account_all_", "");
    connection.receive(JSON.stringify({ type: `subscribed/${name}`, channel: `${name}:${accountIndex}`, [key]: {} }));
  }
}

async function live(): Promise<Bench & { readonly connection: FakeConnection }> {
  const bench = start();
  const opened = bench.open();
  expect(opened.ok).toBe(true);
  await run(bench);
  const connection = bench.network.last;
  connection.open();
  await run(bench, 250);
  acknowledge(connection);
  await run(bench, 250);
  expect(bench.events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
  return { ...bench, connection };
}

/** What a trade does: reads with a session that ends with its request. */
async function use(bench: Bench, accountIndex = ACCOUNT): Promise<void> {
  const session = bench.harness.open({ accountIndex });
  const key = await bench.harness.trading.resolveKey(session, { timeoutMs: 1_000, lane: "exit" });
  if (!key.ok) throw new Error(key.code);
  bench.streams.noteUse(key.value, null);
  session.close();
  await run(bench);
}

/** Hot and LIVE; every session that was used is closed. */
async function hot(maxAccounts = 2): Promise<Bench & { readonly connection: FakeConnection }> {
  const bench = start(maxAccounts);
  bench.session.close();
  await use(bench);
  expect([bench.streams.stats().accountCount, bench.network.connections.length]).toEqual([0, 0]);
  await use(bench);
  const connection = bench.network.last;
  connection.open();
  await run(bench, 250);
  acknowledge(connection);
  await run(bench, 250);
  expect(bench.streams.stats()).toMatchObject({ accountCount: 1, liveCount: 1 });
  return { ...bench, connection };
}

describe("accounts that trade again and again", () => {
  it("are streamed from the second use on, over the end of the sessions that traded", async () => {
    const bench = await hot();
    const channels = framesOf(bench.connection).map(({ type, channel }) => `${type} ${channel}`);
    expect(channels).toEqual(CHANNELS.map((name) => `subscribe ${name}/${ACCOUNT}`));
    expect(framesOf(bench.connection).every(({ auth = "" }) => auth.includes(`:${ACCOUNT}:${API_KEY}:`))).toBe(true);
    // A lost connection is made good without anybody's key.
    bench.connection.end(1006);
    await run(bench, 20_000);
    bench.network.last.open();
    await run(bench, 250);
    acknowledge(bench.network.last);
    await run(bench, 1_000);
    expect(bench.streams.stats()).toMatchObject({ accountCount: 1, liveCount: 1 });
    expect(bench.streams.livePositions(ACCOUNT)).toMatchObject({ ok: true, value: [] });
  });

  it("cost no read while nothing of them is in doubt, and are given back, with their token, after an idle minute", async () => {
    const bench = await hot();
    const callCount = bench.calls.length;
    const access = bench.streams.watched(ACCOUNT)?.source.access;
    for (let second = 0; second < 55; second += 5) {
      bench.connection.receive('{"type":"pong"}');
      await run(bench, 5_000);
    }
    expect(bench.calls.length).toBe(callCount);
    expect([bench.streams.stats().accountCount, access?.readToken() === null]).toEqual([1, false]);
    for (let second = 0; second < 10; second += 5) {
      bench.connection.receive('{"type":"pong"}');
      await run(bench, 5_000);
    }
    expect([bench.streams.stats().accountCount, access?.readToken()]).toEqual([0, null]);
    await run(bench, 250);
    expect(framesOf(bench.connection).filter(({ type }) => type === "unsubscribe")).toHaveLength(3);
  });

  it("make room for one that is asked for, the one used longest ago first", async () => {
    const bench = await hot();
    await use(bench, 7);
    await use(bench, 7);
    await run(bench, 1_000);
    await use(bench, ACCOUNT);
    expect(bench.streams.stats().accountCount).toBe(2);
    expect(bench.open(bench.harness.open({ accountIndex: 8 }))).toMatchObject({ ok: true });
    await run(bench, 500);
    expect(bench.streams.stats().accountCount).toBe(2);
    expect([ACCOUNT, 7, 8].map((index) => bench.streams.watched(index) !== null)).toEqual([true, false, true]);
  });

  it("are not dropped for another that trades", async () => {
    const bench = await hot(1);
    await use(bench, 7);
    await use(bench, 7);
    expect(bench.streams.watched(7)).toBeNull();
    for (let second = 0; second < 70; second += 10) {
      bench.connection.receive('{"type":"pong"}');
      await run(bench, 10_000);
    }
    await use(bench, 7);
    await use(bench, 7);
    expect([bench.streams.watched(ACCOUNT), bench.streams.watched(7) !== null]).toEqual([null, true]);
  });

  it("stay streamed when the last watcher closes", async () => {
    const bench = start();
    const opened = bench.open();
    await run(bench);
    bench.network.last.open();
    await run(bench, 250);
    acknowledge(bench.network.last);
    await use(bench);
    if (opened.ok) opened.stream.close();
    bench.session.close();
    await run(bench, 2_000);
    expect(bench.streams.stats()).toMatchObject({ accountCount: 1, liveCount: 1 });
  });

  it("are neither dropped nor kept on because our wall clock is set", async () => {
    const bench = await hot();
    bench.harness.clock.stepWall(8 * 3_600_000);
    await run(bench, 2_000);
    expect(bench.streams.stats()).toMatchObject({ accountCount: 1, liveCount: 1 });
    bench.harness.clock.stepWall(-16 * 3_600_000);
    for (let second = 0; second < 70; second += 5) {
      bench.connection.receive('{"type":"pong"}');
      await run(bench, 5_000);
    }
    expect(bench.streams.stats().accountCount).toBe(0);
  });

  it("end when the venue refuses their token: nobody is there to sign another", async () => {
    const bench = start();
    bench.session.close();
    await use(bench);
    await use(bench);
    bench.network.last.open();
    await run(bench, 250);
    bench.network.last.receive('{"error":{"code":20013,"message":"invalid auth"}}');
    await run(bench, 7_000);
    expect(bench.streams.stats().accountCount).toBe(0);
  });
});

describe("account streams on a virtual clock", () => {
  it("subscribe three channels, each with a token of 7 hours, and are LIVE after a read that began later", async () => {
    const bench = await live();
    const frames = framesOf(bench.connection);
    expect(frames.map(({ type, channel }) => `${type} ${channel}`)).toEqual(
      CHANNELS.map((name) => `subscribe ${name}/${ACCOUNT}`),
    );
    for (const { auth = "" } of frames) {
      const [deadlineS, account, key] = auth.split(":").map(Number);
      expect([account, key]).toEqual([ACCOUNT, API_KEY]);
      expect(Math.abs((deadlineS ?? 0) * 1_000 - bench.harness.clock.wallMs() - 7 * 3_600_000)).toBeLessThan(2_000);
    }
    expect(bench.calls).toEqual(["apikeys", "account", "accountActiveOrders", "trades", "accountInactiveOrders"]);
  });

  it("stay SYNCING while reads fail, and become LIVE when one succeeds: a failed read is no flat account", async () => {
    const bench = start();
    bench.failing.add("accountActiveOrders");
    const opened = bench.open();
    await run(bench);
    bench.network.last.open();
    await run(bench, 250);
    acknowledge(bench.network.last);
    await run(bench, 3_000);
    expect(opened.ok && opened.stream.positions()).toMatchObject({ ok: false });
    bench.failing.clear();
    for (let second = 0; second < 20; second += 2) {
      bench.network.last.receive('{"type":"pong"}');
      await run(bench, 2_000);
    }
    expect(opened.ok && opened.stream.state).toBe("LIVE");
  });

  it("ask again, with another token, for what is not acknowledged in time", async () => {
    const bench = start();
    bench.open();
    await run(bench);
    bench.network.last.open();
    await run(bench, 250);
    bench.network.last.receive('{"error":{"code":20013,"message":"invalid auth: expired"}}');
    await run(bench, 7_000);
    const frames = framesOf(bench.network.last);
    expect(frames.filter(({ type }) => type === "unsubscribe")).toHaveLength(3);
    expect(new Set(frames.flatMap(({ auth }) => auth ?? [])).size).toBe(6);
    acknowledge(bench.network.last);
    await run(bench, 250);
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
  });

  it("renew their tokens before the venue ends them", async () => {
    const bench = await live();
    const before = framesOf(bench.connection).length;
    // Pongs keep the connection; only its silence would end it.
    for (let minute = 0; minute <= 361; minute++) {
      for (let part = 0; part < 3; part++) {
        bench.connection.receive('{"type":"pong"}');
        bench.harness.clock.advance(20_000);
      }
      await run(bench);
      if (framesOf(bench.connection).length > before) break;
    }
    // Unanswered meanwhile, so it was asked for more than once: the first round is what counts.
    const renewed = framesOf(bench.connection).slice(before, before + 6);
    const types = renewed.map(({ type }) => type);
    expect(types.sort()).toEqual(["subscribe", "subscribe", "subscribe", "unsubscribe", "unsubscribe", "unsubscribe"]);
    const tokens = framesOf(bench.connection).flatMap(({ auth }) => auth ?? []);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "SYNCING" });
    acknowledge(bench.connection);
    await run(bench, 250);
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
  });

  it("ask again in time, and renew their tokens in time, however our wall clock is set back", async () => {
    const bench = start();
    bench.open();
    await run(bench);
    const connection = bench.network.last;
    connection.open();
    await run(bench, 250);
    bench.harness.clock.stepWall(-3 * 3_600_000);
    await run(bench, 7_000);
    expect(framesOf(connection).filter(({ type }) => type === "unsubscribe")).toHaveLength(3);
    acknowledge(connection);
    await run(bench, 250);
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
    bench.harness.clock.stepWall(-3 * 3_600_000);
    const before = framesOf(connection).length;
    for (let minute = 0; minute <= 361; minute++) {
      for (let part = 0; part < 3; part++) {
        connection.receive('{"type":"pong"}');
        bench.harness.clock.advance(20_000);
      }
      await run(bench);
      if (framesOf(connection).length > before) break;
    }
    expect(framesOf(connection).length).toBeGreaterThan(before);
  });

  it("read with no token that is over, however our wall clock is set back", () => {
    const { harness, session } = start();
    const { tokens } = harness.trading;
    if (!(session instanceof VenuethreeSession)) throw new Error("session of another venue");
    const key = { session, accountIndex: ACCOUNT, apiKeyIndex: API_KEY };
    const first = tokens.tokenOf(key);
    harness.clock.stepWall(-3_600_000);
    harness.clock.advance(8 * 60_000);
    expect(tokens.tokenOf(key)).toBe(first);
    harness.clock.advance(2 * 60_000);
    expect(tokens.tokenOf(key)).not.toBe(first);
  });

  it("answer the server's ping, and count what they cannot read", async () => {
    const bench = await live();
    bench.connection.receive('{"type":"ping"}');
    await run(bench, 250);
    expect(bench.connection.sent).toContain('{"type":"pong"}');
    bench.connection.receive(
      `{"type":"update/account_all_orders","channel":"account_all_orders:${ACCOUNT}","orders":{"1":[{}]}}`,
    );
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "SYNCING" });
    expect(bench.streams.stats().decodeErrorCount).toBe(1);
    await run(bench, 1_000);
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "LIVE" });
  });

  it("end with their last watcher, and with the session that signed for them", async () => {
    const bench = await live();
    bench.session.close();
    await run(bench, 1_250);
    expect(bench.streams.stats()).toMatchObject({ accountCount: 0 });
    expect(bench.events.at(-1)).toEqual({ kind: "state", state: "DOWN" });
    await run(bench, 250);
    expect(framesOf(bench.connection).filter(({ type }) => type === "unsubscribe")).toHaveLength(3);
  });

  it("are bounded, and take no address alone", async () => {
    const bench = start(1);
    expect(bench.open()).toMatchObject({ ok: true });
    await run(bench);
    expect(bench.open(bench.harness.open({ accountIndex: 7 }))).toMatchObject({ ok: false });
    expect(bench.open(bench.harness.open())).toMatchObject({ ok: true });
    const address = bench.harness.trading.openAddress(`0x${"ab".repeat(20)}`, null);
    if (address.ok) expect(bench.open(address.session)).toMatchObject({ ok: false });
    bench.streams.stop();
    expect(bench.open()).toMatchObject({ ok: false });
  });
});
