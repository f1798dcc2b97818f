/**
 * What is sent of a call: the target byte for byte as it goes out, and the body's bytes. Both are signed, so both are
 * made once. What cannot be sent exactly as it is meant is refused here.
 */
import type { Route } from "./routes.js";

export interface CallParts {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly idempotencyKey?: string;
  readonly credentials?: unknown;
}

export interface Outgoing {
  readonly method: Route["method"];
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

export type Prepared =
  | { readonly ok: true; readonly outgoing: Outgoing }
  | { readonly ok: false; readonly path: string; readonly problem: string };

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** Headers of the client itself: a caller's would be a second one, which could be read in two ways. */
const OWN_HEADERS = /^(x-api-.*|idempotency-key|content-.*|accept|host)$/i;
const HEADER_NAME = /^[a-z0-9-]+$/i;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
/** A URL parser takes these for steps up or down, also in their encoded forms. */
const DOT_SEGMENT = /^(\.|%2e){1,2}$/i;

class Unsendable extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(problem);
    this.path = path;
  }
}

/** `origin` has no path. */
export function prepare(origin: string, route: Route, parts: CallParts): Prepared {
  try {
    const target = pathOf(route.path, parts.parameters ?? {}) + queryOf(parts.query ?? {});
    const url = new URL(origin + target);
    const sent = url.pathname + url.search;
    // The parser may encode more than we do (a quote in a query); it may not lead elsewhere.
    if (decoded(sent) !== decoded(target)) throw new Unsendable("parameters", "cannot be written in an address");
    const body = bodyOf(parts.body);
    const headers = headersOf(route, parts, body !== null);
    return { ok: true, outgoing: { method: route.method, url: url.href, target: sent, headers, body } };
  } catch (error) {
    if (error instanceof Unsendable) return { ok: false, path: error.path, problem: error.message };
    return { ok: false, path: "parameters", problem: "cannot be written in an address" };
  }
}

function pathOf(template: string, parameters: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name];
    const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
    if (text === "") throw new Unsendable(name, "is required");
    const encoded = encode(name, text);
    if (DOT_SEGMENT.test(encoded)) throw new Unsendable(name, "cannot be written in an address");
    return encoded;
  });
}

/** Fields without a value are left out; lists are joined by commas. */
function queryOf(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${encode(name, name)}=${encode(name, textOf(name, value))}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function textOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => textOf(name, one)).join(",");
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Unsendable(name, "must be a text, a number or a list of them");
}

function encode(name: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new Unsendable(name, "is no well-formed text");
  }
}

function decoded(target: string): string {
  return decodeURIComponent(target);
}

function bodyOf(body: unknown): Uint8Array<ArrayBuffer> | null {
  if (body === undefined) return null;
  try {
    const text = JSON.stringify(body);
    if (typeof text === "string") return new TextEncoder().encode(text);
  } catch {
    // A cycle, or a bigint.
  }
  throw new Unsendable("body", "cannot be written as JSON");
}

function headersOf(
  route: Route,
  { headers = {}, idempotencyKey, credentials }: CallParts,
  hasBody: boolean,
): Record<string, string> {
  const all: Record<string, string> = { accept: route.reply === "text" ? "text/plain" : "application/json" };
  if (hasBody) all["content-type"] = "application/json";
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (OWN_HEADERS.test(name) || !HEADER_NAME.test(name)) throw new Unsendable(name, "is no header of this operation");
    if (!HEADER_VALUE.test(value) || value !== value.trim())
      throw new Unsendable(name, "must be visible ASCII without blanks around it");
    all[name.toLowerCase()] = value;
  }
  if (credentials !== undefined) all["x-venue-credentials"] = credentialsText(credentials);
  if (idempotencyKey === undefined) return all;
  if (!route.isKeyed) throw new Unsendable("idempotencyKey", "is not taken by this operation");
  if (!IDEMPOTENCY_KEY.test(idempotencyKey))
    throw new Unsendable("idempotencyKey", "must be 1 to 255 visible ASCII characters");
  all["idempotency-key"] = idempotencyKey;
  return all;
}

/** base64url of the JSON text. */
function credentialsText(credentials: unknown): string {
  const bytes = bodyOf(credentials) ?? new Uint8Array();
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
