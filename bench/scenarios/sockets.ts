/**
 * 10 000 authenticated idle sockets on a gateway in signed mode: what each weighs, what its heartbeats cost, and what a
 * keyed GET beside them takes. Needs about 10 100 open files in two processes (`ulimit -n`).
 */
import autocannon from "autocannon";
import { anonymousMibOf, type BenchChild, startChild } from "../lib/child.js";
import {
  type BenchKey,
  cpuMsOf,
  signedHeaders,
  type SignedGateway,
  startSignedGateway,
} from "../lib/signed-gateway.js";
import { median } from "../lib/stats.js";
import { startSystem } from "../lib/system.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";

const SOCKETS = 10_000;
const SMOKE_SOCKETS = 200;
/** So that each socket's timestamp is its own. */
const KEYS = 10;
const KIB_PER_MIB = 1_024;
const FIXED_RATE = 2_000;
const TARGET = "/api/limits";
const HEARTBEAT_S = 5;

export const sockets: Scenario = {
  name: "sockets",
  title: "Authenticated idle sockets: memory, heartbeats, and a keyed GET beside them",
  async run(context) {
    const system = await startSystem();
    const bare = await startChild("peers/bare-publish.child.js", {}, [], 30_000, { isProbed: true });
    const gateway = await startSignedGateway(system.venues, {
      STREAM_UNAUTHENTICATED_PER_ADDRESS_MAX: "1000",
    });
    try {
      return { rows: await measure(context, gateway, bare), profile: [] };
    } finally {
      await gateway.stop();
      await bare.stop();
      await system.stop();
    }
  },
};

async function measure(context: ScenarioContext, gateway: SignedGateway, bare: BenchChild): Promise<BenchRow[]> {
  const count = context.smoke ? SMOKE_SOCKETS : SOCKETS;
  const keys: BenchKey[] = [];
  while (keys.length < KEYS) keys.push(await gateway.createKey());
  const [key] = keys;
  if (key === undefined) throw new Error("no key");
  const { port: barePort } = JSON.parse(bare.firstLine) as { port: number };
  const peer = await weigh(bare, { PORT: String(barePort), SOCKETS: String(count) });
  await peer.readers.stop();
  const idleSeconds = context.smoke ? 2 : 4 * HEARTBEAT_S;
  const alone = await beside(context, gateway, key);
  const restMs = await idleCpuMs(gateway.pid, idleSeconds);
  const ours = await weigh(gateway.child, {
    PORT: String(gateway.port),
    SOCKETS: String(count),
    KEYS: JSON.stringify(keys),
  });
  try {
    const heldMs = await idleCpuMs(gateway.pid, idleSeconds);
    const held = await beside(context, gateway, key);
    const perHeartbeatUs = ((heldMs - restMs) * 1_000 * HEARTBEAT_S) / (count * idleSeconds);
    return [
      {
        ...{ what: `${count} authenticated idle sockets, memory of each`, unit: "KiB", ours: ours.kibEach },
        ...{ peerName: "bare uWebSockets.js, no key", peer: peer.kibEach, ratio: ours.kibEach / peer.kibEach },
        ...{
          goal: null,
          runCount: 1,
          detail: `${ours.beforeMib.toFixed(0)} MiB before, ${ours.afterMib.toFixed(0)} with them`,
        },
      },
      {
        ...{ what: `CPU of the gateway while ${count} sockets idle`, unit: "ms/s", ours: heldMs / idleSeconds },
        ...{ peerName: "the same without sockets", peer: restMs / idleSeconds, ratio: heldMs / restMs },
        ...{
          goal: null,
          runCount: 1,
          detail: `${perHeartbeatUs.toFixed(1)} µs a socket and heartbeat (each ${HEARTBEAT_S} s)`,
        },
      },
      {
        ...{ what: `keyed GET p99 at ${FIXED_RATE}/s beside ${count} sockets`, unit: "ms", ours: held.p99Ms },
        ...{ peerName: "the same without sockets", peer: alone.p99Ms, ratio: (held.p99Ms + 1) / (alone.p99Ms + 1) },
        ...{ goal: null, runCount: held.runCount, detail: `ms p50/p99/max ${held.detail}; without ${alone.detail}` },
      },
    ];
  } finally {
    await ours.readers.stop();
  }
}

/** Memory of a server before and after the sockets, which stay. */
async function weigh(server: BenchChild, environment: Record<string, string>) {
  const beforeMib = await anonymousMibOf(server);
  const readers = await startChild("load/stream-readers.child.js", environment, [], 120_000);
  const afterMib = await anonymousMibOf(server);
  const kibEach = ((afterMib - beforeMib) * KIB_PER_MIB) / Number(environment["SOCKETS"]);
  return { readers, beforeMib, afterMib, kibEach };
}

async function idleCpuMs(pid: number, seconds: number): Promise<number> {
  const before = cpuMsOf(pid);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  return cpuMsOf(pid) - before;
}

async function beside(context: ScenarioContext, gateway: SignedGateway, key: BenchKey) {
  const p99s: number[] = [];
  let detail = "";
  const runCount = context.smoke ? 1 : 5;
  for (let run = -1; run < runCount; run++) {
    const result = await autocannon({
      ...{ url: gateway.url + TARGET, connections: 16, duration: context.smoke ? 1 : 4, overallRate: FIXED_RATE },
      headers: signedHeaders(key, { method: "GET", target: TARGET }),
    });
    if (result.non2xx > 0) throw new Error(`${result.non2xx} keyed requests were refused`);
    // The first run warms up.
    if (run < 0) continue;
    p99s.push(result.latency.p99);
    detail = `${result.latency.p50}/${result.latency.p99}/${result.latency.max}`;
  }
  return { p99Ms: median(p99s), detail, runCount };
}
