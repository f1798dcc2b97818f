/**
 * What it costs to prove a request: the same route signed, in signed mode, and unsigned, in public mode. Two gateways on
 * the same local venues, each in a process of its own; runs alternate. Signatures are made before a run: the load is of
 * the server. Every write is signed once, since a signature is accepted once.
 */
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { type LoadTool, loadTool, type PreparedHeaders } from "../lib/http-load.js";
import { type BenchKey, signedHeaders, type SignedGateway, startSignedGateway } from "../lib/signed-gateway.js";
import { median } from "../lib/stats.js";
import { startSystem } from "../lib/system.js";
import type { BenchRow, Scenario, ScenarioContext } from "../lib/types.js";
import { DRY_RUN_BODY, heatAccount } from "./http.js";

const [, SECOND] = ROUTABLE_VENUES;
const CONNECTIONS = 64;
const CLOSE = "/api/trade/position/close";
/** More than a run of a second sends, and fewer than a key is remembered by (32,768). */
const WRITES_PER_RUN = 32_000;
const WINDOW_MIN = 20_000;
/**
 * A book of the local venues is too thin for the close for half a second at times; dry runs are then refused, rightly,
 * and a short run that meets such a time says little: it is taken again.
 */
const REFUSED_SHARE_MAX = 0.02;
const TAKEN_AGAIN_MAX = 6;

interface Compared {
  readonly what: string;
  readonly target: string;
  readonly body: string | null;
}

const COMPARED: readonly Compared[] = [
  { what: "GET ticker of one venue", target: `/api/trading/${SECOND}/ticker/BTC`, body: null },
  { what: "POST close decision (dry run, account streamed)", target: CLOSE, body: DRY_RUN_BODY },
];

export const signed: Scenario = {
  name: "signed",
  title: "A signed request against the same unsigned",
  async run(context) {
    const tool = loadTool();
    const system = await startSystem();
    try {
      const gateway = await startSignedGateway(system.venues);
      try {
        const key = await gateway.createKey();
        await heatAccount(system.url);
        await heatAccount(gateway.url, (body) => signedHeaders(key, { method: "POST", target: CLOSE, body }));
        const rows: BenchRow[] = [];
        for (const compared of COMPARED) rows.push(await compare(context, tool, compared, gateway, system.url));
        return { rows, profile: [] };
      } finally {
        await gateway.stop();
      }
    } finally {
      await system.stop();
    }
  },
};

async function compare(
  context: ScenarioContext,
  tool: LoadTool,
  { what, target, body }: Compared,
  gateway: SignedGateway,
  publicUrl: string,
): Promise<BenchRow> {
  const common = {
    connections: CONNECTIONS,
    seconds: context.smoke || body !== null ? 1 : 3,
    ...(body === null ? {} : { body }),
  };
  const ours: number[] = [];
  const peer: number[] = [];
  const runCount = context.smoke ? 1 : 5;
  let takenAgainCount = 0;
  for (let run = context.smoke ? 0 : -1; run < runCount; run++) {
    const key = await gateway.createKey();
    const headers = preparedFor(key, target, body);
    const proven = await tool.run({ ...common, url: gateway.url + target, headers });
    // The client does the same work for both, but for the names that the server looks at.
    const unsigned = await tool.run({ ...common, url: publicUrl + target, headers: headers.map(renamed) });
    const refusedCount = Math.max(proven.non2xxCount, unsigned.non2xxCount);
    if (refusedCount > REFUSED_SHARE_MAX * proven.requestsPerSecond * common.seconds) {
      if (++takenAgainCount > TAKEN_AGAIN_MAX) throw new Error(`${refusedCount} requests of a run were refused`);
      run--;
      continue;
    }
    if (run < 0) continue;
    ours.push(proven.requestsPerSecond);
    peer.push(unsigned.requestsPerSecond);
  }
  const [oursMedian, peerMedian] = [median(ours), median(peer)];
  const addedUs = 1e6 / oursMedian - 1e6 / peerMedian;
  return {
    ...{ what: `${what}, ${CONNECTIONS} connections (${tool.name})`, unit: "requests/s", ours: oursMedian },
    ...{ peerName: "the same unsigned, in public mode", peer: peerMedian, ratio: oursMedian / peerMedian },
    ...{ goal: null, runCount, detail: `${addedUs.toFixed(1)} µs more a request; ${takenAgainCount} runs taken again` },
  };
}

/** One set of headers for reads, which may be repeated; one for each write. */
function preparedFor(key: BenchKey, target: string, body: string | null): PreparedHeaders[] {
  if (body === null) return [signedHeaders(key, { method: "GET", target })];
  return Array.from({ length: WRITES_PER_RUN }, (_, index) =>
    signedHeaders(key, { method: "POST", target, body, window: String(WINDOW_MIN + index) }),
  );
}

function renamed(headers: PreparedHeaders): PreparedHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace("x-api-", "x-not-"), value]));
}
