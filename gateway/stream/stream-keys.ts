/**
 * The keys of the stream: opened for the first subscriber, closed when the last one leaves. A private key is then
 * retained for a while (retained-topics.ts) for clients that lost their connection.
 *
 * Invariants: one open key for a text; all specs of a call are opened or none is kept; a key in use is never closed.
 *
 * Bounds: subscriptions of a connection, keys, private keys, price levels of a connection and of all (limits.ts).
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { HiddenCounter } from "../../engine/domain/hidden-counter.js";
import { SharedRoom } from "../../engine/domain/shared-room.js";
import type { Connection } from "./connection.js";
import type { KeySpec } from "./feed.js";
import type { StreamLimits } from "./limits.js";
import { RetainedTopics } from "./retained-topics.js";
import type { StreamCounts } from "./stream-counts.js";
import { StreamKey } from "./stream-key.js";

/** Of the keys and levels of all, for connections without a key where one is needed. */
const NOBODYS_SHARE = 0.5;

interface StreamKeysParts {
  readonly clock: Clock;
  /** Identifies this start; the epochs of keys begin with it. */
  readonly epoch: string;
  /** Absent: the numbers of the keys are shown as they are. */
  readonly numbers?: HiddenCounter;
  readonly limits: StreamLimits;
  readonly counts: StreamCounts;
  /** Called when a key may have something to send. */
  readonly markDirty: (key: StreamKey, urgent: boolean) => void;
}

export class StreamKeys {
  readonly #parts: StreamKeysParts;
  readonly #open = new Map<string, StreamKey>();
  readonly #retained: RetainedTopics;
  /** Private keys, by the API key that opened each. */
  readonly #private: SharedRoom;
  readonly #openers = new WeakMap<StreamKey, string | null>();
  /** Price levels of all open keys. */
  #levelCount = 0;
  #openedCount = 0;
  #isStopped = false;

  constructor(parts: StreamKeysParts) {
    this.#parts = parts;
    this.#retained = new RetainedTopics(parts.clock);
    this.#private = new SharedRoom(parts.limits.privateKeysMax);
  }

  get(text: string): StreamKey | undefined {
    return this.#open.get(text);
  }

  values(): IterableIterator<StreamKey> {
    return this.#open.values();
  }

  /** Drops all retained keys; none is retained later. */
  clearRetained(): void {
    this.#isStopped = true;
    this.#retained.clear();
  }

  /**
   * Returns the keys of `specs` and opens new ones. Throws SUBSCRIPTION_LIMIT, OVERLOADED, and what a topic throws.
   * `isNobody`: it opens none while half of the room is in use, so that callers with a key find some. `payer`: the API
   * key of the connection, which has half of the private ones at most.
   */
  open(connection: Connection, specs: readonly KeySpec[], isNobody = false, payer: string | null = null): StreamKey[] {
    this.#checkBounds(connection, specs, isNobody, payer);
    const keys: StreamKey[] = [];
    try {
      for (const spec of specs) keys.push(this.#open.get(spec.text) ?? this.#openOne(spec, payer));
    } catch (error) {
      this.settle(keys);
      throw error;
    }
    return keys;
  }

  /** Closes those that got no subscriber. */
  settle(keys: readonly StreamKey[]): void {
    for (const key of keys) this.release(key);
  }

  release(key: StreamKey): void {
    if (key.memberCount > 0 || key.isClosed) return;
    this.#open.delete(key.text);
    this.#parts.counts.keys--;
    if (key.isPrivate) this.#private.leave(this.#openers.get(key) ?? null);
    this.#levelCount -= key.levels;
    // A key that sent nothing has nothing to retain.
    if (key.isPrivate && key.seq > 0 && !this.#isStopped) this.#retained.add(key);
    else key.close();
  }

  #checkBounds(connection: Connection, specs: readonly KeySpec[], isNobody: boolean, payer: string | null): void {
    let added = 0;
    let opened = 0;
    let openedPrivate = 0;
    let addedLevels = 0;
    let openedLevels = 0;
    for (const { text, isPrivate = false, levels = 0 } of specs) {
      if (!connection.holds(text)) {
        added++;
        addedLevels += levels;
      }
      if (this.#open.has(text)) continue;
      opened++;
      openedLevels += levels;
      if (isPrivate) openedPrivate++;
    }
    const { connectionLevelsMax, privateKeysMax, retryAfterMs, subscriptionsMax } = this.#parts.limits;
    const share = isNobody ? NOBODYS_SHARE : 1;
    const keysMax = Math.floor(this.#parts.limits.keysMax * share);
    const levelsMax = Math.floor(this.#parts.limits.levelsMax * share);
    if (connection.subscriptionCount + added > subscriptionsMax)
      throw new ServiceError("SUBSCRIPTION_LIMIT", {
        limit: subscriptionsMax,
        held: connection.subscriptionCount,
        of: "subscriptions",
      });
    if (connection.levelCount + addedLevels > connectionLevelsMax)
      throw new ServiceError("SUBSCRIPTION_LIMIT", {
        limit: connectionLevelsMax,
        held: connection.levelCount,
        of: "levels",
      });
    if (opened > 0 && this.#open.size + opened > keysMax)
      throw new ServiceError("OVERLOADED", { limit: keysMax, of: "keys", retryAfterMs });
    if (openedLevels > 0 && this.#levelCount + openedLevels > levelsMax)
      throw new ServiceError("OVERLOADED", { limit: levelsMax, of: "levels", retryAfterMs });
    if (openedPrivate > 0 && !this.#private.hasRoom(payer, openedPrivate))
      throw new ServiceError("OVERLOADED", { limit: privateKeysMax, of: "account keys", retryAfterMs });
  }

  #openOne(spec: KeySpec, payer: string | null): StreamKey {
    const key = this.#wake(spec) ?? this.#create(spec);
    this.#open.set(spec.text, key);
    this.#parts.counts.keys++;
    if (key.isPrivate) {
      this.#private.force(payer);
      this.#openers.set(key, payer);
    }
    this.#levelCount += key.levels;
    return key;
  }

  #create(spec: KeySpec): StreamKey {
    const { epoch, markDirty: mark, numbers } = this.#parts;
    const number = (this.#openedCount++).toString(36);
    // Keys of all callers are counted in one: an epoch must not tell how many others opened.
    const shown = numbers?.next() ?? number;
    const key: StreamKey = new StreamKey(spec, epoch + shown, number, (urgent) => mark(key, urgent));
    return key;
  }

  #wake(spec: KeySpec): StreamKey | null {
    const key = this.#retained.get(spec.text);
    if (key === null) return null;
    const { markDirty: mark } = this.#parts;
    key.wake(spec, (urgent) => mark(key, urgent));
    this.#retained.remove(key);
    // Its sources may have answered already, and would not mark it again.
    mark(key, true);
    return key;
  }
}
