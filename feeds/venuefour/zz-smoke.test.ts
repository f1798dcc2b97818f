import { it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { startVenuefourSim } from "../../bench/sim/venuefour/sim.js";
import { createVenuefourRoom } from "./room.js";
it("smoke", async () => {
  const sim = await startVenuefourSim({ seed: 7, symbols: ["BTC", "ETH", "SOL", "kPEPE"] });
  const out: string[] = [];
  const log = (e: string, f?: object) => void out.push(e + JSON.stringify(f ?? {}));
  const room = createVenuefourRoom({ restUrl: sim.restUrl, wsUrl: sim.wsUrl, symbols: "all", clock: createSystemClock(), random: createSeededRandom(1), logger: { debug: log, info: log, warn: log, error: log } });
  try {
    await room.start();
    let trades = 0;
    for (const m of room.markets.values()) m.signal.listen({ bookChanged() {}, deepChanged() {}, touchChanged() {}, tickerChanged() {}, traded() { trades++; } });
    for (let i = 0; i < 5; i++) { await new Promise((r) => setTimeout(r, 2000)); console.log(JSON.stringify({ ...room.status(), n: room.markets.size, trades })); }
    for (const s of ["BTC", "PEPE"]) { const b = room.markets.get(s);
    console.log(s, b?.book.state, b?.book.bidCount, JSON.stringify({ ...b?.ticker, heard: 0 }), JSON.stringify({ ...b?.touch, heard: 0 })); }
  } finally { console.log(out.slice(0, 20).join("\n")); await room.stop(); await sim.stop(); }
}, 40000);
