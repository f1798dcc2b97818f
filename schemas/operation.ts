/**
 * The description of one route: its address, its parameters, its cost, its replies. The tables are in operations.ts.
 */
import { type TSchema, Type } from "@sinclair/typebox";
import { symbolText } from "./common.js";
import type { BucketName } from "./service.js";

/** What a key may do. `admin` is never implied by another. */
export type Scope = "read" | "trade" | "transfer" | "sign" | "admin";
export const SCOPES: readonly Scope[] = ["read", "trade", "transfer", "sign", "admin"];

/** Who may call an operation, and what of theirs it touches. */
export interface OperationAccess {
  /** `open`: also without a key; the caller's address then pays from `anon`. */
  readonly scope: Scope | "open";
  /**
   * `nothing`: the same for everyone. `credentials`: accounts whose credentials the request carries, or a wallet of the
   * owner. `named`: one thing by its id, which must be the owner's. `rows`: those of the owner. `service`: the whole
   * service. A stranger gets the answer for what does not exist.
   */
  readonly owner: "nothing" | "credentials" | "named" | "rows" | "service";
}

/** The same for everyone, key or none. */
export const OPEN: OperationAccess = { scope: "open", owner: "nothing" };

export interface HeaderParameter {
  readonly name: string;
  readonly description: string;
  readonly schema: TSchema;
  /** Default false. */
  readonly required?: boolean;
}

export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** OpenAPI form: `{name}` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly tag: "trade" | "orders" | "account" | "wallets" | "market data" | "history" | "service";
  readonly access: OperationAccess;
  /** Buckets that may be charged, in order; the first with enough tokens pays. */
  readonly buckets: readonly BucketName[];
  readonly weight: number;
  readonly pathParameters: Readonly<Record<string, TSchema>>;
  readonly query: TSchema | null;
  readonly headers: readonly HeaderParameter[];
  readonly body: TSchema | null;
  /** The body may be left out. Default false. */
  readonly bodyOptional?: boolean;
  /** Reply of status 200; text for those that do not answer JSON envelopes. */
  readonly reply: TSchema | "text/plain" | "application/json";
  /** A second form of status 200: nothing was done, and it is known why. */
  readonly refusedReply?: TSchema;
  /** Media types of status 200 beside JSON, one row per line, chosen by the Accept header. */
  readonly exports?: readonly string[];
  /** Asked by supervisors and load balancers under any name: Host and Origin are not looked at. Default false. */
  readonly anyOrigin?: boolean;
  /** Statuses of the error envelope beside those that any route may answer (COMMON_ERRORS). */
  readonly errors: Readonly<Record<number, string>>;
}

/** Sends, changes or arms something: a body field that it does not know is refused, since it may have been meant. */
export function refusesUnknownFields(operation: Operation): boolean {
  return operation.method !== "GET";
}

export const idempotencyKeySchema = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[\\x21-\\x7e]+$",
  "x-kind": "visibleAscii",
});

/** The `{symbol}` of a path. */
export const symbolParameter = symbolText({
  description: "Upper-case base asset; BTC-PERP, BTC-USD, BTCUSDT, BTC-USDT and BTC%2FUSDT work too, in any case.",
  examples: ["BTC"],
});

export const UNKNOWN_SYMBOL_ERROR = {
  404: "No venue lists the symbol (UNKNOWN_SYMBOL); the text previews available ones.",
} as const;

/**
 * Reports whether every request for `path` also fits `template`. A parameter of the template matches any one segment.
 */
export function coversPath(template: string, path: string): boolean {
  const wanted = template.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return false;
  return wanted.every((segment, index) => segment.startsWith("{") || segment === given[index]);
}
