/**
 * venuefour counts the credits of config keys by their main account: what one key spends, the others no longer have.
 * The room against its local venue, on one virtual clock.
 */
import { expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, VenueRoom } from "../../../engine/ports.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { NO_LIMIT, startLocalVenues } from "../support/local-venues.js";
import { roomOptions, stopAfterTest } from "../support/trading/rooms.js";
import { AGENT, WALLET } from "../support/trading/venuefour.js";
import { open } from "../support/trading-half.js";

/** Credits that the venue grants an account; a quarter of what the room uses of it is for exits. */
const CREDITS = 300;
const KEPT_FOR_EXITS = 60;

async function start(): Promise<{ readonly room: VenueRoom; readonly sessions: readonly AccountSession[] }> {
  const clock = new VirtualClock(Date.now());
  const { venuefour: sim } = await startLocalVenues(["venuefour"], {
    seed: 6,
    clock,
    symbols: ["BTC"],
    venuefourLimits: { keyCreditsPerMinute: CREDITS },
  });
  sim.addAccount({ walletAddress: WALLET.publicKey, agents: [AGENT.publicKey], deposit: "1000000" });
  // Not started: what reads and cancels needs no market data.
  const room = createVenuefourRoom({ ...roomOptions(sim, clock), limits: { creditsPerMinute: NO_LIMIT } });
  stopAfterTest(room, sim);
  const sessions = [1, 2].map(() => {
    const apiKey = sim.room.keys.createConfigKey(WALLET.publicKey);
    return open(room, { apiKey, apiSecret: AGENT.secret, walletAddress: WALLET.publicKey });
  });
  return { room, sessions };
}

/** Reads until the room or the venue refuses one. Returns the count of reads before. */
async function readUntilRefused(room: VenueRoom, session: AccountSession, lane: Lane): Promise<number> {
  for (let count = 0; count < 2 * CREDITS; count++) {
    const read = await room.reader.readOpenOrders(session, null, { timeoutMs: 4_000, lane });
    if (!read.ok && read.code === "RATE_LIMITED") return count;
    if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  }
  throw new Error("no read was refused");
}

it("the room of venuefour keeps credits for the exits of every key that another key of the account may not spend", async () => {
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
