/** Compares the rates of several sides over the same frames. The sides take turns, so that noise hits all alike. */
import { median } from "./stats.js";
import type { BenchRow } from "./types.js";

export interface Side {
  /** Frames that one run takes. */
  readonly frameCount: number;
  readonly run: () => unknown;
}

export interface PeerSide extends Side {
  readonly name: string;
  /** Least ratio of our rate to the peer's. */
  readonly goal: number;
}

/** Returns one row for each peer. The first round warms the compilers and is not counted. */
export function compareRates(
  what: string,
  runCount: number,
  ours: Side,
  peers: readonly PeerSide[],
  detail = "",
): BenchRow[] {
  const ourRates: number[] = [];
  const peerRates = peers.map((): number[] => []);
  for (let run = -1; run < runCount; run++) {
    const ourRate = framesPerSecond(ours);
    const rates = peers.map(framesPerSecond);
    if (run < 0) continue;
    ourRates.push(ourRate);
    for (const [index, rate] of rates.entries()) peerRates[index]?.push(rate);
  }
  return peers.map(({ name, goal }, index) => {
    const peer = median(peerRates[index] ?? []);
    return {
      what,
      unit: "frames/s",
      ours: median(ourRates),
      peerName: name,
      peer,
      ratio: median(ourRates) / peer,
      goal: { kind: "atLeast", value: goal },
      runCount,
      detail: index === 0 ? detail : "",
    };
  });
}

function framesPerSecond(side: Side): number {
  globalThis.gc?.();
  const startMs = performance.now();
  side.run();
  return (side.frameCount * 1000) / (performance.now() - startMs);
}
