/**
 * The logging port of engine and feeds. The shell's implementation (gateway/app/log.ts) redacts by
 * construction; callers still never pass keys, secrets, signatures or credentials in `fields`.
 */

export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

export interface Logger {
  /** Null while debug is off: called as `logger.debug?.(…)`, its arguments are not even built then. */
  readonly debug: ((event: string, fields?: LogFields) => void) | null;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export const silentLogger: Logger = {
  debug: null,
  info() {},
  warn() {},
  error() {},
};
