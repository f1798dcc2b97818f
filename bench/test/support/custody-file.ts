/** What each file of tests of server wallets has: local venues and a bench of its own, and a text that a wallet signs. */
import { recoverMessageAddress } from "viem";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import { CustodyBench, outcomeOf, toldBy } from "./custody-bench.js";
import { type LocalPair, startLocalPair } from "./local-pair.js";

export const MESSAGE = "a text to sign";

/**
 * Called outside of all tests: starts the venues of this seed before the first, hands the bench to `take`, and ends after
 * each test what that started.
 */
export function benchOfFile(seed: number, take: (bench: CustodyBench) => void): void {
  let pair: LocalPair;
  let bench: CustodyBench;
  // A ceiling: each test starts several processes, and a shared machine may take its cores away for a while.
  vi.setConfig({ testTimeout: 300_000 });
  beforeAll(async () => {
    pair = await startLocalPair({ seed, symbols: ["BTC", "ETH"] });
    bench = new CustodyBench(pair);
    take(bench);
  }, 240_000);
  afterEach(() => bench.end());
  afterAll(async () => {
    bench.dispose();
    await pair.stop();
  });
}

/** Who signed MESSAGE, by viem. */
export function signerOf(reply: Reply): Promise<string> {
  expect(outcomeOf(reply)).toEqual([200, "ok"]);
  return recoverMessageAddress({ message: MESSAGE, signature: toldBy(reply).data?.signature ?? "0x" });
}
