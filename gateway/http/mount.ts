/**
 * Routes onto the server: method and HEAD, OPTIONS, 405 for other methods, 404 for other paths. Every handler is
 * guarded: what it throws becomes a reply, so nothing reaches the native caller.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { BucketName } from "../../schemas/service.js";
import type { Route } from "../routes/context.js";
import type { Edge } from "./edge.js";
import type { RouteCounts } from "./reply-state.js";

const ANON: readonly BucketName[] = ["anon"];
/** How long a browser may keep a preflight. */
const PREFLIGHT_SECONDS = 86_400;

export function mountRoutes(app: TemplatedApp, edge: Edge, routes: readonly Route[], corsAllowOrigin: string): void {
  for (const route of routes) {
    const { operation } = route;
    const pattern = operation.path.replace(/\{(\w+)\}/g, ":$1");
    const counts = edge.countsFor(operation.path);
    const run = guard(edge, counts, operation.buckets, operation.weight, route.handle);
    if (operation.method === "GET") {
      app.get(pattern, run(false));
      app.head(pattern, run(true));
    } else app.post(pattern, run(false));
    const allow = operation.method === "GET" ? "GET, HEAD, OPTIONS" : `${operation.method}, OPTIONS`;
    const preflight = preflightHeaders(allow, corsAllowOrigin);
    app.options(pattern, guard(edge, counts, ANON, 1, (response) => edge.noContent(response, preflight))(false));
    const refused = guard(edge, counts, ANON, 1, (response, request) => {
      edge.checkTarget(request);
      edge.fail(response, new ServiceError("METHOD_NOT_ALLOWED", { allow }), `\r\nAllow: ${allow}`);
    });
    app.any(pattern, refused(false));
  }
  const unknown = guard(edge, edge.countsFor("unknown"), ANON, 1, (_, request) => {
    edge.checkTarget(request);
    throw new ServiceError("NOT_FOUND");
  });
  app.head("/*", unknown(true));
  app.any("/*", unknown(false));
}

function preflightHeaders(allow: string, corsAllowOrigin: string): string {
  if (corsAllowOrigin === "") return `\r\nAllow: ${allow}`;
  return (
    `\r\nAllow: ${allow}\r\nAccess-Control-Allow-Methods: ${allow}` +
    "\r\nAccess-Control-Allow-Headers: Content-Type, Idempotency-Key, X-Venue-Credentials, X-API-KEY, X-API-TIMESTAMP, X-API-SIGNATURE, X-API-RECV-WINDOW" +
    `\r\nAccess-Control-Max-Age: ${PREFLIGHT_SECONDS}`
  );
}

type Handle = (response: HttpResponse, request: HttpRequest) => void;

/** Admission, then the handler; an error becomes its envelope. `headOnly` gives the HEAD form. */
function guard(
  edge: Edge,
  counts: RouteCounts,
  buckets: readonly BucketName[],
  weight: number,
  handle: Handle,
): (headOnly: boolean) => Handle {
  return (headOnly) => {
    const admission = edge.admissionFor(counts, buckets, weight, headOnly);
    return (response, request) => {
      try {
        if (edge.admit(response, admission)) handle(response, request);
      } catch (error) {
        failSafely(edge, response, error);
      }
    };
  };
}

/** A handler that threw after it had replied left nothing to write to: that is a bug to log, not one to die of. */
function failSafely(edge: Edge, response: HttpResponse, error: unknown): void {
  try {
    edge.fail(response, error);
  } catch (second) {
    edge.logger.error("http.reply_failed", { errorName: second instanceof Error ? second.name : "unknown" });
  }
}
