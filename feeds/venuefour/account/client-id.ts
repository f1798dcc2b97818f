/**
 * Client ids: 128 bits as the venue wants them, a UUID v4. Version and variant take six of the bits, which are lost:
 * two ids that differ in nothing else would meet, one time in 2^122.
 */

const UUID_V4 = /^([0-9a-f]{8})-([0-9a-f]{4})-(4[0-9a-f]{3})-([89ab][0-9a-f]{3})-([0-9a-f]{12})$/;

export function uuidOf(clientIdHex: string): string {
  const variant = ((Number.parseInt(clientIdHex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const hex = clientIdHex;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** The bits behind a text that `uuidOf` could have written; null for any other. */
export function clientIdHexOf(text: string): string | null {
  return UUID_V4.test(text) ? text.replaceAll("-", "") : null;
}
