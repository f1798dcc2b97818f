/**
 * The service's own endpoints: time, limits, health, readiness, status, metrics, the OpenAPI and AsyncAPI documents.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
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
import {
  clientSignedPart,
  clientSignedStatus,
  custodyStatus,
  readyParts,
  recordingStatus,
  storeStatusRow,
  venueStatus,
} from "../status.js";
import { askerOf, type Caller, PUBLIC_CALLER } from "../../http/caller.js";
import { payerOfKey, payersOf } from "../../http/caller-tags.js";
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

function limitsRoute(context: RouteContext): Route {
  const { edge, clock, limits, framesPerSecond } = context;
  const serialise = compileSerialiser(limitsReplySchema);
  const weights = Object.values<Operation>(OPERATIONS).flatMap(({ method, path, buckets, weight }) =>
    buckets.map((policy) => ({ method, path, policy, weight })),
  );
  const frames = {
    policy: "ws" as const,
    scope: "connection" as const,
    perSecond: framesPerSecond,
    burst: framesPerSecond,
    windowSeconds: 1,
    remaining: framesPerSecond,
  };
  return {
    operation: OPERATIONS.limits,
    handle(response, request) {
      const data = {
        buckets: [...bucketsNow(context, response, request), frames],
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

/** The buckets of this caller: its key's, those of the accounts it names, or its address's. */
function bucketsNow({ edge, clock }: RouteContext, response: HttpResponse, request: HttpRequest) {
  const nowNs = clock.monoNs();
  const { keyId } = edge.caller;
  const payers =
    keyId !== null
      ? payerOfKey(keyId)
      : payersOf(readVenueCredentials(request.getHeader(CREDENTIALS_HEADER), "") ?? {});
  const names = payers === null ? [] : typeof payers === "string" ? [payers] : payers;
  const callers =
    payers === null ? [edge.addressBuckets(response, request)] : names.map((name) => edge.limiter.caller(name, nowNs));
  return BUCKET_WORDS.map((policy) => {
    // Every account of a request pays: the one with the fewest tokens decides.
    const [first, ...others] = callers.map((caller) => caller[policy]);
    if (first === undefined) throw new ServiceError("INTERNAL", { problem: "nobody to charge" });
    const remaining = Math.min(first.remaining(nowNs), ...others.map((bucket) => bucket.remaining(nowNs)));
    const { perSecond, burst, windowSeconds } = first;
    const scope = payers === null ? ("ip" as const) : ("key" as const);
    return { policy, scope, perSecond, burst, windowSeconds, remaining };
  });
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

function readyRoute({ edge, clock, view, desk, records, recorder, walletDesk, clientSigned }: RouteContext): Route {
  const serialise = compileSerialiser(readyReplySchema);
  return {
    operation: OPERATIONS.ready,
    handle(response) {
      const custody = walletDesk?.status() ?? null;
      const parts = readyParts(view, desk, recordingStatus(records, recorder), edge.closing, custody);
      if (clientSigned !== undefined) parts.push(clientSignedPart(clientSigned.room.status()));
      const missing = parts.filter((part) => !part.ready).map((part) => part.name);
      if (missing.length > 0)
        throw new ServiceError("NOT_READY", { parts: missing.join(", "), ready: false, components: parts });
      edge.ok(response, serialise({ success: true, ready: true, parts, timestamp: clock.wallMs() }));
    },
  };
}

function statusRoute(context: RouteContext): Route {
  const { edge, clock, view, startedAtMs, version, clientSigned } = context;
  const serialise = compileSerialiser(statusReplySchema);
  return {
    operation: OPERATIONS.status,
    handle(response) {
      const nowMs = clock.wallMs();
      const { caller } = edge;
      const data = {
        version,
        interfaceVersion: INTERFACE_VERSION,
        startedAt: startedAtMs,
        uptimeMs: Math.max(0, nowMs - startedAtMs),
        venues: view.rooms.map((room) => venueStatus(room, clock.monoNs())),
        unconfigured: view.unconfigured(),
        ...(clientSigned === undefined ? {} : { clientSigned: clientSignedStatus(clientSigned.room.status()) }),
        ...(caller.scopes.has("read") || seesAll(caller) ? ordersStatus(context, caller) : {}),
        ...(seesAll(caller) ? serviceStatus(context) : {}),
      };
      edge.ok(response, serialise({ success: true, data, timestamp: nowMs }));
    },
  };
}

/** A key with `admin`, or everybody where no keys are needed. */
function seesAll(caller: Caller): boolean {
  return caller === PUBLIC_CALLER || caller.scopes.has("admin");
}

/** Orders that the caller may see. */
function ordersStatus({ desk }: RouteContext, caller: Caller) {
  const asker = askerOf(caller);
  const unknown = desk.unknownOrders(UNKNOWN_ORDERS_LISTED, asker);
  const open = desk.openOrders(UNKNOWN_ORDERS_LISTED, asker);
  const followed = desk.followed(asker);
  return {
    unknownOrders: { count: unknown.count, orders: [...unknown.orders] },
    openOrders: { count: open.count, orders: [...open.orders] },
    followedCount: followed.count,
    unattendedCount: followed.unattendedCount,
  };
}

function serviceStatus({ desk, inFlight, metrics, records, recorder, stream, walletDesk }: RouteContext) {
  const { connections, subscriptions, keys, lagging } = stream;
  return {
    closesInFlight: inFlight.count,
    store: storeStatusRow(desk.storeStatus()),
    recording: recordingStatus(records, recorder),
    ...(walletDesk === undefined ? {} : { custody: custodyStatus(walletDesk.status()) }),
    stream: { connections, subscriptions, keys, lagging },
    eventLoopDelayMs: metrics.eventLoopDelayMs(),
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
