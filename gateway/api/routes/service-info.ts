/**
 * The service's own endpoints: time, limits, health, readiness, status, metrics, the OpenAPI and AsyncAPI documents.
 */
import { askerOf, PUBLIC_CALLER } from "../../http/caller.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { buildAsyncApi } from "../../../schemas/asyncapi.js";
import { buildOpenApi, INTERFACE_VERSION } from "../../../schemas/openapi.js";
import type { Operation } from "../../../schemas/operation.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import {
  BUCKET_WORDS,
  healthReplySchema,
  limitsReplySchema,
  readyReplySchema,
  statusReplySchema,
  timeReplySchema,
} from "../../../schemas/service.js";
import { asServiceError } from "../../http/error-reply.js";
import { readyParts, recordingStatus, storeStatusRow, venueStatus } from "../status.js";
import { payersOf } from "../../http/caller-tags.js";
import { CREDENTIALS_HEADER, readVenueCredentials } from "../venue-credentials.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

/** Most orders of unknown outcome that the status lists; their count is always exact. */
const UNKNOWN_ORDERS_LISTED = 100;

export function serviceRoutes(context: RouteContext): Route[] {
  return [
    timeRoute(context),
    limitsRoute(context),
    healthRoute(context),
    readyRoute(context),
    statusRoute(context),
    metricsRoute(context),
    documentRoute(context, OPERATIONS.openapi, buildOpenApi(context.strictFields)),
    documentRoute(context, OPERATIONS.asyncapi, buildAsyncApi()),
  ];
}

function timeRoute({ edge, clock }: RouteContext): Route {
  const serialise = compileSerialiser(timeReplySchema);
  return {
    operation: OPERATIONS.time,
    handle(response) {
      const nowMs = clock.wallMs();
      edge.ok(
        response,
        serialise({ success: true, data: { serverTime: nowMs, iso: new Date(nowMs).toISOString() }, timestamp: nowMs }),
      );
    },
  };
}

function limitsRoute({ edge, clock, limits }: RouteContext): Route {
  const serialise = compileSerialiser(limitsReplySchema);
  const weights = Object.values<Operation>(OPERATIONS).flatMap(({ method, path, buckets, weight }) =>
    buckets.map((policy) => ({ method, path, policy, weight })),
  );
  return {
    operation: OPERATIONS.limits,
    handle(response, request) {
      const nowNs = clock.monoNs();
      const payers = payersOf(readVenueCredentials(request.getHeader(CREDENTIALS_HEADER), "") ?? {});
      const tags = payers === null ? [] : typeof payers === "string" ? [payers] : payers;
      const callers = payers === null ? [edge.caller(response)] : tags.map((tag) => edge.limiter.caller(tag, nowNs));
      const buckets = BUCKET_WORDS.map((policy) => {
        // Every account of a request pays: the one with the fewest tokens decides.
        const [first, ...others] = callers.map((caller) => caller[policy]);
        if (first === undefined) throw new ServiceError("INTERNAL", { problem: "nobody to charge" });
        const remaining = Math.min(first.remaining(nowNs), ...others.map((bucket) => bucket.remaining(nowNs)));
        const { perSecond, burst, windowSeconds } = first;
        return {
          policy,
          scope: payers === null ? ("ip" as const) : ("key" as const),
          perSecond,
          burst,
          windowSeconds,
          remaining,
        };
      });
      const data = {
        buckets,
        weights,
        bodyBytesMax: limits.bodyBytesMax,
        bodyDeadlineMs: limits.bodyDeadlineMs,
        targetBytesMax: edge.targetBytesMax,
        closesInFlightMax: limits.closesInFlightMax,
      };
      edge.ok(response, serialise({ success: true, data, timestamp: clock.wallMs() }));
    },
  };
}

function healthRoute({ edge, clock, startedAtMs, version }: RouteContext): Route {
  const serialise = compileSerialiser(healthReplySchema);
  return {
    operation: OPERATIONS.health,
    handle(response) {
      const nowMs = clock.wallMs();
      const status = edge.closing ? ("stopping" as const) : ("ok" as const);
      edge.ok(
        response,
        serialise({ success: true, status, version, uptimeMs: Math.max(0, nowMs - startedAtMs), timestamp: nowMs }),
      );
    },
  };
}

function readyRoute({ edge, clock, view, desk, records, recorder }: RouteContext): Route {
  const serialise = compileSerialiser(readyReplySchema);
  return {
    operation: OPERATIONS.ready,
    handle(response) {
      const parts = readyParts(view, desk, recordingStatus(records, recorder), edge.closing);
      const missing = parts.filter((part) => !part.ready).map((part) => part.name);
      if (missing.length > 0)
        throw new ServiceError("NOT_READY", { parts: missing.join(", "), ready: false, components: parts });
      edge.ok(response, serialise({ success: true, ready: true, parts, timestamp: clock.wallMs() }));
    },
  };
}

function statusRoute(context: RouteContext): Route {
  const { edge, clock, view, desk, inFlight, metrics, stream, startedAtMs, version } = context;
  const serialise = compileSerialiser(statusReplySchema);
  return {
    operation: OPERATIONS.status,
    handle(response) {
      const nowMs = clock.wallMs();
      const asker = askerOf(PUBLIC_CALLER);
      const unknown = desk.unknownOrders(UNKNOWN_ORDERS_LISTED, asker);
      const open = desk.openOrders(UNKNOWN_ORDERS_LISTED, asker);
      const followed = desk.followed(asker);
      const data = {
        version,
        interfaceVersion: INTERFACE_VERSION,
        startedAt: startedAtMs,
        uptimeMs: Math.max(0, nowMs - startedAtMs),
        venues: view.rooms.map((room) => venueStatus(room, clock.monoNs())),
        unconfigured: view.unconfigured(),
        unknownOrders: { count: unknown.count, orders: [...unknown.orders] },
        openOrders: { count: open.count, orders: [...open.orders] },
        followedCount: followed.count,
        unattendedCount: followed.unattendedCount,
        closesInFlight: inFlight.closes,
        store: storeStatusRow(desk.storeStatus()),
        recording: recordingStatus(context.records, context.recorder),
        stream: {
          connections: stream.connections,
          subscriptions: stream.subscriptions,
          keys: stream.keys,
          lagging: stream.lagging,
        },
        eventLoopDelayMs: metrics.eventLoopDelayMs(),
      };
      edge.ok(response, serialise({ success: true, data, timestamp: nowMs }));
    },
  };
}

function metricsRoute({ edge, metrics }: RouteContext): Route {
  return {
    operation: OPERATIONS.metrics,
    handle(response) {
      const reply = edge.detach(response);
      metrics.text().then(
        (text) => reply.text(metrics.contentType, text),
        (error: unknown) => reply.fail(asServiceError(error)),
      );
    },
  };
}

function documentRoute({ edge }: RouteContext, operation: Operation, document: object): Route {
  const text = JSON.stringify(document);
  return {
    operation,
    handle(response) {
      edge.ok(response, text);
    },
  };
}
