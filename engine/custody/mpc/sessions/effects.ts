/**
 * What a session asks of whoever runs it, in the order in which it is to be done. A `commit` or a `backup` is durable
 * (fsync) before the next effect is looked at; where that fails, the rest is not done and the session is ended as
 * "store failed". The runner owns sockets, clocks and rows; a session owns neither.
 */
import type { Failure } from "../base/outcome.js";
import type { FinalSignature } from "../parts/final-signature.js";
import type { Message } from "../wire/header.js";
import type { MessageName } from "../wire/message-types.js";
import type { StateRow } from "../state/state-row.js";

/** The policy's own note of an amount; opaque here. It is made durable in the commit of the ctr. */
export type Reservation = Readonly<Record<string, unknown>>;

export interface SealedShare {
  readonly epoch: number;
  readonly tag: Uint8Array;
  /** P, 33 bytes. */
  readonly publicKey: Uint8Array;
  readonly record: Uint8Array;
}

export type Effect =
  | {
      /** One commit: all of it or nothing. */
      readonly kind: "commit";
      /** Null: the row goes, the wallet was never active. */
      readonly row: StateRow | null;
      readonly put: SealedShare | null;
      readonly erase: readonly number[];
      readonly reservation: Reservation | null;
    }
  | { readonly kind: "backup"; readonly epoch: number; readonly tag: Uint8Array; readonly file: Uint8Array }
  /** The deadlines of the answer are those of `awaits`. */
  | { readonly kind: "send"; readonly message: Message; readonly awaits: MessageName | null }
  /**
   * The row is made frozen with the time of the wall clock and durable before anything else leaves; then `Freeze` is
   * sent, and the caller waits for `Frozen` or 2 s.
   */
  | { readonly kind: "freeze"; readonly row: StateRow; readonly dropsPrepared: boolean }
  | { readonly kind: "release"; readonly signature: FinalSignature }
  /** Before the fourth flight left no signature can exist, so the amount is free again. */
  | { readonly kind: "unreserve"; readonly reservation: Reservation }
  /** The amounts of the day are those of an older store, so they count as spent. */
  | { readonly kind: "amounts spent" }
  /** A wallet or an epoch is active on both sides: the caller gets its answer. */
  | { readonly kind: "acknowledge"; readonly epoch: number; readonly publicKey: Uint8Array }
  /** The last effect of a session; `row` is the wallet's row in memory from here on. */
  | { readonly kind: "end"; readonly end: SessionEnd; readonly row: StateRow | null };

/**
 * How a session ended: in order, by a notice of the peer that froze the wallet, or by one of the five classes.
 * `explained` is false for a fault of ours between the start of a check and its result, and for a step that has no result.
 */
export type SessionEnd =
  | { readonly kind: "done" }
  | { readonly kind: "frozen by peer" }
  | {
      readonly kind: "failed";
      readonly failure: Failure;
      readonly by: "self" | "peer";
      readonly explained: boolean;
    };

/** Why the runner ends a session. */
export type EndCause = "deadline" | "lost" | "stopped" | "freeze notice" | "store failed";

export interface Step {
  readonly effects: readonly Effect[];
  /** The message belonged to no session that runs; it is counted. */
  readonly dropped: boolean;
}

export const DROPPED: Step = { effects: [], dropped: true };

export function stepOf(...effects: readonly Effect[]): Step {
  return { effects, dropped: false };
}

export function commitOf(
  row: StateRow | null,
  more: Partial<Omit<Effect & { kind: "commit" }, "kind" | "row">> = {},
): Extract<Effect, { kind: "commit" }> {
  return { kind: "commit", row, put: null, erase: [], reservation: null, ...more };
}

export interface Deadlines {
  readonly flightMs: number;
  readonly sessionMs: number;
}

/** Of the monotonic clock. */
export const SIGN_DEADLINES: Deadlines = { flightMs: 2_000, sessionMs: 5_000 };
export const KEYGEN_DEADLINES: Deadlines = { flightMs: 10_000, sessionMs: 30_000 };
