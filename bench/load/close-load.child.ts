/**
 * Load of closes in a process of its own: `close-load.child.js <mode> <callers> <count> <perSecond> <venue>`. Mode
 * `gateway` sends POST /api/trade/position/close to TARGET_URL, with the venue preferred. Mode `direct` sends the same
 * signed reduce-only order straight to the venue at TARGET_URL (its stream: TARGET_WS_URL), and waits until its fill is
 * known.
 *
 * Arrivals follow a schedule of `perSecond` over all callers. A latency counts from the scheduled moment, so that it
 * includes the wait for a busy caller. 0 runs closed loops instead, for throughput. Prints one JSON line: latencies in
 * ms, outcome counts, and of the gateway's replies the ms of each stage (`timingMs`).
 */
import { Pool } from "undici";
import { isRoutableVenue } from "../../engine/domain/venue.js";
import { DEMO_CREDENTIALS } from "../sim/demo-accounts.js";
import { GOAL_VENUE, VENUE_BENCHES } from "../venues/table.js";
import type { Trader } from "../lib/trader.js";

const [mode = "gateway", callersText = "1", countText = "100", rateText = "0", venue = GOAL_VENUE] =
  process.argv.slice(2);
const requestCount = Number(countText);
const perSecond = Number(rateText);
const target = new URL(process.env.TARGET_URL ?? "");
const SIZE = "0.001";

const trader = mode === "direct" ? await startDirect() : gatewayTrader();
const latenciesMs: number[] = [];
const outcomes: Record<string, number> = {};
const stagesMs: Record<string, number[]> = {};
let startedCount = 0;

function startDirect(): Promise<Trader> {
  if (!isRoutableVenue(venue)) throw new RangeError(`no venue ${venue}`);
  return VENUE_BENCHES[venue].close.startDirect({
    restUrl: target.origin,
    wsUrl: process.env.TARGET_WS_URL ?? "",
    callerCount: Number(callersText),
  });
}

function gatewayTrader(): Trader {
  const pool = new Pool(target.origin, { connections: Number(callersText), pipelining: 1 });
  const request = {
    method: "POST",
    path: "/api/trade/position/close",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      symbol: "BTC",
      direction: "LONG",
      size: SIZE,
      preferredExchange: venue,
      credentials: Object.fromEntries(Object.entries(DEMO_CREDENTIALS).filter(([name]) => name === venue)),
    }),
  } as const;
  return {
    async trade() {
      const response = await pool.request(request);
      const reply = JSON.parse(await response.body.text()) as {
        code?: string;
        data?: { execution?: { state?: string; timingMs?: Record<string, number> } };
      };
      for (const [stage, ms] of Object.entries(reply.data?.execution?.timingMs ?? {})) {
        stagesMs[stage] ??= [];
        stagesMs[stage].push(ms);
      }
      return reply.data?.execution?.state ?? reply.code ?? "?";
    },
    stop: () => pool.close(),
  };
}

const beginMs = performance.now();

async function caller(): Promise<void> {
  while (startedCount < requestCount) {
    const turn = startedCount++;
    let startMs = performance.now();
    if (perSecond > 0) {
      const dueMs = beginMs + (turn * 1000) / perSecond;
      if (dueMs > startMs) await new Promise((resolve) => setTimeout(resolve, dueMs - startMs));
      // A timer fires up to a millisecond late. That delay is the load's own and does not count; a busy caller's does.
      startMs = dueMs > startMs ? performance.now() : dueMs;
    }
    const outcome = await trader.trade();
    latenciesMs.push(performance.now() - startMs);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: Number(callersText) }, () => caller()));
const elapsedMs = performance.now() - beginMs;
await trader.stop();
process.stdout.write(
  `${JSON.stringify({ latenciesMs, outcomes, stagesMs, perSecond: (requestCount * 1000) / elapsedMs })}\n`,
);
