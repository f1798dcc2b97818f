/**
 * The outcome of a transaction that the venue's API took: a cancel, a change, a cancel of all. The answer says no more
 * than that; the sequencer decides after a delay of its own, and reports by the account's stream where it is watched,
 * and by the transaction, which anybody may read.
 *
 * Four ends: reported by the stream; executed; refused; not known within the time, which is never a guess. Bounded:
 * `MAX_READS` reads, and never past the caller's time.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { Refused } from "../../../engine/domain/order.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { venueText } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { TX_FAILED, type VenuethreeWireTx } from "../account/wire.js";
import { rejectReasonOf } from "../rules/errors.js";

export interface TxConfirmationDeps {
  readonly clock: Clock;
  /** The venue's own delay before it executes a cancel or a change. */
  readonly cancelDelayMs: number;
  /** The outcome of a transaction; null where the venue does not know it yet. */
  readonly readTx: (hash: string, options: CallOptions) => Promise<Read<VenuethreeWireTx | null>>;
}

export type TxConfirmation<T> =
  | { readonly kind: "streamed"; readonly value: T }
  | { readonly kind: "executed" }
  | { readonly kind: "refused"; readonly refused: Refused }
  | { readonly kind: "pending" };

/** Between the execution and the moment from which a read shows it. */
const LAG_MS = 60;
const MAX_READS = 3;
/** The stream is looked at this often between the reads. */
const LOOK_EVERY_MS = 20;
const READ_EVERY_MS = 250;
/** Kept of the caller's time for the reply. */
const RESERVE_MS = 200;

const PENDING = { kind: "pending" } as const;

/** `streamed`: what the stream has reported, once that is enough. */
export async function confirmTx<T>(
  deps: TxConfirmationDeps,
  txHash: string,
  streamed: () => T | null,
  options: CallOptions,
): Promise<TxConfirmation<T>> {
  const { clock, cancelDelayMs, readTx } = deps;
  const deadline = new Deadline(clock, { ...options, timeoutMs: options.timeoutMs - RESERVE_MS });
  let waitMs = cancelDelayMs + LAG_MS;
  for (let readCount = 0; readCount < MAX_READS; readCount++) {
    const value = await lookFor(clock, streamed, waitMs, deadline);
    if (value !== null) return { kind: "streamed", value };
    const left = deadline.left();
    if (left === null) return PENDING;
    const tx = await readTx(txHash, left);
    // Refused for a limit, or failed: more reads would only take from what the next close needs.
    if (!tx.ok) return PENDING;
    if (tx.value?.isDecided === true) return decided(tx.value);
    waitMs = READ_EVERY_MS;
  }
  const value = streamed();
  return value === null ? PENDING : { kind: "streamed", value };
}

/** Waits `waitMs`, or until the stream has reported enough. */
async function lookFor<T>(
  clock: Clock,
  streamed: () => T | null,
  waitMs: number,
  deadline: Deadline,
): Promise<T | null> {
  for (let leftMs = waitMs; leftMs > 0; leftMs -= LOOK_EVERY_MS) {
    const value = streamed();
    if (value !== null) return value;
    if (deadline.leftMs() <= 0) return null;
    await delay(clock, Math.min(LOOK_EVERY_MS, leftMs));
  }
  return streamed();
}

function decided({ refusal, status }: VenuethreeWireTx): TxConfirmation<never> {
  if (refusal === null && status !== TX_FAILED) return { kind: "executed" };
  // Failed without an error: it expired and was not executed.
  const { code, message } = refusal ?? { code: 0, message: "the transaction failed" };
  const reason = rejectReasonOf(code);
  const refused: Refused = {
    outcome: "rejected",
    reason,
    venueCode: String(code),
    venueText: venueText(message),
    sent: true,
  };
  return { kind: "refused", refused };
}
