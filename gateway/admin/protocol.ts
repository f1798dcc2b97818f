/**
 * The protocol of the admin socket: one JSON object a line, UTF-8. A client sends
 * `{"id": "1", "op": "keys.list", "params": {}}` and gets `{"id": "1", "ok": true, "result": …}` or
 * `{"id": "1", "ok": false, "code": "…", "message": "…", "details": {…}}`, in the order of its requests.
 *
 * Whoever can open the socket file is the operator: there is no other proof. Pure.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { scrub } from "../../engine/domain/scrub.js";

export const ADMIN_OPERATIONS = [
  "status",
  "keys.create",
  "keys.list",
  "keys.rotate",
  "keys.revoke",
  "audit.page",
  "seal.rotate",
  "tls.reload",
  "reconcile.begin",
  "reconcile.view",
  "reconcile.release",
  "wallets.list",
  "wallets.refresh",
  "wallets.unfreeze",
  "wallets.inventory",
  "wallets.restoreKey",
  "wallets.restore",
] as const;
export type AdminOperation = (typeof ADMIN_OPERATIONS)[number];

/** Longest request line, without its end. The longest honest one (a key with 64 addresses) is a tenth of it. */
export const REQUEST_BYTES_MAX = 32 * 1024;
/** Longest `id` that is echoed. */
const ID_CHARS_MAX = 64;

/** Refusals of the protocol itself; those of an operation carry the code of its ServiceError. */
export type ProtocolCode =
  /** No JSON object, a wrong id, an unknown member, a line without its end. */
  | "BAD_REQUEST"
  | "LINE_TOO_LONG"
  | "UNKNOWN_OPERATION"
  /** Other clients use all of the connections. */
  | "TOO_MANY_CONNECTIONS"
  /** Too many operations have not ended. */
  | "OVERLOADED"
  | "IDLE_TIMEOUT"
  /** The operation needs a part that this service runs without. */
  | "NOT_AVAILABLE"
  /** The operation had not ended in time: it may or may not take effect. */
  | "OUTCOME_UNKNOWN"
  | "SHUTTING_DOWN"
  | "INTERNAL";

/** Of acts on wallets; those of the HTTP API are said in words for the operator. */
export type WalletCode =
  | "WALLET_UNKNOWN"
  /** The state of the wallet does not allow the act. */
  | "WALLET_STATE"
  /** The co-signer refused, or did not answer: most likely its operator has not allowed it. */
  | "APPROVAL_NEEDED"
  | "RESTORE_REFUSED"
  | "WALLET_FROZEN"
  | "RESTORED_STORE"
  | "SIGNER_UNAVAILABLE";

/** A refusal by a decision, with plain details for the operator. */
export class AdminRefusal extends Error {
  override readonly name = "AdminRefusal";
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ProtocolCode | "TLS_RELOAD_FAILED" | "RELEASE_REFUSED" | WalletCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export interface AdminRequest {
  readonly id: string | null;
  readonly op: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export type AdminReply =
  | { readonly id: string | null; readonly ok: true; readonly result: unknown }
  | {
      readonly id: string | null;
      readonly ok: false;
      readonly code: string;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>>;
    };

/** Throws AdminRefusal BAD_REQUEST; its text quotes nothing of the line. */
export function decodeRequest(line: string): AdminRequest {
  const value = objectOf(line);
  const { id = null, op, params = {}, ...others } = value;
  if (Object.keys(others).length > 0) throw bad("only id, op and params are known");
  if (id !== null && (typeof id !== "string" || id.length > ID_CHARS_MAX))
    throw bad(`id must be a text of at most ${ID_CHARS_MAX} characters`);
  if (typeof op !== "string") throw bad("op must be a text");
  if (typeof params !== "object" || params === null || Array.isArray(params)) throw bad("params must be an object");
  return { id, op, params: params as Readonly<Record<string, unknown>> };
}

/** Throws AdminRefusal BAD_REQUEST for what is no reply. */
export function decodeReply(line: string): AdminReply {
  const { id = null, ok, code, message, details, result } = objectOf(line);
  if (id !== null && typeof id !== "string") throw bad("the reply has no id");
  if (ok === true) return { id, ok, result };
  if (ok !== false || typeof code !== "string" || typeof message !== "string") throw bad("the reply has no outcome");
  const given = typeof details === "object" && details !== null ? (details as Record<string, unknown>) : {};
  return { id, ok, code, message, details: given };
}

/** What a caller reads of any failure; a bug shows its name only. A key that was typed in a wrong place is not repeated. */
export function refusalOf(id: string | null, error: unknown): AdminReply {
  if (error instanceof AdminRefusal) return refusal(id, error.code, error.message, error.details);
  if (error instanceof ServiceError) return refusal(id, error.code, error.message, error.context);
  const errorName = error instanceof Error ? error.name : "unknown";
  return refusal(id, "INTERNAL", "Internal error; the service's log names it", { errorName });
}

function refusal(
  id: string | null,
  code: string,
  message: string,
  details: Readonly<Record<string, unknown>>,
): AdminReply {
  const shown = JSON.parse(scrub(JSON.stringify(details))) as Readonly<Record<string, unknown>>;
  return { id, ok: false, code, message: scrub(message), details: shown };
}

export function bad(problem: string): AdminRefusal {
  return new AdminRefusal("BAD_REQUEST", `Refused: ${problem}`, { problem });
}

function objectOf(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // The parser's message quotes the line.
    throw bad("a line must be one JSON object");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw bad("a line must be one JSON object");
  return value as Record<string, unknown>;
}
