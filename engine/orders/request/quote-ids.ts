/**
 * Ids of quotes that only this process can have given: the number of the quote, and a tag of it under the server's key
 * and this start's id. So an id that was never given differs from one that is over without a memory of all that were:
 * the tag proves the number, and the number says whether it was given yet. Eight digits of number sort by age, and
 * sixteen of tag (64 bits) cannot be guessed. The owner is part of the tag: to anybody else the id is one never given, also
 * when nothing is known of the quote any more.
 */
import type { KeyedHash } from "../../storage/keyed-hash.js";

const PREFIX = "qt_";
/** Crockford's base 32. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** 40 bits: a quote each microsecond for twelve days. */
const NUMBER_DIGITS = 8;
const TAG_DIGITS = 16;
/** One keyed hash has the tags of so many numbers in a row: every dry run takes one. */
const TAGS_PER_HASH = 4;

export class QuoteIds {
  readonly #hash: KeyedHash;
  readonly #bootId: string;
  #block = -1;
  #blockOwner: string | null = null;
  #blockTags = "";

  /** `bootId`: new at each start, so that an id of the process before is none of this one. */
  constructor(hash: KeyedHash, bootId: string) {
    this.#hash = hash;
    this.#bootId = bootId;
  }

  idOf(number: number, ownerId: string | null): string {
    const block = Math.floor(number / TAGS_PER_HASH);
    if (block !== this.#block || ownerId !== this.#blockOwner) {
      this.#blockTags = this.#tagsOf(block, ownerId);
      this.#block = block;
      this.#blockOwner = ownerId;
    }
    return format(number, this.#blockTags);
  }

  /**
   * The number of an id of this process for one of these owners, given already or not; null: of another, or none at all.
   */
  numberOf(quoteId: string, owners: readonly (string | null)[]): number | null {
    if (quoteId.length !== PREFIX.length + NUMBER_DIGITS + TAG_DIGITS || !quoteId.startsWith(PREFIX)) return null;
    let number = 0;
    for (let at = PREFIX.length; at < PREFIX.length + NUMBER_DIGITS; at++) {
      const digit = DIGITS.indexOf(quoteId.charAt(at));
      if (digit < 0) return null;
      number = number * DIGITS.length + digit;
    }
    const block = Math.floor(number / TAGS_PER_HASH);
    const isOurs = owners.some((owner) => format(number, this.#tagsOf(block, owner)) === quoteId);
    return isOurs ? number : null;
  }

  #tagsOf(block: number, ownerId: string | null): string {
    const parts = [this.#bootId, String(block), ...(ownerId === null ? [] : [ownerId])];
    return this.#hash.hmacHex("quote-id", parts).toUpperCase();
  }
}

function format(number: number, blockTags: string): string {
  let digits = "";
  for (let rest = number, left = NUMBER_DIGITS; left > 0; left--) {
    digits = DIGITS.charAt(rest % DIGITS.length) + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  const tagAt = (number % TAGS_PER_HASH) * TAG_DIGITS;
  return `${PREFIX}${digits}${blockTags.slice(tagAt, tagAt + TAG_DIGITS)}`;
}
