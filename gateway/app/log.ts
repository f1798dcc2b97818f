/**
 * The service's log: pino behind the Logger port, safe by construction.
 *
 * Invariants: a line contains only the event name and fields of the allow-list below. There is no field for bodies,
 * headers, query strings or error messages from outside. A field that is not on the list is dropped and counted, never
 * printed. What looks like a 32-byte key is replaced as a last line of defence, and text is cut.
 */
import { type DestinationStream, destination, pino } from "pino";
import type { LogFields, Logger } from "../../engine/domain/logger.js";
import { scrubLine } from "../../engine/domain/scrub.js";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Longest text of one field. */
export const MAX_FIELD_CHARS = 400;

/** Every field a log line may carry: names of things, counts, times and codes, never a caller's own data. */
export const ALLOWED_FIELDS: ReadonlySet<string> = new Set([
  // Whose.
  "venue",
  "symbol",
  "nativeSymbol",
  "routeId",
  "requestId",
  "route",
  "stream",
  "socket",
  "channel",
  "tier",
  "lane",
  "scope",
  "link",
  "name",
  "names",
  "coin",
  "coins",
  "clientId",
  "serial",
  "venueClientOrderId",
  "part",
  // What.
  "what",
  "word",
  "text",
  "cause",
  "wasLive",
  "isPrimary",
  "isHopeless",
  "aheadMs",
  "code",
  "keyId",
  "closeCode",
  "venueCode",
  "reason",
  "state",
  "from",
  "to",
  "outcome",
  "answer",
  "leftCount",
  "leftOut",
  "kind",
  "problem",
  "problems",
  "errorName",
  "leftRows",
  "rewrappedRows",
  "frames",
  "signal",
  "phase",
  "port",
  "host",
  "url",
  "version",
  "profile",
  "status",
  "method",
  // How much.
  "attempt",
  "attempts",
  "attemptCount",
  "askedLastSecond",
  "refusalCount",
  "deadCount",
  "positionCount",
  "marketCount",
  "knownCount",
  "count",
  "limit",
  "bytes",
  "markets",
  "seq",
  "expectedSeq",
  "pending",
  "closes",
  "unknown",
  "dropped",
  // When.
  "delayMs",
  "elapsedMs",
  "timeoutMs",
  "retryAfterMs",
  "ageMs",
  "offsetMs",
  "untilMs",
  "proofInMs",
]);

export interface ServiceLogger extends Logger {
  /** Fields dropped or scrubbed since start. */
  readonly redactedCount: number;
}

/** `stream` is for tests; by default lines go to stderr, so that stdout has only the ready line. */
export function createLogger(
  level: LogLevel,
  stream: DestinationStream = destination({ dest: 2, sync: true }),
): ServiceLogger {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "event" }, stream);
  let redactedCount = 0;

  function safe(fields: LogFields): Record<string, string | number | boolean | null> {
    const line: Record<string, string | number | boolean | null> = {};
    let dropped = 0;
    for (const [name, value] of Object.entries(fields)) {
      if (!ALLOWED_FIELDS.has(name)) dropped++;
      else if (typeof value !== "string") line[name] = typeof value === "object" && value !== null ? null : value;
      else {
        const clean = cleanText(value);
        if (clean !== value) redactedCount++;
        line[name] = clean;
      }
    }
    if (dropped > 0) {
      redactedCount += dropped;
      line.dropped = dropped;
    }
    return line;
  }

  function write(method: "debug" | "info" | "warn" | "error", event: string, fields: LogFields | undefined): void {
    if (!log.isLevelEnabled(method)) return;
    log[method](fields === undefined ? {} : safe(fields), cleanText(event));
  }

  return {
    get redactedCount() {
      return redactedCount;
    },
    debug: log.isLevelEnabled("debug") ? (event, fields) => write("debug", event, fields) : null,
    info: (event, fields) => write("info", event, fields),
    warn: (event, fields) => write("warn", event, fields),
    error: (event, fields) => write("error", event, fields),
  };
}

function cleanText(text: string): string {
  return scrubLine(text, MAX_FIELD_CHARS);
}
