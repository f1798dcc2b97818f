/**
 * The maximum leverage of a market whose listing does not show it: the service reads the venue's brackets before it
 * changes anything. Through the whole gateway.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { MemoryCredentials } from "../../../gateway/accounts/memory-credentials.js";
import type { Reply } from "../../../gateway/test/client.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { WALLET_ID } from "../support/spec-system.js";
import { at } from "../support/spec-walker.js";
import { startSystem, type System, waitUntil } from "../support/system.js";

const START_MS = 240_000;
const TEST_MS = 120_000;
const BOOKS_MS = 20_000;
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_124);

let pair: LocalPair;
let system: System;
let trader: Trader;

beforeAll(async () => {
  pair = await startLocalPair({ seed: SEED, symbols: ["BTC", "DOGE"] });
  trader = pair.addTrader("dora", { positions: { BTC: "0.5" } });
  const address = trader.venueone.address;
  const wallet = { ownerId: null, walletId: WALLET_ID, userId: "dora", address, credentials: credentialsOf(trader) };
  system = await startSystem(pair, {
    wallets: new MemoryCredentials([wallet]),
    environment: { SYMBOLS: "BTC,DOGE" },
  });
}, START_MS);
afterAll(async () => {
  await system?.stop();
  await pair?.stop();
  system?.cleanUp();
}, START_MS);

function post(path: string, body: unknown): Promise<Reply> {
  const headers = { "content-type": "application/json", "x-wallet-id": WALLET_ID };
  return system.client.send(path, { method: "POST", headers, body: JSON.stringify(body) });
}

const changes = (): number => pair.venuetwo.log.records().length;

it.each([`/api/venuetwo/perp/${WALLET_ID}/leverage`, "/api/trading/venuetwo/leverage"])(
  "%s above it is 400 and changes nothing; at it it is set",
  async (path) => {
    const before = changes();
    const refused = await post(path, { symbol: "DOGE", leverage: 51 });
    expect([refused.status, at(refused, "error"), at(refused, "code")], refused.text).toEqual([
      400,
      "Leverage must be between 1 and 50",
      "LEVERAGE_OUT_OF_RANGE",
    ]);
    expect(changes()).toBe(before);
    const set = await post(path, { symbol: "DOGE", leverage: 50 });
    expect([set.status, at(set, "data.leverage")], set.text).toEqual([200, 50]);
  },
  TEST_MS,
);

it(
  "an open above it is 400, before leverage or order",
  async () => {
    const room = system.service.rooms.find(({ venue }) => venue === "venuetwo");
    await waitUntil("a live book", BOOKS_MS, () => room?.markets.get("DOGE")?.book.state === BOOK_LIVE);
    const before = changes();
    const reply = await post("/api/trade/position/open", {
      symbol: "DOGE",
      direction: "LONG",
      size: "500",
      leverage: 75,
      preferredExchange: "venuetwo",
      credentials: credentialsOf(trader),
    });
    expect([reply.status, at(reply, "code")], reply.text).toEqual([400, "LEVERAGE_NOT_SUPPORTED"]);
    expect(changes()).toBe(before);
  },
  TEST_MS,
);
