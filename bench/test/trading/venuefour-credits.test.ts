/**
 * venuefour counts the credits of config keys by their main account: what one key spends is gone for the others. The room
 * against its local venue, on one virtual clock.
 */
import { afterEach, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, VenueRoom } from "../../../engine/ports.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { keyPairOf } from "../../sim/venuefour/records/keys.js";
import { startVenuefourSim } from "../../sim/venuefour/sim.js";
import { open } from "../support/trading-half.js";

const WALLET = keyPairOf(Buffer.alloc(32, 1));
const AGENT = keyPairOf(Buffer.alloc(32, 2));
/** What the venue grants an account; a quarter of what is used of it here is for exits. */
const CREDITS = 300;
const KEPT_FOR_EXITS = 60;

let stop: (() => Promise<void>) | null = null;

afterEach(async () => {
  await stop?.();
  stop = null;
});

async function start(): Promise<{ readonly room: VenueRoom; readonly sessions: readonly AccountSession[] }> {
  const clock = new VirtualClock(Date.now());
  const sim = await startVenuefourSim({
    seed: 9,
    clock,
    symbols: ["BTC"],
    accounts: [{ walletAddress: WALLET.publicKey, agents: [AGENT.publicKey], deposit: "1000000" }],
    limits: { creditsPerMinute: 1_000_000, keyCreditsPerMinute: CREDITS },
  });
  // Not started: what reads and cancels needs no market data.
  const room = createVenuefourRoom({
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    symbols: ["BTC"],
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    limits: { creditsPerMinute: 1_000_000 },
  });
  stop = async () => {
    await room.stop();
    await sim.stop();
  };
  const sessions = [1, 2].map(() => {
    const apiKey = sim.room.keys.createConfigKey(WALLET.publicKey);
    return open(room, { apiKey, apiSecret: AGENT.secret, walletAddress: WALLET.publicKey });
  });
  return { room, sessions };
}

/** Reads until one is refused, by us or by the venue. */
async function readUntilRefused(room: VenueRoom, session: AccountSession, lane: Lane): Promise<number> {
  for (let count = 0; count < 2 * CREDITS; count++) {
    const read = await room.reader.readOpenOrders(session, null, { timeoutMs: 4_000, lane });
    if (!read.ok && read.code === "RATE_LIMITED") return count;
    if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  }
  throw new Error("no read was refused");
}

it("leaves the exits of every key what another key of the account may not have", async () => {
  const { room, sessions } = await start();
  const [first, second] = sessions;
  if (first === undefined || second === undefined) throw new Error("no sessions");
  const byFirst = await readUntilRefused(room, first, "read");
  const bySecond = await readUntilRefused(room, second, "read");
  expect(byFirst + bySecond).toBeLessThanOrEqual(CREDITS - KEPT_FOR_EXITS + 1);
  expect(byFirst + bySecond).toBeGreaterThan(CREDITS / 2);
  // The router sees it.
  expect(room.orderWaitMs?.(second, "trade")).toBeGreaterThan(0);
  expect(room.orderWaitMs?.(second, "exit")).toBe(0);
  for (const session of [first, second]) {
    const read = await room.reader.readOpenOrders(session, null, { timeoutMs: 4_000, lane: "exit" });
    expect(read.ok).toBe(true);
  }
});
