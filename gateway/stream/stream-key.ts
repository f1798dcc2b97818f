/**
 * One key: the state its subscribers share and its place in the sequence.
 *
 * Invariants: `seq` grows by one with each shared update, which leads from the image of `seq - 1` to that of `seq`.
 * Numbers are assigned after conflation, so a subscriber in step sees no gap. A key dropped and opened again has
 * another epoch: its numbers never have two meanings. The ring of a private key holds the updates of its latest
 * numbers.
 *
 * A private key without a subscriber is retained: no source, no credentials, only its numbers and their updates. It
 * continues from there when it is resumed: merged values with the difference to what was shown last, events with a
 * resync and a snapshot, because nothing was sent meanwhile. A feed without credentials hears on instead: its events are
 * numbered and kept as ever, and who resumes the key has missed none.
 */
import type { Feed, FeedEvents, Image, KeySpec, MarkDirty } from "./feed.js";
import { FrameRing } from "./frame-ring.js";

/** A retained key has nothing to show. */
const NO_FEED: Feed = {
  look() {
    throw new TypeError("a retained key shows nothing");
  },
  drifted: () => false,
  close() {},
};
/** The image of events that were sent: they are shown whole or one by one, never as a difference. */
const TOLD: Image = {
  snapshotText() {
    throw new TypeError("a retained key shows nothing");
  },
  updateText() {
    throw new TypeError("events are not merged");
  },
};

/** Waits for the first image of a key. */
export interface KeyWaiter {
  begin(key: StreamKey): void;
}

export class StreamKey {
  readonly text: string;
  readonly intervalMs: number;
  readonly epoch: string;
  /** The server's own short name for the shared topic. */
  readonly channel: string;
  readonly isPrivate: boolean;
  /** Price levels that it holds at most. */
  readonly levels: number;
  /** Subscribers whose snapshot waits until there is something to show. */
  readonly waiting = new Set<KeyWaiter>();
  readonly #ring: FrameRing | null;
  #events: FeedEvents | null;
  #isReady: boolean;
  /** A loss was reported, the snapshot after it was not yet. */
  #owesSnapshot = false;
  /** Resumed, and its image is still the one from before it was retained. */
  #isBehind = false;
  #feed: Feed;
  readonly #quotedText: string;
  #image: Image | null = null;
  #seq = 0;
  /** Number of subscriptions, and of those that get the shared frames. */
  memberCount = 0;
  inStepCount = 0;
  /** Whether it is in the list of its interval, and in that of this turn. */
  isQueued = false;
  isUrgent = false;
  isClosed = false;

  constructor(spec: KeySpec, epoch: string, channel: string, mark: MarkDirty) {
    this.text = spec.text;
    this.intervalMs = spec.intervalMs;
    this.epoch = epoch;
    this.channel = channel;
    this.#quotedText = JSON.stringify(spec.text);
    this.isPrivate = spec.isPrivate ?? false;
    this.levels = spec.levels ?? 0;
    this.#ring = this.isPrivate ? new FrameRing() : null;
    this.#feed = spec.open(mark, null);
    this.#events = this.#feed.events ?? null;
    this.#isReady = this.#feed.isReady === undefined;
  }

  /** Retained, and its feed hears on. */
  get isHearing(): boolean {
    return this.isClosed && this.#feed.outlivesSubscribers === true;
  }

  /** Whether its updates are sent one by one and never merged. */
  get isUnmerged(): boolean {
    return this.#events !== null;
  }

  /** Whether it has a true state to show. Once it has, this stays true until the key is retained. */
  isReady(nowNs: number): boolean {
    return this.#isFeedReady(nowNs) && !this.#isBehind;
  }

  #isFeedReady(nowNs: number): boolean {
    this.#isReady ||= this.#feed.isReady?.(nowNs) ?? true;
    return this.#isReady;
  }

  /** 0 before the first subscriber's snapshot. */
  get seq(): number {
    return this.#seq;
  }

  get quotedText(): string {
    return this.#quotedText;
  }

  /** The state at `seq`; reads the first one when there is none. */
  image(nowNs: number): Image {
    if (this.#image === null) {
      this.#image = this.#feed.look(nowNs);
      this.#seq = 1;
    }
    return this.#image;
  }

  /** Returns the shared update that is due, or "" when there is none. */
  advance(nowMs: number, nowNs: number): string {
    const before = this.#image;
    if (before === null || (this.#isBehind && !this.#isFeedReady(nowNs))) return "";
    if (this.#events !== null) return this.#advanceEvents(this.#events, nowMs, nowNs);
    const image = this.#feed.look(nowNs);
    this.#isBehind = false;
    if (image === before) return "";
    this.#image = image;
    this.#seq++;
    if (this.#ring === null) return this.updateFrame(this.#seq - 1, before, nowMs, nowNs);
    const data = image.updateText(before, nowNs);
    this.#ring.push({ seq: this.#seq, tsMs: nowMs, data });
    return this.#updateText(this.#seq, this.#seq - 1, nowMs, data);
  }

  /** Returns one event a call. */
  #advanceEvents(events: FeedEvents, nowMs: number, nowNs: number): string {
    if (this.#owesSnapshot) {
      this.#owesSnapshot = false;
      this.#image = this.#feed.look(nowNs);
      this.#seq++;
      return this.snapshotFrame(nowMs, nowNs, "");
    }
    if (events.takeLoss() || this.#isBehind) {
      const reason = this.#isBehind ? "UNWATCHED" : "OVERFLOW";
      this.#isBehind = false;
      this.#owesSnapshot = true;
      this.#ring?.clear();
      return this.resyncFrame(nowMs, reason);
    }
    const data = events.next(nowNs);
    if (data === null) return "";
    this.#image = this.#feed.look(nowNs);
    this.#seq++;
    this.#ring?.push({ seq: this.#seq, tsMs: nowMs, data });
    return this.#updateText(this.#seq, this.#seq - 1, nowMs, data);
  }

  drifted(nowNs: number): boolean {
    if (this.#image === null) return this.waiting.size > 0 && this.isReady(nowNs);
    return this.#isBehind ? this.#isFeedReady(nowNs) : this.#feed.drifted(nowNs);
  }

  /** Returns the updates from `seq` to the present, each as it was sent; null when some are gone. */
  framesAfter(seq: number, nowMs: number): readonly string[] | null {
    if (this.#seq === 0) return null;
    if (seq === this.#seq) return [];
    const updates = this.#ring?.after(seq, this.#seq, nowMs) ?? null;
    return updates?.map(({ seq: to, tsMs, data }) => this.#updateText(to, to - 1, tsMs, data)) ?? null;
  }

  resyncFrame(nowMs: number, reason: "OVERFLOW" | "UNWATCHED"): string {
    return `{"type":"resync","sub":${this.#quotedText},"epoch":"${this.epoch}","ts":${nowMs},"reason":"${reason}"}`;
  }

  snapshotFrame(nowMs: number, nowNs: number, reason: string): string {
    const image = this.image(nowNs);
    const why = reason === "" ? "" : `"reason":"${reason}",`;
    return `{"type":"snapshot","sub":${this.#quotedText},"epoch":"${this.epoch}","seq":${this.#seq},"ts":${nowMs},${why}"data":${image.snapshotText(nowNs)}}`;
  }

  /** Returns an update from an earlier image, sent at `fromSeq`, to the present one. */
  updateFrame(fromSeq: number, from: Image, nowMs: number, nowNs: number): string {
    const data = this.image(nowNs).updateText(from, nowNs);
    return this.#updateText(this.#seq, fromSeq, nowMs, data);
  }

  #updateText(seq: number, prevSeq: number, tsMs: number, data: string): string {
    return `{"type":"update","sub":${this.#quotedText},"epoch":"${this.epoch}","seq":${seq},"prevSeq":${prevSeq},"ts":${tsMs},"data":${data}}`;
  }

  /** Retains the key without a subscriber: its sources end, and with them the credentials, unless its feed hears on. */
  rest(): void {
    this.isClosed = true;
    if (this.isHearing) return;
    this.#feed.close();
    this.#feed = NO_FEED;
    // The feed sends events, and its image is the feed itself: nothing of it is kept.
    if (this.#events !== null && this.#image !== null) this.#image = TOLD;
    this.#owesSnapshot = false;
  }

  /**
   * Resumes the key with the credentials of `spec`. Throws what opening its sources throws; it is still retained then.
   */
  wake(spec: KeySpec, mark: MarkDirty): void {
    if (this.isHearing) {
      this.isClosed = false;
      return;
    }
    this.#feed = spec.open(mark, this.#image);
    this.#events = this.#feed.events ?? null;
    this.#isReady = this.#feed.isReady === undefined;
    this.#isBehind = true;
    this.isClosed = false;
  }

  close(): void {
    this.isClosed = true;
    this.#ring?.clear();
    this.#feed.close();
    this.#feed = NO_FEED;
    this.#image = null;
  }
}
