/**
 * The cost of recording, and its capacity. First the path of a tick (frame → book → decision) with the recorder on the
 * market and its batches going into the real embedded store, against recording off. Then ticks a second through
 * listener, ring, encoder and store with nothing lost, against raw inserts of the same rows by a plain client.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createMarket } from "../../engine/market/market.js";
import { Desk } from "../venues/desk.js";
import { DRIVEN_BTC } from "../lib/instruments.js";
import { profileTop } from "../lib/profile.js";
import { type RecordBench, startRecordBench } from "../lib/record-bench.js";
import { loadRecording, type RecordedFrame, USDM_RECORDING } from "../lib/recording.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { generateRecording } from "../lib/synthetic-recording.js";
import { type BenchRow, type Scenario, type ScenarioContext, verdict } from "../lib/types.js";
import { type RawBatch, RawInserter } from "../peers/raw-inserts.js";

const HOT_PATH_GOAL = 1.1;
const SUSTAINED_GOAL = 0.8;
/** Frames handled in one turn of the event loop, as one read of a socket brings them. */
const FRAMES_A_TURN = 16;
/** Ticks that one turn writes, and most that may be in flight: well below the ring. */
const TICKS_A_TURN = 256;
const PENDING_MAX = 65_536;
/** Turns between two reads of the pending count: a read walks every table and would dominate the measurement. */
const TURNS_A_LOOK = 16;

export const recording: Scenario = {
  name: "recording",
  title: "Recording: what it costs the hot path, what it carries",
  async run(context) {
    const source =
      context.dataFolder === null ? generateRecording(20_000) : loadRecording(context.dataFolder, USDM_RECORDING);
    const frames = source.slice(0, context.smoke ? 2_000 : 40_000);
    const bench = await startRecordBench();
    try {
      const hotPath = await compareHotPath(bench, frames, context);
      const sustained = await compareSustained(bench, context);
      const isMissed = verdict(sustained) === "missed" && !context.smoke;
      const profile = isMissed ? await profileTop(() => recordTicks(bench, TICKS_A_TURN * 400)) : [];
      return { rows: [hotPath, sustained], profile };
    } finally {
      await bench.stop();
    }
  },
};

// ---------------------------------------------------------------- hot path

async function compareHotPath(
  bench: RecordBench,
  frames: readonly RecordedFrame[],
  context: ScenarioContext,
): Promise<BenchRow> {
  const runCount = context.smoke ? 1 : 21;
  const on: number[] = [];
  const off: number[] = [];
  let lastOn: number[] = [];
  let lastOff: number[] = [];
  const acceptedBefore = bench.recorder.status().tables.ticks.accepted;
  for (let run = -1; run < runCount; run++) {
    // The two take turns in going first, so that other load of the machine hits both alike.
    const onFirst = run % 2 === 1;
    if (!onFirst) lastOff = await tickToDecision(frames, null);
    lastOn = await tickToDecision(frames, bench);
    await bench.settled();
    if (onFirst) lastOff = await tickToDecision(frames, null);
    if (run < 0) continue;
    off.push(percentile(lastOff, 99));
    on.push(percentile(lastOn, 99));
  }
  const recorded = bench.recorder.status().tables.ticks.accepted - acceptedBefore;
  if (recorded === 0) throw new Error("nothing was recorded: the measurement is void");
  return {
    what: "frame received → book updated → exit decided, p99, recording on against off",
    unit: "µs",
    ours: median(on),
    peerName: "recording off",
    peer: median(off),
    ratio: median(on) / median(off),
    goal: { kind: "atMost", value: HOT_PATH_GOAL },
    runCount,
    detail: `${Math.round(recorded / (runCount + 1))} ticks recorded a run; last run µs on ${latencyText(lastOn)}, off ${latencyText(lastOff)}`,
  };
}

/** Returns µs per frame. The event loop turns between reads, so the recorder drains and its batches leave meanwhile. */
async function tickToDecision(frames: readonly RecordedFrame[], bench: RecordBench | null): Promise<number[]> {
  const desk = new Desk();
  const end = bench?.recorder.watch(desk.driven);
  const samples: number[] = [];
  globalThis.gc?.();
  for (const [index, frame] of frames.entries()) {
    if (index % FRAMES_A_TURN === 0) await turn();
    const startMs = performance.now();
    const nowNs = startMs * 1e6;
    desk.take(frame, nowNs);
    desk.standing.book.prove(nowNs);
    desk.decide(nowNs);
    if (frame.kind !== "snapshot") samples.push((performance.now() - startMs) * 1_000);
  }
  end?.();
  if (!desk.isDecided) throw new Error("no exit was chosen: the measurement is void");
  return samples;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

// ---------------------------------------------------------------- sustained

async function compareSustained(bench: RecordBench, context: ScenarioContext): Promise<BenchRow> {
  const tickCount = context.smoke ? 20_000 : 400_000;
  const runCount = context.smoke ? 1 : 5;
  const batches: RawBatch[] = [];
  bench.onBatch = ({ bytes, rowCount, table }) => {
    // A copy, because the recorder reuses the buffer.
    if (table === "ticks") batches.push({ bytes: Buffer.from(bytes), rowCount });
  };
  await recordTicks(bench, tickCount);
  bench.onBatch = null;
  const raw = new RawInserter(bench.endpoint, bench.database);
  const ours: number[] = [];
  const peer: number[] = [];
  try {
    for (let run = -1; run < runCount; run++) {
      const ourRate = await counted(bench, tickCount, () => recordTicks(bench, tickCount));
      const rawRate = await counted(bench, tickCount, () => raw.insertAll(batches));
      if (run < 0) continue;
      ours.push(ourRate);
      peer.push(rawRate);
    }
  } finally {
    await raw.close();
  }
  const { accepted, stored, droppedTotal } = bench.recorder.status().tables.ticks;
  return {
    what: "ticks recorded, nothing lost: listener → ring → RowBinary → embedded store",
    unit: "ticks/s",
    ours: median(ours),
    peerName: "raw RowBinary inserts",
    peer: median(peer),
    ratio: median(ours) / median(peer),
    goal: { kind: "atLeast", value: SUSTAINED_GOAL },
    runCount,
    detail: `${tickCount} ticks a run; accepted ${accepted} = stored ${stored} + dropped ${droppedTotal}, counted in the store after each run; ${batches.length} raw batches, two under way as the recorder has`,
  };
}

/** Returns the rows a second of `work`, which must add exactly `rowCount` rows to the store. */
async function counted(bench: RecordBench, rowCount: number, work: () => Promise<void>): Promise<number> {
  const before = await bench.tickCount();
  globalThis.gc?.();
  const startMs = performance.now();
  await work();
  const elapsedMs = performance.now() - startMs;
  const added = (await bench.tickCount()) - before;
  if (added !== rowCount) throw new Error(`${added} rows were stored of ${rowCount}`);
  return (rowCount * 1_000) / elapsedMs;
}

/** Publishes touches that all differ, as fast as the record takes them, until all are stored. */
async function recordTicks(bench: RecordBench, tickCount: number): Promise<void> {
  const { recorder } = bench;
  const market = createMarket(DRIVEN_BTC, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  const end = recorder.watch(market);
  const before = recorder.status().tables.ticks;
  for (let written = 0, turns = 0; written < tickCount; turns++) {
    const nowNs = performance.now() * 1e6;
    const wallMs = Date.now();
    const until = Math.min(tickCount, written + TICKS_A_TURN);
    for (; written < until; written++) {
      const bidTicks = 6_000_000 + 10 * (written % 997);
      market.touch.set(
        bidTicks,
        1 + (written % 5_000),
        bidTicks + 10,
        1 + (written % 7_000),
        written + 1,
        wallMs,
        nowNs,
      );
    }
    await turn();
    // Waits without occupying a core, as a process with nothing else to do.
    if (turns % TURNS_A_LOOK === 0) while (recorder.status().tables.ticks.pending > PENDING_MAX) await delay(1);
  }
  end();
  await bench.settled();
  const after = recorder.status().tables.ticks;
  if (after.accepted - before.accepted !== tickCount) throw new Error("a tick was not taken");
  if (after.stored - before.stored !== tickCount || after.droppedTotal !== before.droppedTotal)
    throw new Error(`${after.stored - before.stored} of ${tickCount} ticks were stored`);
}
