import { expect, it } from "vitest";
import { createSystemClock, delay } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { BOOK_LIVE, type Book } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { startVenueoneSim } from "../../../bench/sim/venueone/sim.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { createVenueoneRoom } from "../room.js";

it("runs against the local venue", { timeout: 120_000 }, async () => {
  const sim = await startVenueoneSim({ seed: 1, accounts: [] });
  const clock = createSystemClock();
  const lines: string[] = [];
  const log = (e: string, f?: unknown) => void lines.push(`${e} ${JSON.stringify(f)}`);
  const room = createVenueoneRoom({ restUrl: sim.restUrl, wsUrl: sim.wsUrl, isMainnet: true, symbols: "all", clock, random: createSeededRandom(1), logger: { debug: log, info: log, warn: log, error: log }, nonces: createMemoryReservations() });
  await room.start();
  await delay(clock, 6000);
  let compared = 0, wrong = 0, missing = 0, live = 0, total = 0;
  const check = (coin: string, book: Book) => {
    if (book.state !== BOOK_LIVE) return;
    const truth = sim.exchange.trueBookAtTime(coin, book.tsVenueMs, 20);
    if (truth === null) { missing++; return; }
    compared++;
    for (let i = 0; i < book.bidCount; i++) if (book.bidTicks(i) !== truth.bids[i]?.priceTicks || book.bidLots(i) !== truth.bids[i]?.qtyLots) { wrong++; return; }
    for (let i = 0; i < book.askCount; i++) if (book.askTicks(i) !== truth.asks[i]?.priceTicks || book.askLots(i) !== truth.asks[i]?.qtyLots) { wrong++; return; }
  };
  const run = async (name: string, spec: object | null, ms: number) => {
    const c0 = compared, w0 = wrong; live = 0; total = 0;
    let maxAge = 0;
    if (spec !== null) sim.faults.add({ durationMs: ms, ...(spec as any) });
    for (let t = 0; t < ms; t += 50) {
      await delay(clock, 50);
      for (const m of room.markets.values()) { check(m.instrument.nativeSymbol, m.book); check(m.instrument.nativeSymbol, m.deep!); total++; const a = ageMs(m.book.tsProvenNs, clock.monoNs()); if (m.book.state === BOOK_LIVE) { maxAge = Math.max(maxAge, a); if (a <= 2000) live++; } }
    }
    let rec = 0;
    const ok = () => [...room.markets.values()].every((m) => m.book.state === BOOK_LIVE && ageMs(m.book.tsProvenNs, clock.monoNs()) < 2000);
    while (!ok() && rec < 20000) { await delay(clock, 50); rec += 50; }
    console.log(name, "compared", compared - c0, "wrong", wrong - w0, "missing", missing, "live%", (100 * live / total).toFixed(1), "maxAge", maxAge, "recovery ms", rec, room.status().state);
  };
  await run("none", null, 4000);
  await run("duplicate", { kind: "duplicate", probability: 0.5, scope: ["market"] }, 4000);
  await run("reorder", { kind: "reorder", probability: 0.5, scope: ["market"] }, 4000);
  await run("loss", { kind: "loss", probability: 0.3, scope: ["market"] }, 4000);
  await run("latency", { kind: "latency", delayMs: 300, jitterMs: 400 }, 4000);
  await run("latency4s", { kind: "latency", delayMs: 4000, scope: ["market"] }, 8000);
  await run("silent", { kind: "silent", scope: ["market"] }, 14000);
  await run("disconnect", { kind: "disconnect", scope: ["market"], probability: 0.02 }, 4000);
  await run("clockSkew", { kind: "clockSkew", delayMs: 5000 }, 5000);
  console.log(room.status());
  console.log(lines.slice(-25).join("\n"));
  expect(wrong).toBe(0);
  await room.stop();
  await sim.stop();
});
