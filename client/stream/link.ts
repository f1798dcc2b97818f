/**
 * The life of the connection: open, lose, wait with full jitter, open again. Random numbers are passed in, so that a
 * replay decides the same.
 */
import { decodeFrame, type ErrorFrame } from "./frames.js";
import { applyFrame } from "./reducer.js";
import { expire, markAllStale, pump, restoreAll, sendClaim } from "./requests.js";
import {
  AUTH_MS,
  CONNECT_MS,
  type Effect,
  OPS_PER_SECOND,
  RECONNECT_CEILING_MS,
  RECONNECT_FIRST_CEILING_MS,
  RECONNECT_FLOOR_MS,
  SILENCE_MS,
  type StreamState,
  setPhase,
} from "./state.js";

/** Close codes of the server (realtime design). */
const CLOSE_BAD_FRAME = 4400;
const CLOSE_AUTH = 4401;
const CLOSE_FORBIDDEN = 4403;
const CLOSE_SLOW = 4408;
const CLOSE_RATE = 4429;
const CLOSE_RESTART = 1012;
const CLOSE_TRY_LATER = 1013;
/** Our own code toward the server: the client gives up the connection. */
const CLOSE_GIVEN_UP = 4000;

/** The client was too much for the server: the first wait is at least this long and grows from there. */
const TOO_MUCH_FLOOR_MS = 5_000;
/** After a restart all clients reconnect at once: they are spread over at least this time. */
const RESTART_SPREAD_MS = 3_000;
/** A server may request a wait, but not forever. */
const MAX_RETRY_AFTER_MS = 300_000;
/** Refusals of a claim that another claim can mend: the clock is corrected, or its one use is over. */
const MENDABLE: ReadonlySet<string> = new Set(["AUTH_TIMESTAMP_OUT_OF_WINDOW", "AUTH_REPLAY", "AUTH_BAD_TICKET"]);

export function start(state: StreamState, nowMs: number, effects: Effect[]): void {
  if (state.link.phase !== "idle") return;
  Object.assign(state.link, { attempt: 0, refusal: null, wasClaimRepeated: false });
  connect(state, nowMs, effects);
}

export function stop(state: StreamState, nowMs: number, effects: Effect[]): void {
  const { phase } = state.link;
  if (phase === "idle") return;
  setPhase(state, "idle", nowMs);
  markAllStale(state, effects);
  if (phase === "open" || phase === "connecting") effects.push({ kind: "close", code: 1000, reason: "" });
  effects.push({ kind: "status" });
}

export function applyOpened(state: StreamState, nowMs: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase !== "connecting") return;
  setPhase(state, "open", nowMs);
  link.heardMs = nowMs;
  link.opBudget = OPS_PER_SECOND;
  link.opBudgetAtMs = nowMs;
  link.laggingUntilMs = 0;
  state.counts.connects++;
  restoreAll(state);
  link.auth = state.claims ? "making" : "none";
  link.authSinceMs = nowMs;
  link.authOpId = null;
  if (state.claims) effects.push({ kind: "claim" });
  effects.push({ kind: "status" });
  pump(state, nowMs, effects);
}

/** Null: there is no key, and nothing is proven. */
export function applyClaim(state: StreamState, claim: object | null, nowMs: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase !== "open" || link.auth !== "making") return;
  if (claim === null) link.auth = "none";
  else sendClaim(state, claim, effects);
  pump(state, nowMs, effects);
}

/** No claim can be made now. */
export function applyNoClaim(state: StreamState, nowMs: number, dice: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase === "open" && link.auth === "making") giveUp(state, "no claim", nowMs, dice, effects);
}

function applyClaimRefused(
  state: StreamState,
  { code, error, serverTimeMs }: ErrorFrame,
  nowMs: number,
  dice: number,
  effects: Effect[],
): void {
  const { link } = state;
  link.refusal = { code, error };
  effects.push({ kind: "claimRefused", code, serverTimeMs });
  if (MENDABLE.has(code) && !link.wasClaimRepeated) {
    link.wasClaimRepeated = true;
    giveUp(state, code, nowMs, dice, effects);
    return;
  }
  effects.push({ kind: "close", code: CLOSE_GIVEN_UP, reason: code });
  refuse(state, code, nowMs, effects);
}

/** The same key or credentials would be refused again. */
function refuse(state: StreamState, reason: string, nowMs: number, effects: Effect[]): void {
  markAllStale(state, effects);
  state.feeds = new Map();
  state.link.reason = reason;
  setPhase(state, "refused", nowMs);
  effects.push({ kind: "status" });
}

/** The socket is closed, or never opened. `dice` in [0, 1). */
export function applyClosed(state: StreamState, code: number, nowMs: number, dice: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase !== "open" && link.phase !== "connecting") return;
  if (code === CLOSE_AUTH || code === CLOSE_FORBIDDEN) {
    refuse(state, `closed ${code}`, nowMs, effects);
    return;
  }
  link.reason = `closed ${code}`;
  markAllStale(state, effects);
  state.feeds = new Map();
  setPhase(state, "waiting", nowMs);
  link.retryAtMs = nowMs + waitMs(state, code, dice);
  link.retryAfterMs = null;
  link.attempt++;
  effects.push({ kind: "status" });
}

/** Full jitter between a floor and a doubling ceiling; a wait that the server requests is added. */
function waitMs(state: StreamState, code: number, dice: number): number {
  const { attempt, retryAfterMs } = state.link;
  let floor = RECONNECT_FLOOR_MS;
  let ceiling = Math.min(RECONNECT_CEILING_MS, RECONNECT_FIRST_CEILING_MS * 2 ** Math.min(attempt, 10));
  if (code === CLOSE_RESTART || code === CLOSE_TRY_LATER) ceiling = Math.max(ceiling, RESTART_SPREAD_MS);
  if (code === CLOSE_SLOW || code === CLOSE_RATE || code === CLOSE_BAD_FRAME) {
    floor = TOO_MUCH_FLOOR_MS;
    ceiling = Math.max(Math.min(RECONNECT_CEILING_MS, ceiling * 4), 2 * TOO_MUCH_FLOOR_MS);
  }
  const asked = Math.min(MAX_RETRY_AFTER_MS, retryAfterMs ?? 0);
  return asked + floor + dice * (ceiling - floor);
}

/** `dice` in [0, 1). */
export function applyText(state: StreamState, text: unknown, nowMs: number, dice: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase !== "open") return;
  link.heardMs = nowMs;
  state.counts.frames++;
  const frame = decodeFrame(text);
  if (frame === null) state.counts.undecodable++;
  else if (frame.type === "error" && frame.id !== null && frame.id === link.authOpId)
    applyClaimRefused(state, frame, nowMs, dice, effects);
  else applyFrame(state, frame, nowMs, effects);
  pump(state, nowMs, effects);
}

/** Time has passed. `dice` in [0, 1). */
export function applyTick(state: StreamState, nowMs: number, dice: number, effects: Effect[]): void {
  const { link } = state;
  switch (link.phase) {
    case "waiting":
      if (nowMs >= link.retryAtMs) connect(state, nowMs, effects);
      return;
    case "connecting":
      if (nowMs - link.sinceMs >= CONNECT_MS) giveUp(state, "no connection", nowMs, dice, effects);
      return;
    case "open":
      if (nowMs - link.heardMs >= SILENCE_MS) giveUp(state, "silence", nowMs, dice, effects);
      else if ((link.auth === "making" || link.auth === "sent") && nowMs - link.authSinceMs >= AUTH_MS)
        giveUp(state, "no answer to the claim", nowMs, dice, effects);
      else if (expire(state, nowMs)) giveUp(state, "no answer", nowMs, dice, effects);
      else pump(state, nowMs, effects);
      return;
    case "idle":
    case "refused":
      return;
  }
}

function connect(state: StreamState, nowMs: number, effects: Effect[]): void {
  setPhase(state, "connecting", nowMs);
  effects.push({ kind: "open" }, { kind: "status" });
}

function giveUp(state: StreamState, reason: string, nowMs: number, dice: number, effects: Effect[]): void {
  effects.push({ kind: "close", code: CLOSE_GIVEN_UP, reason });
  applyClosed(state, CLOSE_GIVEN_UP, nowMs, dice, effects);
  state.link.reason = reason;
}
