/**
 * What a topic gives the hub. A key's state at one sequence number is an image: immutable, so that a slow reader
 * holds the one it was last sent by reference, and the difference between any two is its own conflated update.
 *
 * A new topic (the private ones carry a scope in their key text) needs a KeySpec and a Feed; hub, keys and
 * connections know nothing of what is inside.
 */

export interface Image {
  /** `data` of a snapshot sent now. */
  snapshotText(nowNs: number): string;
  /** `data` of an update sent now that leads here from an earlier image of the same key. */
  updateText(from: Image, nowNs: number): string;
}

export interface Feed {
  /** The present image: the very same object while nothing has changed that a subscriber could see. */
  look(nowNs: number): Image;
  /** Has something changed that nobody signals: an age past its limit, a market replaced? */
  drifted(nowNs: number): boolean;
  close(): void;
  /** False while the first image is still to be had: snapshots wait. Marked when it is; asked again now and then. Absent: at once. */
  isReady?(nowNs: number): boolean;
  /** On topics whose updates are reported one by one and never merged. */
  readonly events?: FeedEvents;
}

/** Images of such a feed are only ever shown whole. */
export interface FeedEvents {
  /** `data` of the next update; null when there is none. */
  next(nowNs: number): string | null;
  /** More happened than is kept: true once, and what is shown next is the state again. */
  takeLoss(): boolean;
}

/** Called by a feed when its key may have changed. `urgent`: what was shown is no longer true, do not wait for the interval. */
export type MarkDirty = (urgent: boolean) => void;

export interface KeySpec {
  /** Everything that shapes the frames; what clients call the subscription. */
  readonly text: string;
  readonly intervalMs: number;
  /** Price levels that it holds at most: what its images cost. Default none worth counting. */
  readonly levels?: number;
  /** A private key keeps its latest updates for clients that come back, and counts against a bound of its own. */
  readonly isPrivate?: boolean;
  /** `shown`: what a retained key had shown last; null for a new one. */
  open(mark: MarkDirty, shown: Image | null): Feed;
}
