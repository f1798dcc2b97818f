/** A venue's answer in our own terms. A row that does not fit its instrument makes the answer unreadable, as a whole. */
import type { Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";
import { decodeWith } from "./wire-fields.js";

/** `what` names the read in messages. `normalize` throws WireFault where a row does not fit; a failed read stays as it is. */
export function normalizedRead<W, T>(read: Read<W>, what: string, normalize: (wire: W) => T): Read<T> {
  if (!read.ok) return read;
  const decoded = decodeWith(read.value, () => normalize(read.value));
  return decoded.ok ? { ...read, value: decoded.value } : failedRead("BAD_RESPONSE", `${what}: ${decoded.problem}`);
}
