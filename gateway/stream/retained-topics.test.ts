import { expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { Feed, Image } from "./feed.js";
import { RING_AGE_MS } from "./frame-ring.js";
import { RetainedTopics } from "./retained-topics.js";
import { StreamKey } from "./stream-key.js";

interface Source {
  value: number;
  closedCount: number;
}

/** A key that shows a number, and was sent up to `seq`. */
function keyOf(text: string, source: Source, seq = 3): StreamKey {
  const open = (): Feed => {
    const image = (value: number): Image => ({
      snapshotText: () => `${value}`,
      updateText: () => `${value}`,
    });
    let shown = { value: source.value, image: image(source.value) };
    return {
      look() {
        if (shown.value !== source.value) shown = { value: source.value, image: image(source.value) };
        return shown.image;
      },
      drifted: () => shown.value !== source.value,
      close: () => void source.closedCount++,
    };
  };
  const key = new StreamKey({ text, intervalMs: 0, isPrivate: true, open }, "e", "c", () => {});
  key.snapshotFrame(0, 0, "");
  while (key.seq < seq) {
    source.value++;
    key.advance(0, 0);
  }
  return key;
}

it("a retained topic has closed its sources, and keeps its numbers and its last image", () => {
  const rested = new RetainedTopics(new VirtualClock());
  const source = { value: 0, closedCount: 0 };
  const key = keyOf("k", source);
  rested.add(key);
  expect([source.closedCount, key.isClosed, rested.get("k"), rested.get("other")]).toEqual([1, true, key, null]);
  expect(key.framesAfter(1, 0)).toHaveLength(2);
});

it("the oldest retained topic is forgotten beyond the bound, each after its time, all at the end", () => {
  const clock = new VirtualClock();
  const rested = new RetainedTopics(clock, 2);
  const keys = ["a", "b", "c"].map((text) => keyOf(text, { value: 0, closedCount: 0 }));
  for (const key of keys) {
    rested.add(key);
    clock.advance(1_000);
  }
  expect([rested.count, rested.get("a"), keys[0]?.framesAfter(1, 0)]).toEqual([2, null, null]);
  clock.advance(RING_AGE_MS - 2_000);
  expect([rested.get("b"), rested.get("c"), rested.count]).toEqual([null, keys[2], 1]);
  clock.advance(1_000);
  expect([rested.get("c"), rested.count, keys[2]?.framesAfter(1, 0)]).toEqual([null, 0, null]);
  rested.add(keyOf("d", { value: 0, closedCount: 0 }));
  rested.clear();
  expect([rested.count, clock.pendingTimerCount]).toEqual([0, 0]);
});

it("a topic that was resumed is not forgotten, and is retained again from its next end", () => {
  const clock = new VirtualClock();
  const rested = new RetainedTopics(clock);
  const key = keyOf("k", { value: 0, closedCount: 0 });
  rested.add(key);
  clock.advance(RING_AGE_MS - 1);
  rested.remove(key);
  clock.advance(10);
  expect(key.framesAfter(2, 0)).toHaveLength(1);
  rested.add(key);
  clock.advance(RING_AGE_MS - 1);
  expect(rested.get("k")).toBe(key);
});
