/**
 * Load of closes in a process of its own: `close-load.child.js <mode> <callers> <count> <perSecond> <venue>`.
 *
 *   gateway  POST /api/trade/position/close to TARGET_URL, the venue preferred
 *   direct   the same signed reduce-only order straight to the venue at TARGET_URL, over keep-alive connections
 *
 * Arrivals are on a schedule of `perSecond` over all callers, and a latency counts from the scheduled moment, so that
 * waiting for a busy caller is counted too. 0 runs closed loops instead, for throughput. Prints one JSON line: latencies in ms, outcome counts.
 */
import { Pool } from "undici";
import { credentialsOf, DEMO_TRADER } from "../sim/demo-accounts.js";
import { type DirectRequest, directOrders } from "./direct-orders.js";

const [mode = "gateway", callersText = "1", countText = "100", rateText = "0", venue = "venueone"] =
  process.argv.slice(2);
const requestCount = Number(countText);
const perSecond = Number(rateText);
const target = new URL(process.env.TARGET_URL ?? "");
const SIZE = "0.001";

const direct = mode === "direct" ? await directOrders(venue, target.origin) : null;
// A venue that wants one at a time gets one at a time: its queue is then part of what is measured.
const callerCount = direct?.serial === true ? 1 : Number(callersText);
const pool = new Pool(target.origin, { connections: callerCount, pipelining: 1 });
const latenciesMs: number[] = [];
const outcomes: Record<string, number> = {};
let startedCount = 0;

const closeRequest: DirectRequest = {
  path: "/api/trade/position/close",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    symbol: "BTC",
    direction: "LONG",
    size: SIZE,
    preferredExchange: venue,
    credentials: Object.fromEntries(Object.entries(credentialsOf(DEMO_TRADER)).filter(([name]) => name === venue)),
  }),
};

const beginMs = performance.now();

async function caller(): Promise<void> {
  while (startedCount < requestCount) {
    const turn = startedCount++;
    let startMs = performance.now();
    if (perSecond > 0) {
      const dueMs = beginMs + (turn * 1000) / perSecond;
      if (dueMs > startMs) await new Promise((resolve) => setTimeout(resolve, dueMs - startMs));
      // A timer fires up to a millisecond late: that is the load's own fault, a caller that was busy is not.
      startMs = dueMs > startMs ? performance.now() : dueMs;
    }
    const response = await pool.request({ method: "POST", ...(direct === null ? closeRequest : direct.next()) });
    const text = await response.body.text();
    latenciesMs.push(performance.now() - startMs);
    const outcome = outcomeOf(text);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
}

function outcomeOf(text: string): string {
  if (direct !== null) return direct.isTaken(text) ? "taken" : text.slice(0, 120);
  const reply = JSON.parse(text) as { code?: string; data?: { execution?: { state?: string } } };
  return reply.data?.execution?.state ?? reply.code ?? "?";
}

await Promise.all(Array.from({ length: callerCount }, () => caller()));
await pool.close();
const elapsedMs = performance.now() - beginMs;
process.stdout.write(`${JSON.stringify({ latenciesMs, outcomes, perSecond: (requestCount * 1000) / elapsedMs })}\n`);
