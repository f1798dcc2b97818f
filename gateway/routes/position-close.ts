/**
 * POST /api/trade/position/close. Reads the body, refuses what is wrong with it, hands the rest to the close
 * service and writes what it says.
 *
 * Invariants: a close that began goes on when its caller disconnects; at most `closesInFlightMax` run at once
 * and at most `openBodiesMax` bodies are open, one more is refused with 503 before anything is sent.
 */
import type { HttpRequest } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { CloseResult } from "../../engine/orders/close-types.js";
import { closeReplySchema, closeRequestSchema } from "../../schemas/close.js";
import { idempotencyKeySchema, OPERATIONS } from "../../schemas/operations.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { compileValidator, unknownFields } from "../../schemas/validate.js";
import { buildCloseRequest, problemsError } from "../close-request.js";
import { headerSafe } from "../http/edge.js";
import { asServiceError } from "../http/error-reply.js";
import { parseJsonBody } from "../http/json-body.js";
import type { PendingReply } from "../http/pending-reply.js";
import { scrub } from "../http/scrub.js";
import type { Route, RouteContext } from "./context.js";

export function positionCloseRoute(context: RouteContext): Route {
  const { edge, clock, bodies, limits, inFlight, metrics } = context;
  const validate = compileValidator(closeRequestSchema);
  const validateKey = compileValidator(idempotencyKeySchema);
  const serialise = compileSerialiser(closeReplySchema, ["data.routing", "data.quote"]);

  /** `idempotencyKey`: null when the header is absent. */
  function start(body: Buffer, idempotencyKey: string | null, receivedAtMs: number, reply: PendingReply): void {
    let ignored = "";
    try {
      const parsed = parseJsonBody(body);
      if (!parsed.ok) throw new ServiceError(parsed.code, parsed.details);
      const unknown = unknownFields(closeRequestSchema, parsed.value);
      if (unknown.length > 0) ignored = `\r\nX-Ignored-Fields: ${scrub(headerSafe(unknown))}`;
      checkKey(idempotencyKey);
      const request = buildCloseRequest(parsed.value, validate, context.view, context.closeDefaults);
      if (inFlight.closes >= limits.closesInFlightMax)
        throw new ServiceError("OVERLOADED", { limit: limits.closesInFlightMax });
      inFlight.closes++;
      const startedNs = clock.monoNs();
      const settled = () => {
        inFlight.closes--;
        metrics.observeClose(clock.monoNs() - startedNs);
      };
      context.desk
        .close(request, {
          requestId: reply.requestId,
          idempotencyKey,
          apiKeyId: null,
          rawBody: body,
          receivedAtMs,
        })
        .then(
          (result) => {
            settled();
            answer(result, ignored, reply);
          },
          (error: unknown) => {
            settled();
            reply.fail(asServiceError(error), ignored);
          },
        )
        .catch((error: unknown) => reply.fail(asServiceError(error), ignored));
    } catch (error) {
      reply.fail(asServiceError(error), ignored);
    }
  }

  function checkKey(idempotencyKey: string | null): void {
    if (idempotencyKey === null) return;
    const checked = validateKey(idempotencyKey);
    if (!checked.ok) {
      const problem = checked.problems.fields[0]?.problem ?? "is not valid";
      throw problemsError({ missing: false, fields: [{ path: "Idempotency-Key", problem }] });
    }
  }

  /** By now an order may be out: a serialiser that fails must not turn what became of it into a 500. */
  function textOf(envelope: Parameters<typeof serialise>[0]): string {
    try {
      return serialise(envelope);
    } catch (error) {
      edge.logger.error("http.reply_off_schema", { errorName: error instanceof Error ? error.name : "unknown" });
      return JSON.stringify(envelope);
    }
  }

  function answer(result: CloseResult, ignored: string, reply: PendingReply): void {
    const headers = result.replayed ? `${ignored}\r\nIdempotent-Replayed: true` : ignored;
    if (!result.ok) {
      reply.fail(new ServiceError(result.code, result.details), headers);
      return;
    }
    const body = textOf({ success: result.success, data: result.data, timestamp: clock.wallMs() });
    // Only a venue's own words could carry what we did not write.
    const foreign = result.data.execution.legs.some((leg) => leg.venueText !== null);
    reply.json(foreign ? scrub(body) : body, headers);
  }

  return {
    operation: OPERATIONS.positionClose,
    handle(response, request) {
      const announced = request.getHeader("content-length");
      const idempotencyKey = readKey(request);
      const receivedAtMs = clock.wallMs();
      const reply = edge.detach(response);
      if (edge.closing) {
        reply.fail(new ServiceError("SHUTTING_DOWN"), "", true);
        return;
      }
      if (bodies.openCount >= limits.openBodiesMax) {
        reply.fail(new ServiceError("OVERLOADED", { limit: limits.openBodiesMax }), "", true);
        return;
      }
      const drop = bodies.read(
        response,
        announced,
        (body) => start(body, idempotencyKey, receivedAtMs, reply),
        (failure) =>
          reply.fail(
            new ServiceError(failure, { limitBytes: limits.bodyBytesMax, deadlineMs: limits.bodyDeadlineMs }),
            "",
            true,
          ),
      );
      reply.whenAborted(drop);
    },
  };
}

/**
 * Null when absent. A header that is there but empty is a caller who believes to be protected, so it is told
 * apart (and refused); the server also shows a value of non-ASCII bytes as empty.
 */
function readKey(request: HttpRequest): string | null {
  const key = request.getHeader("idempotency-key");
  if (key !== "") return key;
  let present = false;
  request.forEach((name) => {
    if (name === "idempotency-key") present = true;
  });
  return present ? "" : null;
}
