/**
 * Whose depth frame was this? For frames that no decoder could read: a change of the book may have been in it, and the
 * book must not go on as if there had been none. Cold: nothing of this runs while the venue speaks as it should.
 */

/** The name comes first; a frame may be megabytes of rubbish. */
const LOOKED_AT_BYTES = 512;
const BY_STREAM = /"stream"\s*:\s*"([^"@]{1,64})@depth/;
const BY_EVENT = /"e"\s*:\s*"depthUpdate"/;
const SYMBOL = /"s"\s*:\s*"([^"]{1,64})"/;

/** Native symbol of the market whose diff stream brought the frame; null when it names none. */
export function depthSymbolOf(bytes: Buffer): string | null {
  const text = bytes.toString("utf8", 0, LOOKED_AT_BYTES);
  const byStream = BY_STREAM.exec(text)?.[1];
  if (byStream !== undefined) return byStream.toUpperCase();
  return BY_EVENT.test(text) ? (SYMBOL.exec(text)?.[1] ?? null) : null;
}
