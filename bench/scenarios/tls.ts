/**
 * TLS handshakes of the gateway against a bare server with the same certificate (P-256): new sessions, and resumed ones.
 * The client is a process of its own and takes more of a core than the server does, so the CPU time of the server for
 * one handshake says more than the handshakes a second.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../gateway/test/certificates.js";
import { startChild } from "../lib/child.js";
import { cpuMsOf, startSignedGateway } from "../lib/signed-gateway.js";
import { median } from "../lib/stats.js";
import { startSystem } from "../lib/system.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import type { TlsResult } from "../load/tls-client.child.js";

const AT_ONCE = 8;
const PEER = "bare uWebSockets.js SSLApp";

interface Target {
  readonly port: number;
  readonly pid: number;
}

export const tls: Scenario = {
  name: "tls",
  title: "TLS handshakes",
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), "unwind-bench-tls-"));
    const { certFile, keyFile } = makeCertificate(folder, "bench", 1);
    const files = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
    const system = await startSystem();
    const bare = await startChild("peers/bare-tls.child.js", files);
    const gateway = await startSignedGateway(system.venues, files);
    try {
      const peer = { port: Number(bare.firstLine), pid: bare.process.pid ?? 0 };
      const rows: BenchRow[] = [];
      for (const resumes of [false, true]) rows.push(...(await compare(context, gateway, peer, resumes)));
      return { rows, profile: [] };
    } finally {
      await gateway.stop();
      await bare.stop();
      await system.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function compare(context: ScenarioContext, ours: Target, peer: Target, resumes: boolean): Promise<BenchRow[]> {
  const runCount = context.smoke ? 1 : 5;
  const seconds = context.smoke ? 1 : 3;
  const ourRuns: Measured[] = [];
  const peerRuns: Measured[] = [];
  const ourRest = await idleShare(ours.pid, seconds);
  for (let run = -1; run < runCount; run++) {
    const our = await handshakes(ours, resumes, seconds, ourRest);
    const their = await handshakes(peer, resumes, seconds, 0);
    if (run < 0) continue;
    ourRuns.push(our);
    peerRuns.push(their);
  }
  const of = (runs: readonly Measured[], name: keyof Measured) => median(runs.map((run) => run[name]));
  const common = { peerName: PEER, goal: null, runCount };
  const what = `${resumes ? "resumed" : "full"} handshakes, ${AT_ONCE} at once`;
  const [perSecond, peerPerSecond] = [of(ourRuns, "perSecond"), of(peerRuns, "perSecond")];
  const [cpuUs, peerCpuUs] = [of(ourRuns, "cpuUs"), of(peerRuns, "cpuUs")];
  const shares = `resumed ${percent(of(ourRuns, "resumedShare"))}, peer ${percent(of(peerRuns, "resumedShare"))}`;
  return [
    {
      ...{ ...common, what, unit: "handshakes/s", ours: perSecond, peer: peerPerSecond },
      ...{ ratio: perSecond / peerPerSecond, detail: `${shares}; the client is a Node process` },
    },
    {
      ...{ ...common, what: `CPU of the server, ${what}`, unit: "µs each", ours: cpuUs, peer: peerCpuUs },
      ...{ ratio: cpuUs / peerCpuUs, detail: "user and system time, without that of the books" },
    },
  ];
}

interface Measured {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly resumedShare: number;
}

/** CPU time of a process that is asked nothing, in ms a ms. */
async function idleShare(pid: number, seconds: number): Promise<number> {
  const before = cpuMsOf(pid);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  return (cpuMsOf(pid) - before) / (seconds * 1_000);
}

async function handshakes(
  { port, pid }: Target,
  resumes: boolean,
  seconds: number,
  restShare: number,
): Promise<Measured> {
  const before = cpuMsOf(pid);
  const client = await startChild("load/tls-client.child.js", {
    ...{ PORT: String(port), CONNECTIONS: String(AT_ONCE), SECONDS: String(seconds) },
    RESUMES: resumes ? "1" : "0",
  });
  const { count, resumedCount, elapsedMs } = JSON.parse(client.firstLine) as TlsResult;
  const cpuMs = cpuMsOf(pid) - before - restShare * elapsedMs;
  return { perSecond: (count * 1_000) / elapsedMs, cpuUs: (cpuMs * 1_000) / count, resumedShare: resumedCount / count };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}
