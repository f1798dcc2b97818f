/**
 * What the routes that trade share: reads the body, refuses what is wrong with it, hands the rest to the trade service
 * and writes what it says.
 *
 * Invariants: a trade that began goes on when its caller disconnects; at most `closesInFlightMax` run at once
 * and at most `openBodiesMax` bodies are open, one more is refused with 503 before anything is sent.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { TradeRequest, TradeResult } from "../../../engine/orders/types.js";
import { type closeReplySchema, tradeRefusedReplySchema } from "../../../schemas/close.js";
import type { Operation } from "../../../schemas/operation.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { asServiceError } from "../../http/error-reply.js";
import { payersOf } from "../../http/caller-tags.js";
import { parseJsonBody } from "../../http/json-body.js";
import { replyText } from "../../http/json-route.js";
import type { PendingReply } from "../../http/pending-reply.js";
import { checkIdempotencyKey, checkMediaType, headerOrNull, receiveBody } from "../../http/receive.js";
import { scrub } from "../../../engine/domain/scrub.js";
import { type Completing, fieldCheck, queryCheck } from "../../http/unknown-fields.js";
import { leverageWarning } from "../leverage-warning.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

/** What one of them has of its own. */
export interface TradeRouteParts {
  readonly operation: Operation;
  readonly replySchema: typeof closeReplySchema;
  /** Of a body that has fields besides which are none. */
  readonly complete: Completing;
  /** Throws the refusal of a body that is wrong. */
  readonly build: (parsed: unknown) => TradeRequest;
}

/** One request that may go ahead. */
interface Arrived {
  readonly request: TradeRequest;
  /** Of the body, for the key that binds it; empty without one. */
  readonly boundBytes: Buffer;
  /** Null when the header is absent. */
  readonly idempotencyKey: string | null;
  readonly receivedAtMs: number;
  readonly reply: PendingReply;
  /** Header of the fields that were not looked at; "" without any. */
  readonly ignored: string;
  /** Null while there is none, or where it is waited for. */
  result: TradeResult | null;
}

const NO_BYTES = Buffer.alloc(0);
const OWN_DECIMALS = ["data.routing", "data.quote"];
/** For its text. */
const REFUSED = new ServiceError("VENUE_REJECTED");

export function tradeRoute(context: RouteContext, parts: TradeRouteParts): Route {
  const { edge, clock, limits, inFlight, metrics } = context;
  const checkFields = fieldCheck(parts.operation, context.strictFields, parts.complete);
  const checkQuery = queryCheck(parts.operation, context.strictFields);
  const serialise = compileSerialiser(parts.replySchema, OWN_DECIMALS);
  const serialiseRefused = compileSerialiser(tradeRefusedReplySchema, OWN_DECIMALS);

  /** Requests that came in this turn of the event loop: no more than one poll of the sockets brings, and gone with it. */
  let arrived: Arrived[] = [];

  /** What is wrong is refused at once: a request that follows on the same connection is then answered too. */
  function receive(
    body: Buffer,
    idempotencyKey: string | null,
    receivedAtMs: number,
    reply: PendingReply,
    ignoredNames: readonly string[],
    contentType: string,
  ): void {
    let ignored = "";
    try {
      checkMediaType(contentType, body);
      const parsed = parseJsonBody(body);
      if (!parsed.ok) throw new ServiceError(parsed.code, parsed.details);
      ignored = checkFields(parsed.value, ignoredNames);
      checkIdempotencyKey(idempotencyKey);
      const request = parts.build(parsed.value);
      reply.charge(payersOf(request.credentials));
      if (arrived.length === 0) setImmediate(takeArrived);
      const boundBytes = idempotencyKey === null ? NO_BYTES : Buffer.copyBytesFrom(body);
      arrived.push({ request, boundBytes, idempotencyKey, receivedAtMs, reply, ignored, result: null });
    } catch (error) {
      reply.fail(asServiceError(error), ignored);
    }
  }

  /**
   * Requests that arrive together are decided together and then answered together: the code of a step is fetched once for
   * all of them, which is worth a fifth of a decision's cost under load. One that is alone waits for nothing but the end
   * of the poll it came in.
   */
  function takeArrived(): void {
    const batch = arrived;
    arrived = [];
    for (const one of batch) decide(one);
    for (const { request, result, ignored, reply } of batch) {
      try {
        if (result !== null) answer(request, result, ignored, reply);
      } catch (error) {
        reply.fail(asServiceError(error), ignored);
      }
    }
  }

  /** Leaves the result in `one` where there is nothing to wait for. */
  function decide(one: Arrived): void {
    const { request, reply, ignored } = one;
    if (inFlight.closes >= limits.closesInFlightMax) {
      reply.fail(new ServiceError("OVERLOADED", { limit: limits.closesInFlightMax }), ignored);
      return;
    }
    inFlight.closes++;
    const startedNs = clock.monoNs();
    const settled = () => {
      inFlight.closes--;
      metrics.observeClose(clock.monoNs() - startedNs);
    };
    const fault = (error: unknown) => reply.fail(asServiceError(error), ignored);
    try {
      const result = context.desk.trade(request, {
        requestId: reply.requestId,
        idempotencyKey: one.idempotencyKey,
        apiKeyId: null,
        rawBody: one.boundBytes,
        receivedAtMs: one.receivedAtMs,
      });
      if (!(result instanceof Promise)) {
        settled();
        one.result = result;
        return;
      }
      result
        .finally(settled)
        .then((late) => answer(request, late, ignored, reply))
        .catch(fault);
    } catch (error) {
      settled();
      fault(error);
    }
  }

  function answer({ open }: TradeRequest, result: TradeResult, ignored: string, reply: PendingReply): void {
    const headers = result.replayed ? `${ignored}\r\nIdempotent-Replayed: true` : ignored;
    if (!result.ok) {
      reply.fail(new ServiceError(result.code, result.details), headers);
      return;
    }
    const { warning } = leverageWarning(open?.leverage ?? null);
    const data = warning === undefined ? result.data : { ...result.data, warning };
    const timestamp = clock.wallMs();
    const body = result.success
      ? replyText(edge, serialise, { success: true, data, timestamp })
      : replyText(edge, serialiseRefused, {
          success: false,
          error: REFUSED.message,
          code: "VENUE_REJECTED",
          requestId: reply.requestId,
          data,
          timestamp,
        });
    // Only a venue's own words could carry what we did not write.
    const { legs, protectionOrders } = result.data.execution;
    const foreign = [...legs, ...(protectionOrders ?? [])].some(({ venueText }) => venueText !== null);
    reply.json(foreign ? scrub(body) : body, headers);
  }

  return {
    operation: parts.operation,
    byAccount: true,
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
