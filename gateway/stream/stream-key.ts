/**
 * One key: the state its subscribers share and its place in the sequence.
 *
 * Invariants: `seq` grows by one with each shared update, which leads from the image of `seq - 1` to that of `seq`;
 * numbers are given after conflation, so a subscriber in step sees no hole. A key forgotten and opened again has
 * another epoch: its numbers never mean two things.
 */
import type { Feed, Image, KeySpec, Mark } from "./feed.js";

export class StreamKey {
  readonly text: string;
  readonly intervalMs: number;
  readonly epoch: string;
  /** The server's own short name for the shared topic. */
  readonly channel: string;
  readonly #feed: Feed;
  readonly #quotedText: string;
  #image: Image | null = null;
  #seq = 0;
  /** Subscriptions, and those of them that get the shared frames. */
  memberCount = 0;
  inStepCount = 0;
  /** Waits in the list of its interval, in that of this turn. */
  isQueued = false;
  isUrgent = false;
  isClosed = false;

  constructor(spec: KeySpec, epoch: string, channel: string, mark: Mark) {
    this.text = spec.text;
    this.intervalMs = spec.intervalMs;
    this.epoch = epoch;
    this.channel = channel;
    this.#quotedText = JSON.stringify(spec.text);
    this.#feed = spec.open(mark);
  }

  /** 0 before the first subscriber's snapshot. */
  get seq(): number {
    return this.#seq;
  }

  get quotedText(): string {
    return this.#quotedText;
  }

  /** The state at `seq`; takes the first one when there is none. */
  image(nowNs: number): Image {
    if (this.#image === null) {
      this.#image = this.#feed.look(nowNs);
      this.#seq = 1;
    }
    return this.#image;
  }

  /** The shared update that is due, "" when there is nothing to tell. */
  advance(nowMs: number, nowNs: number): string {
    const before = this.#image;
    if (before === null) return "";
    const image = this.#feed.look(nowNs);
    if (image === before) return "";
    this.#image = image;
    this.#seq++;
    return this.updateFrame(this.#seq - 1, before, nowMs, nowNs);
  }

  drifted(nowNs: number): boolean {
    return this.#image !== null && this.#feed.drifted(nowNs);
  }

  snapshotFrame(nowMs: number, nowNs: number, reason: string): string {
    const image = this.image(nowNs);
    const why = reason === "" ? "" : `"reason":"${reason}",`;
    return `{"type":"snapshot","sub":${this.#quotedText},"epoch":"${this.epoch}","seq":${this.#seq},"ts":${nowMs},${why}"data":${image.snapshotText(nowNs)}}`;
  }

  /** From an earlier image, sent at `fromSeq`, to the present one. */
  updateFrame(fromSeq: number, from: Image, nowMs: number, nowNs: number): string {
    const data = this.image(nowNs).updateText(from, nowNs);
    return `{"type":"update","sub":${this.#quotedText},"epoch":"${this.epoch}","seq":${this.#seq},"prevSeq":${fromSeq},"ts":${nowMs},"data":${data}}`;
  }

  close(): void {
    this.isClosed = true;
    this.#feed.close();
  }
}
