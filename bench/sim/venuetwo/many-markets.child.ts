/**
 * A local venuetwo that lists many contracts, in a process of its own: argument 1 is their number. Every second one is
 * quiet from the start: its book never changes. Prints its addresses when it listens.
 */
import { createSystemClock } from "../../../engine/domain/clock.js";
import { createFactorModel } from "../core/market/factor-model.js";
import { startVenuetwoSim } from "./sim.js";

const SEED = 580;
const SYMBOLS = ["BTCUSDT", "ETHUSDT", "SOLUSDT"];
const count = Number(process.argv[2]);

const clock = createSystemClock();
const model = createFactorModel({ seed: SEED, startMs: clock.wallMs() });
const known = new Set(SYMBOLS.map((symbol) => symbol.replace("USDT", "")));
const sim = await startVenuetwoSim({
  seed: SEED,
  clock,
  symbols: SYMBOLS,
  copyCount: count - SYMBOLS.length,
  priceSource: { fairPrice: (base, tsMs) => model.fairPrice(known.has(base) ? base : "ETH", tsMs) },
  // Enough for a frame of each of the others every second; hundreds of them share this machine with the room.
  flow: { stepMs: 500, levelCount: 60, quoteChangesPerSecond: 3, tradesPerSecond: 0.05 },
});
for (let index = 0; index < count - SYMBOLS.length; index += 2) sim.exchange.controls.setHalted(`C${index}USDT`, true);

process.on("SIGTERM", () => void sim.stop().finally(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ restUrl: sim.restUrl, wsUrl: sim.wsUrl })}\n`);
