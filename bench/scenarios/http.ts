/**
 * HTTP routes against a bare uWebSockets.js server that answers the same bytes: ceilings with wrk, latency with
 * autocannon at a fixed rate. Both servers run all the time, in processes of their own; runs alternate between them.
 */
import autocannon from "autocannon";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { DEMO_CREDENTIALS } from "../sim/demo-accounts.js";
import { startChild } from "../lib/child.js";
import { median } from "../lib/stats.js";
import { profileGateway, startSystem } from "../lib/system.js";
import { type BenchRow, type Scenario, type ScenarioContext, type ScenarioResult, verdict } from "../lib/types.js";
import { type HttpLoad, type LoadTool, loadTool } from "../lib/http-load.js";

const [FIRST, SECOND] = ROUTABLE_VENUES;
const CONNECTIONS = 64;
const FIXED_RATE = 5_000;

/**
 * A few requests in a thousand are refused (DEPTH_INSUFFICIENT), rightly. The first venue publishes 20 levels now and
 * then, and its best price on every move. When that price falls through all 20 levels in between, only the size at the
 * best price is known until the next levels come.
 */
export const DRY_RUN_BODY = JSON.stringify({
  symbol: "BTC",
  direction: "LONG",
  size: "0.25",
  dryRun: true,
  preferredExchange: FIRST,
  credentials: { [FIRST]: DEMO_CREDENTIALS[FIRST] },
});

export const http: Scenario = {
  name: "http",
  title: "HTTP routes against a bare server with the same bytes",
  async run(context) {
    const tool = loadTool();
    if (tool.name !== "wrk")
      context.log("wrk is not installed (a Debian package of that name): autocannon drives, ceilings have no goal");
    const system = await startSystem();
    let result: ScenarioResult;
    try {
      result = await measure(context, tool, system.url);
    } finally {
      await system.stop();
    }
    if (context.smoke || result.rows.every((row) => verdict(row) !== "missed")) return result;
    const profile = await profileGateway({}, async ({ url }) => {
      await heatAccount(url);
      await tool.run({
        url: `${url}/api/trade/position/close`,
        connections: CONNECTIONS,
        seconds: 5,
        body: DRY_RUN_BODY,
      });
    });
    return { ...result, profile };
  },
};

async function measure(context: ScenarioContext, tool: LoadTool, url: string): Promise<ScenarioResult> {
  await heatAccount(url);
  const routes = await askRoutes(url);
  const rows: BenchRow[] = [];
  for (const route of [routes.ticker, routes.routing, routes.close]) rows.push(await ceiling(context, tool, route));
  rows.push(await latency(context, `GET ticker latency p99 at ${FIXED_RATE}/s (autocannon)`, routes.ticker));
  return { rows, profile: [] };
}

/** A request, with the answer that the bare server repeats. */
interface MeasuredRoute {
  readonly what: string;
  readonly url: string;
  readonly body?: string;
  readonly answer: Answer;
  /** Least share of the bare server's requests a second; null: reported only. */
  readonly goal: number | null;
}

async function askRoutes(url: string): Promise<Readonly<Record<"ticker" | "routing" | "close", MeasuredRoute>>> {
  const tickerUrl = `${url}/api/trading/${SECOND}/ticker/BTC`;
  const routingUrl = `${url}/api/trade/routing/BTC?side=SELL&size=0.25`;
  const closeUrl = `${url}/api/trade/position/close`;
  const ticker = await answerOf(tickerUrl);
  const routing = await answerOf(routingUrl);
  const close = await answerOf(closeUrl, DRY_RUN_BODY);
  if (!close.text.includes('"SIMULATED"')) throw new Error(`the dry run was refused: ${close.text.slice(0, 300)}`);
  return {
    ticker: { what: "GET ticker of one venue, 64 connections", url: tickerUrl, answer: ticker, goal: 0.9 },
    routing: {
      what: "GET routing decision (2 venues), 64 connections",
      url: routingUrl,
      answer: routing,
      goal: null,
    },
    close: {
      what: "POST close decision without the venue hop (dry run, account streamed), 64 connections",
      url: closeUrl,
      body: DRY_RUN_BODY,
      answer: close,
      goal: 0.6,
    },
  };
}

const JSON_TYPE = { "content-type": "application/json" };

/** A reply with its headers, for the bare server to repeat. */
interface Answer {
  readonly text: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Headers that the server library writes itself, on both sides. */
const OWN_HEADERS = new Set(["content-length", "transfer-encoding", "connection", "date", "keep-alive"]);

export async function answerOf(url: string, body?: string): Promise<Answer> {
  const response = await fetch(url, body === undefined ? {} : { method: "POST", headers: JSON_TYPE, body });
  const headers = [...response.headers].filter(([name]) => !OWN_HEADERS.has(name));
  return { text: await response.text(), headers };
}

export function bareServer(answer: Answer) {
  return startChild("peers/bare-server.child.js", {
    BARE_REPLY: answer.text,
    BARE_HEADERS: JSON.stringify(answer.headers),
  });
}

/** Sends dry runs until the account is streamed: from then on a decision reads no venue. */
export async function heatAccount(
  url: string,
  headersOf: (body: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  const body = JSON.stringify({
    symbol: "BTC",
    direction: "LONG",
    size: "0.01",
    dryRun: true,
    preferredExchange: FIRST,
    credentials: { [FIRST]: DEMO_CREDENTIALS[FIRST] },
  });
  for (let attempt = 0; attempt < 100; attempt++) {
    const reply = (await (
      await fetch(`${url}/api/trade/position/close`, {
        method: "POST",
        headers: { ...JSON_TYPE, ...headersOf(body) },
        body,
      })
    ).json()) as {
      data?: { execution?: { state?: string; timingMs?: { positions?: number } } };
    };
    const execution = reply.data?.execution;
    if (execution?.state !== "SIMULATED")
      throw new Error(`a dry run was refused: ${JSON.stringify(reply).slice(0, 300)}`);
    // A read of the venue takes longer than this even on loopback.
    if ((execution.timingMs?.positions ?? 1) < 0.3) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the account never came to be streamed");
}

async function ceiling(context: ScenarioContext, tool: LoadTool, route: MeasuredRoute): Promise<BenchRow> {
  const { what, url, body, answer, goal } = route;
  const bare = await bareServer(answer);
  const load = (target: string): HttpLoad => ({
    url: target,
    connections: CONNECTIONS,
    seconds: context.smoke ? 1 : 3,
    ...(body === undefined ? {} : { body }),
  });
  const ours: number[] = [];
  const peer: number[] = [];
  const runCount = context.smoke ? 1 : 5;
  let refusedCount = 0;
  try {
    for (let run = context.smoke ? 0 : -1; run < runCount; run++) {
      const ourResult = await tool.run(load(url));
      const bareResult = await tool.run(load(`http://127.0.0.1:${bare.firstLine}/x`));
      if (run < 0) continue;
      refusedCount += ourResult.non2xxCount;
      ours.push(ourResult.requestsPerSecond);
      peer.push(bareResult.requestsPerSecond);
    }
  } finally {
    await bare.stop();
  }
  return {
    what: `${what} (${tool.name})`,
    unit: "requests/s",
    ours: median(ours),
    peerName: "bare uWebSockets.js",
    peer: median(peer),
    ratio: median(ours) / median(peer),
    // A client that saturates before the servers do judges neither.
    goal: goal === null || tool.name !== "wrk" ? null : { kind: "atLeast", value: goal },
    runCount,
    detail: `${answer.text.length} bytes a body${refusedCount > 0 ? `, ${refusedCount} REFUSED` : ""}`,
  };
}

async function latency(context: ScenarioContext, what: string, { url, answer }: MeasuredRoute): Promise<BenchRow> {
  const bare = await bareServer(answer);
  const ours: number[] = [];
  const peer: number[] = [];
  let detail = "";
  const runCount = context.smoke ? 1 : 5;
  try {
    for (let run = 0; run < runCount; run++) {
      const ourResult = await cannon(context, url);
      const bareResult = await cannon(context, `http://127.0.0.1:${bare.firstLine}/x`);
      ours.push(ourResult.latency.p99);
      peer.push(bareResult.latency.p99);
      const { p50, p90, p99, p99_9, max } = ourResult.latency;
      detail = `ms p50/90/99/99.9/max ${p50}/${p90}/${p99}/${p99_9}/${max}; bare ${bareResult.latency.p50}/${bareResult.latency.p90}/${bareResult.latency.p99}/${bareResult.latency.p99_9}/${bareResult.latency.max}`;
    }
  } finally {
    await bare.stop();
  }
  // autocannon reports whole milliseconds. +1 keeps a ratio of two zeros meaningful.
  return {
    what,
    unit: "ms",
    ours: median(ours),
    peerName: "bare uWebSockets.js",
    peer: median(peer),
    ratio: (median(ours) + 1) / (median(peer) + 1),
    goal: null,
    runCount,
    detail,
  };
}

function cannon(context: ScenarioContext, url: string): Promise<autocannon.Result> {
  return autocannon({ url, connections: 32, duration: context.smoke ? 1 : 4, overallRate: FIXED_RATE });
}
