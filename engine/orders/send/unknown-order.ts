/** What is looked for when an order of unknown outcome, or one without its price, is read at its venue (resolver.ts). */
import type { Instrument } from "../../domain/instrument.js";
import type { VenueRoom } from "../../ports.js";
import { NO_PROOF_OF_ABSENCE, type SendBounds } from "./absence-proof.js";
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { Rooms } from "../accounts.js";
import { contractOf } from "../order-scale.js";
import { applyPrice } from "./fill-price.js";
import type { Resolver, UnknownOrder } from "./resolver.js";
import { mayRest, type OrderAttempt } from "../run.js";
import { recordBound } from "../run-writes.js";

/** What looks for the end of an order. */
export interface FinderParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly resolver: Resolver;
}

/** What asks a venue for an order of a run. */
export interface LookupParts extends FinderParts {
  readonly bounds: SendBounds;
  readonly rooms: Rooms;
}

export interface FoundRun {
  readonly routeId: string;
  readonly symbol: string;
  readonly attempts: readonly OrderAttempt[];
  /** Absent: none is wanted. */
  readonly protection?: object;
}

/** An order that reading the venue may end. */
export function unknownOrder(
  bounds: SendBounds,
  { protection, routeId }: Pick<FoundRun, "protection" | "routeId">,
  room: VenueRoom,
  instrument: Instrument,
  attempt: OrderAttempt,
): UnknownOrder {
  return {
    routeId,
    room,
    instrument,
    clientIdHex: attempt.clientIdHex,
    bound: () => bounds.of(attempt),
    markSeen: () => recordBound(attempt, NO_PROOF_OF_ABSENCE),
    takePrice: (parts, found) => void applyPrice(parts, attempt, found),
    isAcknowledged: attempt.outcome === "CONFIRMED",
    sent: attempt,
    mayRest: mayRest(attempt),
    ...(protection === undefined ? {} : { awaitsProtection: true }),
  };
}

/** Null when the contract that the order was sent for is not there any more. */
export function unknownOrderOf(
  { bounds }: { readonly bounds: SendBounds },
  run: FoundRun,
  attempt: OrderAttempt,
  room: VenueRoom | undefined,
  listed: Instrument | undefined = room?.markets.get(run.symbol)?.instrument,
): UnknownOrder | null {
  const instrument = listed === undefined ? null : contractOf(attempt, listed);
  if (room === undefined || instrument === null) return null;
  return unknownOrder(bounds, run, room, instrument, attempt);
}
