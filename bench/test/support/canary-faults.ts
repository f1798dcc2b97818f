/** Faults of the venues that a request with secrets can run into: refused, late, lost, answered after it was done, damaged. */
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { signed } from "../../../gateway/test/test-keys.js";
import { freshMs, type SweepKey, type SweepRequest } from "./canary-sweep.js";
import { type LocalPair, PAIR_VENUES } from "./local-pair.js";

/** The orders of a close end before a late answer comes. */
const DEADLINE_MS = 1_500;
const LATE_MS = 3 * DEADLINE_MS;

/** Paths by which the venues take orders. */
const ORDERS = ["POST /exchange", "POST /fapi"] as const;
const ofOrders = (spec: FaultSpec): FaultSpec[] => ORDERS.map((match) => ({ ...spec, match }));

/** The ban comes last: the service leaves the venues alone after it. */
export const VENUE_FAULTS: readonly (readonly [name: string, specs: readonly FaultSpec[]])[] = [
  ["a late answer", ofOrders({ kind: "latency", delayMs: LATE_MS })],
  ["an order held at the door", ofOrders({ kind: "heldRequest", delayMs: LATE_MS })],
  ["an answer that is lost", ofOrders({ kind: "replyLost" })],
  ["an error after the order", ofOrders({ kind: "errorAfter" })],
  ["an error before the order", ofOrders({ kind: "errorBefore", status: 502 })],
  ["an order that is lost", ofOrders({ kind: "loss", scope: ["rest"] })],
  ["half a frame of the account", [{ kind: "halfFrame", scope: ["user"] }]],
  ["a silent account stream", [{ kind: "silent", scope: ["user"] }]],
  ["account frames that are lost", [{ kind: "loss", scope: ["user"] }]],
  ["account streams that are cut", [{ kind: "disconnect", scope: ["user"] }]],
  ["reads that are refused", [{ kind: "errorBefore", scope: ["rest"] }]],
  ["reads that are lost", [{ kind: "loss", scope: ["rest"] }]],
  ["too many requests", [{ kind: "rate429", retryAfterS: 1 }]],
  ["a ban", [{ kind: "ban418", retryAfterS: 1 }]],
];

/** How often the faults that are active now have struck. */
export function strikesOf(pair: LocalPair): number {
  const active = PAIR_VENUES.flatMap((venue) => pair[venue].faults.active());
  return active.reduce((total, { hitCount }) => total + hitCount, 0);
}

/** A close at each venue, an entry, and reads of the account, each with the credentials. */
export function faultedRequests(key: SweepKey, credentials: object, walletAddress: string): SweepRequest[] {
  const request = (method: "GET" | "POST", target: string, fields: object | null): SweepRequest => {
    const body = fields === null ? undefined : JSON.stringify(fields);
    const own: Record<string, string> =
      fields === null
        ? { "x-venue-credentials": Buffer.from(JSON.stringify(credentials)).toString("base64url") }
        : { "content-type": "application/json" };
    return {
      ...{ what: `${method} ${target}`, method, target, body },
      headers: () => ({
        ...signed(key, { method, target, timestamp: freshMs(), ...(body === undefined ? {} : { body }) }),
        ...own,
      }),
    };
  };
  const order = { symbol: "BTC", direction: "LONG", size: "0.001", credentials };
  const routed = (venue: string) => ({
    ...order,
    preferredExchange: venue,
    routingOptions: { deadlineMs: DEADLINE_MS },
  });
  return [
    ...PAIR_VENUES.map((venue) => request("POST", "/api/trade/position/close", routed(venue))),
    request("POST", "/api/trade/position/open", routed("venuetwo")),
    ...PAIR_VENUES.flatMap((venue) => [
      request("GET", `/api/trading/${venue}/positions/${walletAddress}`, null),
      request("GET", `/api/trading/${venue}/orders/open?symbol=BTC`, null),
    ]),
  ];
}
