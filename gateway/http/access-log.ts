/** The log lines of requests: one for each that may change something, one for each fault of our own. */
import type { Clock } from "../../engine/domain/clock.js";
import type { ServiceError } from "../../engine/domain/errors.js";
import type { LogFields, Logger } from "../../engine/domain/logger.js";
import type { ReplyState } from "./reply-state.js";

/** Written after the reply has gone out, so that the log does not delay it. */
export function logAccess(logger: Logger, clock: Clock, state: ReplyState, what: LogFields): void {
  const { requestId, admission, admittedNs } = state;
  const elapsedMs = Math.round((clock.monoNs() - admittedNs) / 1000) / 1000;
  const { logsMethod: method, counts } = admission;
  setImmediate(() => logger.info("http.access", { requestId, method, route: counts.route, elapsedMs, ...what }));
}

export function logFault(logger: Logger, error: ServiceError, state: ReplyState): void {
  const cause = error.cause instanceof Error ? error.cause : error;
  // Frames only: a message of a foreign library may quote the request.
  const frames = (cause.stack ?? "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .slice(0, 6);
  logger.error("http.fault", {
    requestId: state.requestId,
    route: state.admission.counts.route,
    errorName: cause.name,
    frames: frames.join(" | "),
  });
}
