/**
 * What is newly known of followed runs, published: one publication of a run at a time, what is seen meanwhile goes with
 * the next. One that could not be stored is published again every PUBLISH_AGAIN_MS while this process lives.
 */
import { type Clock, delay } from "../../domain/clock.js";
import type { Background } from "../background.js";
import { isResting, type FollowedRun, type FollowEntry, type FollowOwner } from "./followed-run.js";

const PUBLISH_GAP_MS = 500;
/** After a publication that could not be stored, however often it was tried. */
const PUBLISH_AGAIN_MS = 60_000;

interface PublicationParts {
  readonly clock: Clock;
  readonly background: Background;
}

export class FollowPublications<Run extends FollowedRun> {
  readonly #parts: PublicationParts;
  readonly #owner: Pick<FollowOwner<Run>, "publish">;
  readonly #published: (entry: FollowEntry<Run>) => void;
  #stopped = false;

  /** `published`: called at the end of each round, whatever its end. */
  constructor(
    parts: PublicationParts,
    owner: Pick<FollowOwner<Run>, "publish">,
    published: (entry: FollowEntry<Run>) => void,
  ) {
    this.#parts = parts;
    this.#owner = owner;
    this.#published = published;
  }

  publish(entry: FollowEntry<Run>): void {
    entry.isDirty = true;
    if (entry.isPublishing) return;
    this.#endAgain(entry);
    entry.isPublishing = true;
    this.#parts.background.run("order_follow", this.#publishAll(entry));
  }

  /** No publication is tried again from here on. */
  stop(entry: FollowEntry<Run>): void {
    this.#stopped = true;
    this.#endAgain(entry);
  }

  async #publishAll(entry: FollowEntry<Run>): Promise<void> {
    try {
      while (entry.isDirty) {
        entry.isDirty = false;
        await this.#owner.publish(entry.run, entry.recordKey);
        // What fills trade by trade is published in steps.
        if (entry.run.attempts.some(isResting)) await delay(this.#parts.clock, PUBLISH_GAP_MS);
      }
    } catch (error) {
      if (!this.#stopped) entry.again = this.#parts.clock.setTimer(() => this.publish(entry), PUBLISH_AGAIN_MS);
      throw error;
    } finally {
      entry.isPublishing = false;
      entry.isDirty = false;
      this.#published(entry);
    }
  }

  #endAgain(entry: FollowEntry<Run>): void {
    if (entry.again !== null) this.#parts.clock.clearTimer(entry.again);
    entry.again = null;
  }
}
