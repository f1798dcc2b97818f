/** Faults with orders whose end comes late: sent twice, proved absent too early, listed nowhere. */
import type { AccountReader, VenueRoom } from "../../../../engine/ports.js";
import { provingAbsentAtOnce } from "./absence.js";
import { type Plant, replaced } from "./planting.js";
import { below, hearing, saying } from "./traffic.js";

/** Hides an order that the venue acknowledged. */
function withoutEnds(room: VenueRoom): VenueRoom {
  return replaced(room, {
    reader: (reader) =>
      replaced<AccountReader>(reader, {
        readOrder: () => async () => ({ ok: false, code: "VENUE_ERROR", message: "planted", retryAfterMs: null }),
        followOrder: () => () => ({ lookAfterMs: 0, stop: () => {} }),
      }),
  });
}

export const ORDER_PLANTS: readonly Plant[] = [
  {
    name: "a single order is sent again when its key is asked again",
    scene: "single",
    checks: ["single orders"],
    seen: /filled of/,
    wrong: () => ({
      client: hearing((_body, headers, path) => {
        if (path.endsWith("/orders")) delete headers["idempotency-key"];
      }),
    }),
  },
  {
    name: "a history that was cut short proves that a single order is absent",
    scene: "single",
    // No answer names the second order under the key.
    checks: ["single orders", "claims"],
    wrong: () => ({ room: provingAbsentAtOnce }),
  },
  {
    name: "an order whose end nobody knows is listed nowhere",
    scene: "listed",
    checks: ["listed orders"],
    wrong: () => ({
      room: withoutEnds,
      client: saying((data, path) => {
        if (path !== "/api/status") return;
        for (const list of [below(data, "openOrders"), below(data, "unknownOrders")])
          Object.assign(list, { count: 0, orders: [] });
      }),
    }),
  },
];
