/**
 * SYMBOLS=BTC over local venues where an account holds ETH too: positions show it, and close-all is no success over it.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Reply } from "../../../gateway/test/client.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { startSystem, type System, waitUntil } from "../support/system.js";

const TEST_MS = 60_000;
const BOOKS_MS = 20_000;
/** A market order needs a book of at most 2 s. */
const FRESH_MS = 1_000;

const clock = createSystemClock();
let pair: LocalPair;
let system: System;
let trader: Trader;

beforeAll(async () => {
  pair = await startLocalPair({ seed: 18, clock });
  trader = pair.addTrader("unfollowed", { positions: { BTC: "0.5", ETH: "-5" } });
  system = await startSystem(pair, { environment: { SYMBOLS: "BTC" } });
}, TEST_MS);

afterAll(async () => {
  await system.stop();
  await pair.stop();
  system.cleanUp();
});

async function closeAll(fields: object): Promise<Reply> {
  await waitUntil("a fresh book of BTC", BOOKS_MS, () =>
    system.service.rooms.every((room) => {
      const book = room.markets.get("BTC")?.book;
      return book?.state === BOOK_LIVE && ageMs(book.tsProvenNs, clock.monoNs()) < FRESH_MS;
    }),
  );
  return system.client.send("/api/trade/close-all", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ credentials: credentialsOf(trader), exchanges: ["venuetwo"], ...fields }),
  });
}

const ETH_LEG = { symbol: "ETH", direction: "SHORT", size: "5", status: "FAILED", code: "POSITION_UNLISTED" };

it(
  "venuetwo shows the position that it does not follow, a dry run touches nothing, and a close leaves it and says so",
  async () => {
    const { walletAddress } = trader.venuetwo;
    const blocks = Buffer.from(JSON.stringify(credentialsOf(trader))).toString("base64url");
    const shown = await system.client.send(`/api/trading/venuetwo/positions/${walletAddress}`, {
      method: "GET",
      headers: { "x-venue-credentials": blocks },
    });
    expect(shown.body, shown.text).toMatchObject({
      totalPositions: 2,
      positions: expect.arrayContaining([expect.objectContaining({ symbol: "ETH", direction: "SHORT", size: "5" })]),
    });

    const sentBefore = pair.venuetwo.log.records().length;
    const dry = await closeAll({ dryRun: true });
    expect(dry.body, dry.text).toMatchObject({
      data: {
        success: false,
        dryRun: true,
        totalPositions: 2,
        venues: [{ state: "PARTIAL", results: expect.arrayContaining([expect.objectContaining(ETH_LEG)]) }],
      },
    });
    expect(pair.venuetwo.log.records().length).toBe(sentBefore);
    expect(pair.positionLots("venuetwo", trader, "BTC")).toBeGreaterThan(0);

    const closed = await closeAll({});
    expect(closed.body, closed.text).toMatchObject({
      data: {
        success: false,
        closedCount: 1,
        totalPositions: 2,
        venues: [
          {
            state: "PARTIAL",
            cancel: { outcome: "ACCEPTED" },
            results: expect.arrayContaining([
              expect.objectContaining({ symbol: "BTC", status: "CLOSED" }),
              expect.objectContaining(ETH_LEG),
            ]),
          },
        ],
      },
    });
    expect(pair.positionLots("venuetwo", trader, "BTC")).toBe(0);
    expect(pair.positionLots("venuetwo", trader, "ETH")).toBeLessThan(0);
  },
  TEST_MS,
);
