/**
 * One order put to its venue, and what is known of it then written into its attempt. Trades and single orders send
 * through here alone (`order-core.ts`).
 *
 * Invariants: an order is put to the venue once a call; three outcomes and no other: accepted, rejected (the venue's
 * own word), unknown; whatever goes wrong after the send is UNKNOWN, a bug of ours included.
 */
import { logUnsent } from "./debug-lines.js";
import type { Clock } from "../../domain/clock.js";
import type { OrderCommand, PlaceOutcome } from "../../domain/order.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";
import { NO_PROOF_OF_ABSENCE, type SendBounds } from "./absence-proof.js";
import { redactVenueText } from "../redact.js";
import { isPriced, isSettled, isUnshown, mayRest, type OrderAttempt } from "../run.js";
import { recordAck, recordBound, recordDoubt, recordRefusal, recordSend, recordUnknown } from "../run-writes.js";

import { confirm, type OutcomeParts } from "./outcome.js";

interface SendParts extends OutcomeParts {
  readonly bounds: SendBounds;
}

/** An order that is durable and let through. */
interface Sending {
  readonly room: VenueRoom;
  readonly session: AccountSession;
  readonly command: OrderCommand;
  readonly attempt: OrderAttempt;
  readonly timeoutMs: number;
  readonly routeId: string;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
}

interface Sent {
  readonly outcome: PlaceOutcome;
  /** From the call to its answer. */
  readonly tookMs: number;
  /** Not ended yet: the resolver's to end. */
  readonly isOpen: boolean;
}

/** The clocks at the moment when the order was put to the venue. */
interface SentAt {
  readonly wallMs: number;
  readonly monoNs: number;
  /** Of the room. */
  readonly offsetMs: number;
}

/** Of a cause in a log line. */
const MAX_CAUSE_CHARS = 100;

/** Never rejects. */
export async function sendAttempt(parts: SendParts, sending: Sending): Promise<Sent> {
  const { clock, logger } = parts;
  const { room, session, command, attempt, timeoutMs, routeId } = sending;
  const sentAt = momentOfSend(clock, room);
  recordSend(attempt, sentAt.wallMs);
  let outcome: PlaceOutcome;
  try {
    // What reduces goes on the lane that is kept for exits.
    const lane = command.reduceOnly ? "exit" : "trade";
    outcome = await room.orders.place(session, command, { timeoutMs, lane });
  } catch (error) {
    // A room that throws is a bug of ours, and by now the order may be out.
    logger.error("place_threw", { venue: attempt.venue, routeId, problem: problemOf(error) });
    outcome = { outcome: "unknown", cause: "INTERNAL", notPlacedAfterMs: attempt.notPlacedAfterMs };
  }
  const tookMs = (clock.monoNs() - sentAt.monoNs) / 1e6;
  try {
    return { outcome, tookMs, isOpen: applyOutcome(parts, sending, sentAt, outcome) };
  } catch (error) {
    // An answer that we stumble over is an answer all the same: the order is read from the venue instead.
    logger.error("outcome_not_applied", { venue: attempt.venue, routeId, problem: problemOf(error) });
    recordDoubt(attempt, "BAD_RESPONSE");
    recordBound(attempt, NO_PROOF_OF_ABSENCE);
    return { outcome, tookMs, isOpen: true };
  }
}

/** As `isOpen`. */
function applyOutcome(parts: SendParts, sending: Sending, sentAt: SentAt, outcome: PlaceOutcome): boolean {
  const { attempt, command, routeId, secrets } = sending;
  switch (outcome.outcome) {
    case "accepted":
      confirm(parts, attempt, outcome.order);
      recordAck(attempt, parts.clock.wallMs());
      // The venue's word for it is not known here: that it shows no such order later proves nothing.
      if (attempt.order?.status !== "UNKNOWN")
        setBound(parts, sending, sentAt, outcome.notPlacedAfterMs ?? NO_PROOF_OF_ABSENCE);
      // One that has ended without its price is read for it, and protection until the venue shows it.
      return !isSettled(outcome.order, mayRest(attempt)) || !isPriced(outcome.order) || isUnshown(attempt);
    case "rejected":
      if (outcome.reason === "DUPLICATE_CLIENT_ID") {
        // The venue has an order under this id: it is looked up, not failed.
        recordUnknown(attempt, outcome.reason);
        recordBound(attempt, NO_PROOF_OF_ABSENCE);
        return true;
      }
      if (!outcome.sent) {
        const { reason, retryAfterMs, venueCode: code } = outcome;
        logUnsent(parts, { routeId, symbol: command.instrument.symbol }, attempt, { reason, code, retryAfterMs });
      }
      recordRefusal(attempt, {
        reason: outcome.reason,
        isSent: outcome.sent,
        atMs: parts.clock.wallMs(),
        venueText: redactVenueText(outcome.venueText, secrets),
        ...(outcome.isLasting === true ? { isLasting: true } : {}),
        ...(outcome.reason === "RATE_LIMITED" && outcome.retryAfterMs !== null
          ? { retryAfterMs: outcome.retryAfterMs }
          : {}),
      });
      return false;
    case "unknown": {
      const cause = redactVenueText(outcome.cause, secrets);
      recordUnknown(attempt, cause);
      setBound(parts, sending, sentAt, outcome.notPlacedAfterMs);
      parts.logger.warn("order_unknown", { venue: attempt.venue, routeId, cause: cause.slice(0, MAX_CAUSE_CHARS) });
      return true;
    }
  }
}

/**
 * `roomsMs`: the room's word, in our wall time as it was at some moment of the call. The wall clock, and what the room
 * knows of the venue's, may have stepped in the call: of its two ends those count that agree with what the room had
 * promised, and of them the later bound. Where neither does, the room's word may be wrong only in our favour.
 */
function setBound({ clock, bounds }: SendParts, { attempt, room }: Sending, sentAt: SentAt, roomsMs: number): void {
  if (roomsMs === NO_PROOF_OF_ABSENCE) {
    recordBound(attempt, NO_PROOF_OF_ABSENCE);
    return;
  }
  const promisedMs = attempt.notPlacedAfterMs - attempt.intentAtMs;
  const ends = [sentAt, momentOfSend(clock, room)].map((end) => ({ ...end, leftMs: roomsMs - end.wallMs }));
  const agreeing = ends.filter(({ leftMs }) => leftMs >= 0 && leftMs <= promisedMs);
  const own = { ...sentAt, leftMs: promisedMs, wallMs: attempt.intentAtMs };
  const believed = agreeing.length > 0 ? agreeing : [own, ...ends];
  recordBound(
    attempt,
    Math.max(...believed.map(({ wallMs, leftMs }) => wallMs + leftMs)),
    Math.max(...believed.map(({ wallMs, leftMs, offsetMs }) => wallMs + leftMs + offsetMs)),
  );
  bounds.set(attempt.clientIdHex, Math.max(...believed.map(({ monoNs, leftMs }) => monoNs + leftMs * 1e6)));
}

function momentOfSend(clock: Clock, room: VenueRoom): SentAt {
  return { wallMs: clock.wallMs(), monoNs: clock.monoNs(), offsetMs: room.venueClock.offsetMs };
}
