/**
 * A route whose reply takes time: the request is read completely while its handler runs, then the reply is awaited.
 *
 * Invariants: the native request is not used after the handler. There is exactly one reply. Work that began continues
 * when its caller leaves. Requests that may send something run within bounds (in-flight.ts); one for which there is no
 * place is refused before anything is sent.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Operation } from "../../schemas/operation.js";
import type { Validator } from "../../schemas/validate.js";
import type { RequestOrigin } from "./operator-access.js";
import type { Caller } from "./caller.js";
import type { Asked, Payers } from "./caller-tags.js";
import { type Edge, forwardedFor } from "./edge.js";
import { asServiceError } from "./error-reply.js";
import { parseJsonBody } from "./json-body.js";
import { type InFlight, isExit } from "./in-flight.js";
import type { PendingReply } from "./pending-reply.js";
import { askedTimeMs, decodeComponent, invalidParameters, parseQuery } from "./query.js";
import {
  announcesBody,
  type BodyBounds,
  type BodyParts,
  checkIdempotencyKey,
  checkMediaType,
  headerOrNull,
  receiveBody,
} from "./receive.js";
import type { Route } from "./route.js";
import { fieldCheck, queryCheck } from "./unknown-fields.js";

/** Also what `GET /api/limits` shows. */
export interface RouteLimits extends BodyBounds {
  readonly closesInFlightMax: number;
}

export interface JsonRouteParts extends BodyParts {
  readonly clock: Clock;
  readonly limits: RouteLimits;
  /** Unknown body fields are refused where something is sent; otherwise they are ignored and named. */
  readonly strictFields: boolean;
  /** Whose buckets a request with credentials uses; null means its address's. */
  readonly callerOfAsk?: (asked: Asked) => Payers;
  /** Shutdown and status read it too. */
  readonly inFlight: InFlight;
}

/** Everything of one request that a route may read. */
export interface Ask {
  readonly requestId: string;
  /** Proven. */
  readonly caller: Caller;
  readonly receivedAtMs: number;
  /** Text of the address that it comes from; "" unless the route reads it. */
  readonly address: string;
  /** Decoded path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  /** Decoded query parameters that the route knows. */
  readonly query: Readonly<Record<string, string>>;
  /** By lower-case name, those that the route requires; null when absent. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly origin: RequestOrigin;
  readonly idempotencyKey: string | null;
  /** Parsed body; undefined when none was sent. */
  readonly body: unknown;
  readonly rawBody: Buffer;
  /** What an idempotency key is bound to: path and body, not the query, which may carry credentials. */
  readonly boundBytes: Buffer;
}

export interface Answer {
  /** JSON text. */
  readonly text: string;
  readonly replayed?: boolean;
}

/** A refusal that was stored with an Idempotency-Key, returned again. */
export class ReplayedRefusal extends ServiceError {}

export interface JsonRouteOptions {
  readonly operation: Operation;
  readonly headers: readonly string[];
  /** Whether it sends to a venue. It then counts as in flight, and a stopping service waits for it. */
  readonly sends: boolean;
  /** Default false. */
  readonly readsAddress?: boolean;
  /** Throws or rejects with ServiceError. */
  readonly answer: (ask: Ask) => Promise<Answer>;
}

const REPLAYED = "\r\nIdempotent-Replayed: true";
const NO_BODY = Buffer.alloc(0);

/** What of a request is known before its body. */
type AskHead = Omit<Ask, "caller" | "body" | "rawBody" | "boundBytes">;

export function jsonRoute(context: JsonRouteParts, options: JsonRouteOptions): Route {
  const { operation, sends } = options;
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const queryNames = Object.keys((operation.query as { properties?: object } | null)?.properties ?? {});
  const { edge, clock } = context;
  const checkQuery = queryCheck(operation, context.strictFields);
  const start = starter(context, options);
  return {
    operation,
    // A route without credentials charges the caller's address on arrival.
    byAccount: options.headers.length > 0 && context.callerOfAsk !== undefined,
    readsBody: true,
    handle(response: HttpResponse, request: HttpRequest) {
      edge.checkTarget(request);
      const params: Record<string, string> = {};
      for (const [index, name] of names.entries())
        params[name] = decodeComponent(request.getParameter(index) ?? "", name);
      const headers: Record<string, string | null> = {};
      for (const name of options.headers) headers[name] = headerOrNull(request, name);
      const rawQuery = request.getQuery();
      const query = parseQuery(rawQuery, queryNames);
      const ignoredNames = checkQuery(rawQuery);
      const idempotencyKey = headerOrNull(request, "idempotency-key");
      const origin = originOf(request);
      const path = request.getUrl();
      const announced = request.getHeader("content-length");
      const contentType = request.getHeader("content-type");
      const hasBody = operation.method === "POST" || operation.method === "PATCH" || announcesBody(request);
      const receivedAtMs = clock.wallMs();
      const address = options.readsAddress === true ? edge.addresses.textOf(response, forwardedFor(request)) : "";
      const reply = edge.detach(response);
      const ask = { requestId: reply.requestId, receivedAtMs, address, params, query, headers, origin, idempotencyKey };
      if (!hasBody) {
        if (edge.closing && sends) reply.fail(new ServiceError("SHUTTING_DOWN"), "", true);
        else start(ask, path, ignoredNames, NO_BODY, "", reply);
        return;
      }
      receiveBody(context, response, announced, reply, (body) =>
        start(ask, path, ignoredNames, Buffer.copyBytesFrom(body), contentType, reply),
      );
    },
  };
}

function originOf(request: HttpRequest): RequestOrigin {
  return {
    host: request.getHeader("host"),
    origin: request.getHeader("origin"),
    fetchSite: request.getHeader("sec-fetch-site"),
  };
}

/**
 * Returns the function that proves the caller, checks a whole request, charges its payer, runs the route's answer and
 * replies.
 */
function starter(context: JsonRouteParts, options: JsonRouteOptions) {
  const { operation, sends } = options;
  const { inFlight } = context;
  const exits = isExit(operation);
  const checkFields = fieldCheck(operation, context.strictFields);
  const callerOf = context.callerOfAsk ?? (() => null);

  return (
    ask: AskHead,
    path: string,
    ignoredNames: readonly string[],
    rawBody: Buffer,
    contentType: string,
    reply: PendingReply,
  ): void => {
    let ignored = "";
    try {
      const caller = reply.prove(rawBody);
      if (operation.method !== "GET") checkMediaType(contentType, rawBody);
      const mayLack = operation.body === null || operation.bodyOptional === true;
      const body = rawBody.length === 0 && mayLack ? undefined : parsed(rawBody);
      ignored = checkFields(body, ignoredNames);
      checkIdempotencyKey(ask.idempotencyKey);
      reply.charge(callerOf({ ...ask, body }));
      const boundBytes = Buffer.concat([Buffer.from(`${operation.method} ${path}\n`), rawBody]);
      if (sends && !inFlight.enter(caller.keyId, exits)) throw new ServiceError("OVERLOADED", { limit: inFlight.max });
      const { settled } = reply;
      // Inside a promise, so that an error before its first wait is also counted down.
      Promise.resolve({ ...ask, caller, body, rawBody, boundBytes })
        .then(settled === null ? options.answer : (whole) => settled.then(() => options.answer(whole)))
        .finally(() => {
          if (sends) inFlight.leave(caller.keyId, exits);
        })
        .then((answer) => reply.json(answer.text, answer.replayed === true ? ignored + REPLAYED : ignored))
        .catch((error: unknown) =>
          reply.fail(asServiceError(error), error instanceof ReplayedRefusal ? ignored + REPLAYED : ignored),
        );
    } catch (error) {
      reply.fail(asServiceError(error), ignored);
    }
  };
}

function parsed(rawBody: Buffer): unknown {
  const result = parseJsonBody(rawBody);
  if (!result.ok) throw new ServiceError(result.code, result.details);
  return result.value;
}

/**
 * The reply to a request that may have sent something: a failing serialiser must not turn its outcome into an error.
 */
export function replyText<T>(edge: Edge, serialise: (value: T) => string, value: T): string {
  try {
    return serialise(value);
  } catch (error) {
    edge.logger.error("http.reply_off_schema", { errorName: error instanceof Error ? error.name : "unknown" });
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
  }
}

/** Returns the body as its schema types it. Throws MISSING_PARAMETERS or INVALID_PARAMETERS. */
export function checkedBody<T>(validate: Validator<T>, body: unknown): T {
  if (body === null || typeof body !== "object" || Array.isArray(body))
    throw invalidParameters({ path: "body", problem: "must be an object" });
  return checked(validate, body);
}

/**
 * A query has texts only; where the schema requires an integer, digits become one. Any other text is kept and refused.
 */
export function checkedQuery<T>(
  validate: Validator<T>,
  query: Readonly<Record<string, string>>,
  integerNames: readonly string[] = [],
  timeNames: readonly string[] = [],
): T {
  const values: Record<string, unknown> = { ...query };
  for (const name of timeNames) {
    const text = query[name];
    if (text !== undefined) values[name] = askedTimeMs(text);
  }
  for (const name of integerNames) {
    const text = query[name];
    if (text !== undefined && /^[0-9]{1,16}$/.test(text)) values[name] = Number(text);
  }
  return checked(validate, values);
}

function checked<T>(validate: Validator<T>, value: unknown): T {
  const result = validate(value);
  if (result.ok) return result.value;
  const { missing, fields } = result.problems;
  throw new ServiceError(missing ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", { fields });
}
