/** A logger for tests that keeps its debug lines, each as one text: the event, then `field=value`. */
import { type LogFields, type Logger, silentLogger } from "../../../engine/domain/logger.js";

export function keepDebugLines(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    debug: (event, fields) => void lines.push(textOf(event, fields)),
  };
  return { logger, lines };
}

function textOf(event: string, fields: LogFields = {}): string {
  return [event, ...Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`)].join(" ");
}
