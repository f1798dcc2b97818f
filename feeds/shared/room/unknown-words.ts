/**
 * Words of a venue's account streams that this program does not know: a status, a channel, a margin mode. Each is
 * counted, each new one is logged once.
 *
 * Bounds: MAX_LOGGED words, MAX_CHARS of each. Only letters and the marks between them are printed: an id or a key that
 * comes in place of a word reaches no log.
 */
import type { Logger } from "../../../engine/domain/logger.js";

const MAX_LOGGED = 32;
const MAX_CHARS = 40;

export class UnknownWords {
  count = 0;
  readonly #event: string;
  readonly #logger: () => Logger;
  readonly #logged = new Set<string>();

  constructor(venue: string, logger: () => Logger) {
    this.#event = `${venue}.account.unknown-word`;
    this.#logger = logger;
  }

  note(field: string, word: string): void {
    this.count++;
    const printed = word.slice(0, MAX_CHARS).replace(/[^a-zA-Z _()-]/g, "?");
    const name = `${field}: ${printed}`;
    if (this.#logged.has(name) || this.#logged.size >= MAX_LOGGED) return;
    this.#logged.add(name);
    this.#logger().warn(this.#event, { field, word: printed });
  }
}
