/**
 * Depth frames as a tape: recorded where this machine has a recording, else generated from a seed around a walking
 * price.
 */
import { createSeededRandom } from "../../engine/domain/random.js";
import type { RecordedFrame } from "./recording.js";

export interface Tape {
  /** Kind of frames, for the report. */
  readonly what: string;
  readonly frames: readonly RecordedFrame[];
}

export interface WalkedBook<L> {
  readonly bids: readonly L[];
  readonly asks: readonly L[];
  readonly timeMs: number;
}

/** Frames of whole books; each differs from the one before. */
export function walkingBooks<L>(
  count: number,
  levelCount: number,
  level: (price: number, size: string, orders: number) => L,
): WalkedBook<L>[] {
  const random = createSeededRandom(11);
  let mid = 63_520;
  return Array.from({ length: count }, (_, index) => {
    mid += Math.floor(random.next() * 3) - 1;
    const side = (sign: 1 | -1) => {
      let price = mid;
      return Array.from({ length: levelCount }, () => {
        price += sign * (1 + Math.floor(random.next() * 6));
        return level(price, (0.00001 + random.next() * 4).toFixed(5), 1 + Math.floor(random.next() * 9));
      });
    };
    return { bids: side(-1), asks: side(1), timeMs: 1_790_000_000_000 + 50 * index };
  });
}

export function frameOf(kind: RecordedFrame["kind"], text: string): RecordedFrame {
  return { kind, text, bytes: Buffer.from(text) };
}
