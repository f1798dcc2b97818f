/**
 * A close end to end on each of the four venues: HTTP in, live position, decision, durable intent, signed order, the
 * venue's answer after a fixed 5 ms, its fill, reply out. The peer is a bot that sends the same signed order straight
 * to the venue and waits until it knows the fill, as the close does. The load has a process of its own.
 *
 * Some venues answer an order before they execute it, after a delay of their own. There both sides learn the fill from
 * the account's stream, and most of both times is that delay: the added milliseconds say more than the ratio.
 */
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { startChild } from "../lib/child.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { type BenchSystem, profileGateway, startSystem } from "../lib/system.js";
import { type BenchRow, type Scenario, type ScenarioContext, type ScenarioResult, verdict } from "../lib/types.js";
import { LOCAL_VENUES } from "../sim/venues.js";
import { GOAL_VENUE, VENUE_BENCHES } from "../venues/table.js";
import type { Offered } from "../venues/venue-bench.js";

const VENUE_DELAY_MS = 5;
/** More than all runs together close. */
const SYSTEM = { btcSize: "500", rooms: ROUTABLE_VENUES };
const CALLER_COUNTS = [1, 50, 500] as const;
/** Least arrivals of a run: a slow rate makes the run longer. */
const MIN_COUNT = 15;

interface LoadResult {
  readonly perSecond: number;
  readonly latenciesMs: number[];
  readonly outcomes: Record<string, number>;
  /** Of the gateway's replies: `timingMs`, by stage. */
  readonly stagesMs: Readonly<Record<string, readonly number[]>>;
}

export const close: Scenario = {
  name: "close",
  title: "Close end to end, local venue answers after 5 ms",
  async run(context) {
    const system = await startSystem(SYSTEM);
    let result: ScenarioResult;
    try {
      await delayVenue(system);
      result = await measure(context, system);
    } finally {
      await system.stop();
    }
    if (context.smoke || result.rows.every((row) => verdict(row) !== "missed")) return result;
    const profile = await profileGateway(SYSTEM, async (profiled) => {
      await delayVenue(profiled);
      await load(profiled, "gateway", 50, 2_000, 0);
    });
    return { ...result, profile };
  },
};

async function delayVenue(system: BenchSystem): Promise<void> {
  for (const venue of ROUTABLE_VENUES) {
    await fetch(`${system.venues[venue].restUrl}/_sim/faults`, {
      method: "POST",
      body: JSON.stringify({ kind: "fixedDelay", delayMs: VENUE_DELAY_MS, match: LOCAL_VENUES[venue].orderRoute }),
    });
  }
}

async function measure(context: ScenarioContext, system: BenchSystem): Promise<ScenarioResult> {
  const rows: BenchRow[] = [];
  for (const venue of ROUTABLE_VENUES) {
    // Until the account is streamed, each close also reads its position from the venue.
    await load(system, "gateway", 4, context.smoke ? 30 : 400, 0, venue);
    await new Promise((resolve) => setTimeout(resolve, context.smoke ? 500 : 2_000));
    for (const callerCount of context.smoke ? ([50] as const) : CALLER_COUNTS) {
      rows.push(...(await compare(context, system, callerCount, venue)));
    }
  }
  rows.push(await saturate(context, system));
  return { rows, profile: [] };
}

async function compare(
  context: ScenarioContext,
  system: BenchSystem,
  callerCount: keyof Offered,
  venue: RoutableVenue,
): Promise<BenchRow[]> {
  const isGoal = venue === GOAL_VENUE && callerCount === 50;
  // The judged row is the median of five runs; the others have two.
  const runCount = context.smoke ? 1 : isGoal ? 5 : 2;
  const offered = VENUE_BENCHES[venue].close.offered[callerCount];
  const count = context.smoke ? MIN_COUNT : Math.max(MIN_COUNT, offered * 3);
  const ours: LoadResult[] = [];
  const direct: LoadResult[] = [];
  for (let run = 0; run < runCount; run++) {
    ours.push(await load(system, "gateway", callerCount, count, offered, venue));
    direct.push(await load(system, "direct", callerCount, count, offered, venue));
  }
  requireTaken(venue, direct);
  const at = (results: LoadResult[], percent: number) =>
    median(results.map((result) => percentile(result.latenciesMs, percent)));
  const callers = callerCount === 1 ? "1 caller" : `${callerCount} callers`;
  const outcomes = (results: LoadResult[]) => JSON.stringify(sum(results.map((result) => result.outcomes)));
  const row = (percent: number, goal: BenchRow["goal"]): BenchRow => ({
    what: `${venue}: close, ${callers}, ${offered}/s offered, p${percent}`,
    unit: "ms",
    ours: at(ours, percent),
    peerName: VENUE_BENCHES[venue].close.peerName,
    peer: at(direct, percent),
    ratio: at(ours, percent) / at(direct, percent),
    goal: isGoal ? goal : null,
    runCount,
    detail:
      percent === 50
        ? `ms ${latencyText(ours.flatMap((result) => result.latenciesMs))} ${outcomes(ours)}; direct ms ${latencyText(direct.flatMap((result) => result.latenciesMs))} ${outcomes(direct)}; added ${(at(ours, 50) - at(direct, 50)).toFixed(2)} ms p50, ${(at(ours, 99) - at(direct, 99)).toFixed(2)} ms p99; ${stagesText(ours)}`
        : "",
  });
  return [row(50, { kind: "atMost", value: 1.25 }), row(99, { kind: "atMost", value: 1.5 }), row(99.9, null)];
}

/**
 * Where a close's ms go, p50/p99. The rest of the service's own time is the durable intent, and what is kept of the end;
 * outside of it are the socket, the caller, and the waits of both for a core.
 */
function stagesText(results: readonly LoadResult[]): string {
  const of = (stage: string): readonly number[] => results.flatMap(({ stagesMs }) => stagesMs[stage] ?? []);
  const total = of("total");
  const named = ["positions", "routing", "sign", "venue"].map((name) => ({ name, ms: of(name) }));
  const restMs = total.map((ms, index) => named.reduce((left, stage) => left - (stage.ms[index] ?? 0), ms));
  const text = (ms: readonly number[]) => `${percentile(ms, 50).toFixed(2)}/${percentile(ms, 99).toFixed(2)}`;
  const stages = [...named, { name: "durable and end", ms: restMs }, { name: "all in the service", ms: total }];
  return `stages ms p50/99 ${stages.map(({ name, ms }) => `${name} ${text(ms)}`).join(", ")}`;
}

/** Refused orders of the peer make the comparison void. */
function requireTaken(venue: RoutableVenue, direct: readonly LoadResult[]): void {
  const outcomes = sum(direct.map((result) => result.outcomes));
  const total = direct.reduce((count, result) => count + result.latenciesMs.length, 0);
  if ((outcomes["taken"] ?? 0) < 0.9 * total)
    throw new Error(`${venue} refuses the direct orders: ${JSON.stringify(outcomes).slice(0, 300)}`);
}

/** Closed loops: how many closes a second until a part is saturated. Venue and load share the two cores with us. */
async function saturate(context: ScenarioContext, system: BenchSystem): Promise<BenchRow> {
  const runCount = context.smoke ? 1 : 3;
  const ours: number[] = [];
  const direct: number[] = [];
  for (let run = 0; run < runCount; run++) {
    ours.push((await load(system, "gateway", 50, context.smoke ? 200 : 2_000, 0)).perSecond);
    direct.push((await load(system, "direct", 50, context.smoke ? 200 : 2_000, 0)).perSecond);
  }
  return {
    what: `${GOAL_VENUE}: closes a second, 50 closed loops`,
    unit: "closes/s",
    ours: median(ours),
    peerName: VENUE_BENCHES[GOAL_VENUE].close.peerName,
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
  venue: RoutableVenue = GOAL_VENUE,
): Promise<LoadResult> {
  const { restUrl, wsUrl } = system.venues[venue];
  const child = await startChild(
    "load/close-load.child.js",
    { TARGET_URL: mode === "gateway" ? system.url : restUrl, TARGET_WS_URL: wsUrl },
    [mode, String(callerCount), String(count), String(perSecond), venue],
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
