/**
 * TLS handshakes of the gateway beside two bare servers with the same certificate (P-256), cipher and curve: full ones and
 * resumed ones, and what requests on connections that stay open take meanwhile. All three run all the time; they are
 * measured by turns, in an order that goes round.
 *
 * The client is a process of its own and takes more of a core than a server does: the CPU time of the server for one
 * handshake says how many it could do.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { makeCertificate } from "../../gateway/test/certificates.js";
import { type BenchChild, startChild } from "../lib/child.js";
import { cpuMsOf, signedHeaders, type SignedGateway, startSignedGateway } from "../lib/signed-gateway.js";
import { median } from "../lib/stats.js";
import { startSystem } from "../lib/system.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import type { RequestsResult } from "../load/tls-requests.child.js";
import type { TlsResult } from "../load/tls-client.child.js";
import { answerOf } from "./http.js";

const AT_ONCE = 8;
const REQUESTS_PER_SECOND = 200;
const REQUEST_CONNECTIONS = 4;
const UWS = "bare uWebSockets.js SSLApp";
const NODE = "bare node:https";
const [, SECOND] = ROUTABLE_VENUES;
const TARGET = `/api/trading/${SECOND}/ticker/BTC`;
/** The flood begins before the first request is measured, and ends after the last. */
const FLOOD_MORE_S = 1;

interface Server {
  readonly port: number;
  readonly pid: number;
  /** CPU time that it takes while nobody asks, in ms a ms. */
  readonly restShare: number;
  headers(): Readonly<Record<string, string>>;
}

interface Servers {
  readonly ours: Server;
  readonly uws: Server;
  readonly node: Server;
}

type Side = keyof Servers;
const SIDES: readonly Side[] = ["ours", "uws", "node"];

export const tls: Scenario = {
  name: "tls",
  title: "TLS handshakes, and requests beside them",
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), "unwind-bench-tls-"));
    const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
    try {
      const { certFile, keyFile } = makeCertificate(folder, "bench", 1);
      const files = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
      const system = await startSystem();
      stops.push(() => system.stop());
      const gateway = await startSignedGateway(system.venues, files);
      stops.push(() => gateway.stop());
      const environment = { ...files, BARE_REPLY: (await answerOf(system.url + TARGET)).text };
      const uws = await startChild("peers/bare-tls.child.js", environment);
      stops.push(() => uws.stop());
      const node = await startChild("peers/node-tls.child.js", environment);
      stops.push(() => node.stop());
      const servers = { ours: await serverOf(context, gateway), uws: bareServer(uws), node: bareServer(node) };
      const rows: BenchRow[] = [];
      for (const resumes of [false, true])
        rows.push(...(await rates(context, servers, resumes)), ...(await latencies(context, servers, resumes)));
      rows.push(...(await beside(context, servers)));
      return { rows, profile: [] };
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

async function serverOf(context: ScenarioContext, { port, pid, createKey }: SignedGateway): Promise<Server> {
  const key = await createKey();
  const restMs = (context.smoke ? 0.5 : 5) * 1_000;
  const before = cpuMsOf(pid);
  await new Promise((resolve) => setTimeout(resolve, restMs));
  const restShare = (cpuMsOf(pid) - before) / restMs;
  return { port, pid, restShare, headers: () => signedHeaders(key, { method: "GET", target: TARGET }) };
}

function bareServer({ firstLine, process }: BenchChild): Server {
  return { port: Number(firstLine), pid: process.pid ?? 0, restShare: 0, headers: () => ({}) };
}

/** Figures of each side, run by run. The first round warms both ends and is not counted. */
async function byTurns<T>(
  context: ScenarioContext,
  measure: (server: Server) => Promise<T>,
  servers: Servers,
): Promise<{ readonly runCount: number; readonly runs: Readonly<Record<Side, readonly T[]>> }> {
  const runs: Record<Side, T[]> = { ours: [], uws: [], node: [] };
  const runCount = context.smoke ? 1 : 5;
  for (let run = context.smoke ? 0 : -1; run < runCount; run++) {
    for (let turn = 0; turn < SIDES.length; turn++) {
      const side = SIDES[(run + 1 + turn) % SIDES.length] ?? "ours";
      const measured = await measure(servers[side]);
      if (run >= 0) runs[side].push(measured);
    }
  }
  return { runCount, runs };
}

interface Measured extends TlsResult {
  readonly perSecond: number;
  readonly serverUs: number;
}

async function rates(context: ScenarioContext, servers: Servers, resumes: boolean): Promise<BenchRow[]> {
  const seconds = context.smoke ? 0.2 : 2;
  const { runs, runCount } = await byTurns(
    context,
    (server) => handshakes(server, { resumes, atOnce: AT_ONCE, seconds }),
    servers,
  );
  const of = (side: Side, name: "perSecond" | "serverUs") => median(runs[side].map((run) => run[name]));
  const what = `${resumes ? "resumed" : "full"} handshakes, ${AT_ONCE} at once`;
  const perSecond = { ...{ what, unit: "handshakes/s", ours: of("ours", "perSecond") }, ...{ goal: null, runCount } };
  const clientShare = median(SIDES.flatMap((side) => runs[side].map((run) => run.cpuMs / run.elapsedMs)));
  const detail = `${runs.ours[0]?.agreed ?? ""}; the client takes ${(clientShare * 100).toFixed(0)} % of a core`;
  const [oursUs, uwsUs, nodeUs] = [of("ours", "serverUs"), of("uws", "serverUs"), of("node", "serverUs")];
  return [
    { ...perSecond, ...against(UWS, perSecond.ours, of("uws", "perSecond")), detail },
    { ...perSecond, ...against(NODE, perSecond.ours, of("node", "perSecond")), detail: "" },
    {
      ...{ what: `CPU of the server, ${what}`, unit: "µs each", ours: oursUs, ...against(UWS, oursUs, uwsUs) },
      ...{ goal: null, runCount, detail: `without that of the books; ${NODE} ${nodeUs.toFixed(0)} µs` },
    },
  ];
}

async function latencies(context: ScenarioContext, servers: Servers, resumes: boolean): Promise<BenchRow[]> {
  const seconds = context.smoke ? 0.2 : 2;
  const { runs, runCount } = await byTurns(
    context,
    (server) => handshakes(server, { resumes, atOnce: 1, seconds }),
    servers,
  );
  return (["p50Ms", "p99Ms"] as const).map((name) => {
    const [ours, uws, node] = SIDES.map((side) => median(runs[side].map((run) => run[name]))) as [
      number,
      number,
      number,
    ];
    const what = `${resumes ? "resumed" : "full"} handshake, one after the other, ${name.slice(0, 3)}`;
    return {
      ...{ what, unit: "ms", ours, ...against(UWS, ours, uws), goal: null, runCount },
      detail: `from the connect on; ${NODE} ${node.toFixed(2)} ms`,
    };
  });
}

interface Beside {
  readonly restP99Ms: number;
  readonly floodP99Ms: number;
  readonly floodMaxMs: number;
  readonly floodPerSecond: number;
}

/** Requests on connections that stay open, alone and beside full handshakes. */
async function beside(context: ScenarioContext, servers: Servers): Promise<BenchRow[]> {
  const seconds = context.smoke ? 0.3 : 3;
  const measure = async (server: Server): Promise<Beside> => {
    const rest = await requests(server, seconds);
    const flooding = handshakes(server, { resumes: false, atOnce: AT_ONCE, seconds: seconds + FLOOD_MORE_S });
    const [flood, flooded] = await Promise.all([flooding, requests(server, seconds)]);
    const { p99Ms, maxMs } = flooded;
    return { restP99Ms: rest.p99Ms, floodP99Ms: p99Ms, floodMaxMs: maxMs, floodPerSecond: flood.perSecond };
  };
  const { runs, runCount } = await byTurns(context, measure, servers);
  const of = (side: Side, name: keyof Beside) => median(runs[side].map((run) => run[name]));
  const ours = of("ours", "floodP99Ms");
  const what = `GET ticker on open connections, ${REQUESTS_PER_SECOND}/s, beside full handshakes, p99`;
  const row = { what, unit: "ms", ours, goal: null, runCount };
  const floods = `${of("ours", "floodPerSecond").toFixed(0)} handshakes/s beside them, the bare ones ${of("uws", "floodPerSecond").toFixed(0)} and ${of("node", "floodPerSecond").toFixed(0)}`;
  return [
    { ...row, ...against("the same without handshakes", ours, of("ours", "restP99Ms")), detail: floods },
    {
      ...{ ...row, ...against(UWS, ours, of("uws", "floodP99Ms")) },
      detail: `slowest ${of("ours", "floodMaxMs").toFixed(1)} ms, bare ${of("uws", "floodMaxMs").toFixed(1)}; ours is signed, the bare one is not and does nothing`,
    },
    { ...row, ...against(NODE, ours, of("node", "floodP99Ms")), detail: "" },
  ];
}

function against(peerName: string, ours: number, peer: number) {
  return { peerName, peer, ratio: ours / peer };
}

interface Load {
  readonly resumes: boolean;
  readonly atOnce: number;
  readonly seconds: number;
}

async function handshakes(server: Server, { resumes, atOnce, seconds }: Load): Promise<Measured> {
  const before = cpuMsOf(server.pid);
  const startMs = performance.now();
  const client = await startChild("load/tls-client.child.js", {
    ...{ PORT: String(server.port), AT_ONCE: String(atOnce), SECONDS: String(seconds), RESUMES: resumes ? "1" : "0" },
  });
  const result = JSON.parse(client.firstLine) as TlsResult;
  const cpuMs = cpuMsOf(server.pid) - before - server.restShare * (performance.now() - startMs);
  // A ticket that is not taken, or one that nobody asked for, would be another measurement.
  if (result.count === 0 || result.resumedCount !== (resumes ? result.count : 0))
    throw new Error(`${result.resumedCount} of ${result.count} handshakes were resumed`);
  return {
    ...result,
    perSecond: (result.count * 1_000) / result.elapsedMs,
    serverUs: (cpuMs * 1_000) / result.totalCount,
  };
}

async function requests(server: Server, seconds: number): Promise<RequestsResult> {
  const client = await startChild("load/tls-requests.child.js", {
    ...{ PORT: String(server.port), TARGET, HEADERS: JSON.stringify(server.headers()), SECONDS: String(seconds) },
    ...{ RATE: String(REQUESTS_PER_SECOND), CONNECTIONS: String(REQUEST_CONNECTIONS) },
  });
  return JSON.parse(client.firstLine) as RequestsResult;
}
