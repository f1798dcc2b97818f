/**
 * The real server with its stream around a room of MARKETS books of LEVELS a side. The books do not change, so the
 * server sends snapshots only. Prints `{port, controlPort}`. A connection to the second port receives the
 * `SnapshotCost` since the connection before.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createSystemClock } from "../../engine/domain/clock.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { createFakeRoom, fakeMarket, loadBook } from "../../gateway/test/fake-room.js";
import { PROVEN_AHEAD_NS, startHarness } from "../../gateway/test/harness.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

export interface SnapshotCost {
  /** Longest time in which the event loop served nobody. */
  readonly longestMs: number;
  readonly residentMib: number;
}

const [FIRST] = ROUTABLE_VENUES;
const BEST_BID_TICKS = 974_170;
const NS_PER_MS = 1e6;
const BYTES_PER_MIB = 1_048_576;

const clock = createSystemClock();
const levelCount = Number(process.env.LEVELS);
const side = (direction: number, from: number) =>
  Array.from({ length: levelCount }, (_, index) => [from + direction * index, 1_000 + index] as const);
const markets = Array.from({ length: Number(process.env.MARKETS) }, (_, index) => {
  const market = fakeMarket(anInstrument({ venue: FIRST, symbol: `C${index}` }));
  const [bids, asks] = [side(-1, BEST_BID_TICKS), side(1, BEST_BID_TICKS + 1)];
  loadBook(market.book, bids, asks, clock.monoNs() + PROVEN_AHEAD_NS);
  return market;
});
const harness = await startHarness({ rooms: [createFakeRoom(FIRST, markets, () => clock.wallMs())] });
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const control = createServer((socket) => {
  const cost: SnapshotCost = {
    longestMs: delay.max / NS_PER_MS,
    residentMib: process.memoryUsage().rss / BYTES_PER_MIB,
  };
  delay.reset();
  socket.on("error", () => socket.destroy());
  socket.end(JSON.stringify(cost));
});
control.listen(0, "127.0.0.1");
await once(control, "listening");
const { port: controlPort } = control.address() as AddressInfo;
process.stdout.write(`${JSON.stringify({ port: harness.server.port, controlPort })}\n`);
process.on("SIGTERM", () => process.exit(0));
