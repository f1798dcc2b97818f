/**
 * What a session asks of whoever runs it, in the order in which it is to be done. A `commit` or a `backup` is durable
 * (fsync) before the next effect is looked at; where that fails, the rest is not done and the session is ended as
 * "store failed". The runner owns sockets, clocks and rows; a session owns neither.
 */
import type { RefusalCode } from "../wire/link-bodies.js";
import type { Message } from "../wire/header.js";
import type { MessageName } from "../wire/message-types.js";
import type { StateRow } from "../state/state-row.js";

/** A signature that both parties have verified. */
export interface Signature {
  readonly r: Uint8Array;
  readonly s: Uint8Array;
  readonly v: 0 | 1;
}

/** The policy's own note of an amount; opaque here. It is made durable in the commit of the ctr. */
export type Reservation = Readonly<Record<string, unknown>>;

export interface SealedShare {
  readonly epoch: number;
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
  | { readonly kind: "release"; readonly signature: Signature }
  /** Before the fourth flight left no signature can exist, so the amount is free again. */
  | { readonly kind: "unreserve"; readonly reservation: Reservation }
  /** The amounts of the day are those of an older store, so they count as spent. */
  | { readonly kind: "amounts spent" }
  /** A wallet or an epoch is active on both sides: the caller gets its answer. */
  | { readonly kind: "acknowledge"; readonly epoch: number; readonly publicKey: Uint8Array }
  /** The last effect of a session; `row` is the wallet's row in memory from here on. */
  | { readonly kind: "end"; readonly end: SessionEnd; readonly row: StateRow | null };

/**
 * The five classes of section 3.4, and the end in order. `explained` is false for a fault of ours between the start of a
 * check and its result.
 */
export type SessionEnd =
  | { readonly class: "done" }
  | { readonly class: "transport"; readonly why: "busy" | "deadline" | "lost" | "stopped" | "peer" | "recovery id" }
  | { readonly class: "refused"; readonly code: RefusalCode; readonly detail: number; readonly by: "self" | "peer" }
  | { readonly class: "violation"; readonly by: "self" | "peer" }
  | { readonly class: "cheat" }
  | { readonly class: "frozen" }
  | { readonly class: "fault"; readonly explained: boolean };

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

export function commitOf(row: StateRow | null, more: Partial<Omit<Effect & { kind: "commit" }, "kind" | "row">> = {}): Effect {
  return { kind: "commit", row, put: null, erase: [], reservation: null, ...more };
}

export interface Deadlines {
  readonly flightMs: number;
  readonly sessionMs: number;
}

/** Of the monotonic clock. */
export const SIGN_DEADLINES: Deadlines = { flightMs: 2_000, sessionMs: 5_000 };
export const KEYGEN_DEADLINES: Deadlines = { flightMs: 10_000, sessionMs: 30_000 };
