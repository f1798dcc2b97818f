import type { FakeVenue } from "./fake-venue.js";
import type { JudgedOrder } from "./invariants.js";

/** The log of one account in the form that the judge reads. */
export function judgedOrders(venues: readonly FakeVenue[], account: string): JudgedOrder[] {
  return venues.flatMap((venue) =>
    venue.ordersOf(account).map(({ command, nonce, order, sentAtMs, filledLots, disclosedAtMs }) => ({
      venue: venue.venue,
      clientId: command.clientIdHex,
      nonce,
      side: command.side,
      reduceOnly: command.reduceOnly,
      positionSide: command.positionSide,
      qtyLots: command.qtyLots,
      waits: command.trigger !== undefined,
      wasTaken: order !== null,
      sentAtMs,
      filledLots,
      disclosedAtMs,
    })),
  );
}
