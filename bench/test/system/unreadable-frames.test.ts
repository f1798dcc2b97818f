/**
 * The last frame of a venuethree market before it falls quiet is unreadable, and no ticker shows its change: the
 * connection goes on to prove that nothing is missing. The test runs the room as it is, and with its rule taken out:
 * the check of the present finds that, and the comparison of each book with the moment it names does not.
 */
import { expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { VenuethreeDecoder } from "../../../feeds/venuethree/market/decode.js";
import { FRAME_MALFORMED } from "../../../feeds/venuethree/market/frame.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { startVenuethreeSim } from "../../sim/venuethree/sim.js";
import { BookChecker } from "../support/book-checker.js";
import { PresentChecker } from "../support/present-checker.js";
import { waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_125);
const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 20;
/** Life of a proof, plus the delay of a busy machine. */
const WINDOW_MS = 4_000;
const BEST_TICKS = 1_000_000;
const LEVELS = 5;

/** Watches until the room shows the venue's book again, or calls an old one fresh. */
async function watchQuiet(seed: number): Promise<PresentChecker> {
  const clock = createSystemClock();
  const sim = await startVenuethreeSim({ seed, symbols: ["BTC"], flow: null, clock });
  const { exchange } = sim;
  for (let level = 0; level < LEVELS; level++) {
    exchange.controls.setHouseLevel("BTC", "BUY", BEST_TICKS - level, 1_000);
    exchange.controls.setHouseLevel("BTC", "SELL", BEST_TICKS + 1 + level, 1_000);
  }
  const room = createVenuethreeRoom({
    clock,
    random: createSeededRandom(seed),
    logger: silentLogger,
    symbols: ["BTC"],
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
  });
  const books = new BookChecker();
  const present = new PresentChecker(clock, WINDOW_MS);
  let reader: NodeJS.Timeout | null = null;
  try {
    await room.start();
    const market = room.markets.get("BTC");
    if (market === undefined) throw new Error("no BTC");
    const { book } = market;
    books.watchMarket("venuethree", sim, "BTC", market);
    present.watch("venuethree", sim, "BTC", market);
    await waitUntil("a LIVE book", DEADLINE_MS, () => book.state === BOOK_LIVE && book.bidCount === LEVELS);
    reader = setInterval(() => present.sample(), LOOK_EVERY_MS);
    await waitUntil("a fresh book", DEADLINE_MS, () => present.claimCount > 0);
    const half = sim.faults.add({ kind: "halfFrame", scope: ["market"], match: "order_book", count: 1 });
    const worstTicks = BEST_TICKS - LEVELS + 1;
    exchange.controls.setHouseLevel("BTC", "BUY", worstTicks, 0);
    await waitUntil("the frame", DEADLINE_MS, () => sim.faults.hits().halfFrame > 0);
    sim.faults.remove(half.id);
    await waitUntil(
      "the venue's book, or the old one called fresh",
      DEADLINE_MS,
      () => (book.state === BOOK_LIVE && book.bidCount === LEVELS - 1) || present.frozenCount > 0,
    );
  } finally {
    if (reader !== null) clearInterval(reader);
    await room.stop();
    await sim.stop();
  }
  expect(books.differences).toEqual([]);
  return present;
}

it("a book after a frame that cannot be read is not called fresh, and is read again", async () => {
  expect((await watchQuiet(SEED)).problems).toEqual([]);
}, 120_000);

it("a book after a frame that cannot be read counts as fresh, and the check sees it, once its channel is not looked for", async () => {
  const { decodeFrame } = VenuethreeDecoder.prototype;
  VenuethreeDecoder.prototype.decodeFrame = function (...bytes) {
    const kind = decodeFrame.call(this, ...bytes);
    if (kind === FRAME_MALFORMED) this.frame.slot = -1;
    return kind;
  };
  try {
    expect((await watchQuiet(SEED)).frozenCount).toBeGreaterThan(0);
  } finally {
    VenuethreeDecoder.prototype.decodeFrame = decodeFrame;
  }
}, 120_000);
