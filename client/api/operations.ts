/**
 * What each operation takes and answers, read off the service's own table of operations. Types only: nothing of the
 * schemas is loaded at run time, so a page can use it.
 */
import type { Static, TSchema } from "@sinclair/typebox";
import type { credentialsSchema } from "../../schemas/close.js";
import type { OPERATIONS } from "../../schemas/operations.js";

type Operations = typeof OPERATIONS;
export type OperationId = keyof Operations;
export type OperationOf<K extends OperationId> = Operations[K];

type KeyName = "Idempotency-Key";
type CredentialsName = "X-Venue-Credentials";
type HeaderOf<K extends OperationId> = OperationOf<K>["headers"][number];
type HeaderName<K extends OperationId> = HeaderOf<K>["name"];
type RequiredHeaderName<K extends OperationId> = Extract<HeaderOf<K>, { readonly required: true }>["name"];
type PlainHeaderName<K extends OperationId> = Exclude<HeaderName<K>, KeyName | CredentialsName | RequiredHeaderName<K>>;

/** The operation takes an Idempotency-Key, so that it can be sent again. */
export type IsKeyed<K extends OperationId> = KeyName extends HeaderName<K> ? true : false;

type ParametersOf<K extends OperationId> = {
  readonly [N in keyof OperationOf<K>["pathParameters"]]: OperationOf<K>["pathParameters"][N] extends infer S extends
    TSchema
    ? Static<S>
    : never;
};
type QueryOf<K extends OperationId> = OperationOf<K>["query"] extends infer S extends TSchema ? Static<S> : never;
type BodyOf<K extends OperationId> = OperationOf<K>["method"] extends "GET"
  ? // A browser sends no body with a GET: its credentials go in the header.
    never
  : OperationOf<K>["body"] extends infer S extends TSchema
    ? Static<S>
    : never;

/** `name` is there where it has a type; it may be left out where that type allows it. */
type Field<N extends string, T, IsOptional extends boolean = false> = [T] extends [never]
  ? unknown
  : IsOptional extends true
    ? { readonly [F in N]?: T }
    : object extends T
      ? { readonly [F in N]?: T }
      : { readonly [F in N]: T };

type BodyIsOptional<K extends OperationId> = OperationOf<K> extends { readonly bodyOptional: true } ? true : false;

type HeadersOf<K extends OperationId> = { readonly [N in RequiredHeaderName<K>]: string } & {
  readonly [N in PlainHeaderName<K>]?: string;
};

export interface CallOptions {
  /** Ends the call at once: `ABORTED`. */
  readonly signal?: AbortSignal;
  /** Of the whole call, with all its waits and attempts. */
  readonly timeoutMs?: number;
  /** Most requests that the call may make, where it may be repeated at all. */
  readonly attempts?: number;
}

export type CallRequest<K extends OperationId> = CallOptions &
  Field<"parameters", ParametersOf<K>> &
  Field<"query", QueryOf<K>> &
  Field<"body", BodyOf<K>, BodyIsOptional<K>> &
  ([HeaderName<K>] extends [KeyName | CredentialsName] ? unknown : Field<"headers", HeadersOf<K>>) &
  (IsKeyed<K> extends true
    ? {
        /** The same key and the same body are the same call, also later and from elsewhere. */
        readonly idempotencyKey?: string;
      }
    : unknown) &
  (CredentialsName extends HeaderName<K>
    ? {
        /** By venue; sent in a header. */
        readonly credentials?: Static<typeof credentialsSchema>;
      }
    : unknown);

/** The last argument of a call: it may be left out where nothing in it is required. */
export type CallArguments<K extends OperationId> =
  object extends CallRequest<K> ? readonly [request?: CallRequest<K>] : readonly [request: CallRequest<K>];

type ReplyOf<K extends OperationId> = OperationOf<K>["reply"] extends infer R
  ? R extends TSchema
    ? Static<R>
    : R extends "text/plain"
      ? string
      : unknown
  : never;
type ContentOf<R> = R extends { readonly data: infer D } ? D : R;

/** What a call gives: the reply's `data`; all of the reply where it has none. */
export type DataOf<K extends OperationId> = ContentOf<ReplyOf<K>>;

/** What a refusal brings besides its reason; undefined for most. */
export type RefusedDataOf<K extends OperationId> =
  OperationOf<K> extends { readonly refusedReply: infer R extends TSchema }
    ? Static<R> extends { readonly data: infer D }
      ? D | undefined
      : undefined
    : undefined;

export type ApiResult<D, R = undefined> =
  | {
      readonly ok: true;
      readonly data: D;
      readonly status: number;
      /** The service's time in its reply, Unix ms; null where there is none. */
      readonly serverMs: number | null;
      readonly requestId: string | null;
    }
  | {
      readonly ok: false;
      /** Of the service, or one of LOCAL_CODES (reply.ts). */
      readonly code: string;
      /** For people. */
      readonly error: string;
      /** HTTP status; 0: there was no reply. */
      readonly status: number;
      readonly details: Readonly<Record<string, unknown>>;
      readonly data: R | undefined;
      /** `unknown`: no reply shows whether it was done. It may be done, or be done yet. */
      readonly outcome: "refused" | "unknown";
      /** How long the service wants to be left alone; null where it does not say. */
      readonly retryAfterMs: number | null;
      readonly requestId: string | null;
    };

export type CallResult<K extends OperationId> = ApiResult<DataOf<K>, RefusedDataOf<K>>;
