/**
 * Request body bytes → JSON value, refusing what could be read in two ways: invalid UTF-8, duplicate keys, too deep
 * nesting. A `__proto__` key is an ordinary own property (JSON.parse defines, never assigns).
 *
 * Invariant: a refusal never repeats a byte of the body. The parser's own message quotes it, so only the position is
 * taken from there.
 */
import { isUtf8 } from "node:buffer";
import type { ErrorCode } from "../../engine/domain/errors.js";

/** Our deepest request has four levels. */
export const MAX_JSON_DEPTH = 16;

export type JsonBody =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

export function parseJsonBody(bytes: Buffer): JsonBody {
  if (bytes.length === 0) return refuse({ problem: "the body is empty" });
  const shape = scanShape(bytes);
  if (!shape.isAscii && !isUtf8(bytes)) return refuse({ problem: "the body is not valid UTF-8" });
  if (shape.depth > MAX_JSON_DEPTH) return refuse({ problem: `nested deeper than ${MAX_JSON_DEPTH} levels` });
  let value: unknown;
  try {
    value = JSON.parse(shape.isAscii ? bytes.toString("latin1") : bytes.toString("utf8"));
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
    return refuse(position === undefined ? {} : { position: Number(position) });
  }
  // Every member has one colon outside strings; duplicates collapse in the parsed value, so the counts differ.
  if (countMembers(value) !== shape.memberCount) return refuse({ problem: "an object has the same key twice" });
  return { ok: true, value };
}

function refuse(details: Readonly<Record<string, unknown>>): JsonBody {
  return { ok: false, code: "INVALID_JSON", details };
}

/**
 * One pass: the deepest nesting, the colons outside strings, and whether every byte is ASCII. The first two are
 * meaningful for valid JSON only; the parser checks validity.
 */
function scanShape(bytes: Buffer): { depth: number; memberCount: number; isAscii: boolean } {
  let bits = 0;
  let depth = 0;
  let deepest = 0;
  let memberCount = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    bits |= byte;
    if (inString) {
      // An escaped character cannot end the string.
      if (byte === 0x5c) bits |= bytes[++index] ?? 0;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x3a) memberCount++;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return { depth: deepest, memberCount, isAscii: bits < 0x80 };
}

/** Recursion is bounded by MAX_JSON_DEPTH. */
function countMembers(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  if (Array.isArray(value)) {
    let count = 0;
    for (const item of value) count += countMembers(item);
    return count;
  }
  let count = 0;
  const members = value as Readonly<Record<string, unknown>>;
  for (const key in members) {
    if (!Object.hasOwn(members, key)) continue;
    const item = members[key];
    count += typeof item === "object" ? 1 + countMembers(item) : 1;
  }
  return count;
}
