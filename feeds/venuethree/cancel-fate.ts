/**
 * What became of a cancel that the venue's API took. The answer says no more than that; the sequencer decides after a
 * delay of its own, and tells by the account's stream where it is watched, and by the transaction, which anybody may read.
 *
 * Three ends: canceled; refused, as there was no such order to cancel (any more); not known within the time, which is
 * `isPending`, never a guess. Bounded: `MAX_READS` reads, and never past the caller's time.
 */
import { type Clock, delay } from "../../engine/domain/clock.js";
import type { CancelOutcome, VenueOrder } from "../../engine/domain/order.js";
import type { CallOptions, Read } from "../../engine/ports.js";
import { venueText } from "../shared/call-results.js";
import { Deadline } from "../shared/deadline.js";
import { TX_FAILED, type VenuethreeWireTx } from "./account-wire.js";
import { rejectReasonOf } from "./errors.js";

export interface CancelFateDeps {
  readonly clock: Clock;
  /** The venue's own delay before it executes a cancel. */
  readonly cancelDelayMs: number;
  /** What became of a transaction; null where the venue does not know it yet. */
  readonly readTx: (hash: string, options: CallOptions) => Promise<Read<VenuethreeWireTx | null>>;
}

/** Between the execution and the moment from which a read shows it. */
const LAG_MS = 60;
const MAX_READS = 3;
/** The stream is looked at this often between the reads. */
const LOOK_EVERY_MS = 20;
const READ_EVERY_MS = 250;
/** Kept of the caller's time for the reply. */
const RESERVE_MS = 200;

const PENDING: CancelOutcome = { outcome: "accepted", isPending: true };
const CANCELED: CancelOutcome = { outcome: "accepted" };

/** `streamed`: the order's end, once the stream has told it. */
export async function cancelFate(
  deps: CancelFateDeps,
  txHash: string,
  streamed: () => VenueOrder | null,
  options: CallOptions,
): Promise<CancelOutcome> {
  const { clock, cancelDelayMs, readTx } = deps;
  const deadline = new Deadline(clock, { ...options, timeoutMs: options.timeoutMs - RESERVE_MS });
  let waitMs = cancelDelayMs + LAG_MS;
  for (let readCount = 0; readCount < MAX_READS; readCount++) {
    const ended = await lookFor(clock, streamed, waitMs, deadline);
    if (ended !== null) return endOf(ended);
    const left = deadline.left();
    if (left === null) return PENDING;
    const tx = await readTx(txHash, left);
    // Refused for a limit, or failed: asking on would only take from what the next close needs.
    if (!tx.ok) return PENDING;
    if (tx.value?.isDecided === true) return decided(tx.value);
    waitMs = READ_EVERY_MS;
  }
  const ended = streamed();
  return ended === null ? PENDING : endOf(ended);
}

/** Waits `waitMs`, or until the stream tells the order's end. */
async function lookFor(
  clock: Clock,
  streamed: () => VenueOrder | null,
  waitMs: number,
  deadline: Deadline,
): Promise<VenueOrder | null> {
  for (let leftMs = waitMs; leftMs > 0; leftMs -= LOOK_EVERY_MS) {
    const ended = streamed();
    if (ended !== null) return ended;
    if (deadline.leftMs() <= 0) return null;
    await delay(clock, Math.min(LOOK_EVERY_MS, leftMs));
  }
  return streamed();
}

function endOf(order: VenueOrder): CancelOutcome {
  return order.status === "CANCELED" ? CANCELED : { ...NO_LONGER_OPEN, venueCode: order.status, sent: true };
}

/** For an order whose end was known before: nothing is sent. */
export function hadEnded(order: VenueOrder): CancelOutcome {
  return { ...NO_LONGER_OPEN, venueCode: order.status, sent: false };
}

const NO_LONGER_OPEN = {
  outcome: "rejected",
  reason: "NOT_FOUND",
  venueText: "the order had ended before it could be canceled",
} as const;

function decided({ refusal, status }: VenuethreeWireTx): CancelOutcome {
  if (refusal === null && status !== TX_FAILED) return CANCELED;
  // Failed without a word: it expired, and nothing was canceled.
  const { code, message } = refusal ?? { code: 0, message: "the transaction failed" };
  return {
    outcome: "rejected",
    reason: rejectReasonOf(code),
    venueCode: String(code),
    venueText: venueText(message),
    sent: true,
  };
}
