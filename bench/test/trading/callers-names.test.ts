/**
 * A caller's names of its orders, over local venues: a routed order is found by that name and shown with it in look-up,
 * open orders, history and the stream, also after a restart.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { MemoryCredentials } from "../../../gateway/accounts/memory-credentials.js";
import type { Json } from "../../../gateway/test/client.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { startSystem, type System, waitUntil } from "../support/system.js";

const WALLET_ID = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const JSON_TYPE = { "content-type": "application/json" };
const WAIT_MS = 30_000;

let pair: LocalPair;
let trader: Trader;
let system: System;

async function start(dataDir?: string): Promise<System> {
  const wallets = new MemoryCredentials([
    {
      ownerId: null,
      walletId: WALLET_ID,
      userId: "namer",
      address: trader.venueone.address,
      credentials: credentialsOf(trader),
    },
  ]);
  return startSystem(pair, { wallets, ...(dataDir === undefined ? {} : { dataDir }) });
}

beforeAll(async () => {
  pair = await startLocalPair({ seed: 21, symbols: ["BTC", "ETH"] });
  trader = pair.addTrader("namer", { positions: { BTC: "0.5" } });
  system = await start();
});
afterAll(async () => {
  await system?.stop();
  await pair?.stop();
  system?.cleanUp();
});

type Venue = "venueone" | "venuetwo";

/** A close that rests: far above the market. */
async function rest(exchange: Venue, clientOrderId: string): Promise<string> {
  const reply = await system.client.close({
    symbol: "BTC",
    direction: "LONG",
    size: "0.01",
    limitPrice: "95800",
    preferredExchange: exchange,
    clientOrderId,
    credentials: credentialsOf(trader),
  });
  const data = reply.body as {
    data: { order: { orderId: string; clientOrderId: string }; execution: { state: string } };
  };
  expect([reply.status, data.data.execution.state]).toEqual([200, "RESTING"]);
  return data.data.order.orderId;
}

const header = () => ({
  "x-venue-credentials": Buffer.from(JSON.stringify(credentialsOf(trader))).toString("base64url"),
});
type Named = { readonly orderId: string; readonly clientOrderId: string | null };
const dataOf = (body: Json) => (body as { data: Named & { orders: Named[] } }).data;

/** The venue's reads lag behind its orders: a name of ours is found once they show it. */
async function status(exchange: Venue, name: string): Promise<Named> {
  const path = `/api/trading/${exchange}/orders/${name}/status?symbol=BTC`;
  const ask = () => system.client.send(path, { headers: header() });
  await expect.poll(async () => (await ask()).status, { timeout: WAIT_MS, interval: 50 }).toBe(200);
  return dataOf((await ask()).body);
}

/** Names of orders in the stream's snapshot, by the venue's id. */
function streamed(): Promise<ReadonlyMap<string, string | null>> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${system.service.url.replace("http", "ws")}/ws`);
    socket.on("error", reject);
    socket.on("open", () =>
      socket.send(
        JSON.stringify({
          op: "subscribe",
          topic: "orders",
          walletAddress: trader.venueone.address,
          credentials: credentialsOf(trader),
        }),
      ),
    );
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { type: string; data?: { orders?: Named[] } };
      if (frame.type !== "snapshot") return;
      socket.close();
      resolve(new Map((frame.data?.orders ?? []).map((order) => [order.orderId, order.clientOrderId])));
    });
  });
}

describe("the caller's name of a router order", () => {
  it.each(["venueone", "venuetwo"] as const)(
    "is known on %s wherever orders are shown, also after a restart",
    async (exchange) => {
      const name = `exit-7f3a-${exchange}`;
      const orderId = await rest(exchange, name);
      for (let round = 0; round < 2; round++) {
        expect(await status(exchange, name)).toMatchObject({ orderId, clientOrderId: name });
        expect(await status(exchange, orderId)).toMatchObject({ orderId, clientOrderId: name });
        const open = await system.client.send(`/api/trading/${exchange}/orders/open?symbol=BTC`, { headers: header() });
        expect(dataOf(open.body).orders).toContainEqual(expect.objectContaining({ orderId, clientOrderId: name }));
        expect((await streamed()).get(orderId)).toBe(name);
        if (exchange === "venueone") {
          const history = await system.client.send(`/api/venueone/${WALLET_ID}/orders/historical`, {
            headers: { "x-wallet-id": WALLET_ID },
          });
          expect(dataOf(history.body).orders).toContainEqual(expect.objectContaining({ orderId, clientOrderId: name }));
        }
        if (round === 1) break;
        await system.stop();
        system = await start(system.dataDir);
      }
      const canceled = await system.client.send(`/api/trading/${exchange}/orders/${name}?symbol=BTC`, {
        method: "DELETE",
        headers: JSON_TYPE,
        body: JSON.stringify({ credentials: credentialsOf(trader) }),
      });
      expect([canceled.status, (await status(exchange, orderId)).clientOrderId]).toEqual([200, name]);
    },
  );

  it("never refuses an exit: the newest order of a name is found by it, and both are reported with it", async () => {
    const [first, second] = [await rest("venueone", "again"), await rest("venueone", "again")];
    expect(await status("venueone", "again")).toMatchObject({ orderId: second });
    expect(await status("venueone", first)).toMatchObject({ orderId: first, clientOrderId: "again" });
  });

  it("is free again where the venue took nothing: a single order may have it", async () => {
    const clientOrderId = "limited";
    const heal = pair.fault(["venuetwo"], {
      kind: "rate429",
      match: "POST /fapi/v1/order",
      probability: 1,
      retryAfterS: 1,
    });
    try {
      const refused = await system.client.close({
        symbol: "BTC",
        direction: "LONG",
        size: "0.01",
        limitPrice: "95800",
        preferredExchange: "venuetwo",
        clientOrderId,
        credentials: credentialsOf(trader),
      });
      expect([refused.status, (refused.body as { readonly code?: string }).code]).toEqual([503, "VENUE_RATE_LIMITED"]);
    } finally {
      heal();
    }
    const order = { userId: "namer", symbol: "BTCUSDT", side: "SELL", type: "LIMIT", price: "95800", quantity: "0.01" };
    const place = () =>
      system.client.send("/api/trading/venuetwo/orders", {
        method: "POST",
        headers: { ...JSON_TYPE, "x-wallet-id": WALLET_ID },
        body: JSON.stringify({ ...order, reduceOnly: true, clientOrderId }),
      });
    // Waits until the venue's limit is over; a refused order takes no name.
    await expect
      .poll(async () => (await place()).text, { timeout: WAIT_MS, interval: 100 })
      .toMatch(/^{"success":true/);
  });

  it("is not told to those who only know the address", async () => {
    const orderId = await rest("venueone", "mine-alone");
    const frames: string[] = [];
    const socket = new WebSocket(`${system.service.url.replace("http", "ws")}/ws`);
    socket.on("open", () =>
      socket.send(JSON.stringify({ op: "subscribe", topic: "orders", walletAddress: trader.venueone.address })),
    );
    socket.on("message", (data: Buffer) => frames.push(data.toString()));
    await waitUntil("the order is shown", WAIT_MS, () => frames.some((frame) => frame.includes(orderId)));
    socket.close();
    expect(frames.join("")).not.toContain("mine-alone");
  });
});
