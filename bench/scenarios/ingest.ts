/**
 * Frames decoded and applied per second, from recorded market data in memory: ours against `JSON.parse` of the same
 * frames alone (which builds no book), and against the peers' handlers. The run fails unless each side ends with the
 * same touch. These are diffs, which need a chain of snapshots; ingest-formats.ts has the other wire formats.
 */
import { compareRates } from "../lib/compare.js";
import { profileTop } from "../lib/profile.js";
import { loadRecording, type RecordedFrame, USDM_RECORDING } from "../lib/recording.js";
import { generateRecording } from "../lib/synthetic-recording.js";
import type { BenchRow, Scenario, ScenarioContext, ScenarioResult } from "../lib/types.js";
import { CcxtBook } from "../peers/ccxt-book.js";
import { TardisBook } from "../peers/tardis-book.js";
import { CHAINED_DIFFS } from "../venues/table.js";
import type { EndTouch } from "../venues/venue-bench.js";
import { measureFormats, profileFormats } from "./ingest-formats.js";

const { symbol: SYMBOL, play: runOurs } = CHAINED_DIFFS;

export const ingest: Scenario = {
  name: "ingest",
  title: "Ingest: depth frames of each venue decoded and applied",
  async run(context) {
    const source = context.dataFolder === null ? null : loadRecording(context.dataFolder, USDM_RECORDING);
    const frames = source ?? generateRecording(20_000);
    if (source === null) context.log("no recordings here: a generated tape of the same wire form is played");
    return measure(context, frames);
  },
};

async function measure(context: ScenarioContext, frames: RecordedFrame[]): Promise<ScenarioResult> {
  const runCount = context.smoke ? 1 : 7;
  const mixedLimit = context.smoke ? 5_000 : frames.length;
  const mixed = frames.slice(0, mixedLimit);
  const depth = mixed.filter((frame) => frame.kind !== "other");
  const rows: BenchRow[] = [];
  rows.push(...compare("depth frames", depth, runCount, context));
  rows.push(...compare("all frames (depth, best bid and offer, trades)", mixed, runCount, context));
  const isMissed = (row: BenchRow) => row.goal !== null && row.ratio < row.goal.value;
  const others = measureFormats(context);
  if (context.smoke) return { rows: [...rows, ...others], profile: [] };
  const profile = rows.some(isMissed) ? await profileTop(() => repeat(5, () => runOurs(depth))) : [];
  return {
    rows: [...rows, ...others],
    profile: [...profile, ...(await profileFormats(context, others.filter(isMissed)))],
  };
}

function compare(what: string, frames: RecordedFrame[], runCount: number, context: ScenarioContext): BenchRow[] {
  // The slow peers see a bounded prefix of the same frames; rates compare all the same.
  const prefix = frames.slice(0, context.smoke ? 500 : 8_000);
  const rows = compareRates(
    `${CHAINED_DIFFS.venue}: ${what}`,
    runCount,
    { frameCount: frames.length, run: () => runOurs(frames) },
    [
      { name: "JSON.parse alone", goal: 2, frameCount: frames.length, run: () => runParse(frames) },
      { name: "ccxt pro", goal: 40, frameCount: prefix.length, run: () => runCcxt(prefix) },
      { name: "tardis-dev", goal: 12, frameCount: prefix.length, run: () => runTardis(prefix) },
    ],
  );
  assertSameTouch(prefix);
  return rows;
}

async function repeat(count: number, work: () => void): Promise<void> {
  for (let round = 0; round < count; round++) work();
}

let parsedCount = 0;
function runParse(frames: readonly RecordedFrame[]): void {
  for (const frame of frames) {
    // The result stays reachable, or the compiler may drop the call.
    if ((JSON.parse(frame.text) as object | null) !== null) parsedCount++;
  }
}

function runCcxt(frames: readonly RecordedFrame[]): EndTouch {
  const peer = new CcxtBook(SYMBOL);
  for (const frame of frames) {
    if (frame.kind === "snapshot") peer.applySnapshot(frame.text);
    else peer.applyFrame(frame.text);
  }
  return peer.touch;
}

function runTardis(frames: readonly RecordedFrame[]): EndTouch {
  const peer = new TardisBook(SYMBOL);
  for (const frame of frames) {
    if (frame.kind === "snapshot") peer.applySnapshot(frame.text);
    else peer.applyFrame(frame.text);
  }
  return peer.touch;
}

/** A peer that ends with another touch has measured other work. */
function assertSameTouch(frames: readonly RecordedFrame[]): void {
  const ours = runOurs(frames);
  for (const [name, theirs] of [
    ["ccxt", runCcxt(frames)],
    ["tardis-dev", runTardis(frames)],
  ] as const) {
    if (ours.bid !== theirs.bid || ours.ask !== theirs.ask) {
      throw new Error(
        `${name} ends at ${theirs.bid}/${theirs.ask}, ours at ${ours.bid}/${ours.ask} (${parsedCount} parsed)`,
      );
    }
  }
}
