/**
 * Mounts routes on the server: method and HEAD, OPTIONS, 405 for other methods, 404 for other paths. Every handler is
 * guarded: what it throws becomes a reply, so nothing reaches the native caller.
 *
 * Several routes may share a path, and a literal path may lie within a templated one (`/orders` of one venue and of
 * any). The server tries all paths of a method before it falls back to `any`, so the methods that a path allows are
 * those of every template that covers it.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { coversPath, type Operation } from "../../schemas/operation.js";
import { OWN_KEY } from "../../schemas/venues.js";
import type { Route } from "./route.js";
import type { AdmissionWish, Edge } from "./edge.js";
import type { Access, RouteCounts } from "./reply-state.js";

/** The charge for a request that is no operation. */
const REFUSAL: Pick<Operation, "buckets" | "weight"> = { buckets: ["anon"], weight: 1 };
/** How long a browser may keep a preflight. */
const PREFLIGHT_SECONDS = 86_400;
/** Every header that a route reads, and those that a client may send for keys. */
const REQUEST_HEADERS = [
  "Content-Type",
  "Idempotency-Key",
  "X-Wallet-Id",
  "X-Venue-Credentials",
  ...OWN_KEY.headers.map(({ name }) => name),
  "X-API-KEY",
  "X-API-SECRET",
  "X-API-TIMESTAMP",
  "X-API-SIGNATURE",
  "X-API-RECV-WINDOW",
].join(", ");

export function mountRoutes(app: TemplatedApp, edge: Edge, routes: readonly Route[], hasOrigins: boolean): void {
  const countsOf = new Map<string, RouteCounts>();
  for (const { operation, handle, byAccount = false, readsBody = false } of routes) {
    const pattern = nativePattern(operation.path);
    const counts = countsOf.get(operation.path) ?? edge.countsFor(operation.path);
    countsOf.set(operation.path, counts);
    const logsMethod = operation.method === "GET" ? null : operation.method;
    const { buckets, weight } = operation;
    const { scope } = operation.access;
    const access = accessOf(operation);
    const run = guard(edge, { counts, buckets, weight, access, scope, byAccount, readsBody, logsMethod }, handle);
    mountMethod(app, operation.method, pattern, run);
  }
  for (const [path, counts] of countsOf) {
    const pattern = nativePattern(path);
    const allow = allowedMethods(path, routes);
    const preflight = preflightHeaders(allow, hasOrigins);
    app.options(
      pattern,
      guard(edge, { counts, ...REFUSAL, access: "reads" }, (response) => edge.noContent(response, preflight))(false),
    );
    const refused = guard(edge, { counts, ...REFUSAL, access: "changes" }, (response, request) => {
      edge.checkTarget(request);
      edge.fail(response, new ServiceError("METHOD_NOT_ALLOWED", { allow }), `\r\nAllow: ${allow}`);
    });
    app.any(pattern, refused(false));
  }
  const nowhere: AdmissionWish = { counts: edge.countsFor("unknown"), ...REFUSAL, access: "changes" };
  const unknown = guard(edge, nowhere, (_, request) => {
    edge.checkTarget(request);
    throw new ServiceError("NOT_FOUND");
  });
  app.head("/*", unknown(true));
  app.any("/*", unknown(false));
}

function accessOf({ method, anyOrigin }: Operation): Access {
  if (anyOrigin === true) return "open";
  return method === "GET" ? "reads" : "changes";
}

function nativePattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function mountMethod(
  app: TemplatedApp,
  method: Operation["method"],
  pattern: string,
  run: (headOnly: boolean) => Handle,
): void {
  switch (method) {
    case "GET":
      app.get(pattern, run(false));
      app.head(pattern, run(true));
      return;
    case "POST":
      app.post(pattern, run(false));
      return;
    case "DELETE":
      app.del(pattern, run(false));
      return;
    case "PATCH":
      app.patch(pattern, run(false));
  }
}

const METHOD_ORDER: readonly Operation["method"][] = ["GET", "POST", "PATCH", "DELETE"];

/** As the Allow header lists them. */
function allowedMethods(path: string, routes: readonly Route[]): string {
  const methods = new Set<string>();
  for (const { operation } of routes) if (coversPath(operation.path, path)) methods.add(operation.method);
  const listed = METHOD_ORDER.filter((method) => methods.has(method)).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method],
  );
  return [...listed, "OPTIONS"].join(", ");
}

function preflightHeaders(allow: string, hasOrigins: boolean): string {
  if (!hasOrigins) return `\r\nAllow: ${allow}`;
  return (
    `\r\nAllow: ${allow}\r\nAccess-Control-Allow-Methods: ${allow}` +
    `\r\nAccess-Control-Allow-Headers: ${REQUEST_HEADERS}` +
    `\r\nAccess-Control-Max-Age: ${PREFLIGHT_SECONDS}`
  );
}

type Handle = (response: HttpResponse, request: HttpRequest) => void;

/** Admission, then the handler; an error becomes its envelope. `headOnly` gives the HEAD form. */
function guard(edge: Edge, wish: AdmissionWish, handle: Handle): (headOnly: boolean) => Handle {
  return (headOnly) => {
    const admission = edge.admissionFor({ ...wish, headOnly });
    return (response, request) => {
      try {
        if (edge.admit(response, request, admission)) handle(response, request);
      } catch (error) {
        failSafely(edge, response, error);
      }
    };
  };
}

/** A handler that threw after its reply left nothing to write to: that bug is logged and does not end the process. */
function failSafely(edge: Edge, response: HttpResponse, error: unknown): void {
  try {
    edge.fail(response, error);
  } catch (second) {
    edge.logger.error("http.reply_failed", { errorName: second instanceof Error ? second.name : "unknown" });
  }
}
