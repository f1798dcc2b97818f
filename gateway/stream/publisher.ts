// hot path
/**
 * Publishes what changed. A mark puts a key on the list of its interval; at each pulse the lists that are due are
 * published, once per key for all subscribers in step. Interval 0, and anything urgent, goes out in the same turn of the
 * event loop.
 *
 * Invariant: a key is on a list at most once. A bug in one topic does not end the frames of the others.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { INTERVALS_MS } from "../../schemas/stream-data.js";
import { PULSE_MS } from "./limits.js";
import type { StreamCounts } from "./stream-counts.js";
import type { StreamKey } from "./stream-key.js";

interface PublisherParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sends to all members of a channel. */
  readonly publish: (channel: string, text: string) => void;
  /** Runs at the end of this turn of the event loop. */
  readonly defer: (run: () => void) => void;
}

export class Publisher {
  readonly #parts: PublisherParts;
  readonly #counts: StreamCounts;
  /** Called with the length of each frame, after it was published. */
  readonly #onPublished: (bytes: number) => void;
  /** Keys marked since the last flush, by interval. */
  readonly #queues = new Map<number, StreamKey[]>(INTERVALS_MS.map((intervalMs) => [intervalMs, []]));
  #urgent: StreamKey[] = [];
  #isFlushDeferred = false;

  constructor(parts: PublisherParts, counts: StreamCounts, onPublished: (bytes: number) => void) {
    this.#parts = parts;
    this.#counts = counts;
    this.#onPublished = onPublished;
  }

  markDirty(key: StreamKey, urgent: boolean): void {
    if (urgent || key.intervalMs === 0) {
      if (key.isUrgent) return;
      key.isUrgent = true;
      this.#urgent.push(key);
      this.#deferFlush();
      return;
    }
    if (key.isQueued) return;
    key.isQueued = true;
    this.#queues.get(key.intervalMs)?.push(key);
  }

  /** Publishes the lists whose interval ends with this pulse. */
  flushDue(pulseCount: number): void {
    for (const [intervalMs, queue] of this.#queues) {
      if (intervalMs > 0 && queue.length > 0 && pulseCount % (intervalMs / PULSE_MS) === 0)
        this.#flush(intervalMs, queue);
    }
  }

  /** Publishes what changed of the key, and starts the snapshots that waited for its first image. */
  advance(key: StreamKey): void {
    const { clock } = this.#parts;
    let frame = "";
    do {
      if (key.isClosed && !key.isHearing) return;
      try {
        frame = key.advance(clock.wallMs(), clock.monoNs());
      } catch (error) {
        this.#keyFailed(error);
        return;
      }
      this.#publish(key, frame);
      // Events are reported one by one; the feed limits how many can wait.
    } while (key.isUnmerged && frame !== "");
    if (key.waiting.size > 0) this.#beginWaiting(key);
  }

  #deferFlush(): void {
    if (this.#isFlushDeferred) return;
    this.#isFlushDeferred = true;
    this.#parts.defer(() => {
      this.#isFlushDeferred = false;
      const keys = this.#urgent;
      this.#urgent = [];
      for (const key of keys) {
        key.isUrgent = false;
        this.advance(key);
      }
    });
  }

  #flush(intervalMs: number, queue: readonly StreamKey[]): void {
    this.#queues.set(intervalMs, []);
    for (const key of queue) {
      key.isQueued = false;
      this.advance(key);
    }
  }

  #publish(key: StreamKey, frame: string): void {
    if (frame === "" || key.inStepCount === 0) return;
    this.#counts.framesOut += key.inStepCount;
    this.#counts.bytesOut += frame.length * key.inStepCount;
    this.#parts.publish(key.channel, frame);
    // Not earlier: a member that falls out of step counts every assigned number as sent to it.
    this.#onPublished(frame.length);
  }

  #beginWaiting(key: StreamKey): void {
    try {
      if (!key.isReady(this.#parts.clock.monoNs())) return;
      for (const waiter of [...key.waiting]) {
        key.waiting.delete(waiter);
        waiter.begin(key);
      }
    } catch (error) {
      this.#keyFailed(error);
    }
  }

  #keyFailed(error: unknown): void {
    this.#parts.logger.error("stream.key_failed", { errorName: error instanceof Error ? error.name : "unknown" });
  }
}
