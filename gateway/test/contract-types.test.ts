/**
 * The engine's close shapes and the public schemas are written apart (schemas import nothing of ours); here the
 * compiler proves that they agree. A field added on one side only fails `tsc`.
 */
import type { Static } from "@sinclair/typebox";
import { describe, expectTypeOf, it } from "vitest";
import type { ErrorCode } from "../../engine/domain/errors.js";
import type { OrderStatus, OrderType, Side } from "../../engine/domain/order.js";
import type { RoutableVenue, Venue } from "../../engine/domain/venue.js";
import type { FeedState } from "../../engine/market/market.js";
import type { TradeData, ExecutionReport, NormalizedOrder, Quote } from "../../engine/orders/types.js";
import type { RoomStatus } from "../../engine/ports.js";
import type { RoutingCandidate, RoutingReport } from "../../engine/routing/report.js";
import type { DecisionReason, ReasonCode } from "../../engine/routing/route-types.js";
import type { closeDataSchema, executionReportSchema, normalizedOrderSchema } from "../../schemas/close.js";
import type {
  orderStatus,
  orderType,
  ROUTABLE_VENUE_WORDS,
  side,
  VENUE_WORDS,
  feedState,
} from "../../schemas/common.js";
import type { ErrorReply } from "../../schemas/errors.js";
import type {
  candidateSchema,
  DECISION_REASONS,
  quoteSchema,
  REASON_CODES,
  routingReportSchema,
} from "../../schemas/routing.js";
import type { VenueStatus } from "../../schemas/service.js";

describe("schema types against engine types", () => {
  it("accept every close result the engine can build", () => {
    expectTypeOf<NormalizedOrder>().toExtend<Static<typeof normalizedOrderSchema>>();
    expectTypeOf<ExecutionReport>().toExtend<Static<typeof executionReportSchema>>();
    expectTypeOf<Quote>().toExtend<Static<typeof quoteSchema>>();
    expectTypeOf<RoutingCandidate>().toExtend<Static<typeof candidateSchema>>();
    expectTypeOf<RoutingReport>().toExtend<Static<typeof routingReportSchema>>();
    expectTypeOf<TradeData>().toExtend<Static<typeof closeDataSchema>>();
  });

  it("name no field that the engine does not fill", () => {
    expectTypeOf<keyof Static<typeof normalizedOrderSchema>>().toEqualTypeOf<keyof NormalizedOrder>();
    expectTypeOf<keyof Static<typeof executionReportSchema>>().toEqualTypeOf<keyof ExecutionReport>();
    expectTypeOf<keyof Static<typeof routingReportSchema>>().toEqualTypeOf<keyof RoutingReport>();
    expectTypeOf<keyof Static<typeof candidateSchema>>().toEqualTypeOf<keyof RoutingCandidate>();
    // The route adds the warning of a high leverage.
    expectTypeOf<Exclude<keyof Static<typeof closeDataSchema>, "warning">>().toEqualTypeOf<keyof TradeData>();
  });

  it("use the same words", () => {
    expectTypeOf<(typeof ROUTABLE_VENUE_WORDS)[number]>().toEqualTypeOf<RoutableVenue>();
    expectTypeOf<(typeof VENUE_WORDS)[number]>().toEqualTypeOf<Venue>();
    expectTypeOf<Static<typeof side>>().toEqualTypeOf<Side>();
    expectTypeOf<Static<typeof orderType>>().toEqualTypeOf<OrderType>();
    expectTypeOf<Static<typeof orderStatus>>().toEqualTypeOf<OrderStatus>();
    expectTypeOf<Static<typeof feedState>>().toEqualTypeOf<FeedState>();
    expectTypeOf<(typeof REASON_CODES)[number]>().toEqualTypeOf<ReasonCode>();
    expectTypeOf<(typeof DECISION_REASONS)[number]>().toEqualTypeOf<DecisionReason>();
    expectTypeOf<VenueStatus["breaker"]>().toEqualTypeOf<RoomStatus["breaker"]>();
    expectTypeOf<ErrorCode>().toExtend<ErrorReply["code"]>();
  });
});
