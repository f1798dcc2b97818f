/** Faults of a whole account: keys, limits, close-all, cancels, switches. */
import type { VenueRoom } from "../../../../engine/ports.js";
import type { TradeClient } from "../trade-trial.js";
import { hearing } from "./traffic.js";
import { type Plant, replaced } from "./planting.js";

/** Reports cancels as accepted and sends nothing. */
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

/** Characters of a field's name that an error shows. */
const NAME_CHARS = 64;

/** Cuts names of unknown fields before it scrubs them, so that a part of a secret passes. */
function cuttingNames(client: TradeClient): TradeClient {
  return {
    async send(path, options) {
      const reply = await client.send(path, options);
      if (reply.status !== 400 || typeof options?.body !== "string") return reply;
      const names = Object.keys(JSON.parse(options.body) as object).map((name) => name.slice(0, NAME_CHARS));
      return { ...reply, text: reply.text + names.join(" ") };
    },
  };
}

/** Over all traders: two that shared a name would share its limits. */
let nextKey = 0;

export const ACCOUNT_PLANTS: readonly Plant[] = [
  {
    name: "a part of a secret in a field's name is given back",
    scene: "misplaced",
    checks: ["secrets in answers"],
    wrong: () => ({ client: cuttingNames }),
  },
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
    name: "the cancel before a close-all is reported as done, and nothing is sent",
    scene: "closeAll",
    checks: ["close-all"],
    wrong: () => ({ room: cancelingNothing }),
  },
  {
    name: "a cancel is reported as done, and nothing is sent",
    scene: "cancel",
    checks: ["cancels"],
    wrong: () => ({ room: cancelingNothing }),
  },
  {
    name: "a switch is reported as armed, and nothing is sent when it fires",
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
            const nameOf = (session: object): string => {
              const name = names.get(session) ?? `key ${nextKey++}`;
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
