/**
 * What the topics of accounts carry: positions and orders, one schema per frame.
 *
 * Folding `positions`: each position of an update replaces the one of the same exchange, symbol, direction and, where it
 * has one, `positionId`; size "0" removes it; coverage replaces coverage by venue. Folding `orders`: the order of an `order` or `fill` event replaces
 * that of the same exchange, symbol and id, or removes it when its status is neither OPEN nor PARTIALLY_FILLED; a fill
 * whose order is UNKNOWN leaves the order unchanged.
 */
import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { coverageSchema } from "./account-common.js";
import { fillSchema } from "./account-reads.js";
import { nullable, reply, routableVenue, VENUE_WORDS, words } from "./common.js";
import { normalizedOrderSchema } from "./close.js";
import {
  type AggregatedPosition,
  aggregatedPositionSchema,
  type VenuefiveStreamPosition,
  venuefiveStreamPositionSchema,
} from "./positions.js";
import { snapshotFrame, updateFrame } from "./stream-data.js";
import { orderRecordSchema } from "./venue-orders.js";

const POSITION_EVENT_WORDS = ["opened", "changed", "closed", "liquidated"] as const;

const coverageMembers: TProperties = {};
for (const venue of VENUE_WORDS) coverageMembers[venue] = Type.Optional(coverageSchema);
/** The requested venues; in an update, those whose coverage changed. */
const coverage = reply(coverageMembers);

const position = Type.Unsafe<AggregatedPosition | VenuefiveStreamPosition>({
  oneOf: [aggregatedPositionSchema, venuefiveStreamPositionSchema],
});

export const positionsSnapshotSchema = snapshotFrame(
  "positions",
  reply({ positions: Type.Array(position), coverage }),
  "PositionsSnapshot",
);

export const positionsUpdateSchema = updateFrame(
  "positions",
  reply({
    events: Type.Array(words(POSITION_EVENT_WORDS), {
      description: "One per position, in the same order. A position that is gone comes once, with size 0.",
    }),
    positions: Type.Array(position),
    coverage: Type.Optional(coverage),
  }),
  "PositionsUpdate",
);

export const ordersSnapshotSchema = snapshotFrame(
  "orders",
  reply({ orders: Type.Array(orderRecordSchema, { description: "Those that are open." }), coverage }),
  "OrdersSnapshot",
);

/** `event` identifies the kind. */
const orderEvents: TSchema[] = [
  reply({ event: Type.Literal("order"), order: orderRecordSchema }),
  reply({ event: Type.Literal("fill"), order: orderRecordSchema, fill: fillSchema }),
  reply({
    event: Type.Literal("execution.resolved", {
      description: "An order of this service whose outcome was unknown at the reply has found its end.",
    }),
    exchange: routableVenue,
    routeId: Type.String({ description: "Of a single order its own reference, or_…" }),
    state: Type.String({
      description:
        "Of the execution, as GET /api/trade/executions/{routeId} shows it; of a single order in the same words.",
    }),
    order: nullable(normalizedOrderSchema, { description: "null: it was never placed, or the venue refused it." }),
    clientOrderId: Type.Optional(nullable(Type.String(), { description: "Of a single order: what its caller sent." })),
    venueClientOrderId: Type.Optional(
      Type.String({ description: "Of a single order: what its reply called it while the outcome was unknown." }),
    ),
  }),
  reply({ event: Type.Literal("coverage"), coverage }),
];

export const ordersUpdateSchema = updateFrame(
  "orders",
  Type.Unsafe<Readonly<Record<string, unknown>>>({ oneOf: orderEvents }),
  "OrdersUpdate",
);
