/**
 * What the routes that trade share: reads the body, refuses what is wrong with it, and hands the rest to the trade
 * service (trade-batch.ts).
 *
 * Invariant: at most `openBodiesMax` bodies are open; one more is refused with 503 before it is read.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { TradeRequest } from "../../../engine/orders/types.js";
import type { closeReplySchema } from "../../../schemas/close.js";
import type { Operation } from "../../../schemas/operation.js";
import { payersOf } from "../../http/caller-tags.js";
import { asServiceError } from "../../http/error-reply.js";
import { parseJsonBody } from "../../http/json-body.js";
import type { PendingReply } from "../../http/pending-reply.js";
import { isExit } from "../../http/in-flight.js";
import { checkIdempotencyKey, checkMediaType, headerOrNull, receiveBody } from "../../http/receive.js";
import type { Route } from "../../http/route.js";
import { type Completing, fieldCheck, queryCheck } from "../../http/unknown-fields.js";
import type { RouteContext } from "./context.js";
import { TradeBatch } from "./trade-batch.js";

/** What differs between the routes. */
export interface TradeRouteParts {
  readonly operation: Operation;
  readonly replySchema: typeof closeReplySchema;
  /** Adds the problems that no schema expresses. */
  readonly complete: Completing;
  /** Throws the refusal of an invalid body. */
  readonly build: (parsed: unknown) => TradeRequest;
}

const NO_BYTES = Buffer.alloc(0);

export function tradeRoute(context: RouteContext, parts: TradeRouteParts): Route {
  const { edge, clock } = context;
  const checkQuery = queryCheck(parts.operation, context.strictFields);
  const receive = receiver(context, parts);
  return {
    operation: parts.operation,
    byAccount: true,
    readsBody: true,
    handle(response, request) {
      const announced = request.getHeader("content-length");
      const contentType = request.getHeader("content-type");
      const idempotencyKey = headerOrNull(request, "idempotency-key");
      const receivedAtMs = clock.wallMs();
      const ignoredNames = checkQuery(request.getQuery());
      const reply = edge.detach(response);
      receiveBody(context, response, announced, reply, (body) =>
        receive(body, idempotencyKey, receivedAtMs, reply, ignoredNames, contentType),
      );
    },
  };
}

/** Returns the function that proves the caller, checks a whole request, charges its payers and hands it over. */
function receiver(context: RouteContext, parts: TradeRouteParts) {
  const checkFields = fieldCheck(parts.operation, context.strictFields, parts.complete);
  const exits = isExit(parts.operation);
  const batch = new TradeBatch(context, parts.replySchema, exits);
  const { inFlight } = context;

  /** What is wrong is refused at once: a request that follows on the same connection is then answered too. */
  return (
    body: Buffer,
    idempotencyKey: string | null,
    receivedAtMs: number,
    reply: PendingReply,
    ignoredNames: readonly string[],
    contentType: string,
  ): void => {
    let ignored = "";
    try {
      const { keyId } = reply.prove(body);
      checkMediaType(contentType, body);
      const parsed = parseJsonBody(body);
      if (!parsed.ok) throw new ServiceError(parsed.code, parsed.details);
      ignored = checkFields(parsed.value, ignoredNames);
      checkIdempotencyKey(idempotencyKey);
      const request = parts.build(parsed.value);
      reply.charge(payersOf(request.credentials));
      const boundBytes = idempotencyKey === null ? NO_BYTES : Buffer.copyBytesFrom(body);
      const one = { request, boundBytes, idempotencyKey, receivedAtMs, reply, ignored, result: null };
      // A stopping service waits for it from here on.
      if (!inFlight.enter(keyId, exits)) throw new ServiceError("OVERLOADED", { limit: inFlight.max });
      if (reply.settled === null) batch.add(one);
      else void reply.settled.then(() => batch.add(one));
    } catch (error) {
      reply.fail(asServiceError(error), ignored);
    }
  };
}
