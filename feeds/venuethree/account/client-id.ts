/** The client order index of the venue, 48 bits, and the 128 bits that every order of ours carries. */
import { MAX_CLIENT_ORDER_INDEX } from "../rules/limits.js";

const CLIENT_ID_BITS = 48;

/** The low 48 bits of the 128; 0 means "none" to the venue, so that one of all becomes the highest. */
export function clientOrderIndexOf(clientIdHex: string): number {
  const index = Number.parseInt(clientIdHex.slice(-CLIENT_ID_BITS / 4), 16);
  return index === 0 ? MAX_CLIENT_ORDER_INDEX : index;
}

/** The inverse: the 32 digits that are written as this text; null for a text that never is. */
export function clientIdHexOf(text: string): string | null {
  if (!/^[1-9]\d{0,14}$/.test(text)) return null;
  const index = Number(text);
  return index > MAX_CLIENT_ORDER_INDEX ? null : index.toString(16).padStart(32, "0");
}
