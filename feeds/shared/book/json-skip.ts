// hot path
/**
 * Skips the fields of compact JSON that are not read. Each function takes a position and gives the one after, or
 * UNEXPECTED for a shape it does not know (nesting, escapes, white space).
 */

/** Result of a scanner that found another shape: a careful path decides. */
export const UNEXPECTED = -1;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Past `"key":value` with a scalar value; UNEXPECTED otherwise. */
export function skipField(bytes: Uint8Array, start: number, end: number): number {
  let at = start + 1;
  while (at < end && bytes[at] !== QUOTE) {
    if (bytes[at] === BACKSLASH) return UNEXPECTED;
    at++;
  }
  if (bytes[at + 1] !== COLON) return UNEXPECTED;
  return skipScalar(bytes, at + 2, end);
}

/** Past a string without escapes, a number, true, false or null. Their spelling is not judged: the field is unused. */
export function skipScalar(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (bytes[at] === QUOTE) {
    at++;
    while (at < end && bytes[at] !== QUOTE) {
      if (bytes[at] === BACKSLASH) return UNEXPECTED;
      at++;
    }
    return at < end ? at + 1 : UNEXPECTED;
  }
  while (at < end && bytes[at] !== COMMA) {
    const byte = bytes[at];
    if (byte === QUOTE || byte === OPEN_BRACKET || byte === OPEN_BRACE) return UNEXPECTED;
    at++;
  }
  return at;
}
