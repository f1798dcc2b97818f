/**
 * Decodes text from the server into one frame, checked at the border; nothing after this file trusts raw input. Text
 * without the shape of a known frame gives null: the caller counts it and continues, nothing throws.
 */

import type { Static } from "@sinclair/typebox";
import type { breakerState, feedState } from "../../schemas/common.js";

export type FeedState = Static<typeof feedState>;
const FEED_STATES: ReadonlySet<unknown> = new Set<FeedState>(["LIVE", "SYNCING", "STALE", "DOWN"]);

export type BreakerState = Static<typeof breakerState>;
const BREAKER_STATES: ReadonlySet<unknown> = new Set<BreakerState>(["closed", "open", "halfOpen"]);

export interface SubHead {
  readonly sub: string;
  readonly epoch: string;
  readonly seq: number;
}

export interface ResumedHead extends SubHead {
  /** True: a snapshot follows; false: nothing was missed. */
  readonly missed: boolean;
}

export interface FeedHealth {
  readonly state: FeedState;
  /** Time since the venue's feed was last proven alive; null before the first proof. */
  readonly ageMs: number | null;
  /** Open: the service sends the venue no request, in any state of its feed. */
  readonly breaker: BreakerState;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface SnapshotFrame extends SubHead {
  readonly type: "snapshot";
  readonly ts: number;
  readonly data: Fields;
}

export interface UpdateFrame extends SubHead {
  readonly type: "update";
  readonly prevSeq: number;
  readonly ts: number;
  readonly data: Fields;
}

export interface HeartbeatFrame {
  readonly type: "heartbeat";
  readonly ts: number;
  readonly heads: ReadonlyMap<string, number>;
  readonly feeds: ReadonlyMap<string, FeedHealth>;
}

export interface ErrorFrame {
  readonly type: "error";
  readonly id: string | null;
  readonly code: string;
  readonly error: string;
  readonly retryAfterMs: number | null;
  /** The server's time, in refusals of a claim. */
  readonly serverTimeMs: number | null;
}

export type ServerFrame =
  | SnapshotFrame
  | UpdateFrame
  | HeartbeatFrame
  | ErrorFrame
  | { readonly type: "subscribed"; readonly id: string | null; readonly subs: readonly SubHead[] }
  | { readonly type: "resumed"; readonly id: string | null; readonly subs: readonly ResumedHead[] }
  | { readonly type: "authenticated"; readonly id: string | null }
  | { readonly type: "unsubscribed"; readonly id: string | null; readonly subs: readonly string[] }
  /** This client reads too slowly: frames are conflated for it. */
  | { readonly type: "lagging" }
  /** The server is about to close; `retryAfterMs` is when to reconnect. */
  | { readonly type: "status"; readonly retryAfterMs: number | null }
  /** More happened than the server kept for this client: a snapshot follows. */
  | { readonly type: "resync" }
  | { readonly type: "pong" };

/** The hard limit of the server's buffer for a socket: no legal frame is larger. */
export const MAX_FRAME_CHARS = 4 * 1024 * 1024;
const MAX_KEY_CHARS = 1024;
/** Most names in one frame (venues of a payload, keys of a heartbeat): more than any legal frame has. */
const MAX_NAMES = 1024;

export function decodeFrame(text: unknown): ServerFrame | null {
  if (typeof text !== "string" || text.length > MAX_FRAME_CHARS) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Text that is not JSON is treated like an unknown frame.
    return null;
  }
  if (!isFields(value)) return null;
  switch (value.type) {
    case "snapshot":
    case "update":
      return dataFrame(value.type, value);
    case "heartbeat":
      return heartbeat(value);
    case "subscribed":
      return { type: "subscribed", id: textOrNull(value.id), subs: heads(value.subs) };
    case "unsubscribed":
      return { type: "unsubscribed", id: textOrNull(value.id), subs: listOf(value.subs).filter(isKey) };
    case "error":
      return {
        type: "error",
        id: textOrNull(value.id),
        code: textOrNull(value.code) ?? "UNKNOWN",
        error: textOrNull(value.error) ?? "",
        retryAfterMs: retryAfter(value) ?? (isFields(value.details) ? retryAfter(value.details) : null),
        serverTimeMs: isFields(value.details) && isCount(value.details.serverTime) ? value.details.serverTime : null,
      };
    case "authenticated":
      return { type: "authenticated", id: textOrNull(value.id) };
    case "resumed":
      return { type: "resumed", id: textOrNull(value.id), subs: resumedHeads(value.subs) };
    case "status":
      return { type: "status", retryAfterMs: retryAfter(value) };
    case "lagging":
    case "resync":
    case "pong":
      return { type: value.type };
    default:
      return null;
  }
}

function dataFrame(type: "snapshot" | "update", value: Fields): SnapshotFrame | UpdateFrame | null {
  const { sub, epoch, seq, prevSeq, ts, data } = value;
  if (!isKey(sub) || !isKey(epoch) || !isCount(seq) || !isFields(data)) return null;
  const common = { sub, epoch, seq, ts: isCount(ts) ? ts : 0, data };
  if (type === "snapshot") return { type, ...common };
  // An update must move forward.
  return isCount(prevSeq) && prevSeq < seq ? { type, prevSeq, ...common } : null;
}

function heartbeat(value: Fields): HeartbeatFrame {
  const headsByKey = new Map<string, number>();
  for (const [key, seq] of entriesOf(value.heads)) if (isKey(key) && isCount(seq)) headsByKey.set(key, seq);
  return { type: "heartbeat", ts: isCount(value.ts) ? value.ts : 0, heads: headsByKey, feeds: feedsOf(value.feeds) };
}

/** Feed health by venue; entries of another shape are left out. */
export function feedsOf(value: unknown): Map<string, FeedHealth> {
  const feeds = new Map<string, FeedHealth>();
  for (const [venue, health] of entriesOf(value)) {
    if (!isFields(health) || !isFeedState(health.state)) continue;
    // An older service does not report breakers.
    const breaker = isBreakerState(health.breaker) ? health.breaker : "closed";
    feeds.set(venue, { state: health.state, ageMs: isCount(health.ageMs) ? health.ageMs : null, breaker });
  }
  return feeds;
}

function isBreakerState(value: unknown): value is BreakerState {
  return BREAKER_STATES.has(value);
}

export function isFeedState(value: unknown): value is FeedState {
  return FEED_STATES.has(value);
}

function heads(value: unknown): SubHead[] {
  return listOf(value)
    .map(headOf)
    .filter((head) => head !== null);
}

function resumedHeads(value: unknown): ResumedHead[] {
  const found: ResumedHead[] = [];
  for (const one of listOf(value)) {
    const head = headOf(one);
    // Anything but a plain "nothing missed" means that a snapshot will follow.
    if (head !== null) found.push({ ...head, missed: !isFields(one) || one.missed !== false });
  }
  return found;
}

function headOf(value: unknown): SubHead | null {
  if (!isFields(value) || !isKey(value.sub) || !isKey(value.epoch) || !isCount(value.seq)) return null;
  return { sub: value.sub, epoch: value.epoch, seq: value.seq };
}

function retryAfter(value: Fields): number | null {
  return isCount(value.retryAfterMs) ? value.retryAfterMs : null;
}

/** Returns the own entries of an object, at most MAX_NAMES; none for anything else. */
export function entriesOf(value: unknown): [string, unknown][] {
  return isFields(value) ? Object.entries(value).slice(0, MAX_NAMES) : [];
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_NAMES) : [];
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isKey(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_KEY_CHARS;
}

/** Reports whether it is a non-negative safe integer: sequences, times, ages. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value.length <= MAX_KEY_CHARS ? value : null;
}
