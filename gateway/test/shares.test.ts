/** What callers share inside the service: no key shuts the others out of it. */
import { afterEach, describe, expect, it } from "vitest";
import { StreamClient } from "../stream/test/stream-client.js";
import type { Reply } from "./client.js";
import { type Harness, startHarness } from "./harness.js";
import { ADMIN, ALICE, BOB, createTestAuth, signed, type TestKey } from "./test-keys.js";

const CLOSE_PATH = "/api/trade/position/close";
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

function close({ client }: Harness, by: TestKey): Promise<Reply> {
  const asked = { method: "POST", target: CLOSE_PATH, body: CLOSE, timestamp: freshMs() };
  const headers = { "content-type": "application/json", ...signed(by, asked) };
  return client.send(CLOSE_PATH, { method: "POST", headers, body: CLOSE });
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
  it("leaves half of the closes in flight to the others, whose exits go on", async () => {
    running = await startHarness({ auth: createTestAuth(), server: { closesInFlightMax: 4 } });
    const harness = running;
    harness.one.placeMode = "hang";
    let refusedCount = 0;
    const flood = Array.from({ length: 4 }, async () => {
      const { status } = await close(harness, ALICE);
      if (status === 503) refusedCount++;
      return status;
    });
    await untilAsync(async () => (await closesInFlight(harness)) + refusedCount === 4);
    let isAnswered = false;
    const exit = close(harness, BOB).finally(() => {
      isAnswered = true;
    });
    await untilAsync(async () => isAnswered || (await closesInFlight(harness)) === 3);
    harness.one.release();
    expect((await exit).status).toBe(200);
    expect((await Promise.all(flood)).sort()).toEqual([200, 200, 503, 503]);
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
