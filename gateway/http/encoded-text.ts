// hot path
/** Reply bodies in the form that costs the server the least work. Invariant: always the UTF-8 of the text. */

/**
 * From this length on, encoding in our own memory is cheaper: the server would measure the text and allocate for each.
 */
export const ENCODED_CHARS_MIN = 1_024;
export const ENCODED_CHARS_MAX = 32_768;
/** A UTF-16 unit takes at most three bytes. */
const bytes = Buffer.alloc(3 * ENCODED_CHARS_MAX);

/** Valid until the next call: the server has sent or copied a body when its `end` returns. */
export function encodedText(text: string): string | Uint8Array {
  if (text.length < ENCODED_CHARS_MIN || text.length > ENCODED_CHARS_MAX) return text;
  return bytes.subarray(0, bytes.write(text));
}
