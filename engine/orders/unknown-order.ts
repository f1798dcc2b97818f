/** What is looked for when an order of unknown outcome, or one without its price, is read at its venue (resolver.ts). */
import type { Instrument } from "../domain/instrument.js";
import type { VenueRoom } from "../ports.js";
import { NO_PROOF_OF_ABSENCE, type SendBounds } from "./absence-proof.js";
import { applyPrice } from "./fill-price.js";
import type { UnknownOrder } from "./resolver.js";
import { mayRest, recordBound, type OrderAttempt } from "./trade-run.js";

/** An order that reading the venue may end. */
export function unknownOrder(
  bounds: SendBounds,
  routeId: string,
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
  };
}
