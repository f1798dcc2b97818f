/**
 * Signing one order: each venue's signer against other makers of the same signature. Ours includes the encoding of the
 * request; where the peer gets it ready-made, the row says so.
 */
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { profileTop } from "../lib/profile.js";
import { latencyText, median, percentile } from "../lib/stats.js";
import { type BenchRow, type Scenario, verdict } from "../lib/types.js";
import { VENUE_BENCHES } from "../venues/table.js";
import type { Signer, Signing } from "../venues/venue-bench.js";

export const sign: Scenario = {
  name: "sign",
  title: "Signing one order",
  async run(context) {
    const count = context.smoke ? 40 : 2_000;
    const runCount = context.smoke ? 1 : 5;
    const rows: BenchRow[] = [];
    const profile: string[] = [];
    for (const signing of await signings()) {
      const row = await compare(signing, count, runCount);
      rows.push(row);
      if (verdict(row) !== "missed" || context.smoke) continue;
      signing.prepare?.(count);
      profile.push(
        ...(await profileTop(async () => void (await timed(signing.ours, count)))).map(
          (line) => `${signing.what}: ${line}`,
        ),
      );
    }
    return { rows, profile };
  },
};

async function compare(signing: Signing, count: number, runCount: number): Promise<BenchRow> {
  const { ours, peer, prepare, goalUs, peerShare = 1 } = signing;
  const peerCount = Math.max(10, Math.round(count * peerShare));
  const ourMedians: number[] = [];
  const peerMedians: number[] = [];
  let last: number[] = [];
  for (let run = -1; run < runCount; run++) {
    prepare?.(count);
    const samples = await timed(ours, count);
    const peerSamples = await timed(peer, peerCount);
    if (run < 0) continue;
    last = samples;
    ourMedians.push(percentile(samples, 50));
    peerMedians.push(percentile(peerSamples, 50));
  }
  const oursUs = median(ourMedians);
  const peerUs = median(peerMedians);
  const detail = `peer ÷ ours ${(peerUs / oursUs).toFixed(1)}; ${count} signatures, µs ${latencyText(last)}; ${signing.detail}`;
  const common = { what: signing.what, unit: "µs", ours: oursUs, peerName: signing.peerName, peer: peerUs, runCount };
  return goalUs === null
    ? { ...common, ratio: oursUs / peerUs, goal: null, detail }
    : { ...common, ratio: oursUs, goal: { kind: "atMost", value: goalUs }, detail };
}

/** µs of each signature. */
async function timed(signer: Signer, count: number): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    const made = signer(index);
    if (made instanceof Promise) await made;
    samples.push((performance.now() - startMs) * 1_000);
  }
  return samples;
}

async function signings(): Promise<readonly Signing[]> {
  const all: Signing[] = [];
  for (const venue of ROUTABLE_VENUES) all.push(...(await VENUE_BENCHES[venue].signings()));
  return all;
}
