/** An order that was sent, and that a bound and a history of before it prove never to have been. */
import type { PlaceOutcome } from "../../../../engine/domain/order.js";
import type { AccountReader, VenueRoom } from "../../../../engine/ports.js";
import { replaced } from "./planting.js";

const LONG_OVER_MS = 60_000;

/** Every order goes out, is of unknown outcome, and is proven absent by the first look. */
export function provingAbsentAtOnce(room: VenueRoom): VenueRoom {
  return replaced(room, {
    orders: (orders) =>
      replaced(orders, {
        placeBoundMs: () => () => -LONG_OVER_MS,
        place:
          (place) =>
          async (session, command, options): Promise<PlaceOutcome> => {
            await place.call(orders, session, command, options);
            return { outcome: "unknown", cause: "TIMEOUT", notPlacedAfterMs: Date.now() - LONG_OVER_MS };
          },
      }),
    reader: (reader) =>
      replaced<AccountReader>(reader, {
        readOrder: () => async () => ({ ok: true, value: null, asOfMs: Date.now(), source: "venue" }),
        followOrder: () => () => ({ lookAfterMs: 0, stop: () => {} }),
      }),
  });
}
