/**
 * Server wallets as the service has them: both parties as they run (the service's sessions in a thread, the co-signer a
 * process of its own, TLS between them, both stores durable), against two plain signatures of the native library, which
 * is what one key in each place would cost.
 */
import { randomBytes } from "node:crypto";
import { createSystemClock } from "../../engine/domain/clock.js";
import { Owners } from "../../engine/domain/owner.js";
import { systemRandom } from "../../engine/domain/random.js";
import { secp256k1 } from "../../feeds/shared/sign/secp256k1.js";
import { type Custody, openCustody } from "../../gateway/app/custody.js";
import { createLogger } from "../../gateway/app/log.js";
import { makeThrowawayCustody } from "../../gateway/demo/throwaway-custody.js";
import { latencyText, median } from "../lib/stats.js";
import type { BenchRow, Scenario } from "../lib/types.js";

const PEER = "two native signatures";
const SIGN_MS = 60;
const CREATE_MS = 2_000;
const RUNS_BESIDE = 8;

export const custody: Scenario = {
  name: "custody",
  title: "Two-party signing",
  async run(context) {
    const [wallets, signatures] = context.smoke ? [2, 5] : [12, 200];
    const parts = await makeThrowawayCustody();
    const opened = await openCustody({
      ...{ config: parts.config, store: parts.store, ring: parts.ring, owners: new Owners(), instance: null },
      ...{ audit: { append: async () => {}, auditWrites: () => [] }, clock: createSystemClock(), random: systemRandom },
      ...{ logger: createLogger("silent"), logLevel: "silent" },
    });
    try {
      const alone = await rowsOf(opened, wallets, signatures);
      const beside: BenchRow[] = [];
      for (const count of [1, 2]) beside.push(...(await rowsBeside(opened, count, context.smoke ? 1 : RUNS_BESIDE)));
      return { rows: [...alone, ...beside], profile: [] };
    } finally {
      await opened.stop();
      await parts.remove();
    }
  },
};

async function rowsOf({ provider }: Custody, wallets: number, signatures: number): Promise<BenchRow[]> {
  const creations: number[] = [];
  let walletId = "";
  for (let index = 0; index < wallets; index++) {
    const startedMs = performance.now();
    ({ walletId } = await provider.create(`bench-${index}`, null));
    creations.push(performance.now() - startedMs);
  }
  const samples: number[] = [];
  for (let index = 0; index < signatures; index++) {
    const startedMs = performance.now();
    await provider.sign(walletId, "caller", { kind: "message", bytes: Buffer.from(`message ${index}`) });
    samples.push(performance.now() - startedMs);
  }
  const plain = median(plainPairs(signatures));
  const signed = median(samples);
  return [
    goalRow("a signature, both parties", samples, SIGN_MS),
    goalRow("a wallet, both parties, with its test signature", creations, CREATE_MS),
    {
      ...{ what: "a signature, both parties", unit: "ms", ours: signed, peerName: PEER, peer: plain, runCount: 1 },
      ...{ ratio: signed / plain, goal: null, detail: `${signatures} times each` },
    },
  ];
}

/** One caller signs with a wallet that is there, one signature behind the other, as long as `count` creations run. */
async function rowsBeside({ provider }: Custody, count: number, runs: number): Promise<BenchRow[]> {
  const { walletId } = await provider.create(`beside-${count}`, null);
  const signatures: number[] = [];
  const creations: number[] = [];
  let failedCount = 0;
  for (let run = 0; run < runs; run++) {
    let running = count;
    const created = Array.from({ length: count }, async (_, index) => {
      creations.push(await msOf(() => provider.create(`beside-${count}-${run}-${index}`, null)));
      running--;
    });
    while (running > 0) {
      const bytes = Buffer.from(`message ${run} ${signatures.length}`);
      const sign = () => provider.sign(walletId, "caller", { kind: "message", bytes });
      signatures.push(await msOf(() => sign().catch(() => failedCount++)));
    }
    await Promise.all(created);
  }
  const besides = count === 1 ? "one creation" : `${count} creations`;
  const failed = `${failedCount} failed`;
  return [
    plainRow(`the longest signature beside ${besides}`, Math.max(...signatures), signatures, failed),
    plainRow(`a creation, ${besides} beside signatures`, median([...creations]), creations, `${runs} runs`),
  ];
}

async function msOf(run: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}

/** ms of two signatures with two whole keys. */
function plainPairs(count: number): number[] {
  const keys = [randomBytes(32), randomBytes(32)];
  const out = new Uint8Array(64);
  return Array.from({ length: count }, () => {
    const digest = randomBytes(32);
    const startedMs = performance.now();
    for (const key of keys) secp256k1.sign(digest, key, out);
    return performance.now() - startedMs;
  });
}

function plainRow(what: string, ours: number, samples: readonly number[], note: string): BenchRow {
  return {
    ...{ what, unit: "ms", ours, peerName: "-", peer: null, ratio: ours, runCount: 1, goal: null },
    detail: `${samples.length} times, ${note}, ms ${latencyText([...samples])}`,
  };
}

function goalRow(what: string, samples: readonly number[], goalMs: number): BenchRow {
  const ours = median([...samples]);
  return {
    ...{ what, unit: "ms", ours, peerName: "the goal", peer: null, ratio: ours, runCount: 1 },
    ...{ goal: { kind: "atMost", value: goalMs }, detail: `${samples.length} times, ms ${latencyText([...samples])}` },
  };
}
