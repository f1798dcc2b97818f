/** A chain over scripted endpoints on loopback, on a virtual clock that stands while a call is under way. */
import { onTestFinished } from "vitest";
import type { LogFields, Logger } from "../../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../../engine/domain/random.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../../engine/ports.js";
import { untilSettled } from "../../test/http-time.js";
import { EvmChain, type EvmChainOptions } from "../evm-chain.js";
import { connectRpc } from "../rpc-connection.js";
import { ScriptedChain } from "./scripted-chain.js";
import { type Reply, ScriptedEndpoint } from "./scripted-endpoint.js";

export const OPTIONS: CallOptions = { timeoutMs: 10_000, lane: "reconcile" };
const GWEI = 1_000_000_000n;
const TURNS_MAX = 100_000;

export interface LogLine {
  readonly event: string;
  readonly fields: LogFields | undefined;
}

export interface Harness {
  readonly chain: EvmChain;
  readonly endpoints: readonly ScriptedEndpoint[];
  /** What each of the endpoints tells of. */
  readonly chains: readonly ScriptedChain[];
  readonly clock: VirtualClock;
  readonly lines: readonly LogLine[];
  /** What the promise gives; time passes only while no call is under way. */
  settled<T>(promise: Promise<T>): Promise<T>;
  /** As above, where these calls are never answered: after they have arrived, so much time passes. */
  afterHang<T>(promise: Promise<T>, hasArrived: () => boolean, ms: number): Promise<T>;
}

export interface HarnessOptions {
  /** Default 100. */
  readonly heads: readonly number[];
  /** Default 3. */
  readonly confirmations?: number;
  readonly overrides?: Partial<EvmChainOptions>;
  /** Replaces answers of the endpoint of this index. */
  readonly replies?: Readonly<Record<number, Record<string, Reply>>>;
}

export async function startChain(options: HarnessOptions): Promise<Harness> {
  const { heads, confirmations = 3, overrides = {}, replies = {} } = options;
  const clock = new VirtualClock();
  const lines: LogLine[] = [];
  const log = (event: string, fields?: LogFields): void => void lines.push({ event, fields });
  const logger: Logger = { debug: null, info: log, warn: log, error: log };
  const chains = heads.map((head) => new ScriptedChain(head));
  const endpoints = await Promise.all(
    chains.map((one, index) => new ScriptedEndpoint({ ...one.replies(), ...replies[index] }).listen()),
  );
  const chain = new EvmChain({
    ...{ chainId: 56, confirmations, urls: endpoints.map(({ url }) => url) },
    gasLimits: { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 10n * GWEI },
    ...{ clock, random: createSeededRandom(1), logger },
    // Connecting is timed by the machine's own clock.
    connect: (url, place) =>
      connectRpc(url, {
        ...{ name: `chain.56.${place}`, callsPerMinute: 3_000, connectTimeoutMs: 60_000 },
        ...{ clock, random: createSeededRandom(1), logger },
      }),
    ...overrides,
  });
  onTestFinished(async () => {
    for (const endpoint of endpoints) endpoint.stop();
    const closed = chain.close(0);
    clock.advance(0);
    await closed;
  });
  return {
    ...{ chain, endpoints, chains, clock, lines },
    settled: (promise) => untilSettled(clock, promise),
    async afterHang(promise, hasArrived, ms) {
      while (!hasArrived()) await new Promise((resolve) => setImmediate(resolve));
      await clock.advanceAsync(ms);
      let isSettled = false;
      const settled = (): void => {
        isSettled = true;
      };
      promise.then(settled, settled);
      // The servers are in this process: in so many turns they have answered all that they will.
      for (let turn = 0; !isSettled; turn++) {
        if (turn > TURNS_MAX) throw new Error(`it still waits after ${ms} ms`);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return promise;
    },
  };
}
