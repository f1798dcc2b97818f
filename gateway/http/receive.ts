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
  const place = placeOf(bodies, reply);
  const hasPlace = place.enter();
  let isOver = false;
  const end = (): void => {
    // A caller may also leave after its body has come.
    if (!isOver && hasPlace) place.leave();
    isOver = true;
  };
  const drop = bodies.read(
    response,
    announced,
    (body) => {
      end();
      onBody(body);
    },
    (failure) => {
      end();
      const { bodyBytesMax: limitBytes, bodyDeadlineMs: deadlineMs } = limits;
      reply.fail(new ServiceError(failure, { limitBytes, deadlineMs }), "", true);
    },
  );
  reply.whenAborted(() => {
    end();
    drop();
  });
  if (hasPlace) return;
  // Whoever shows the id of a key can take its places, but not those of a body that came whole with its head: that has
  // been handed over by the end of this poll of the sockets.
  setImmediate(() => {
    if (isOver) return;
    end();
    drop();
    reply.fail(new ServiceError("OVERLOADED", { of: place.what }), "", true);
  });
}

interface BodyPlace {
  /** Whose places there are too few of, for the refusal. */
  readonly what: string;
  /** False: there is none. */
  enter(): boolean;
  leave(): void;
}

const NO_PLACE_NEEDED: BodyPlace = { what: "", enter: () => true, leave: () => {} };

/** Of one who needs one of a kind. */
function placeOf({ known, strangers }: BodyReader, { knownKey, stranger }: PendingReply): BodyPlace {
  if (stranger !== null)
    return {
      what: "bodies of keys that are not known here yet",
      enter: () => strangers.enter(stranger),
      leave: () => strangers.leave(stranger),
    };
  if (knownKey !== null)
    return { what: "bodies of this key", enter: () => known.enter(knownKey), leave: () => known.leave(knownKey) };
  return NO_PLACE_NEEDED;
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
