/** An order that was sent, while a bound and a history from before it "prove" that it never was. */
import type { PlaceOutcome } from "../../../../engine/domain/order.js";
import type { AccountReader, VenueRoom } from "../../../../engine/ports.js";
import { replaced } from "./planting.js";

const LONG_OVER_MS = 60_000;

/** Every order goes out with unknown outcome, and the first look-up "proves" it absent. */
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
