/**
 * Applies a frame of the server to the state: what is current, what is missing, what listeners are notified of.
 *
 * Invariants: an update is applied only when its `prevSeq` is the client's `seq` of that key and epoch. On anything
 * else the subscription is marked not current first, then recovered, once at a time. A snapshot always replaces.
 */
import type {
  ErrorFrame,
  HeartbeatFrame,
  ResumedHead,
  ServerFrame,
  SnapshotFrame,
  SubHead,
  UpdateFrame,
} from "./frames.js";
import { awaitSnapshot, hold, recover, recovered, refuseOp } from "./requests.js";
import { type Effect, markStale, type StaleReason, type StreamState, type Subscription } from "./state.js";
import { type Fold, foldSnapshot, foldUpdate } from "./topics.js";

/** Temporary refusals: the request is repeated after this, or after the server's own time. */
const PASSING_REFUSAL_MS = 5_000;
const PASSING_CODES: ReadonlySet<string> = new Set([
  "RATE_LIMITED",
  "OVERLOADED",
  "SHUTTING_DOWN",
  "VENUE_UNAVAILABLE",
  "INTERNAL",
]);
/** How long a lag notice is shown without a new one. */
const LAGGING_SHOWN_MS = 10_000;

export function applyFrame(state: StreamState, frame: ServerFrame, nowMs: number, effects: Effect[]): void {
  switch (frame.type) {
    case "snapshot":
      applySnapshot(state, frame, nowMs, effects);
      break;
    case "update":
      applyUpdate(state, frame, nowMs, effects);
      break;
    case "heartbeat":
      applyHeartbeat(state, frame, nowMs, effects);
      break;
    case "subscribed":
      applySubscribed(state, frame.id, frame.subs, nowMs);
      break;
    case "resumed":
      applyResumed(state, frame.id, frame.subs, effects);
      break;
    case "error":
      applyError(state, frame, nowMs, effects);
      break;
    case "status":
      state.link.retryAfterMs = frame.retryAfterMs;
      break;
    case "lagging":
      state.link.laggingUntilMs = nowMs + LAGGING_SHOWN_MS;
      effects.push({ kind: "status" });
      break;
    case "authenticated":
      if (frame.id !== state.link.authOpId || state.link.auth !== "sent") break;
      Object.assign(state.link, { auth: "proven", authOpId: null, refusal: null, wasClaimRepeated: false });
      effects.push({ kind: "status" });
      break;
    case "unsubscribed":
    case "resync":
    case "pong":
      break;
  }
}

function applySubscribed(state: StreamState, id: string | null, subs: readonly SubHead[], nowMs: number): void {
  const op = takeOp(state, id);
  if (op === null) return;
  const request = state.requests.get(op.requestId);
  const keys = subs.map((head) => head.sub);
  if (request !== undefined) hold(state, request, keys, nowMs);
  // Not needed any more: the caller left while the server answered.
  else for (const key of keys) if (!state.subs.has(key)) state.dropped.add(key);
}

function applyResumed(state: StreamState, id: string | null, subs: readonly ResumedHead[], effects: Effect[]): void {
  const unnamed = new Set(takeOp(state, id)?.keys);
  for (const { sub: key, epoch, seq, missed } of subs) {
    unnamed.delete(key);
    const sub = state.subs.get(key);
    if (sub === undefined || missed || epoch !== sub.epoch || seq !== sub.seq || sub.recovery !== "resume") continue;
    recovered(sub);
    setCurrent(sub, effects);
  }
  // What the server did not accept will not come.
  for (const key of unnamed) {
    const sub = state.subs.get(key);
    if (sub === undefined || sub.recovery !== "resume") continue;
    sub.recovery = "resubscribe";
    sub.askedAtMs = null;
  }
}

function applySnapshot(state: StreamState, frame: SnapshotFrame, nowMs: number, effects: Effect[]): void {
  const sub = state.subs.get(frame.sub);
  if (sub === undefined) {
    state.counts.ignored++;
    return;
  }
  stamp(sub, frame, nowMs);
  const fold = foldSnapshot(sub.topic, frame.data, nowMs);
  if (!fold.ok) {
    distrust(state, sub, fold, effects);
    return;
  }
  sub.epoch = frame.epoch;
  sub.seq = frame.seq;
  sub.data = fold.data;
  sub.symbol = fold.data.symbol;
  sub.stale = null;
  recovered(sub);
  effects.push({ kind: "changed", key: sub.key });
}

function applyUpdate(state: StreamState, frame: UpdateFrame, nowMs: number, effects: Effect[]): void {
  const sub = state.subs.get(frame.sub);
  // Before the first snapshot, which is on its way, there is nothing to update.
  if (sub === undefined || sub.data === null) {
    state.counts.ignored++;
    return;
  }
  stamp(sub, frame, nowMs);
  if (frame.epoch !== sub.epoch) {
    lose(sub, "epoch", effects);
    return;
  }
  // A broken book stays broken until it is replaced, even if updates fit its sequence.
  if (sub.recovery === "resubscribe" || frame.seq <= sub.seq) {
    state.counts.ignored++;
    return;
  }
  if (frame.prevSeq !== sub.seq) {
    if (sub.stale !== "gap") state.counts.gaps++;
    lose(sub, "gap", effects);
    return;
  }
  const fold = foldUpdate(sub.data, frame.data, nowMs);
  if (!fold.ok) {
    distrust(state, sub, fold, effects);
    return;
  }
  sub.seq = frame.seq;
  sub.data = fold.data;
  // Next in line: nothing is missing any more, so an open request for a snapshot does not matter.
  sub.stale = null;
  recovered(sub);
  effects.push({ kind: "changed", key: sub.key });
}

function applyHeartbeat(state: StreamState, frame: HeartbeatFrame, nowMs: number, effects: Effect[]): void {
  const { link } = state;
  // The connection works: the next loss starts from the shortest wait again.
  link.attempt = 0;
  state.feeds = frame.feeds;
  state.feedsHeardMs = nowMs;
  for (const [key, head] of frame.heads) {
    const sub = state.subs.get(key);
    if (sub !== undefined && head === 0) {
      // A resync that was not requested yet is still requested.
      if (sub.recovery === "none" || sub.askedAtMs !== null) awaitSnapshot(sub, nowMs);
      if (sub.data !== null) markStale(sub, "waiting", effects);
      continue;
    }
    // A subscription under recovery is known to be behind.
    if (sub === undefined || sub.recovery !== "none" || sub.seq === head) continue;
    state.counts.stalls++;
    lose(sub, "stalled", effects);
  }
  for (const sub of state.subs.values()) {
    // Known here but not there: the server lost it without notice.
    if (sub.data === null || sub.recovery !== "none" || frame.heads.has(sub.key)) continue;
    state.counts.stalls++;
    markStale(sub, "stalled", effects);
    recover(sub, "resubscribe");
  }
  effects.push({ kind: "status" });
}

function applyError(state: StreamState, frame: ErrorFrame, nowMs: number, effects: Effect[]): void {
  const op = takeOp(state, frame.id);
  if (op === null) return;
  const request = state.requests.get(op.requestId);
  if (request === undefined) {
    refuseOp(state, op);
    return;
  }
  if (PASSING_CODES.has(frame.code)) {
    request.phase = "wanted";
    request.notBeforeMs = nowMs + Math.max(PASSING_REFUSAL_MS, frame.retryAfterMs ?? 0);
    return;
  }
  request.phase = "refused";
  request.refusal = { code: frame.code, error: frame.error };
  effects.push({ kind: "refused", requestId: request.id });
}

function takeOp(state: StreamState, id: string | null) {
  if (id === null) return null;
  const op = state.pending.get(id);
  state.pending.delete(id);
  return op ?? null;
}

function stamp(sub: Subscription, frame: SnapshotFrame | UpdateFrame, nowMs: number): void {
  sub.heardMs = nowMs;
  sub.tsMs = frame.ts;
}

function setCurrent(sub: Subscription, effects: Effect[]): void {
  if (sub.stale === null) return;
  sub.stale = null;
  effects.push({ kind: "changed", key: sub.key });
}

/** Updates are missing; the state was right until then. */
function lose(sub: Subscription, reason: StaleReason, effects: Effect[]): void {
  markStale(sub, reason, effects);
  recover(sub, "resume");
}

/** The state is wrong, or a frame cannot be read: only a complete new state helps. */
function distrust(state: StreamState, sub: Subscription, fold: Extract<Fold, { ok: false }>, effects: Effect[]): void {
  if (fold.problem === "checksum") state.counts.checksumMismatches++;
  markStale(sub, fold.problem, effects);
  // It was requested again already, and this arrived: waiting for the time-out spares a broken server.
  recover(sub, "resubscribe");
}
