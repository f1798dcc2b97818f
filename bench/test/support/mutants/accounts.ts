/** What holds for a whole account: keys, limits, close-all, cancels, switches. */
import type { VenueRoom } from "../../../../engine/ports.js";
import { hearing } from "./traffic.js";
import { type Plant, replaced } from "./planting.js";

/** Cancels are told as taken, and nothing is sent. */
function cancelingNothing(room: VenueRoom): VenueRoom {
  return replaced(room, {
    orders: (orders) =>
      replaced(orders, {
        cancel: () => async () => ({ outcome: "accepted" }),
        cancelAll: () => async () => ({ outcome: "accepted", canceledCount: null, failed: [] }),
        scheduleCancel: () => async () => ({ outcome: "accepted" }),
      }),
  });
}

export const ACCOUNT_PLANTS: readonly Plant[] = [
  {
    name: "close-all hears nothing but credentials",
    scene: "closeAll",
    checks: ["close-all"],
    wrong: () => ({
      client: hearing((body, _headers, path) => {
        if (!path.endsWith("/close-all")) return;
        for (const field of Object.keys(body)) if (field !== "credentials") delete body[field];
      }),
    }),
  },
  {
    name: "the cancel before a close-all is told as done, and nothing is sent",
    scene: "closeAll",
    checks: ["close-all"],
    wrong: () => ({ room: cancelingNothing }),
  },
  {
    name: "a cancel is told as done, and nothing is sent",
    scene: "cancel",
    checks: ["cancels"],
    wrong: () => ({ room: cancelingNothing }),
  },
  {
    name: "a switch is told as armed, and nothing is sent when it fires",
    scene: "switch",
    checks: ["switches"],
    wrong: () => ({ room: cancelingNothing }),
  },
  {
    name: "limits count by key",
    scene: "agent",
    checks: ["caller limits"],
    wrong: () => ({
      room: (room) =>
        replaced(room, {
          accountNames: () => {
            const names = new WeakMap<object, string>();
            let next = 0;
            const nameOf = (session: object): string => {
              const name = names.get(session) ?? `key ${next++}`;
              names.set(session, name);
              return name;
            };
            return {
              known: nameOf,
              read: async (session) => ({ ok: true, value: nameOf(session), asOfMs: Date.now(), source: "venue" }),
            };
          },
        }),
    }),
  },
  {
    name: "a key is another one for another venue",
    scene: "key",
    checks: ["claims"],
    wrong: () => ({
      client: hearing((body, headers) => {
        headers["idempotency-key"] = `${headers["idempotency-key"] ?? ""}-${String(body["preferredExchange"])}`;
      }),
    }),
  },
];
