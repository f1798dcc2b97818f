/**
 * Reads a reply: the envelope is checked before it is used, its content is the service's own business. Text without an
 * envelope (a proxy's page, a cut body) is no reply of the service and decides nothing.
 */
import type { Route } from "./routes.js";
import { timeOrNull } from "./server-clock.js";

export type Details = Readonly<Record<string, unknown>>;

export interface Accepted {
  readonly kind: "accepted";
  readonly status: number;
  readonly data: unknown;
  readonly serverMs: number | null;
  readonly requestId: string | null;
}

export interface Refusal {
  readonly kind: "refused";
  readonly status: number;
  readonly code: string;
  readonly error: string;
  readonly details: Details;
  readonly data: unknown;
  readonly requestId: string | null;
  /** How long the service wants to be left alone; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** The stored reply to an earlier request with the same Idempotency-Key. */
  readonly isReplayed: boolean;
}

/** No reply of the service. `wasSent`: the request may have arrived. */
export interface NoReply {
  readonly kind: "none";
  readonly code: LocalCode;
  readonly status: number;
  readonly wasSent: boolean;
  readonly requestId: string | null;
}

export type Answer = Accepted | Refusal | NoReply;

/** Codes of this client; every other one is the service's. */
export const LOCAL_CODES = {
  UNREACHABLE: "The service cannot be reached.",
  UNREADABLE_REPLY: "The reply is not one of the service.",
  TIMEOUT: "The service did not answer in time.",
  ABORTED: "The call was ended by its caller.",
  CANNOT_SIGN: "The request cannot be signed here: signing needs https, or the address of this machine.",
  CANNOT_SEND: "The call cannot be sent as it is meant.",
} as const;
export type LocalCode = keyof typeof LOCAL_CODES;

/** The result is of this client: the service answered nothing that can be read. */
export function isLocalCode(code: string): boolean {
  return Object.hasOwn(LOCAL_CODES, code);
}

export interface RawReply {
  readonly status: number;
  header(name: string): string | null;
  readonly text: string;
}

const SECONDS = /^\d{1,9}$/;

export function readReply(raw: RawReply, wanted: Route["reply"], nowMs: number): Answer {
  const { status, text } = raw;
  const requestId = raw.header("x-request-id");
  const isFine = status >= 200 && status < 300;
  if (isFine && wanted === "text") return { kind: "accepted", status, data: text, serverMs: null, requestId };
  const body = parsed(text);
  if (isFine && wanted === "json" && body !== undefined)
    return { kind: "accepted", status, data: body, serverMs: null, requestId };
  const { success, code, error, details, data, timestamp } = isFields(body) ? body : {};
  if (isFine && success === true)
    return { kind: "accepted", status, data: data ?? body, serverMs: timeOrNull(timestamp), requestId };
  if (success !== false || typeof code !== "string")
    return { kind: "none", code: "UNREADABLE_REPLY", status, wasSent: true, requestId };
  const known = isFields(details) ? details : {};
  return {
    kind: "refused",
    status,
    code,
    error: typeof error === "string" ? error : "The service refused without a reason.",
    details: known,
    data,
    requestId,
    retryAfterMs: retryAfterMs(raw.header("retry-after"), known, nowMs),
    isReplayed: raw.header("idempotent-replayed") === "true",
  };
}

/** Whole seconds, or a date (RFC 9110); else what the details say. `nowMs` is the service's time. */
function retryAfterMs(header: string | null, details: Details, nowMs: number): number | null {
  if (header !== null) {
    if (SECONDS.test(header)) return Number(header) * 1_000;
    const dateMs = Date.parse(header);
    if (Number.isFinite(dateMs)) return Math.max(0, dateMs - nowMs);
  }
  const { retryAfterMs: ms } = details;
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : null;
}

/** Returns undefined for what is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Details {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
