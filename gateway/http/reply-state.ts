/** What a reply needs of its request, and the writer of replies. */
import type { HttpResponse } from "uWebSockets.js";
import type { ServiceError } from "../../engine/domain/errors.js";
import type { OperationAccess } from "../../schemas/operation.js";
import type { BucketName } from "../../schemas/service.js";
import type { Caller, SignedRequest } from "./caller.js";
import type { Payers } from "./caller-tags.js";
import type { CallerBuckets, TokenBucket } from "./limiter.js";

/** Counts of one route; read by the metrics. */
export interface RouteCounts {
  readonly route: string;
  okCount: number;
  /** Every status but 200. */
  readonly otherCounts: Map<number, number>;
  abortedCount: number;
}

/**
 * What a page of another origin may do with it. `open`: its origin is not checked; `reads` and `changes`: see
 * origin-guard.ts.
 */
export type Access = "open" | "reads" | "changes";

/** How requests of one method of one route are admitted and answered; created once, when the route is mounted. */
export interface Admission {
  readonly counts: RouteCounts;
  /** Tried in order; the first with enough tokens pays. */
  readonly buckets: readonly BucketName[];
  readonly weight: number;
  readonly headOnly: boolean;
  readonly access: Access;
  /** What a key needs. `none`: no operation, so keys are not read; it answers with refusals and files only. */
  readonly scope: OperationAccess["scope"] | "none";
  /** The route proves its caller with the body (`PendingReply.prove`). Others are refused when a signed request has one. */
  readonly readsBody: boolean;
  /**
   * The account pays, once the credentials are read; the address pays where there are none, or where they were never
   * read.
   */
  readonly byAccount: boolean;
  /** Method of an operation that may change something: such a request writes an access line. Null means none. */
  readonly logsMethod: string | null;
  /** Content-Type JSON and every other header that is the same for all replies, encoded once. */
  readonly jsonHeaders: Uint8Array;
  /** The same with the policy of `anon`, for what its address pays for. */
  readonly anonHeaders: Uint8Array;
}

/** What is needed to prove a request once its body is there. Dropped then. */
export interface Proof extends Omit<SignedRequest, "body"> {
  /** The bucket of its address. */
  readonly anon: TokenBucket;
  /** The key was proven from its address before. */
  readonly isKnown: boolean;
}

/** One instance is reused for requests answered within their handler; a waiting one has its own. */
export interface ReplyState {
  admission: Admission;
  /** The RateLimit header; begins with a line break. */
  rateHeader: string;
  /** CORS and deprecation; begins with a line break, "" for most. */
  ownHeaders: string;
  requestId: string;
  /** Monotonic; 0 where no access line follows. */
  admittedNs: number;
  /** The address's buckets, until someone has paid. */
  unpaid: CallerBuckets | null;
  /** The address pays from `anon`, whatever the buckets of the operation are. */
  paysAnon: boolean;
  /** Null until it is proven who asks: nothing but a refusal may be written then. */
  caller: Caller | null;
  /** Not null: the caller is proven when the body is there. */
  proof: Proof | null;
  /** Not null: the request may do nothing before it resolves (AuthVerdict). */
  settled: Promise<void> | null;
  /** It was proven for a request without a body. */
  isBodiless: boolean;
}

/** Must be called corked or within the handler. `extraHeaders` begin with a line break. */
export interface ReplyWriter {
  /** Charges this account, or the address for null; returns the refusal when its tokens are used up. Call once. */
  charge(state: ReplyState, payers: Payers): ServiceError | null;
  /** Proves the caller by the body, unless that is done; returns the refusal. */
  prove(state: ReplyState, body: Uint8Array): ServiceError | null;
  write(
    response: HttpResponse,
    state: ReplyState,
    status: number,
    body: string,
    extraHeaders: string,
    closeConnection: boolean,
    /** "" for JSON. */
    contentType: string,
  ): void;
  /** Status 200 and headers of a body that follows in pieces; counted at its end, not here. */
  writeHead(response: HttpResponse, state: ReplyState, extraHeaders: string, contentType: string): void;
  writeError(
    response: HttpResponse,
    state: ReplyState,
    error: ServiceError,
    extraHeaders: string,
    closeConnection: boolean,
  ): void;
  /** The client left before its reply. */
  aborted(state: ReplyState): void;
}
