// hot path
/** The forms of the headers of a key: what is read in one way only. */
import type { KeyHeaders } from "../http/caller.js";

/** Ms before now that a timestamp may have where the request names no window of its own. */
export const RECV_WINDOW_DEFAULT_MS = 5_000;
export const RECV_WINDOW_MIN_MS = 1_000;
export const RECV_WINDOW_MAX_MS = 60_000;
/** Ms after now, for clocks that are ahead of ours. */
export const AHEAD_MAX_MS = 1_000;

const TIMESTAMP = /^[1-9][0-9]{0,15}$/;
const RECV_WINDOW = /^[1-9][0-9]{3,4}$/;
const SIGNATURE_CHARS = 64;

/** An empty header is as good as none. */
export function isShown(header: string | null): header is string {
  return header !== null && header !== "";
}

/** NaN for anything but 1 to 16 digits without a leading zero. */
export function timestampMs(text: string): number {
  return TIMESTAMP.test(text) ? Number(text) : Number.NaN;
}

/** NaN for anything but the digits of a number within the bounds. */
export function recvWindowMs(text: string | null): number {
  if (!isShown(text)) return RECV_WINDOW_DEFAULT_MS;
  const ms = RECV_WINDOW.test(text) ? Number(text) : Number.NaN;
  return ms >= RECV_WINDOW_MIN_MS && ms <= RECV_WINDOW_MAX_MS ? ms : Number.NaN;
}

/** 64 lower-case hex digits: one signature has one text. */
export function isSignatureForm(text: string): boolean {
  if (text.length !== SIGNATURE_CHARS) return false;
  for (let index = 0; index < SIGNATURE_CHARS; index++) {
    const unit = text.charCodeAt(index);
    if (!((unit >= 0x30 && unit <= 0x39) || (unit >= 0x61 && unit <= 0x66))) return false;
  }
  return true;
}

/** GET and HEAD change nothing, so a second sight of one does no harm. */
export function isWrite(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

export function showsKey(headers: KeyHeaders): boolean {
  return (
    isShown(headers.apiKey) ||
    isShown(headers.timestamp) ||
    isShown(headers.recvWindow) ||
    isShown(headers.signature) ||
    isShown(headers.secret)
  );
}
