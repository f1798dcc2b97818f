/**
 * A hundred sockets subscribe to 3 750 book keys in the same moment: how long nobody else is served, and the memory it
 * takes. The server, its readers and this observer are processes of their own.
 */
import { connect } from "node:net";
import { startChild } from "../lib/child.js";
import { median } from "../lib/stats.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import type { SnapshotRun } from "../load/snapshot-readers.child.js";
import type { SnapshotCost } from "../load/snapshot-server.child.js";

interface Size {
  readonly sockets: number;
  readonly markets: number;
  readonly levels: number;
  readonly runs: number;
}

const WHOLE: Size = { sockets: 100, markets: 150, levels: 500, runs: 5 };
const SMOKE: Size = { sockets: 8, markets: 20, levels: 50, runs: 1 };
/** Longest that an exit may wait for a stranger's books. */
const GOAL_MS = 250;

export const snapshots: Scenario = {
  name: "snapshots",
  title: "Thousands of books asked for at once",
  async run(context) {
    return { rows: await measure(context.smoke ? SMOKE : WHOLE, context), profile: [] };
  },
};

interface Measured extends SnapshotRun, SnapshotCost {
  readonly beforeMib: number;
}

async function measure(size: Size, context: ScenarioContext): Promise<BenchRow[]> {
  const runs: Measured[] = [];
  for (let index = 0; index < size.runs; index++) {
    const run = await once(size);
    context.log(
      `${run.snapshotCount} snapshots: ${run.longestMs.toFixed(0)} ms, ${run.elapsedMs.toFixed(0)} ms in all`,
    );
    runs.push(run);
  }
  const first = runs[0] as Measured;
  const what = `${size.sockets} sockets ask for ${first.keyCount} book keys of ${size.levels} levels a side`;
  const detail = `${first.snapshotCount} snapshots, ${first.mebibytes.toFixed(0)} MiB, all there after ${median(runs.map(({ elapsedMs }) => elapsedMs)).toFixed(0)} ms`;
  const beforeMib = median(runs.map((run) => run.beforeMib));
  return [
    row(
      `${what}: longest stop of the event loop`,
      "ms",
      runs.map(({ longestMs }) => longestMs),
      GOAL_MS,
      detail,
    ),
    row(
      `${what}: resident afterwards`,
      "MiB",
      runs.map(({ residentMib }) => residentMib),
      null,
      `${beforeMib.toFixed(0)} MiB before`,
    ),
  ];
}

/** Uses a server of its own, without the memory that an earlier run left behind. */
async function once({ sockets, markets, levels }: Size): Promise<Measured> {
  const load = { MARKETS: String(markets), LEVELS: String(levels) };
  const server = await startChild("load/snapshot-server.child.js", load, [], 60_000);
  try {
    const { port, controlPort } = JSON.parse(server.firstLine) as { port: number; controlPort: number };
    const before = await costSoFar(controlPort);
    const readers = await startChild(
      "load/snapshot-readers.child.js",
      { ...load, PORT: String(port), SOCKETS: String(sockets) },
      [],
      60_000,
    );
    const cost = await costSoFar(controlPort);
    await readers.stop();
    return { ...(JSON.parse(readers.firstLine) as SnapshotRun), ...cost, beforeMib: before.residentMib };
  } finally {
    await server.stop();
  }
}

function costSoFar(controlPort: number): Promise<SnapshotCost> {
  return new Promise((resolve, reject) => {
    let text = "";
    connect({ host: "127.0.0.1", port: controlPort })
      .on("data", (chunk: Buffer) => {
        text += chunk.toString();
      })
      .on("error", reject)
      .on("end", () => resolve(JSON.parse(text) as SnapshotCost));
  });
}

function row(what: string, unit: string, figures: number[], goal: number | null, detail: string): BenchRow {
  const ours = median(figures);
  return {
    what,
    unit,
    ours,
    peerName: "",
    peer: null,
    ratio: ours,
    goal: goal === null ? null : { kind: "atMost", value: goal },
    runCount: figures.length,
    detail,
  };
}
