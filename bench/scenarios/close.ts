/**
 * A close end to end: HTTP in, live position, decision, durable intent, signed order, the venue's answer after a fixed
 * 5 ms, reply out; against the same signed order sent to the venue directly over keep-alive. Load in its own process.
 */
import { startChild } from "../lib/child.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { type BenchSystem, profileGateway, startSystem } from "../lib/system.js";
import { type BenchRow, type Scenario, type ScenarioContext, type ScenarioResult, verdict } from "../lib/types.js";

const VENUE_DELAY_MS = 5;
/** More than all runs close. */
const BTC_SIZE = "50000";

/** Offered over all callers; well below what two cores carry for the load, the gateway and both venues together. */
const OFFERED_PER_SECOND: ReadonlyMap<number, number> = new Map([
  [1, 20],
  [50, 100],
  [500, 200],
]);

interface LoadResult {
  readonly perSecond: number;
  readonly latenciesMs: number[];
  readonly outcomes: Record<string, number>;
}

export const close: Scenario = {
  name: "close",
  title: "Close end to end, local venue answers after 5 ms",
  async run(context) {
    const system = await startSystem(BTC_SIZE);
    let result: ScenarioResult;
    try {
      await delayVenue(system);
      result = await measure(context, system);
    } finally {
      await system.stop();
    }
    if (context.smoke || result.rows.every((row) => verdict(row) !== "missed")) return result;
    const profile = await profileGateway(BTC_SIZE, async (profiled) => {
      await delayVenue(profiled);
      await load(profiled, "gateway", 50, 2_000, 0);
    });
    return { ...result, profile };
  },
};

async function delayVenue(system: BenchSystem): Promise<void> {
  await fetch(`${system.venues.venueone.restUrl}/_sim/faults`, {
    method: "POST",
    body: JSON.stringify({ kind: "fixedDelay", delayMs: VENUE_DELAY_MS, match: "POST /exchange" }),
  });
}

async function measure(context: ScenarioContext, system: BenchSystem): Promise<ScenarioResult> {
  const rows: BenchRow[] = [];
  // Until the account is streamed each close would also read its position from the venue.
  await load(system, "gateway", 4, context.smoke ? 100 : 1_500, 0);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  for (const callerCount of context.smoke ? [1, 50] : [1, 50, 500]) {
    rows.push(...(await compare(context, system, callerCount)));
  }
  rows.push(await saturate(context, system));
  return { rows, profile: [] };
}

async function compare(context: ScenarioContext, system: BenchSystem, callerCount: number): Promise<BenchRow[]> {
  const runCount = context.smoke ? 1 : 5;
  const offered = OFFERED_PER_SECOND.get(callerCount) ?? 100;
  const count = offered * (context.smoke ? 2 : 8);
  const ours: LoadResult[] = [];
  const direct: LoadResult[] = [];
  for (let run = 0; run < runCount; run++) {
    ours.push(await load(system, "gateway", callerCount, count, offered));
    direct.push(await load(system, "direct", callerCount, count, offered));
  }
  const at = (results: LoadResult[], percent: number) =>
    median(results.map((result) => percentile(result.latenciesMs, percent)));
  const callers = callerCount === 1 ? "1 caller" : `${callerCount} callers`;
  const outcomes = (results: LoadResult[]) => JSON.stringify(sum(results.map((result) => result.outcomes)));
  const row = (percent: number, goal: BenchRow["goal"]): BenchRow => ({
    what: `close, ${callers}, ${offered}/s offered, p${percent}`,
    unit: "ms",
    ours: at(ours, percent),
    peerName: "same signed order sent directly",
    peer: at(direct, percent),
    ratio: at(ours, percent) / at(direct, percent),
    goal,
    runCount,
    detail:
      percent === 50
        ? `ms ${latencyText(ours.flatMap((result) => result.latenciesMs))} ${outcomes(ours)}; direct ms ${latencyText(direct.flatMap((result) => result.latenciesMs))} ${outcomes(direct)}; added ${(at(ours, 50) - at(direct, 50)).toFixed(2)} ms p50, ${(at(ours, 99) - at(direct, 99)).toFixed(2)} ms p99`
        : "",
  });
  const isGoal = callerCount === 50;
  return [
    row(50, isGoal ? { kind: "atMost", value: 1.25 } : null),
    row(99, isGoal ? { kind: "atMost", value: 1.5 } : null),
  ];
}

/** Closed loops: how many closes a second until something is full. Venue and load share the two cores with us. */
async function saturate(context: ScenarioContext, system: BenchSystem): Promise<BenchRow> {
  const runCount = context.smoke ? 1 : 5;
  const ours: number[] = [];
  const direct: number[] = [];
  for (let run = 0; run < runCount; run++) {
    ours.push((await load(system, "gateway", 50, context.smoke ? 200 : 2_000, 0)).perSecond);
    direct.push((await load(system, "direct", 50, context.smoke ? 200 : 2_000, 0)).perSecond);
  }
  return {
    what: "closes a second, 50 closed loops",
    unit: "closes/s",
    ours: median(ours),
    peerName: "same signed order sent directly",
    peer: median(direct),
    ratio: median(ours) / median(direct),
    goal: null,
    runCount,
    detail: "",
  };
}

async function load(
  system: BenchSystem,
  mode: "gateway" | "direct",
  callerCount: number,
  count: number,
  perSecond: number,
): Promise<LoadResult> {
  const target = mode === "gateway" ? system.url : system.venues.venueone.restUrl;
  const child = await startChild(
    "load/close-load.child.js",
    { TARGET_URL: target },
    [mode, String(callerCount), String(count), String(perSecond)],
    120_000,
  );
  await child.stop();
  return JSON.parse(child.firstLine) as LoadResult;
}

function sum(counts: readonly Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const one of counts) for (const [name, count] of Object.entries(one)) total[name] = (total[name] ?? 0) + count;
  return total;
}
