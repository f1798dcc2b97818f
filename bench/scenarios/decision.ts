/**
 * The routing decision alone, and the path of a tick: frame bytes → book → best exit over two venues recomputed. No
 * I/O. A recorded (or generated) venue drives; the book of the other does not change.
 */
import { Desk } from "../venues/desk.js";
import { profileTop } from "../lib/profile.js";
import { loadRecording, type RecordedFrame, USDM_RECORDING } from "../lib/recording.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { generateRecording } from "../lib/synthetic-recording.js";
import type { BenchRow, Scenario, ScenarioContext, ScenarioResult } from "../lib/types.js";

export const decision: Scenario = {
  name: "decision",
  title: "Tick to decision, and the decision alone",
  async run(context) {
    const frames =
      context.dataFolder === null ? generateRecording(20_000) : loadRecording(context.dataFolder, USDM_RECORDING);
    return measure(context, frames.slice(0, context.smoke ? 3_000 : 60_000));
  },
};

async function measure(context: ScenarioContext, frames: RecordedFrame[]): Promise<ScenarioResult> {
  const runCount = context.smoke ? 1 : 5;
  const p99s: number[] = [];
  const decisionRates: number[] = [];
  let lastSamples: number[] = [];
  for (let run = -1; run < runCount; run++) {
    const samples = tickToDecision(frames);
    const perSecond = decisionsPerSecond(frames, context.smoke ? 20_000 : 500_000);
    if (run < 0) continue;
    p99s.push(percentile(samples, 99));
    decisionRates.push(perSecond);
    lastSamples = samples;
  }
  const ticks: BenchRow = {
    what: "frame received → book updated → best exit of two venues recomputed, p99",
    unit: "µs",
    ours: median(p99s),
    peerName: "",
    peer: null,
    ratio: median(p99s),
    goal: { kind: "atMost", value: 50 },
    runCount,
    detail: `${lastSamples.length} frames, µs ${latencyText(lastSamples)}`,
  };
  const rate: BenchRow = {
    what: "routing decisions, two venues, 0.25 BTC",
    unit: "decisions/s",
    ours: median(decisionRates),
    peerName: "",
    peer: null,
    ratio: median(decisionRates),
    goal: null,
    runCount,
    detail: `${(1e9 / median(decisionRates)).toFixed(0)} ns each`,
  };
  const missed = ticks.ratio > 50 && !context.smoke;
  return { rows: [ticks, rate], profile: missed ? await profileTop(() => void tickToDecision(frames)) : [] };
}

/** µs per frame, from before decoding to after the decision. */
function tickToDecision(frames: readonly RecordedFrame[]): number[] {
  const desk = new Desk();
  const samples: number[] = [];
  let isSynced = false;
  for (const frame of frames) {
    const startMs = performance.now();
    const nowNs = startMs * 1e6;
    desk.take(frame, nowNs);
    desk.standing.book.prove(nowNs);
    desk.decide(nowNs);
    const elapsedUs = (performance.now() - startMs) * 1000;
    isSynced ||= frame.kind === "snapshot";
    if (isSynced && frame.kind !== "snapshot") samples.push(elapsedUs);
  }
  if (!desk.isDecided) throw new Error("no exit was chosen: the measurement is void");
  return samples;
}

function decisionsPerSecond(frames: readonly RecordedFrame[], count: number): number {
  const desk = new Desk();
  const nowNs = 1e9;
  for (const frame of frames) desk.take(frame, nowNs);
  const startMs = performance.now();
  for (let index = 0; index < count; index++) desk.decide(nowNs);
  const elapsedMs = performance.now() - startMs;
  if (!desk.isDecided) throw new Error("no exit was chosen: the measurement is void");
  return (count * 1000) / elapsedMs;
}
