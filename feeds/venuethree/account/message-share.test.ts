/** The messages of an address are shared: those of accounts leave room for books, without which nothing is routed. */
import { expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { HttpRequest } from "../../shared/net/http.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import type { VenuethreeAccountStreams } from "./streams.js";
import { accountStreamsOf } from "../test/account-streams.js";
import { StreamBench } from "../test/stream-bench.js";
import { API_KEY, createHarness, PUBLIC_KEY } from "../test/trading-harness.js";

const ACCOUNT_COUNT = 60;

/** With the venue's height on every connection, as it comes several times a second. */
const pass = (bench: StreamBench, ms: number, each = (): void => {}): Promise<void> =>
  bench.pass(ms, () => {
    each();
    for (const connection of bench.network.connections)
      if (!connection.isEnded && connection.sent.length > 0) connection.receive(bench.venue.height());
  });

const frames = ({ sent }: FakeConnection) =>
  sent
    .map((text) => JSON.parse(text) as { readonly type: string; readonly channel?: string })
    .filter(({ type }) => type !== "ping");

/** `account_all_orders/7` */
function acknowledge(connection: FakeConnection, channel: string): void {
  const [name = "", account = ""] = channel.split("/");
  const [key] = name.split("_").slice(-1);
  connection.receive(JSON.stringify({ type: `subscribed/${name}`, channel: `${name}:${account}`, [key ?? ""]: {} }));
}

const notLive = ({ markets }: StreamBench): number => markets.filter(({ book }) => book.state !== BOOK_LIVE).length;

/** Accounts that somebody watches, over messages that others of the address take too. */
async function watched(
  bench: StreamBench,
): Promise<{ readonly accounts: VenuethreeAccountStreams; readonly network: FakeNetwork }> {
  const harness = createHarness();
  const answer = (request: HttpRequest) => {
    harness.http.step(answer);
    const account_index = Number(/(?:account_index|value)=(\d+)/.exec(request.path)?.[1]);
    const key = { account_index, api_key_index: API_KEY, nonce: 1, public_key: PUBLIC_KEY };
    return harness.http.response(200, { code: 200, api_keys: [key] });
  };
  harness.http.step(answer);
  const network = new FakeNetwork();
  const { clock, messages } = bench;
  const accounts = accountStreamsOf(harness, network, { seed: 3, clock, messages });
  for (let index = 1; index <= ACCOUNT_COUNT; index++)
    expect(accounts.openAccountStream(harness.open({ accountIndex: index }), () => {})).toMatchObject({ ok: true });
  await pass(bench, 500);
  network.last.open();
  return { accounts, network };
}

it("books of venuethree are back at once after a cut, however many accounts were asked for again in that minute", async () => {
  const bench = new StreamBench(30);
  bench.stream.add(bench.markets);
  const connection = bench.network.last;
  connection.open();
  // The minute of the start is over.
  await pass(bench, 65_000);
  expect(notLive(bench)).toBe(0);
  const { accounts, network } = await watched(bench);
  await pass(bench, 1_000);
  expect(accounts.stats().accountCount).toBe(ACCOUNT_COUNT);
  expect(network.last.sent.length).toBeGreaterThan(100);

  connection.end(1006);
  let reopened: FakeConnection | null = null;
  await pass(bench, 10_000, () => {
    if (reopened !== null || bench.network.last === connection) return;
    reopened = bench.network.last;
    reopened.open();
  });
  expect(reopened).not.toBeNull();
  expect(notLive(bench)).toBe(0);
  accounts.stop();
  bench.stream.stop();
});

it("accounts of venuethree that wait for messages are asked for once: what was never written, the venue has not refused", async () => {
  const bench = new StreamBench(0);
  const { accounts, network } = await watched(bench);
  const connection = network.last;
  let answered = 0;
  await pass(bench, 150_000, () => {
    connection.receive('{"type":"pong"}');
    const written = frames(connection);
    for (const { type, channel = "" } of written.slice(answered))
      if (type === "subscribe") acknowledge(connection, channel);
    answered = written.length;
  });
  const written = frames(connection);
  expect(new Set(written.map(({ channel }) => channel)).size).toBe(3 * ACCOUNT_COUNT);
  expect(written.filter(({ type }) => type !== "subscribe")).toHaveLength(0);
  accounts.stop();
  bench.stream.stop();
});
