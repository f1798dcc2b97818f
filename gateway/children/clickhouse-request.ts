/**
 * The query string and headers of a ClickHouse HTTP request, decoded. Pure. Every key that the dialect itself does not
 * know is a setting of the engine.
 */
import type { IncomingHttpHeaders } from "node:http";
import { EngineError } from "./engine-error.js";

/** Keys beyond this are refused: each becomes part of a statement. */
const MAX_KEYS = 512;
const MAX_QUERY_ID_CHARS = 128;
const MAX_SESSION_ID_CHARS = 128;
const MAX_SESSION_SECONDS = 3_600;
const DEFAULT_SESSION_SECONDS = 60;

export interface DialectRequest {
  /** From the query string; "" where the body contains the statement. */
  readonly query: string;
  /** "" lets the listener create one. */
  readonly queryId: string;
  readonly database: string;
  readonly defaultFormat: string;
  readonly sessionId: string;
  readonly sessionSeconds: number;
  /** The session must exist already. */
  readonly sessionCheck: boolean;
  readonly params: ReadonlyMap<string, string>;
  readonly settings: ReadonlyMap<string, string>;
  /** Waits for the whole result before the first byte: errors then have their status. */
  readonly waitForEnd: boolean;
  readonly gzip: boolean;
}

/** Keys of the dialect that control the transport; the engine does not use them. */
const TRANSPORT_KEYS: ReadonlySet<string> = new Set([
  "buffer_size",
  "stacktrace",
  "quota_key",
  "close_session",
  "client_protocol_version",
  "http_zlib_compression_level",
  "http_native_compression_disable_checksumming_on_decompress",
  "send_progress_in_http_headers",
  "http_headers_progress_interval_ms",
  "http_wait_end_of_query",
  "http_response_buffer_size",
  "http_write_exception_in_output_format",
  "cancel_http_readonly_queries_on_client_close",
  "add_http_cors_header",
]);

/** These would change the user or the framing of bytes: ignoring them silently would be wrong. */
const REFUSED_KEYS: ReadonlySet<string> = new Set(["role", "user", "password", "compress", "decompress"]);

const SETTING_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

const BAD_ARGUMENTS = 36;
const NOT_IMPLEMENTED = 48;

export function readDialectRequest(search: URLSearchParams, headers: IncomingHttpHeaders): DialectRequest {
  const params = new Map<string, string>();
  const settings = new Map<string, string>();
  const known = new Map<string, string>();
  let keyCount = 0;
  for (const [key, value] of search) {
    if (++keyCount > MAX_KEYS) throw new EngineError(BAD_ARGUMENTS, `More than ${MAX_KEYS} keys in the query string`);
    if (DIALECT_KEYS.has(key)) known.set(key, value);
    else if (REFUSED_KEYS.has(key)) {
      if (value !== "0") throw new EngineError(NOT_IMPLEMENTED, `The key ${key} is not taken by the embedded store`);
    } else if (key.startsWith("param_")) params.set(checkedName(key.slice("param_".length), "parameter"), value);
    else if (!TRANSPORT_KEYS.has(key)) settings.set(checkedName(key, "setting"), value);
  }
  const text = (key: string) => known.get(key) ?? "";
  return {
    query: text("query"),
    queryId: bounded(text("query_id"), MAX_QUERY_ID_CHARS, "query_id"),
    database: text("database") || headerText(headers, "x-clickhouse-database"),
    defaultFormat: text("default_format") || headerText(headers, "x-clickhouse-format"),
    sessionId: bounded(text("session_id"), MAX_SESSION_ID_CHARS, "session_id"),
    sessionSeconds: sessionSeconds(text("session_timeout")),
    sessionCheck: text("session_check") === "1",
    params,
    settings,
    waitForEnd: text("wait_end_of_query") === "1",
    gzip: text("enable_http_compression") === "1" && /\bgzip\b/.test(headerText(headers, "accept-encoding")),
  };
}

const DIALECT_KEYS: ReadonlySet<string> = new Set([
  "query",
  "query_id",
  "database",
  "default_format",
  "session_id",
  "session_timeout",
  "session_check",
  "wait_end_of_query",
  "enable_http_compression",
]);

/** Names become part of a SET statement: letters, digits and underscores only. */
function checkedName(name: string, what: string): string {
  if (!SETTING_NAME.test(name)) throw new EngineError(BAD_ARGUMENTS, `Not the name of a ${what}`);
  return name;
}

function bounded(text: string, maxChars: number, what: string): string {
  if (text.length > maxChars || /[^\x20-\x7e]/.test(text)) throw new EngineError(BAD_ARGUMENTS, `Not a valid ${what}`);
  return text;
}

function sessionSeconds(text: string): number {
  if (text === "") return DEFAULT_SESSION_SECONDS;
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SESSION_SECONDS)
    throw new EngineError(BAD_ARGUMENTS, `session_timeout must be 1 to ${MAX_SESSION_SECONDS}`);
  return seconds;
}

function headerText(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === "string" ? value : (value?.[0] ?? "");
}

/**
 * Returns the statement that brings a new session to the requested state; "" for none. The engine gets values as quoted
 * text.
 */
export function settingsStatement(request: DialectRequest, readonly: boolean): string {
  const parts: string[] = [];
  for (const [name, value] of request.settings) parts.push(`${name} = ${quoteText(value)}`);
  for (const [name, value] of request.params) parts.push(`param_${name} = ${quoteText(value)}`);
  if (readonly && !request.settings.has("readonly")) parts.push("readonly = 2");
  return parts.length === 0 ? "" : `SET ${parts.join(", ")}`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

export function quoteName(text: string): string {
  return `\`${text.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}
