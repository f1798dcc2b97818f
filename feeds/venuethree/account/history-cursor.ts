/** Cursors of the history lists: what they hold, written as text that is opaque to everybody else, and read back. */
import { isFields } from "../../shared/room/wire-fields.js";

/** A place in one list of the venue; `venueCursor` null is its beginning. */
export interface ListCursor {
  readonly kind: "fills" | "funding";
  readonly scope: string;
  readonly venueCursor: string | null;
}

/** `fixedUs`: newest end of an order when the first page was read, microseconds. */
export type OrdersCursor =
  | {
      readonly phase: "active";
      readonly scope: string;
      readonly fixedUs: number;
      readonly createdMs: number;
      readonly orderId: string;
    }
  | {
      readonly phase: "ended";
      readonly scope: string;
      readonly fixedUs: number;
      readonly venueCursor: string | null;
    };

const MAX_CURSOR_CHARS = 1_024;

export function writeCursor(cursor: ListCursor | OrdersCursor): string {
  return Buffer.from(JSON.stringify(cursor), "utf8").toString("base64url");
}

/** Null means no cursor of this list. */
export function readListCursor(kind: ListCursor["kind"], text: string): ListCursor | null {
  const fields = read(text);
  if (fields === null || fields["kind"] !== kind) return null;
  const { scope, venueCursor } = fields;
  return typeof scope === "string" && isVenueCursor(venueCursor) ? { kind, scope, venueCursor } : null;
}

export function readOrdersCursor(text: string): OrdersCursor | null {
  const fields = read(text);
  if (fields === null) return null;
  const { phase, scope, fixedUs, createdMs, orderId, venueCursor } = fields;
  if (typeof scope !== "string" || !isCount(fixedUs)) return null;
  if (phase === "ended") return isVenueCursor(venueCursor) ? { phase, scope, fixedUs, venueCursor } : null;
  if (phase !== "active" || !isCount(createdMs)) return null;
  return typeof orderId === "string" && /^\d{1,20}$/.test(orderId)
    ? { phase, scope, fixedUs, createdMs, orderId }
    : null;
}

function read(text: string): Readonly<Record<string, unknown>> | null {
  if (text.length > MAX_CURSOR_CHARS || !/^[\w-]+$/.test(text)) return null;
  try {
    const value = JSON.parse(Buffer.from(text, "base64url").toString("utf8")) as unknown;
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isVenueCursor(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && value.length <= 512);
}
