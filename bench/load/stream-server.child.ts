/**
 * Our side of the fan-out: the real server with its stream around rooms without a venue, whose BTC market changes at
 * each trigger (TOPIC: ticker or book). With BOOKS it also holds that many full books. Prints `{port, controlPort}`.
 */
import { createSeededRandom } from "../../engine/domain/random.js";
import { startHarness } from "../../gateway/test/harness.js";
import { fillFullBooks } from "../lib/full-books.js";
import { serveTrigger } from "../lib/paced-trigger.js";

const BEST_BID_TICKS = 974_170;
const CHANGED_LEVELS = 20;

const harness = await startHarness();
const market = harness.markets.btcOne;
const books = fillFullBooks(Number(process.env.BOOKS ?? "0"), createSeededRandom(7));
// The garbage of filling the books is not their weight.
globalThis.gc?.();

let tick = 0;
function changeTicker(): void {
  tick++;
  market.ticker.markPrice = (97_000 + (tick % 1_000)).toFixed(1);
  market.ticker.lastPrice = (97_000 + ((tick * 7) % 1_000)).toFixed(1);
  market.ticker.stamp(harness.clock.wallMs(), harness.clock.monoNs());
}

function changeBook(): void {
  tick++;
  const nowNs = harness.clock.monoNs();
  market.book.applyBid(BEST_BID_TICKS - (tick % CHANGED_LEVELS), 1_000 + (tick % 997));
  market.book.applyAsk(BEST_BID_TICKS + 10 + (tick % CHANGED_LEVELS), 1_000 + (tick % 991));
  market.book.commit(tick, harness.clock.wallMs(), nowNs);
}

const controlPort = await serveTrigger(
  Number(process.env.SOCKETS ?? "1"),
  process.env.TOPIC === "book" ? changeBook : changeTicker,
);
process.stdout.write(`${JSON.stringify({ port: harness.server.port, controlPort, bookCount: books.length })}\n`);
// The clock's timers do not keep the process alive.
setInterval(() => {}, 3_600_000);
process.on("SIGTERM", () => process.exit(0));
