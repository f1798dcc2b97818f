/**
 * What a topic provides to the hub. A key's state at one sequence number is an image. It is immutable, so that a slow
 * reader keeps the one it was last sent by reference, and the difference between any two is its own conflated update.
 *
 * A new topic (the private ones carry a scope in their key text) needs a KeySpec and a Feed; hub, keys and connections
 * know nothing of the content.
 */

export interface Image {
  /** `data` of a snapshot sent now. */
  snapshotText(nowNs: number): string;
  /** `data` of an update sent now that leads here from an earlier image of the same key. */
  updateText(from: Image, nowNs: number): string;
}

export interface Feed {
  /** The present image: the same object while nothing has changed that a subscriber could see. */
  look(nowNs: number): Image;
  /** Whether something changed that is not signalled: an age past its limit, a market replaced. */
  drifted(nowNs: number): boolean;
  close(): void;
  /**
   * False while there is no first image yet: snapshots wait. The feed marks the key dirty when there is one, and this
   * is read again at intervals. Absent: ready at once.
   */
  isReady?(nowNs: number): boolean;
  /** It hears on while its key is retained, and so misses nothing. It may not hold anything of its subscribers. */
  readonly outlivesSubscribers?: boolean;
  /** Present on topics whose updates are reported one by one and never merged. */
  readonly events?: FeedEvents;
}

/** Images of such a feed are only ever shown whole. */
export interface FeedEvents {
  /** `data` of the next update; null when there is none. */
  next(nowNs: number): string | null;
  /** Returns true once when more happened than is kept; the state is then shown again. */
  takeLoss(): boolean;
}

/**
 * A feed calls this when its key may have changed. `urgent`: what was shown is no longer true, do not wait for the
 * interval.
 */
export type MarkDirty = (urgent: boolean) => void;

export interface KeySpec {
  /** Everything that determines the frames; the name that clients use for the subscription. */
  readonly text: string;
  readonly intervalMs: number;
  /** The most price levels that it holds, which is the cost of its images. Default: too few to count. */
  readonly levels?: number;
  /** A private key keeps its latest updates for clients that return, and has a bound of its own. */
  readonly isPrivate?: boolean;
  /** `shown`: what a retained key showed last; null for a new one. */
  open(mark: MarkDirty, shown: Image | null): Feed;
}
