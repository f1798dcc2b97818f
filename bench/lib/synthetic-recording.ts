/**
 * A seeded tape in the depth wire form, for machines without the recordings. The scenario runs on it, and its figures
 * carry a label.
 */
import { createSeededRandom } from "../../engine/domain/random.js";
import type { RecordedFrame } from "./recording.js";

const MID_TICKS = 6_000_000;
const SIDE_LEVELS = 500;

export function generateRecording(diffCount: number, seed = 7): RecordedFrame[] {
  const random = createSeededRandom(seed);
  const frames: RecordedFrame[] = [];
  let lastId = 1_000_000;
  const levels = (sign: 1 | -1) =>
    Array.from({ length: SIDE_LEVELS }, (_, index) => [price(MID_TICKS + sign * (index + 1) * 10), "1.500"]);
  frames.push(toFrame("snapshot", { lastUpdateId: lastId, E: 1, T: 1, bids: levels(-1), asks: levels(1) }));
  for (let index = 0; index < diffCount; index++) {
    const prevId = lastId;
    lastId += 1 + Math.floor(random.next() * 500);
    const side = (sign: 1 | -1) =>
      Array.from({ length: 1 + Math.floor(random.next() * 30) }, () => {
        const distance = 1 + Math.floor(random.next() ** 3 * SIDE_LEVELS);
        return [price(MID_TICKS + sign * distance * 10), (random.next() * 9).toFixed(3)];
      });
    // The first diff must cover the snapshot.
    const firstId = index === 0 ? prevId : prevId + 1;
    frames.push(
      toFrame("depth", {
        stream: "btcusdt@depth@0ms",
        data: {
          e: "depthUpdate",
          E: index,
          T: index,
          s: "BTCUSDT",
          U: firstId,
          u: lastId,
          pu: prevId,
          b: side(-1),
          a: side(1),
        },
      }),
    );
  }
  return frames;
}

function price(ticks: number): string {
  return (ticks / 100).toFixed(2);
}

function toFrame(kind: RecordedFrame["kind"], content: object): RecordedFrame {
  const text = JSON.stringify(content);
  return { kind, text, bytes: Buffer.from(text) };
}
