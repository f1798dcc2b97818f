import { expect, it } from "vitest";
import { createSystemClock, delay } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { startVenueoneSim } from "../../../bench/sim/venueone/sim.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { createVenueoneRoom } from "../room.js";
import { privateKeyToAddress } from "viem/accounts";

it("runs against the local venue", { timeout: 60_000 }, async () => {
  const key = `0x${"a1".repeat(32)}` as const;
  const address = privateKeyToAddress(key).toLowerCase();
  const sim = await startVenueoneSim({ seed: 1, accounts: [{ address, deposit: "100000", positions: [{ coin: "BTC", size: "0.5", entryPx: "80000" }] }] });
  const clock = createSystemClock();
  const lines: string[] = [];
  const log = (e: string, f?: unknown) => void lines.push(`${e} ${JSON.stringify(f)}`);
  const room = createVenueoneRoom({ restUrl: sim.restUrl, wsUrl: sim.wsUrl, isMainnet: true, symbols: "all", clock, random: createSeededRandom(1), logger: { debug: log, info: log, warn: log, error: log }, nonces: createMemoryReservations() });
  await room.start();
  console.log([...room.markets.keys()].length);
  await delay(clock, 7_000);
  console.log(room.status());
  for (const [s, m] of [...room.markets].slice(0, 4)) console.log(s, m.book.state, m.book.bidCount, m.deep?.state, m.deep?.bidCount, m.touch.present, m.touch.bidTicks, m.book.bidTicks(0), m.ticker.lastPrice, m.ticker.fundingRate, m.stats.sigma());
  const opened = room.openSession({ privateKey: key });
  if (!opened.ok) throw new Error(opened.problem);
  const events: string[] = [];
  const s = room.streams!.openAccountStream(opened.session, (e) => events.push(e.kind === "state" ? `state ${e.state}` : e.kind === "order" ? `order ${e.order.status} ${e.order.venueOrderId}` : e.kind === "fill" ? `fill ${e.qtyLots} ${e.price} ${e.order.status}` : e.kind));
  expect(s.ok).toBe(true);
  await delay(clock, 1500);
  console.log(events, s.ok && s.stream.positions());
  const btc = room.markets.get("BTC")!;
  const read = await room.reader.readPositions(opened.session, btc.instrument, { timeoutMs: 2000, lane: "exit" });
  console.log("read", read.ok && read.source, read.ok && read.value[0]?.qtyLots);
  const px = Math.floor(btc.book.bidTicks(0) * 0.99 / 10) * 10;
  const placed = await room.orders.place(opened.session, { instrument: btc.instrument, side: "SELL", type: "MARKET", timeInForce: "IOC", priceTicks: px, qtyLots: 10000, reduceOnly: true, positionSide: "BOTH", clientIdHex: "8c1f0a52d9e34b7790aa41c2d5e6f701" }, { timeoutMs: 3000, lane: "exit" });
  console.log(placed);
  for (let i = 0; i < 6; i++) {
    const r = await room.reader.readPositions(opened.session, btc.instrument, { timeoutMs: 2000, lane: "exit" });
    console.log("read", r.ok && r.source, r.ok && r.value[0]?.qtyLots, s.ok && s.stream.positions().ok && (s.stream.positions() as any).value[0].qtyLots);
    await delay(clock, 700);
  }
  console.log(events);
  // resting
  const rest = await room.orders.place(opened.session, { instrument: btc.instrument, side: "SELL", type: "LIMIT", timeInForce: "GTC", priceTicks: Math.floor(btc.book.bidTicks(0) * 1.05 / 10) * 10, qtyLots: 10000, reduceOnly: true, positionSide: "BOTH", clientIdHex: "8c1f0a52d9e34b7790aa41c2d5e6f702" }, { timeoutMs: 3000, lane: "exit" });
  console.log(rest);
  await delay(clock, 6000);
  if (rest.outcome === "accepted") console.log(await room.orders.cancel(opened.session, btc.instrument, { venueOrderId: rest.order.venueOrderId }, { timeoutMs: 3000, lane: "exit" }));
  await delay(clock, 6500);
  console.log(events.slice(-12));
  await fetch(`${sim.restUrl}/_sim/disconnect`, { method: "POST", body: "{}" });
  await delay(clock, 3500);
  console.log(events.slice(-6), room.status());
  console.log(lines.slice(0, 40).join("\n"));
  await room.stop();
  await sim.stop();
});
