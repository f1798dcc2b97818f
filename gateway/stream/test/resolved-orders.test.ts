/**
 * A single order whose outcome was unknown at its reply: its end is sent on the `orders` topic, over a real socket and
 * the whole service, only to callers with the credentials of the account that sent it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import type { OpenSession, VenueRoom } from "../../../engine/ports.js";
import { MemoryCredentials } from "../../accounts/memory-credentials.js";
import { readConfig } from "../../app/config.js";
import { TestClient } from "../../test/client.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "../../test/fake-room.js";
import { PROVEN_AHEAD_NS } from "../../test/harness.js";
import { createService, type Service } from "../../app/wiring.js";
import { StreamClient } from "./stream-client.js";
import { anInstrument } from "../../../engine/domain/test/instruments.js";

const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const MINE = { venueone: { privateKey: "0xkey-of-mine" } };
const OTHERS = { venueone: { privateKey: "0xkey-of-another" } };
const ORDER = {
  userId: "alice",
  symbol: "BTC",
  side: "BUY",
  type: "LIMIT",
  quantity: "0.01",
  price: "97000",
  clientOrderId: "mine-1",
};

let directory: string;
let fake: FakeRoom;
let service: Service;
const opened: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "unwind-resolved-"));
  const clock = createSystemClock();
  const market = fakeMarket(anInstrument());
  loadBook(market.book, [[974_100, 5000]], [[974_200, 5000]], clock.monoNs());
  fake = createFakeRoom("venueone", [market], () => clock.wallMs());
  const room: VenueRoom = {
    ...fake,
    reader: {
      ...fake.reader,
      readOpenOrders: async () => ({ ok: true, value: [], asOfMs: clock.wallMs(), source: "venue" }),
    },
    // One account per key.
    openSession(raw): OpenSession {
      const of = fake.openSession(raw, null);
      return of.ok ? { ok: true, session: { ...of.session, accountId: (raw as typeof MINE.venueone).privateKey } } : of;
    },
  };
  const read = readConfig(
    {
      PORT: "0",
      DATA_DIR: join(directory, "data"),
      LOG_LEVEL: "silent",
      RECORDING: "false",
      CLOSE_DEADLINE_MS: "1500",
    },
    () => null,
  );
  if (!read.ok) throw new Error(read.problems.join("; "));
  const wallets = new MemoryCredentials([
    { ownerId: null, walletId: WALLET, userId: "alice", address: ADDRESS, credentials: MINE },
  ]);
  service = await createService(read.config, { rooms: [room], wallets });
  market.book.prove(clock.monoNs() + PROVEN_AHEAD_NS);
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop();
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function subscribe(credentials: Record<string, unknown>): Promise<{ client: StreamClient; sub: string }> {
  const client = await StreamClient.open(service.port);
  opened.push(client);
  const answer = await client.subscribe({
    topic: "orders",
    walletAddress: ADDRESS,
    exchanges: ["venueone"],
    credentials,
  });
  return { client, sub: answer.subs[0]?.sub ?? JSON.stringify(answer) };
}

it("an order of unknown outcome is reported as resolved to its own account alone", async () => {
  const [mine, another] = [await subscribe(MINE), await subscribe(OTHERS)];
  const http = new TestClient(service.url);
  opened.push(http);
  fake.placeMode = "unknown";
  const reply = await http.send("/api/trading/venueone/orders", {
    method: "POST",
    headers: { "content-type": "application/json", "x-wallet-id": WALLET },
    body: JSON.stringify(ORDER),
  });
  expect([reply.status, reply.text.includes('"UNKNOWN"')], reply.text).toEqual([200, true]);
  expect(mine.client.updates(mine.sub)).toEqual([]);

  fake.orderShown = { filledLots: 10, averagePrice: "97000" };
  const told = await mine.client.next((frame) => frame.type === "update");
  expect(told.data).toMatchObject({
    event: "execution.resolved",
    exchange: "venueone",
    state: "COMPLETED",
    order: { orderId: "77", status: "FILLED", filledQuantity: "0.01", clientOrderId: "mine-1" },
    clientOrderId: "mine-1",
  });
  const { routeId, venueClientOrderId } = told.data as unknown as Record<string, string>;
  expect([routeId?.slice(0, 3), reply.text.includes(String(venueClientOrderId))]).toEqual(["or_", true]);
  // Requested after the event went out, and answered after everything sent before: the other client received nothing.
  await another.client.ask({ op: "ping" });
  expect(another.client.updates(another.sub)).toEqual([]);
  expect(fake.placed).toHaveLength(1);
});
