/** The faults of a local venue, and the verdicts of its injector (faults.ts) on each request and frame. */

export type FaultScope = "rest" | "market" | "user";

/**
 * latency/jitter: `delayMs` + uniform[0, jitterMs] per reply or frame (frames keep order). fixedDelay: exactly
 * `delayMs` per REST reply. loss: frame or request dropped (a lost request never executes, its connection is cut).
 * duplicate: frame sent twice. reorder: frame held back and sent after the next one of its socket. gap: as loss, for
 * frames that carry book sequences, and account frames where `scope` names `user`. silent: socket stays open and sends
 * nothing, not even pongs. heldRequest: a request waits `delayMs` + uniform[0, jitterMs] at the venue's door, then
 * executes, whether or not its sender still listens. disconnect: socket cut. rate429/ban418: refused with the venue's
 * body, `retryAfterS` ≥ 0 adds the header. errorBefore/errorAfter: 5xx (`status`, default 503) before or after
 * execution. replyLost: executed, connection cut. clockSkew: venue clock off by `delayMs` (may be negative).
 * refuseHandshake: WebSocket upgrade answered with `status`. halfFrame: only the first half of the frame's text is
 * sent. ignoreSubscribe: a subscription is dropped without an answer (`match` is compared with the stream's name), at
 * venues whose acknowledgement can be lost.
 */
export type FaultKind =
  | "latency"
  | "fixedDelay"
  | "loss"
  | "duplicate"
  | "reorder"
  | "gap"
  | "silent"
  | "disconnect"
  | "rate429"
  | "ban418"
  | "errorBefore"
  | "errorAfter"
  | "replyLost"
  | "heldRequest"
  | "clockSkew"
  | "refuseHandshake"
  | "halfFrame"
  | "ignoreSubscribe";

export interface FaultSpec {
  readonly kind: FaultKind;
  /** Default: every scope the kind makes sense for. */
  readonly scope?: readonly FaultScope[];
  /**
   * Only REST routes or streams whose `METHOD /path` or stream name contains this text. Account streams name their kind
   * and their account on every venue (core/README.md), so that one account or one kind of its frames can be chosen.
   */
  readonly match?: string;
  /** Per request or frame. Default 1. */
  readonly probability?: number;
  /** Ends after this long. Default: never. */
  readonly durationMs?: number;
  /** Ends after hitting this often. Default: never. */
  readonly count?: number;
  readonly delayMs?: number;
  readonly jitterMs?: number;
  readonly status?: number;
  readonly retryAfterS?: number;
}

export interface ActiveFault {
  readonly id: number;
  readonly spec: FaultSpec;
  readonly sinceMs: number;
  readonly hitCount: number;
}

/** What to do with one REST request; computed once when it has arrived whole. */
export interface RestVerdict {
  /** Before execution: `drop` cuts the connection, others answer without executing. */
  before: "none" | "drop" | "rate429" | "ban418" | "error";
  /** After execution: `cut` closes the connection without a reply. */
  after: "none" | "error" | "cut";
  status: number;
  /** -1 for no Retry-After header. */
  retryAfterS: number;
  delayMs: number;
  /** Wait before execution. */
  holdMs: number;
}

/** What to do with one outgoing frame. */
export interface FrameVerdict {
  drop: boolean;
  copies: number;
  /** Hold until the next frame of this socket was sent. */
  holdBack: boolean;
  silent: boolean;
  disconnect: boolean;
  /** Send the first half of the text only. */
  half: boolean;
  delayMs: number;
}
