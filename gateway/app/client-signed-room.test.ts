import { describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { createClientSigned } from "./client-signed-room.js";
import { readConfig } from "./config.js";

const PARTS = { clock: createSystemClock(), random: createSeededRandom(1), logger: silentLogger };
const READ = { timeoutMs: 2_000, lane: "read" } as const;
/** Of the loopback address, where nobody listens. */
const NOBODY_THERE = "http://127.0.0.1:1";
const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

function configOf(environment: Readonly<Record<string, string>>) {
  const result = readConfig(environment, () => null);
  if (!result.ok) throw new Error(result.problems.join());
  return result.config.clientSigned;
}

describe("the client-signed venue, made of the configuration,", () => {
  it("is none where it is not configured", () => {
    expect(createClientSigned(configOf({}), PARTS, createMemoryStore())).toBeNull();
  });

  it("has the symbols of its map, and asks nobody before it starts", () => {
    const config = configOf({ VENUEFIVE_RPC_URLS: NOBODY_THERE, VENUEFIVE_PAIRS: "ETH=0,BTC=1" });
    const made = createClientSigned(config, PARTS, createMemoryStore());
    expect([...(made?.symbols ?? [])]).toEqual([
      [0, "ETH"],
      [1, "BTC"],
    ]);
    expect(made?.room.venue).toBe("venuefive");
    expect(made?.room.status()).toMatchObject({
      state: "STARTING",
      endpoints: [{ host: "127.0.0.1:1", calls: 0, failures: 0 }],
    });
  });

  it("starts where no endpoint answers, with every read a failure and none an empty list", async () => {
    const made = createClientSigned(configOf({ VENUEFIVE_RPC_URLS: NOBODY_THERE }), PARTS, createMemoryStore());
    if (made === null) throw new Error("it is configured");
    const { room } = made;
    try {
      await room.start();
      expect(room.status()).toMatchObject({ state: "DOWN", block: null, endpoints: [{ state: "down" }] });
      const page = { limit: 10, cursor: null, symbol: null };
      const reads = await Promise.all([
        room.readPositions(ADDRESS, READ),
        room.readOpenOrders(ADDRESS, READ),
        room.readBalances(ADDRESS, READ),
        room.readClosedTrades(ADDRESS, page, READ),
        room.readOrders(ADDRESS, page, READ),
        room.findOrder("1:0:90", ADDRESS, READ),
      ]);
      for (const read of reads) expect(read).toMatchObject({ ok: false, code: expect.stringMatching(/^[A-Z_]+$/) });
    } finally {
      await room.stop();
    }
  });
});
