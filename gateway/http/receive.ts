/**
 * Receives the body of a request within the bounds of the service: refused at once while the service stops or has too
 * many open, read with a limit and a deadline, dropped when its caller leaves.
 */
import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { idempotencyKeySchema } from "../../schemas/operation.js";
import { compileValidator } from "../../schemas/validate.js";
import type { BodyReader } from "./body.js";
import type { Edge } from "./edge.js";
import type { PendingReply } from "./pending-reply.js";
import { invalidParameters } from "./query.js";

export interface BodyBounds {
  readonly bodyBytesMax: number;
  readonly bodyDeadlineMs: number;
  readonly openBodiesMax: number;
}

export interface BodyParts {
  readonly edge: Edge;
  readonly bodies: BodyReader;
  readonly limits: BodyBounds;
}

const validateKey = compileValidator(idempotencyKeySchema);

/** Must be called within the handler, like everything that reads the request. Refusals are answered here. */
export function receiveBody(
  { edge, bodies, limits }: BodyParts,
  response: HttpResponse,
  announced: string,
  reply: PendingReply,
  onBody: (body: Buffer) => void,
): void {
  if (edge.closing) {
    reply.fail(new ServiceError("SHUTTING_DOWN"), "", true);
    return;
  }
  if (bodies.openCount >= limits.openBodiesMax) {
    reply.fail(new ServiceError("OVERLOADED", { limit: limits.openBodiesMax }), "", true);
    return;
  }
  const leave = entered(bodies, reply);
  if (leave === null) return;
  const drop = bodies.read(
    response,
    announced,
    (body) => {
      leave();
      onBody(body);
    },
    (failure) => {
      leave();
      const { bodyBytesMax: limitBytes, bodyDeadlineMs: deadlineMs } = limits;
      reply.fail(new ServiceError(failure, { limitBytes, deadlineMs }), "", true);
    },
  );
  reply.whenAborted(() => {
    leave();
    drop();
  });
}

/** Takes the place of one who needs one of a kind. Returns what gives it back, once; null: refused. */
function entered(bodies: BodyReader, reply: PendingReply): (() => void) | null {
  const { stranger, knownKey } = reply;
  if (stranger !== null && !bodies.strangers.enter(stranger)) {
    reply.fail(new ServiceError("OVERLOADED", { of: "bodies of keys that are not known here yet" }), "", true);
    return null;
  }
  if (knownKey !== null && !bodies.known.enter(knownKey)) {
    reply.fail(new ServiceError("OVERLOADED", { of: "bodies of this key" }), "", true);
    return null;
  }
  let isInside = true;
  // A caller may also leave after its body has come.
  return () => {
    if (isInside && stranger !== null) bodies.strangers.leave(stranger);
    if (isInside && knownKey !== null) bodies.known.leave(knownKey);
    isInside = false;
  };
}

/** A media type, with or without parameters. A simple request of a foreign page cannot send it. */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** Throws UNSUPPORTED_MEDIA_TYPE for a body that is not declared as JSON. `contentType`: "" when absent. */
export function checkMediaType(contentType: string, body: Buffer): void {
  if (body.length > 0 && !JSON_TYPE.test(contentType)) throw new ServiceError("UNSUPPORTED_MEDIA_TYPE");
}

/** Reports whether a body follows a request whose method needs none. */
export function announcesBody(request: HttpRequest): boolean {
  const length = request.getHeader("content-length");
  return (length !== "" && length !== "0") || request.getHeader("transfer-encoding") !== "";
}

/**
 * Like `getHeader`, but null when absent: a caller with an empty key expects to be protected, so the two differ. The
 * server also shows a value of non-ASCII bytes as empty.
 */
export function headerOrNull(request: HttpRequest, name: string): string | null {
  const text = request.getHeader(name);
  if (text !== "") return text;
  let present = false;
  request.forEach((given) => {
    if (given === name) present = true;
  });
  return present ? "" : null;
}

/** Throws INVALID_PARAMETERS: a caller with an empty key expects to be protected. Null means no such header. */
export function checkIdempotencyKey(idempotencyKey: string | null): void {
  if (idempotencyKey === null) return;
  const checked = validateKey(idempotencyKey);
  if (checked.ok) return;
  throw invalidParameters({
    path: "Idempotency-Key",
    problem: checked.problems.fields[0]?.problem ?? "is not valid",
  });
}
