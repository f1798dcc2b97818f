/** What callers share inside the service: no key shuts the others out of it. */
import { afterEach, describe, expect, it } from "vitest";
import { StreamClient } from "../stream/test/stream-client.js";
import type { Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";
import { ADMIN, ALICE, ALICE_TRADES, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";

const CLOSE_PATH = "/api/trade/position/close";
const OPEN_PATH = "/api/trade/position/open";
const CREDENTIALS = { venueone: { privateKey: "0xkey-of-one" } };
const CLOSE = JSON.stringify({ symbol: "BTC", direction: "LONG", size: "0.1", credentials: CREDENTIALS });
const WALLET = "0xf39fd6e51aad88f6f4ce6ab88272";

let running: Harness | null = null;
let clients: StreamClient[] = [];
afterEach(async () => {
  for (const client of clients) await client.stop();
  clients = [];
  await running?.stop();
  running = null;
});

let lastMs = 0;
function freshMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

function close({ client }: Harness, by: TestKey, target = CLOSE_PATH): Promise<Reply> {
  const headers = { "content-type": "application/json" };
  const proof = signed(by, { method: "POST", target, body: CLOSE, timestamp: freshMs() });
  return client.send(target, { method: "POST", headers: { ...headers, ...proof }, body: CLOSE });
}

interface Flood {
  readonly statuses: Promise<readonly number[]>;
  refusedCount(): number;
}

/** Closes that their venue leaves unanswered; each is in flight or refused. `before`: in flight already. */
async function hanging(
  harness: Harness,
  by: TestKey,
  count: number,
  before: number,
  target = CLOSE_PATH,
): Promise<Flood> {
  harness.one.placeMode = "hang";
  let refusedCount = 0;
  const closes = Array.from({ length: count }, async () => {
    const { status } = await close(harness, by, target);
    if (status === 503) refusedCount++;
    return status;
  });
  await untilAsync(async () => (await closesInFlight(harness)) + refusedCount >= before + count);
  return { statuses: Promise.all(closes), refusedCount: () => refusedCount };
}

async function closesInFlight({ client }: Harness): Promise<number> {
  const target = "/api/status";
  const { body } = await client.send(target, { headers: signed(ADMIN, { target, timestamp: freshMs() }) });
  return (body as unknown as { data: { closesInFlight: number } }).data.closesInFlight;
}

async function opened({ server }: Harness, by: TestKey): Promise<StreamClient> {
  const client = await StreamClient.open(server.port);
  clients.push(client);
  const timestamp = freshMs();
  const headers = signed(by, { target: "/ws", timestamp });
  await client.ask({ op: "auth", apiKey: by.keyId, timestamp, signature: headers["x-api-signature"] });
  return client;
}

describe("one key that sends as much as it may", () => {
  it("has but one of eight closes in flight while no other key is there, whose first exit finds that place", async () => {
    running = await startHarness({ auth: createTestAuth(), server: { closesInFlightMax: 8 } });
    const harness = running;
    const flood = await hanging(harness, ALICE, 8, 0);
    expect(flood.refusedCount()).toBe(1);
    const exit = await hanging(harness, BOB, 1, 7);
    harness.one.release();
    expect([...(await flood.statuses), ...(await exit.statuses)].toSorted()).toEqual([...Array(8).fill(200), 503]);
  });

  it("leaves half of the closes in flight to the others once one was there, whose exits go on", async () => {
    running = await startHarness({ auth: createTestAuth(), server: { closesInFlightMax: 8 } });
    const harness = running;
    expect((await close(harness, BOB)).status).toBe(200);
    const flood = await hanging(harness, ALICE, 8, 0);
    expect(flood.refusedCount()).toBe(4);
    const exits = await hanging(harness, BOB, 3, 4);
    expect(exits.refusedCount()).toBe(0);
    harness.one.release();
    expect(await exits.statuses).toEqual([200, 200, 200]);
    await flood.statuses;
  });

  it("does not fill the closes in flight together with another: a third key's exit goes on", async () => {
    running = await startHarness({ auth: createTestAuth(), server: { closesInFlightMax: 8 } });
    const harness = running;
    const first = await hanging(harness, ALICE, 1, 0);
    const second = await hanging(harness, BOB, 8, 1);
    const more = await hanging(harness, ALICE, 8, 1 + 8 - second.refusedCount());
    const third = await hanging(harness, ALICE_TRADES, 1, 7);
    expect([second.refusedCount() + more.refusedCount(), third.refusedCount()]).toEqual([10, 0]);
    harness.one.release();
    expect(await third.statuses).toEqual([200]);
    await Promise.all([first.statuses, second.statuses, more.statuses]);
  });

  it.each([ALICE, BOB])("has places for its own exits, whatever it opens: $keyId", async (other) => {
    running = await startHarness({ auth: createTestAuth(), server: { closesInFlightMax: 16 } });
    const harness = running;
    expect((await close(harness, other)).status).toBe(200);
    const openings = await hanging(harness, ALICE, 16, 0, OPEN_PATH);
    const exits = await hanging(harness, ALICE, 2, 16 - openings.refusedCount());
    expect(exits.refusedCount()).toBe(0);
    harness.one.release();
    expect(await exits.statuses).toEqual([200, 200]);
    await openings.statuses;
  });

  it("leaves half of the account topics of the stream to the others", async () => {
    running = await startHarness({
      auth: createTestAuth(),
      withPortfolio: true,
      server: { stream: { privateKeysMax: 4 } },
    });
    const wish = (index: number) => ({
      ...{ topic: "positions", exchanges: ["venueone"] },
      walletAddress: `${WALLET}${1000 + index}cfffb922`,
    });
    const many = await opened(running, ALICE);
    const answers: unknown[] = [];
    for (let index = 0; index < 4; index++) answers.push((await many.ask({ op: "subscribe", ...wish(index) })).type);
    expect(answers).toEqual(["subscribed", "subscribed", "error", "error"]);
    const other = await opened(running, BOB);
    expect((await other.ask({ op: "subscribe", ...wish(9) })).type).toBe("subscribed");
  });
});

describe("what a caller is shown by everybody's count", () => {
  it("is no count of what others asked: ids of its requests do not tell how many came between", async () => {
    running = await startHarness({ auth: createTestAuth() });
    const ids: number[] = [];
    for (let index = 0; index < 12; index++) {
      const { headers } = await running.client.send("/api/time");
      ids.push(Number.parseInt((headers["x-request-id"] ?? "").split("-").at(-1) ?? "", 36));
    }
    const steps = ids.slice(1).map((id, index) => id - (ids[index] ?? 0));
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(steps).size).toBe(steps.length);
  });

  it("is no count of the topics that others opened: neither do the epochs of its own", async () => {
    running = await startHarness({ auth: createTestAuth() });
    const client = await opened(running, ALICE);
    const numbers: number[] = [];
    for (const intervalMs of [0, 50, 100, 250, 1000]) {
      const reply = await client.ask({ op: "subscribe", topic: "ticker", symbols: ["BTC"], intervalMs });
      const [opening] = reply.subs ?? [];
      numbers.push(Number.parseInt(opening?.epoch.slice(12) ?? "", 36));
    }
    const steps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));
    expect(new Set(steps).size).toBe(steps.length);
  });
});

/** At a pace that the buckets of the one who looks allow. */
async function untilAsync(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
