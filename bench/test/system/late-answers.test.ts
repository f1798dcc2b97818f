/**
 * A whole book over REST whose answer is late, of a market with a dead stream: it may be LIVE, and is never called
 * fresh. The test runs the room as it is, and with its rule taken out: the check of the present finds that, and the
 * comparison of each book with the moment it names does not.
 */
import { expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { type SnapshotAnswer, SnapshotQueue } from "../../../feeds/venuetwo/market/snapshot-queue.js";
import { startVenuetwoSim } from "../../sim/venuetwo/sim.js";
import { BookChecker } from "../support/book-checker.js";
import { PresentChecker } from "../support/present-checker.js";
import { waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_124);
const DEADLINE_MS = 90_000;
const LOOK_EVERY_MS = 10;
const MOVE_EVERY_MS = 50;
/** Within the room's time for a read. */
const ON_ITS_WAY_MS = 4_400;
/** Life of a proof, plus the delay of a busy machine. */
const WINDOW_MS = 4_000;
/** Books, each of them out of two answers. */
const BOOKS_MIN = 2;
const LOTS = 1_000;
const FIRST_TICKS = 1_000_000;

interface Seen {
  readonly books: BookChecker;
  readonly present: PresentChecker;
}

/**
 * Watches a market that moves at each step and never comes back, without a stream, until the room has shown it so often,
 * or called it fresh wrongly.
 */
async function watchDead(seed: number): Promise<Seen> {
  const clock = createSystemClock();
  const sim = await startVenuetwoSim({ seed, symbols: ["BTCUSDT"], flow: null, clock });
  const { exchange } = sim;
  let bidTicks = FIRST_TICKS;
  const move = (): void => {
    exchange.controls.setHouseLevel("BTCUSDT", "SELL", bidTicks + 1, 0);
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", bidTicks, 0);
    bidTicks++;
    exchange.controls.setHouseLevel("BTCUSDT", "BUY", bidTicks, LOTS);
    exchange.controls.setHouseLevel("BTCUSDT", "SELL", bidTicks + 1, LOTS);
  };
  move();
  sim.faults.add({ kind: "loss", scope: ["market"], match: "btcusdt@depth" });
  sim.faults.add({ kind: "fixedDelay", scope: ["rest"], match: "/fapi/v1/depth", delayMs: ON_ITS_WAY_MS });
  const room = createVenuetwoRoom({
    clock,
    random: createSeededRandom(seed),
    logger: silentLogger,
    nonces: { reserve: () => Promise.reject(new Error("not used")) },
    symbols: ["BTC"],
    isMainnet: true,
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
  });
  const books = new BookChecker();
  const present = new PresentChecker(clock, WINDOW_MS);
  const timers = [setInterval(move, MOVE_EVERY_MS)];
  try {
    await room.start();
    const market = room.markets.get("BTC");
    if (market === undefined) throw new Error("no BTC");
    books.watchMarket("venuetwo", { exchange }, "BTC", market);
    present.watch("venuetwo", { exchange }, "BTC", market);
    timers.push(setInterval(() => present.sample(), LOOK_EVERY_MS));
    await waitUntil(
      "books taken over REST",
      DEADLINE_MS,
      () => books.counts().commitCount >= BOOKS_MIN || present.frozenCount > 0,
    );
    present.sample();
  } finally {
    for (const timer of timers) clearInterval(timer);
    await room.stop();
    await sim.stop();
  }
  expect(books.differences).toEqual([]);
  return { books, present };
}

it("a whole book whose answer was late is never called fresh", async () => {
  const { books, present } = await watchDead(SEED);
  expect(books.counts().commitCount).toBeGreaterThanOrEqual(BOOKS_MIN);
  expect(present.problems).toEqual([]);
}, 180_000);

it("a whole book whose answer was late counts as fresh, and the check sees it, once its age counts from its receipt", async () => {
  const { load } = SnapshotQueue.prototype;
  const clock = createSystemClock();
  SnapshotQueue.prototype.load = async function (...wish): Promise<SnapshotAnswer> {
    const answer = await load.call(this, ...wish);
    return answer !== null && "body" in answer ? { ...answer, askedNs: clock.monoNs() } : answer;
  };
  try {
    const { present } = await watchDead(SEED);
    expect(present.frozenCount).toBeGreaterThan(0);
  } finally {
    SnapshotQueue.prototype.load = load;
  }
}, 180_000);
