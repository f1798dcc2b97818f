/**
 * One stream key to 1 000 sockets: the real server with its hub against a bare server that publishes the same bytes.
 * Both publish as fast as the readers take it, in processes of their own; the readers are a third process. After that,
 * the memory of 10 000 connections and 2 000 books in one process.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { type BenchChild, startChild } from "../lib/child.js";
import { topOfFolder } from "../lib/profile.js";
import { median } from "../lib/stats.js";
import { type BenchRow, type Scenario, type ScenarioContext, verdict } from "../lib/types.js";
import type { RunResult } from "../load/stream-readers.child.js";

const [FIRST] = ROUTABLE_VENUES;
const SOCKETS = 1_000;
const GOAL = 0.85;
const IDLE_SOCKETS = 10_000;
const BOOKS = 2_000;
const MEMORY_GOAL_MIB = 1_536;
const KIB_PER_MIB = 1_024;

type Topic = "ticker" | "book";

const SUBSCRIBE: Readonly<Record<Topic | "status", string>> = {
  ticker: `{"op":"subscribe","topic":"ticker","symbols":["BTC"],"exchanges":["${FIRST}"],"intervalMs":0}`,
  book: `{"op":"subscribe","topic":"book","symbols":["BTC"],"exchanges":["${FIRST}"],"depth":20,"intervalMs":0}`,
  status: '{"op":"subscribe","topic":"status"}',
};

export const fanout: Scenario = {
  name: "fanout",
  title: "Stream fan-out of one key, and what idle connections weigh",
  async run(context) {
    const rows: BenchRow[] = [];
    const profile: string[] = [];
    for (const topic of ["ticker", "book"] as const) {
      const row = await measure(topic, context);
      rows.push(row);
      if (verdict(row) === "missed" && !context.smoke) profile.push(...(await profileOf(topic)));
    }
    rows.push(await weigh(context));
    return { rows, profile };
  },
};

interface Publisher {
  readonly child: BenchChild;
  readonly port: number;
  readonly controlPort: number;
}

async function startPublisher(
  script: string,
  environment: Record<string, string>,
  nodeOptions: string[] = [],
): Promise<Publisher> {
  const child = await startChild(script, environment, [], 60_000, { nodeOptions });
  const { port, controlPort } = JSON.parse(child.firstLine) as { port: number; controlPort: number };
  return { child, port, controlPort };
}

async function run(publisher: Publisher, subscribe: string, sockets: number, seconds: number): Promise<RunResult> {
  const readers = await startChild(
    "load/stream-readers.child.js",
    {
      PORT: String(publisher.port),
      CONTROL_PORT: String(publisher.controlPort),
      SOCKETS: String(sockets),
      SUBSCRIBE: subscribe,
      SECONDS: String(seconds),
    },
    [],
    60_000,
  );
  await readers.stop();
  return JSON.parse(readers.firstLine) as RunResult;
}

async function measure(topic: Topic, context: ScenarioContext): Promise<BenchRow> {
  const sockets = context.smoke ? 50 : SOCKETS;
  const seconds = context.smoke ? 0.3 : 1.5;
  const runCount = context.smoke ? 1 : 5;
  const environment = { SOCKETS: String(sockets), TOPIC: topic };
  const ours = await startPublisher("load/stream-server.child.js", environment);
  const results: { readonly ours: RunResult[]; readonly bare: RunResult[] } = { ours: [], bare: [] };
  try {
    // The first run warms up, and its sample is what the bare server sends.
    const first = await run(ours, SUBSCRIBE[topic], sockets, seconds);
    const bare = await startPublisher("peers/bare-publish.child.js", { ...environment, BARE_FRAME: first.sample });
    try {
      await run(bare, "", sockets, seconds);
      for (let index = 0; index < runCount; index++) {
        results.ours.push(await run(ours, SUBSCRIBE[topic], sockets, seconds));
        results.bare.push(await run(bare, "", sockets, seconds));
      }
    } finally {
      await bare.child.stop();
    }
    return rowOf(topic, sockets, runCount, first.sample, results);
  } finally {
    await ours.child.stop();
  }
}

function rowOf(
  topic: Topic,
  sockets: number,
  runCount: number,
  sample: string,
  results: { readonly ours: RunResult[]; readonly bare: RunResult[] },
): BenchRow {
  if (!sample.startsWith('{"type":"update"')) throw new Error(`no update was sent: ${sample.slice(0, 200)}`);
  const rate = ({ frameCount, elapsedMs }: RunResult) => (frameCount * 1_000) / elapsedMs;
  const cost = ({ cpuMs, frameCount }: RunResult) => (cpuMs * 1_000) / frameCount;
  const readerLoad = ({ readerCpuMs, elapsedMs }: RunResult) => (100 * readerCpuMs) / elapsedMs;
  const ours = median(results.ours.map(rate));
  const bare = median(results.bare.map(rate));
  const figures = (measureOf: (result: RunResult) => number, digits: number) =>
    `${median(results.ours.map(measureOf)).toFixed(digits)}/${median(results.bare.map(measureOf)).toFixed(digits)}`;
  return {
    what: `updates of one ${topic} key delivered to ${sockets} sockets`,
    unit: "messages/s",
    ours,
    peerName: "bare uWS publish",
    peer: bare,
    ratio: ours / bare,
    goal: { kind: "atLeast", value: GOAL },
    runCount,
    detail: `${sample.length} bytes a frame; ours/bare: server µs of CPU a message ${figures(cost, 2)}, readers' process ${figures(readerLoad, 0)} % of a core`,
  };
}

/** Shows where our server spends its time. This is a run of its own, because the profiler would distort the figures. */
async function profileOf(topic: Topic): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "unwind-profile-"));
  const options = ["--cpu-prof", `--cpu-prof-dir=${folder}`];
  const ours = await startPublisher("load/stream-server.child.js", { SOCKETS: String(SOCKETS), TOPIC: topic }, options);
  try {
    await run(ours, SUBSCRIBE[topic], SOCKETS, 3);
  } finally {
    await ours.child.stop();
  }
  const top = topOfFolder(folder, 8);
  rmSync(folder, { recursive: true, force: true });
  return top.map((line) => `${topic}: ${line}`);
}

/** Measures the resident memory of the server with its books, before and after the connections. */
async function weigh(context: ScenarioContext): Promise<BenchRow> {
  const sockets = context.smoke ? 200 : IDLE_SOCKETS;
  const books = context.smoke ? 20 : BOOKS;
  const server = await startPublisher("load/stream-server.child.js", { SOCKETS: "1", BOOKS: String(books) }, [
    "--expose-gc",
  ]);
  try {
    const beforeMib = residentMib(server.child);
    const readers = await startChild(
      "load/stream-readers.child.js",
      { PORT: String(server.port), SOCKETS: String(sockets), SUBSCRIBE: SUBSCRIBE.status },
      [],
      60_000,
    );
    const afterMib = residentMib(server.child);
    await readers.stop();
    const kibEach = ((afterMib - beforeMib) * KIB_PER_MIB) / sockets;
    return {
      what: `server with ${books} books of 1 000 levels a side and ${sockets} subscribed sockets, resident`,
      unit: "MiB",
      ours: afterMib,
      peerName: "",
      peer: null,
      ratio: afterMib,
      goal: { kind: "atMost", value: MEMORY_GOAL_MIB },
      runCount: 1,
      detail: `${beforeMib.toFixed(0)} MiB before the sockets, ${kibEach.toFixed(1)} KiB a socket`,
    };
  } finally {
    await server.child.stop();
  }
}

function residentMib({ process: { pid } }: BenchChild): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / KIB_PER_MIB;
}
