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

export const custody: Scenario = {
  name: "custody",
  title: "Two-party signing",
  async run(context) {
    const [wallets, signatures] = context.smoke ? [2, 5] : [12, 200];
    const parts = await makeThrowawayCustody();
    const opened = await openCustody({
      ...{ config: parts.config, store: parts.store, ring: parts.ring, owners: new Owners() },
      ...{ audit: { append: async () => {}, auditWrites: () => [] }, clock: createSystemClock(), random: systemRandom },
      ...{ logger: createLogger("silent"), logLevel: "silent" },
    });
    try {
      return { rows: await rowsOf(opened, wallets, signatures), profile: [] };
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

function goalRow(what: string, samples: readonly number[], goalMs: number): BenchRow {
  const ours = median([...samples]);
  return {
    ...{ what, unit: "ms", ours, peerName: "the goal", peer: null, ratio: ours, runCount: 1 },
    ...{ goal: { kind: "atMost", value: goalMs }, detail: `${samples.length} times, ms ${latencyText([...samples])}` },
  };
}
