/**
 * The state of the stream client as plain data, and its bounds. Decisions are in requests.ts, link.ts and reducer.ts,
 * as functions of (state, event, time, dice) → effects; the shell performs the effects.
 */
import type { Static } from "@sinclair/typebox";
import type { subscribeBookSchema, subscribePositionsSchema } from "../../schemas/stream.js";
import type { FeedHealth } from "./frames.js";
import type { Topic, TopicData } from "./topics.js";

/** Subscriptions the server allows on a connection; one more is refused here. */
export const MAX_SUBSCRIPTIONS = 200;
/** The server allows 20 frames a second; the client uses half. */
export const OPS_PER_SECOND = 10;
/** Keys in one resume: well inside the server's 64 KiB frame. */
export const RESUME_BATCH = 100;
/** The same, for keys with credentials. */
export const PRIVATE_RESUME_BATCH = 20;
/** An operation without a reply is sent again after this. */
export const ANSWER_MS = 5_000;
/**
 * The same, for a snapshot that waits for something behind the server: accounts, where the server waits up to five
 * seconds for venues, and any key that its heartbeats report as waiting. Longer than two heartbeats, so that the next
 * one comes first.
 */
export const WAITING_ANSWER_MS = 12_000;
/** After this many failed recoveries in a row of one subscription, the connection is given up. */
export const MAX_RECOVERIES = 3;
/** The server sends a heartbeat every 5 s; silence this long means a dead connection (realtime design, client rule). */
export const SILENCE_MS = 12_000;
/** A socket must open within this time. */
export const CONNECT_MS = 10_000;
/** From an open socket to a proven key: reading the service's time, signing, and the reply. */
export const AUTH_MS = 10_000;
/** Full jitter: uniform between the floor and a ceiling that doubles up to the last one. */
export const RECONNECT_FLOOR_MS = 500;
export const RECONNECT_FIRST_CEILING_MS = 1_000;
export const RECONNECT_CEILING_MS = 30_000;

type SubscribeBook = Static<typeof subscribeBookSchema>;
type SubscribePositions = Static<typeof subscribePositionsSchema>;

export interface SubscribeParams {
  readonly topic: Topic;
  /** Canonical symbols; absent for topics without one. */
  readonly symbols?: readonly string[];
  /** Default: every venue that lists the symbol. */
  readonly exchanges?: NonNullable<SubscribeBook["exchanges"]> | NonNullable<SubscribePositions["exchanges"]>;
  readonly intervalMs?: NonNullable<SubscribeBook["intervalMs"]>;
  /** Only for books. */
  readonly depth?: NonNullable<SubscribeBook["depth"]>;
  /** Only for positions and orders: the wallet, and the credentials by venue. Sent again on each new connection. */
  readonly walletAddress?: string;
  /** Only for transfers: a server wallet by user id, wallet id or address. Default: all of the caller's. */
  readonly walletIdOrAddress?: string;
  readonly credentials?: NonNullable<SubscribePositions["credentials"]>;
}

/** One distinct set of parameters; callers with the same parameters share it. */
export interface Request {
  readonly id: number;
  readonly params: SubscribeParams;
  readonly canonical: string;
  holders: number;
  phase: "wanted" | "asked" | "held" | "refused";
  notBeforeMs: number;
  keys: string[];
  refusal: Refusal | null;
}

export type StaleReason = "waiting" | "disconnected" | "gap" | "epoch" | "stalled" | "checksum" | "malformed";

export interface Subscription {
  readonly key: string;
  readonly requestIds: Set<number>;
  readonly topic: Topic;
  /** For subscribing again; "" until the first snapshot names it, or for a topic without one. */
  symbol: string;
  epoch: string;
  seq: number;
  data: TopicData | null;
  /** Null means that the state is current. */
  stale: StaleReason | null;
  /** What to request from the server: missing updates, or everything from the start. */
  recovery: "none" | "resume" | "resubscribe";
  /** When the recovery was requested; null while it is only wanted. One in flight. */
  askedAtMs: number | null;
  recoveryCount: number;
  /** The server reported that its snapshot waits there. */
  waitsThere: boolean;
  /** Monotonic ms of the last frame of this subscription. */
  heardMs: number;
  /** The server's time in that frame. */
  tsMs: number;
}

/**
 * Proof of a key on this connection. `making`: nothing is sent before it, since a claim is the first frame. `sent`:
 * only public subscriptions are requested.
 */
export type AuthPhase = "none" | "making" | "sent" | "proven";

export type LinkPhase = "idle" | "connecting" | "open" | "waiting" | "refused";

export interface Refusal {
  readonly code: string;
  readonly error: string;
}

export interface Link {
  phase: LinkPhase;
  sinceMs: number;
  /** Used only while waiting. */
  retryAtMs: number;
  /** Failed or lost connections since the last good one. */
  attempt: number;
  /** Close code or cause of the last loss; null before the first. */
  reason: string | null;
  auth: AuthPhase;
  authSinceMs: number;
  /** Id of the claim's operation; null while none is under way. */
  authOpId: string | null;
  /** Why the server did not accept the key; null while it has not refused it. */
  refusal: Refusal | null;
  /** A claim that was refused for its time is made again once. */
  wasClaimRepeated: boolean;
  /** From the server's last message; used once. */
  retryAfterMs: number | null;
  heardMs: number;
  /**
   * Until then the server merges updates, because it reported that this client reads too slowly. Shown, not acted on.
   */
  laggingUntilMs: number;
  opBudget: number;
  opBudgetAtMs: number;
  nextOpId: number;
}

/** An operation without a reply yet. */
export interface PendingOp {
  readonly kind: "subscribe" | "resume" | "unsubscribe";
  readonly requestId: number;
  readonly keys: readonly string[];
  readonly sentAtMs: number;
}

export interface Counts {
  frames: number;
  undecodable: number;
  /** Frames of keys that are not held; repeated or old updates. */
  ignored: number;
  gaps: number;
  checksumMismatches: number;
  stalls: number;
  connects: number;
}

export interface StreamState {
  readonly requests: Map<number, Request>;
  readonly subs: Map<string, Subscription>;
  /** Keys without a holder, to be unsubscribed. */
  readonly dropped: Set<string>;
  readonly pending: Map<string, PendingOp>;
  readonly link: Link;
  /** Each connection begins with a claim. */
  readonly claims: boolean;
  feeds: ReadonlyMap<string, FeedHealth>;
  feedsHeardMs: number;
  readonly counts: Counts;
  nextRequestId: number;
}

export type Effect =
  | { readonly kind: "open" }
  | { readonly kind: "close"; readonly code: number; readonly reason: string }
  | { readonly kind: "send"; readonly text: string }
  /** The subscription's data, freshness or existence changed. */
  | { readonly kind: "changed"; readonly key: string }
  /** A request was refused. */
  | { readonly kind: "refused"; readonly requestId: number }
  /** A claim is wanted, for the connection that has just opened. */
  | { readonly kind: "claim" }
  /** The server refused a claim. */
  | { readonly kind: "claimRefused"; readonly code: string; readonly serverTimeMs: number | null }
  /** Link phase or feed health changed. */
  | { readonly kind: "status" };

export function createStreamState(claims: boolean): StreamState {
  return {
    claims,
    requests: new Map(),
    subs: new Map(),
    dropped: new Set(),
    pending: new Map(),
    link: {
      phase: "idle",
      sinceMs: 0,
      retryAtMs: 0,
      attempt: 0,
      reason: null,
      auth: "none",
      authSinceMs: 0,
      authOpId: null,
      refusal: null,
      wasClaimRepeated: false,
      retryAfterMs: null,
      heardMs: 0,
      laggingUntilMs: 0,
      opBudget: OPS_PER_SECOND,
      opBudgetAtMs: 0,
      nextOpId: 1,
    },
    feeds: new Map(),
    feedsHeardMs: 0,
    counts: { frames: 0, undecodable: 0, ignored: 0, gaps: 0, checksumMismatches: 0, stalls: 0, connects: 0 },
    nextRequestId: 1,
  };
}

export function setPhase(state: StreamState, phase: LinkPhase, nowMs: number): void {
  state.link.phase = phase;
  state.link.sinceMs = nowMs;
}

/** The state is not trusted from now on; the last data stays readable, with that mark. */
export function markStale(sub: Subscription, reason: StaleReason, effects: Effect[]): void {
  if (sub.stale === reason) return;
  sub.stale = reason;
  effects.push({ kind: "changed", key: sub.key });
}
